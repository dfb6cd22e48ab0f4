//! MultiKueue as a side: RayJobs are created in the manager's cluster and copied to a worker.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use squadron_e2e::{
    testbed,
    wait::{self, found_if},
};

use super::{load::Target, side::Side};
use crate::{
    acceptance::operator,
    multikueue::{MultiKueue, RATE_MANAGER, kubectl},
};

const PATIENCE: Duration = Duration::from_secs(900);

/// MultiKueue with the stage's clusters as its workers.
pub fn over(workers: &[String]) -> MultiKueue {
    MultiKueue { hub: RATE_MANAGER, workers: workers.to_vec(), port: None }
}

impl Side for MultiKueue {
    fn name(&self) -> &'static str {
        "multikueue"
    }

    fn take_over(&self) -> Result<()> {
        for cluster in &self.workers {
            operator::scale_agent(cluster, 0)?;
        }
        self.start()
    }

    fn target(&self) -> Result<Target> {
        let (url, token) = self.door()?;
        let options = format!(
            "cacert = \"{}\"\nheader = \"authorization: Bearer {token}\"\nheader = \"content-type: application/yaml\"",
            testbed::ca(self.hub)?.display()
        );
        Ok(Target { url, options, body: for_kueue })
    }

    fn clusters(&self) -> Vec<String> {
        self.all_clusters().map(str::to_owned).collect()
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
        kubectl(self.hub, &["delete", "rayjobs", "--all", "--wait=false"])?;
        wait::until("every copy to be gone", PATIENCE, || {
            let mut left = String::new();
            for cluster in self.all_clusters() {
                left.push_str(&kubectl(cluster, &["get", "rayjobs,workloads.kueue.x-k8s.io", "-o", "name"])?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_gets_queue_and_manager() {
        let manifest = include_str!("rate.yaml");
        let changed = for_kueue(manifest);
        assert!(
            changed.contains("kueue.x-k8s.io/queue-name: jobs")
                && changed.contains("managedBy: kueue.x-k8s.io/multikueue")
        );
        assert_eq!(changed.lines().count(), manifest.lines().count() + 2);
    }
}
