//! Stop: finds what runs of fenced attempts in the API server, and deletes it.
//!
//! Invariant: only RayJobs that carry our marks under this cluster's id are touched, and only while they have not ended.
//! The RayJob goes first, so that a living operator makes nothing anew; its finalizer keeps it, and with it what is needed to
//! find the rest, until an operator lets it go. The submitter's Job leaves its pods behind, because the garbage collector
//! would give them a longer grace than the fence's. Then the pods, then the RayCluster.

use anyhow::Context;
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, ListParams, Preconditions},
    core::DynamicObject,
};
use serde_json::Value;
use squadron_core::{id::AttemptId, job::marks, lease::Policy};

use crate::{
    plan::CLUSTER_ANNOTATION,
    watch::{Kind, object},
};

/// Where the fencer looks and acts.
pub struct Reach {
    pub client: Client,
    /// This cluster's id, as RayJobs of ours carry it.
    pub cluster: String,
    /// Empty for all.
    pub namespaces: Vec<String>,
}

/// A RayJob of ours that has not ended.
pub struct Held {
    pub attempt: AttemptId,
    pub policy: Policy,
    namespace: String,
    name: String,
    uid: String,
    /// Name of its own RayCluster; empty while there is none, and for a job on a shared one.
    ray_cluster: String,
}

impl Reach {
    /// All RayJobs of ours that have not ended.
    pub async fn held(&self) -> anyhow::Result<Vec<Held>> {
        let ours = ListParams::default().labels(marks::JOB_ID);
        let resource = Kind::RayJob.resource();
        let mut found = Vec::new();
        for namespace in self.namespaces() {
            let api: Api<DynamicObject> = match namespace {
                Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
                None => Api::all_with(self.client.clone(), &resource),
            };
            found.extend(api.list(&ours).await.context("RayJobs cannot be listed")?.items);
        }
        let values = found.iter().filter_map(|job| serde_json::to_value(job).ok());
        Ok(values.filter_map(|job| held(&job, &self.cluster)).collect())
    }

    fn namespaces(&self) -> Vec<Option<&str>> {
        if self.namespaces.is_empty() {
            return vec![None];
        }
        self.namespaces.iter().map(|name| Some(name.as_str())).collect()
    }

    /// Deletes everything of an attempt; containers get `grace` milliseconds.
    pub async fn stop(&self, held: &Held, grace: u64) -> anyhow::Result<()> {
        let seconds = u32::try_from(grace.div_ceil(1_000)).unwrap_or(u32::MAX);
        let how = DeleteParams::background();
        let uid = Preconditions { uid: Some(held.uid.clone()), resource_version: None };
        let job = how.clone().preconditions(uid);
        self.delete(held, &Kind::RayJob.resource(), &held.name, &job).await?;
        self.delete(held, &Kind::BatchJob.resource(), &held.name, &DeleteParams::orphan()).await?;
        if !held.ray_cluster.is_empty() {
            self.pods(held, &format!("ray.io/cluster={}", held.ray_cluster), seconds).await?;
        }
        self.pods(held, &format!("batch.kubernetes.io/job-name={}", held.name), seconds).await?;
        if held.ray_cluster.is_empty() {
            return Ok(());
        }
        self.delete(held, &Kind::RayCluster.resource(), &held.ray_cluster, &how).await
    }

    async fn pods(&self, held: &Held, selector: &str, seconds: u32) -> anyhow::Result<()> {
        let resource = Kind::Pod.resource();
        let api = self.api(held, &resource);
        let pods =
            api.list(&ListParams::default().labels(selector)).await.context("pods cannot be listed")?;
        let how = DeleteParams::background().grace_period(seconds);
        let given = |pod: &&DynamicObject| pod.metadata.deletion_grace_period_seconds;
        let stays = |pod: &&DynamicObject| given(pod).is_none_or(|given| given > i64::from(seconds));
        for pod in pods.items.iter().filter(stays) {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            self.delete(held, &resource, name, &how).await?;
        }
        Ok(())
    }

    fn api(&self, held: &Held, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &held.namespace, resource)
    }

    /// What is gone already is a success.
    async fn delete(
        &self,
        held: &Held,
        resource: &ApiResource,
        name: &str,
        how: &DeleteParams,
    ) -> anyhow::Result<()> {
        match self.api(held, resource).delete(name, how).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(cause) => {
                let what = format!("{} {}/{name} cannot be deleted", resource.kind, held.namespace);
                Err(cause).context(what)
            }
        }
    }
}

/// A RayJob that carries our marks and has not ended.
fn held(job: &Value, cluster: &str) -> Option<Held> {
    let annotation = |key: &str| job["metadata"]["annotations"][key].as_str().unwrap_or_default();
    let status = |key: &str| job["status"][key].as_str().unwrap_or_default();
    let ended = matches!(status("jobDeploymentStatus"), "Complete" | "Failed" | "ValidationFailed");
    if ended || annotation(CLUSTER_ANNOTATION) != cluster {
        return None;
    }
    let shared = job["spec"]["clusterSelector"].as_object().is_some_and(|selector| !selector.is_empty());
    Some(Held {
        attempt: object::attempt(job)?,
        policy: annotation(marks::ON_LOST).parse().unwrap_or(Policy::Wait),
        namespace: object::namespace(job).to_owned(),
        name: object::name(job).to_owned(),
        uid: object::uid(job).to_owned(),
        ray_cluster: if shared { String::new() } else { status("rayClusterName").to_owned() },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn job(policy: &str, state: &str) -> Value {
        json!({"metadata": {"namespace": "ml", "name": "t-1", "uid": "u",
            "labels": {"squadron.dev/job-id": "0196f0a0-0000-7000-8000-000000000001", "squadron.dev/attempt": "1"},
            "annotations": {CLUSTER_ANNOTATION: "c", "squadron.dev/on-lost": policy}},
            "spec": {}, "status": {"jobDeploymentStatus": state, "rayClusterName": "t-1-x"}})
    }

    #[test]
    fn only_what_is_ours_and_has_not_ended_is_held() {
        assert!(held(&job("fence", "Running"), "another").is_none());
        assert!(held(&job("fence", "Complete"), "c").is_none());
        let found = held(&job("fence", "Running"), "c").unwrap();
        assert_eq!((found.policy, found.ray_cluster.as_str()), (Policy::Fence, "t-1-x"));
        assert_eq!(
            held(&job("often", ""), "c").unwrap().policy,
            Policy::Wait,
            "an unknown word stops nothing"
        );
    }

    #[test]
    fn a_shared_cluster_is_not_the_job_s() {
        let mut shared = job("fence", "Running");
        shared["spec"] = json!({"clusterSelector": {"ray.io/cluster": "shared"}});
        assert_eq!(held(&shared, "c").unwrap().ray_cluster, "");
    }
}
