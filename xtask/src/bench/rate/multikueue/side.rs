//! MultiKueue as a side: RayJobs are created in the manager's cluster and copied to a worker.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use squadron_e2e::{
    testbed,
    wait::{self, found_if},
};

use super::{HUB, kubectl, start};
use crate::{
    acceptance::operator,
    bench::rate::{load::Target, side::Side},
};

const PATIENCE: Duration = Duration::from_secs(900);
const ACCOUNT: &str = "load";

pub struct MultiKueue(pub Vec<String>);

impl Side for MultiKueue {
    fn name(&self) -> &'static str {
        "multikueue"
    }

    fn take_over(&self) -> Result<()> {
        for cluster in &self.0 {
            operator::scale_agent(cluster, 0)?;
        }
        start(&self.0)
    }

    fn target(&self) -> Result<Target> {
        let account = format!("serviceaccount/{ACCOUNT}");
        if kubectl(HUB, &["get", &account]).is_err() {
            kubectl(HUB, &["create", "serviceaccount", ACCOUNT])?;
            let subject = format!("--serviceaccount=default:{ACCOUNT}");
            kubectl(
                HUB,
                &["create", "clusterrolebinding", ACCOUNT, "--clusterrole=cluster-admin", &subject],
            )?;
        }
        let token = kubectl(HUB, &["create", "token", ACCOUNT, "--duration=6h"])?;
        let url =
            kubectl(HUB, &["config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"])?;
        let options = format!(
            "cacert = \"{}\"\nheader = \"authorization: Bearer {}\"\nheader = \"content-type: application/yaml\"",
            testbed::ca(HUB)?.display(),
            token.trim()
        );
        let url = format!("{}/apis/ray.io/v1/namespaces/default/rayjobs", url.trim());
        Ok(Target { url, options, body: for_kueue })
    }

    fn clusters(&self) -> Vec<String> {
        self.0.iter().cloned().chain([HUB.to_owned()]).collect()
    }

    fn is_part(&self, process: &str) -> bool {
        !process.starts_with("squadron") && process != "postgres"
    }

    /// The manager's own log says when; a job has one name everywhere.
    fn received(&self, prefix: &str, seen: &BTreeMap<String, f64>) -> Result<BTreeMap<String, f64>> {
        let ours = |name: &&String| name.starts_with(prefix);
        Ok(seen.iter().filter(|(name, _)| ours(name)).map(|(name, at)| (name.clone(), *at)).collect())
    }

    fn clear(&self, _: &str) -> Result<()> {
        kubectl(HUB, &["delete", "rayjobs", "--all", "--wait=false"])?;
        wait::until("every copy to be gone", PATIENCE, || {
            let mut left = String::new();
            for cluster in self.clusters() {
                left.push_str(&kubectl(
                    &cluster,
                    &["get", "rayjobs,workloads.kueue.x-k8s.io", "-o", "name"],
                )?);
            }
            Ok(found_if(left.is_empty(), format!("{} left", left.lines().count())))
        })
    }
}

/// The same job for Kueue: its queue, and that MultiKueue takes care of it.
fn for_kueue(manifest: &str) -> String {
    manifest
        .replace(
            "labels: {team: vision, project",
            "labels: {kueue.x-k8s.io/queue-name: jobs, team: vision, project",
        )
        .replace(
            "spec:\n  entrypoint",
            "spec:\n  managedBy: kueue.x-k8s.io/multikueue\n  suspend: true\n  entrypoint",
        )
}

/// Makes the manager's cluster, beside the workers of the stage.
pub fn hub() -> Result<()> {
    testbed::up(&[HUB.to_owned()], &["--audit", "--no-ray"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_gets_queue_and_manager() {
        let manifest = include_str!("../rate.yaml");
        let changed = for_kueue(manifest);
        assert!(
            changed.contains("kueue.x-k8s.io/queue-name: jobs")
                && changed.contains("managedBy: kueue.x-k8s.io/multikueue")
        );
        assert_eq!(changed.lines().count(), manifest.lines().count() + 2);
    }
}
