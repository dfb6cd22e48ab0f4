//! Stop: finds what runs of fenced attempts in the API server, and deletes it, many attempts at a time.
//!
//! Invariant: only RayJobs that carry our marks under this cluster's id are touched, and only while they have not ended.
//! The RayJob goes first, so that a living operator makes nothing anew; its finalizer keeps it, and with it what is needed to
//! find the rest, until an operator lets it go. The submitter's Job leaves its pods behind, because the garbage collector
//! would give them a longer grace than the fence's. Then the pods, then the RayCluster. An attempt that was begun is gone on
//! with until a look finds no pod of it, whether its RayJob is still there or not.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, ListParams, Preconditions},
    core::DynamicObject,
};
use serde_json::Value;
use squadron_core::{id::AttemptId, job::marks, lease::Policy};

use super::many::{self, Lanes};
use crate::{
    plan::CLUSTER_ANNOTATION,
    watch::{Kind, object},
};

/// Objects that one answer of the API server holds.
const PAGE: u32 = 500;

/// Rounds without a pod after which nothing is looked for any more: a controller may just have made one in the first.
const QUIET: u32 = 2;

/// Where the fencer looks and acts.
pub struct Reach {
    client: Client,
    /// This cluster's id, as RayJobs of ours carry it.
    cluster: String,
    /// Empty for all.
    namespaces: Vec<String>,
    lanes: Lanes,
    /// Attempts that were begun and of which something may be left, by the uid of their RayJob.
    open: BTreeMap<String, Held>,
    /// In how many rounds on end nothing was found of an attempt.
    quiet: BTreeMap<String, u32>,
    /// What was deleted with its RayJob and is not asked for again: uid of the RayJob, kind.
    gone: BTreeSet<(String, Kind)>,
}

/// A RayJob of ours that has not ended.
#[derive(Clone)]
pub struct Held {
    pub attempt: AttemptId,
    pub policy: Policy,
    namespace: String,
    name: String,
    uid: String,
    is_deleting: bool,
    /// Name of its own RayCluster; empty while there is none, and for a job on a shared one.
    ray_cluster: String,
}

impl Reach {
    /// `namespaces` are those to look in; empty for all.
    pub fn new(client: Client, cluster: String, namespaces: Vec<String>) -> Reach {
        let (lanes, open, quiet, gone) = Default::default();
        Reach { client, cluster, namespaces, lanes, open, quiet, gone }
    }

