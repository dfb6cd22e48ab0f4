//! MultiKueue as a side of the rounds: its manager in a third cluster, Kueue and KubeRay's operator in each of the two.
//!
//! Invariant: its jobs are ours in everything that counts: the same stand-in for a head that writes the time, the same
//! labels by which kubelets' words are found, the same 10 s of grace. Each round begins with new jobs, because after a loss it
//! goes on with errors about the ones that had moved.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use squadron_e2e::{
    clock, command,
    rounds::{self, Draw, Fault, Request, Side, Trouble, Wanted, call},
    stage::{Spec, Stage},
    testbed,
    wait::{self, found_if},
};

use super::{
    broken::{Broken, FAULTS},
    link::{self, Link},
};
use crate::{
    acceptance::{Operator, operator},
    multikueue::{MultiKueue, ROUNDS_MANAGER as HUB, SHARED, kubectl, queue_of},
};

/// Seconds until a worker counts as lost, as Kueue is configured.
pub const LOST_AFTER: u32 = 30;
/// How long it may take to find a worker again: the longest of its pauses between two attempts.
const PATIENCE: Duration = Duration::from_secs(400);
/// How long it may take to remove what it made, before that is done for it.
const TIDY: Duration = Duration::from_secs(60);

pub struct Rival {
    stage: Stage,
    kueue: MultiKueue,
    /// Where the manager takes RayJobs, and a token.
    url: String,
    token: String,
}

fn over(spec: &Spec) -> MultiKueue {
    MultiKueue { hub: HUB, workers: spec.clusters.clone(), port: Some(link::PORT) }
}

/// Whether a cluster is used by Kueue, or was.
fn knows_kueue(cluster: &str) -> Result<bool> {
    Ok(!kubectl(cluster, &["get", "namespace", "kueue-system", "--ignore-not-found", "-o", "name"])?
        .is_empty())
}

/// Makes clusters ours again, if they were taken over.
pub fn give_back(spec: &Spec) -> Result<()> {
    let mut taken = Vec::new();
    for cluster in &spec.clusters {
        if knows_kueue(cluster)? {
            taken.push(cluster);
        }
    }
    if taken.is_empty() {
        return Ok(());
    }
    over(spec).stop()?;
    for cluster in taken {
        operator::stop_kuberay(cluster)?;
        operator::apply(cluster, command::root().join("deploy/crds"))?;
    }
    Ok(())
}

impl Rival {
    /// Makes it the one that acts on the clusters, which are up.
    pub fn take_over(stage: Stage) -> Result<Rival> {
        let kueue = over(&stage.spec);
        println!("-- cluster of the manager");
        kueue.up()?;
        for cluster in &kueue.workers {
            println!("-- KubeRay's operator in {cluster}");
            Operator::Kuberay.take_over(cluster)?;
            Link::Open.apply(&kueue.worker(cluster))?;
        }
        println!("-- Kueue");
        kueue.start()?;
        let (url, token) = kueue.door()?;
        Ok(Rival { stage, kueue, url, token })
    }

    /// Ends its jobs and its programs.
    pub fn leave(&self) -> Result<()> {
        self.clear()?;
        self.kueue.stop()?;
        self.kueue.workers.iter().try_for_each(|cluster| operator::stop_kuberay(cluster))
    }

    fn ask(&self, method: &str, url: &str, body: Option<&Value>) -> Result<Value> {
        call(&Request { method, url, token: &self.token, authority: &testbed::ca(HUB)?, body })
    }

    fn create(&self, mut manifest: Value, queue: &str) -> Result<String> {
        manifest["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": queue});
        manifest["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue".into();
        manifest["spec"]["suspend"] = true.into();
        let made = self.ask("POST", &self.url, Some(&manifest))?;
        Ok(made["metadata"]["name"].as_str().context("the new RayJob has no name")?.to_owned())
    }

    fn delete(&self, name: &str) -> Result<()> {
        self.ask("DELETE", &format!("{}/{name}", self.url), None).map(drop)
    }

    fn wait_gone(&self, limit: Duration) -> Result<()> {
        wait::until("every copy to be gone", limit, || {
            let mut left = kubectl(HUB, &["get", "rayjobs,workloads.kueue.x-k8s.io", "-o", "name"])?;
            for cluster in &self.kueue.workers {
                let kinds = "rayjobs,rayclusters,workloads.kueue.x-k8s.io,pods";
                left.push_str(&kubectl(cluster, &["get", kinds, "-o", "name"])?);
            }
            Ok(found_if(left.is_empty(), left))
        })
    }
}

impl Side for Rival {
    fn name(&self) -> &'static str {
        "multikueue"
    }

    fn stage(&self) -> &Stage {
        &self.stage
    }

    fn faults(&self) -> Vec<Fault> {
        FAULTS.to_vec()
    }

    /// A manager that stands still loses no worker.
    fn loses(&self, fault: Fault) -> bool {
        fault.loses() && fault != Fault::LeaderStopped
    }

    /// Some of its jobs never move; those that do have moved by then.
    fn moves_within(&self) -> Duration {
        Duration::from_secs(130)
    }

    /// It has one policy for all jobs, so none waits.
    fn wanted(&self, fenced: u32) -> Vec<Wanted> {
        rounds::fenced(fenced).collect()
    }

    fn known(&self) -> Result<BTreeMap<String, String>> {
        let names = kubectl(HUB, &["get", "rayjobs", "-o", "jsonpath={.items[*].metadata.name}"])?;
        let ours = names.split_whitespace().filter(|name| name.starts_with("round-"));
        Ok(ours.filter_map(|id| Some((id.rsplit_once('-')?.0.to_owned(), id.to_owned()))).collect())
    }

    /// The time in its name tells it from the job of another round.
    fn submit(&self, wanted: &Wanted) -> Result<String> {
        let id = format!("{}-{:.0}", wanted.name, clock::now());
        let manifest = named(rounds::manifest(wanted, &self.stage.lives()), &id);
        self.create(manifest, SHARED)
    }

    fn cancel(&self, ids: &[&str]) -> Result<()> {
        ids.iter().try_for_each(|id| self.delete(id))
    }

    fn clear(&self) -> Result<()> {
        kubectl(HUB, &["delete", "rayjobs", "--all", "--wait=false"])?;
        if self.wait_gone(TIDY).is_ok() {
            return Ok(());
        }
        println!("MultiKueue leaves copies behind, which are removed by hand");
        for cluster in self.kueue.all_clusters() {
            kubectl(cluster, &["delete", "rayjobs,workloads.kueue.x-k8s.io", "--all", "--wait=false"])?;
        }
        self.wait_gone(PATIENCE)
    }

    fn wait_heard(&self) -> Result<()> {
        self.kueue.wait_connected(PATIENCE)
    }

    fn prepare(&self, _: Fault, _: &str) -> Result<()> {
        Ok(())
    }

    fn begin<'a>(&'a self, cluster: &'a str, fault: Fault, draw: &mut Draw) -> Result<Box<dyn Trouble + 'a>> {
        Ok(Box::new(Broken::begin(&self.kueue, cluster, fault, draw)?))
    }

    fn probe(&self, manifest: Value, cluster: Option<&str>) -> Result<String> {
        let queue = cluster.map_or_else(|| SHARED.to_owned(), queue_of);
        self.create(manifest, &queue)
    }

    fn end_probe(&self, id: &str) -> Result<()> {
        self.delete(id)
    }
}

/// The manifest of a job of this id, with what our agent would give its pod.
fn named(mut manifest: Value, id: &str) -> Value {
    manifest["metadata"]["name"] = id.into();
    let template = &mut manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"];
    template["metadata"]["labels"] = json!({"squadron.dev/job-id": id, "squadron.dev/attempt": "0"});
    template["spec"]["terminationGracePeriodSeconds"] = 10.into();
    if let Some(variables) = template["spec"]["containers"][0]["env"].as_array_mut() {
        variables.push(json!({"name": "SQUADRON_JOB_ID", "value": id}));
        variables.push(json!({"name": "SQUADRON_ATTEMPT", "value": "0"}));
    }
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_writes_its_id_and_is_found_by_it() {
        let wanted =
            Wanted { name: "round-fence-0".into(), is_fenced: true, is_obedient: false, pinned: None };
        let manifest = named(rounds::manifest(&wanted, "/lives".as_ref()), "round-fence-0-17");
        assert_eq!(manifest["metadata"]["name"], "round-fence-0-17");
        let template = &manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"];
        assert_eq!(template["metadata"]["labels"]["squadron.dev/job-id"], "round-fence-0-17");
        assert_eq!(template["metadata"]["annotations"]["ray.io/overwrite-container-cmd"], "true");
        let variables = template["spec"]["containers"][0]["env"].to_string();
        assert!(variables.contains("SQUADRON_JOB_ID") && variables.contains("NODE"), "{variables}");
    }

    #[test]
    fn a_worker_counts_as_lost_when_the_configuration_says_so() {
        let configured = format!("workerLostTimeout: {LOST_AFTER}s");
        assert!(include_str!("../multikueue/config.yaml").contains(&configured));
    }
}