    /// All RayJobs of ours that have not ended.
    pub async fn held(&self) -> anyhow::Result<Vec<Held>> {
        let resource = Kind::RayJob.resource();
        let mut found = Vec::new();
        for namespace in self.namespaces() {
            let api: Api<DynamicObject> = match namespace {
                Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
                None => Api::all_with(self.client.clone(), &resource),
            };
            found.extend(list(&api, marks::JOB_ID).await.context("RayJobs cannot be listed")?);
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

    /// Deletes everything of these attempts and of those that were begun before; containers get `grace` milliseconds.
    pub async fn stop(&mut self, held: Vec<Held>, grace: u64) -> Round {
        let noisy =
            held.into_iter().filter(|held| self.quiet.get(&held.uid).is_none_or(|rounds| *rounds < QUIET));
        self.open.extend(noisy.map(|held| (held.uid.clone(), held)));
        let seconds = u32::try_from(grace.div_ceil(1_000)).unwrap_or(u32::MAX);
        let this = &*self;
        let done = many::by_groups(self.groups(), |group| this.stop_group(group, seconds)).await;
        let mut round = Round::default();
        for ended in done {
            round.failed += ended.failed;
            self.gone.extend(ended.gone);
            for uid in ended.noisy {
                self.quiet.remove(&uid);
            }
            for uid in ended.quiet {
                self.open.remove(&uid);
                *self.quiet.entry(uid).or_default() += 1;
            }
        }
        round.left = self.open.len();
        round
    }

    /// What is open, in groups of one namespace each, because pods are listed by namespace.
    fn groups(&self) -> Vec<Vec<Held>> {
        let mut all: Vec<Held> = self.open.values().cloned().collect();
        all.sort_by(|a, b| (&a.namespace, a.attempt).cmp(&(&b.namespace, b.attempt)));
        let of_one = all.chunk_by(|a, b| a.namespace == b.namespace);
        of_one.flat_map(|held| held.chunks(many::TOGETHER).map(<[Held]>::to_vec)).collect()
    }

    /// The agent is back, and goes on with what was begun.
    pub fn hand_over(&mut self) {
        self.open.clear();
        self.quiet.clear();
        self.gone.clear();
    }

    /// One group, in order. What fails is counted, and the rest goes on.
    async fn stop_group(&self, group: Vec<Held>, seconds: u32) -> Ended {
        let mut ended = Ended::default();
        self.delete_each(&group, Kind::RayJob, &mut ended).await;
        self.delete_each(&group, Kind::BatchJob, &mut ended).await;
        match self.pods(&group, seconds).await {
            Ok(0) => ended.quiet.extend(group.iter().map(|held| held.uid.clone())),
            Ok(_) => ended.noisy.extend(group.iter().map(|held| held.uid.clone())),
            Err(error) => ended.fail(&error),
        }
        self.delete_each(&group, Kind::RayCluster, &mut ended).await;
        if ended.failed > 0 {
            ended.quiet.clear();
        }
        ended
    }

    /// Deletes the object of a kind of every attempt that has one, unless that was done before.
    async fn delete_each(&self, group: &[Held], kind: Kind, ended: &mut Ended) {
        let resource = kind.resource();
        let there = |held: &&Held| {
            let needless = held.part(kind).is_empty() || (kind == Kind::RayJob && held.is_deleting);
            !needless && !self.gone.contains(&(held.uid.clone(), kind))
        };
        let targets: Vec<&Held> = group.iter().filter(there).collect();
        let answers = self
            .lanes
            .all(targets.iter().copied(), |held| {
                self.delete(held, &resource, held.part(kind), held.how(kind))
            })
            .await;
        for (held, answer) in targets.into_iter().zip(answers) {
            match answer {
                Ok(()) => _ = ended.gone.insert((held.uid.clone(), kind)),
                Err(error) => ended.fail(&error),
            }
        }
    }

    /// Deletes the pods of a group, all of one namespace; answers how many there are.
    async fn pods(&self, group: &[Held], seconds: u32) -> anyhow::Result<usize> {
        let Some(first) = group.first() else { return Ok(0) };
        let names = |kind: Kind| {
            let named: Vec<&str> =
                group.iter().map(|held| held.part(kind)).filter(|name| !name.is_empty()).collect();
            named.join(",")
        };
        let (clusters, jobs) = (names(Kind::RayCluster), names(Kind::BatchJob));
        let selectors = [("ray.io/cluster", clusters), ("batch.kubernetes.io/job-name", jobs)].into_iter();
        let selectors = selectors.filter(|(_, names)| !names.is_empty());
        let resource = Kind::Pod.resource();
        let api = self.api(first, &resource);
        let lists = self.lanes.all(selectors, |(label, names)| {
            let api = &api;
            async move { list(api, &format!("{label} in ({names})")).await }
        });
        let mut pods = Vec::new();
        for listed in lists.await {
            pods.extend(listed.context("pods cannot be listed")?);
        }
        let given = |pod: &&DynamicObject| pod.metadata.deletion_grace_period_seconds;
        let stays = |pod: &&DynamicObject| given(pod).is_none_or(|given| given > i64::from(seconds));
        let how = DeleteParams::background().grace_period(seconds);
        let asked = self.lanes.all(pods.iter().filter(stays), |pod| {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            self.delete(first, &resource, name, how.clone())
        });
        asked.await.into_iter().collect::<anyhow::Result<Vec<()>>>()?;
        Ok(pods.len())
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
        how: DeleteParams,
    ) -> anyhow::Result<()> {
        match self.api(held, resource).delete(name, &how).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(cause) => {
                let what = format!("{} {}/{name} cannot be deleted", resource.kind, held.namespace);
                Err(cause).context(what)
            }
        }
    }
}

/// What became of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// Calls that failed.
    pub failed: usize,
    /// Attempts of which something may be left.
    pub left: usize,
}

/// What became of a group.
#[derive(Default)]
struct Ended {
    failed: usize,
    gone: BTreeSet<(String, Kind)>,
    /// Uids of the RayJobs of which no pod is left.
    quiet: Vec<String>,
    /// Uids of the RayJobs in whose group there were pods.
    noisy: Vec<String>,
}

impl Ended {
    fn fail(&mut self, error: &anyhow::Error) {
        self.failed += 1;
        tracing::warn!(error = format!("{error:#}"), "an attempt cannot be stopped yet");
    }
}

impl Held {
    /// Name of its object of a kind; empty if it has none.
    fn part(&self, kind: Kind) -> &str {
        if kind == Kind::RayCluster { &self.ray_cluster } else { &self.name }
    }

    fn how(&self, kind: Kind) -> DeleteParams {
        match kind {
            Kind::RayJob => {
                let uid = Preconditions { uid: Some(self.uid.clone()), resource_version: None };
                DeleteParams::background().preconditions(uid)
            }
            Kind::BatchJob => DeleteParams::orphan(),
            _ => DeleteParams::background(),
        }
    }
}

/// Everything that a selector of labels finds.
async fn list(api: &Api<DynamicObject>, labels: &str) -> kube::Result<Vec<DynamicObject>> {
    let mut page = ListParams::default().labels(labels).limit(PAGE);
    let mut found = Vec::new();
    loop {
        let listed = api.list(&page).await?;
        found.extend(listed.items);
        match listed.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(found),
        }
    }
}

/// A RayJob that carries our marks and has not ended.
fn held(job: &Value, cluster: &str) -> Option<Held> {
    let annotation = |key: &str| job["metadata"]["annotations"][key].as_str().unwrap_or_default();
    let status = |key: &str| job["status"][key].as_str().unwrap_or_default();
    if object::has_ended(job) || annotation(CLUSTER_ANNOTATION) != cluster {
        return None;
    }
    let shared = job["spec"]["clusterSelector"].as_object().is_some_and(|selector| !selector.is_empty());
    Some(Held {
        attempt: object::attempt(job)?,
        policy: annotation(marks::ON_LOST).parse().unwrap_or(Policy::Wait),
        namespace: object::namespace(job).to_owned(),
        name: object::name(job).to_owned(),
        uid: object::uid(job).to_owned(),
        is_deleting: object::is_deleting(job),
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
