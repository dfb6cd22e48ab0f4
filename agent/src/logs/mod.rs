//! Logs: follows the driver's log of every attempt and hands it on in chunks by byte offset.
//!
//! Owns one follower per submitter pod (K8sJobMode) or per RayJob (HTTPMode), and how far each came. Invariant: a byte
//! is counted as taken only after its chunk is durable, so a restart repeats some bytes under the same offset and loses
//! none that Kubernetes or Ray still holds; where they hold no more what was not read, the log says so. A log that ended is settled; one that cannot be read any more as well.

mod answer;
mod http;
mod lines;
mod mark;
mod pod;

pub use mark::Spooled;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use kube::Client;
use serde_json::Value;
use squadron_core::id::AttemptId;
use tokio::task::JoinSet;

use crate::{
    controller::Dashboards,
    watch::{Cache, Kind, object},
};

/// How often the caches are looked through for logs that nobody follows yet.
const LOOK: Duration = Duration::from_millis(500);
/// Name of the container that submits, where the user did not choose another.
const SUBMITTER: &str = "ray-job-submitter";
/// Label of a batch Job's pods.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// A piece of an attempt's driver log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunk {
    pub attempt: AttemptId,
    /// Of the first byte, counted from the start of the attempt's log.
    pub offset: u64,
    pub data: Vec<u8>,
}

/// Takes a chunk and answers true once it is durable.
pub type Keep = Arc<dyn Fn(Chunk) -> BoxFuture<'static, bool> + Send + Sync>;

/// What the followers share.
#[derive(Clone)]
pub struct Logs(Arc<Shared>);

struct Shared {
    client: Client,
    cache: Arc<Cache>,
    dashboards: Dashboards,
    keep: Keep,
    folder: PathBuf,
    spooled: Spooled,
    followed: Mutex<BTreeMap<String, AttemptId>>,
    settled: Mutex<BTreeSet<String>>,
    /// By RayJob in HTTPMode, the submission whose log was read to its end.
    read: Mutex<BTreeMap<String, String>>,
}

impl Logs {
    /// `folder` keeps the marks of how far each log was taken; `spooled` is what recovery found.
    pub fn new(
        client: Client,
        cache: Arc<Cache>,
        dashboards: Dashboards,
        keep: Keep,
        folder: PathBuf,
        spooled: Spooled,
    ) -> std::io::Result<Logs> {
        std::fs::create_dir_all(&folder)?;
        Ok(Logs(Arc::new(Shared {
            client,
            cache,
            dashboards,
            keep,
            folder,
            spooled,
            followed: Mutex::default(),
            settled: Mutex::default(),
            read: Mutex::default(),
        })))
    }

    /// Follows whatever has a log, until dropped.
    pub async fn run(self) {
        let mut followers = JoinSet::new();
        let mut tick = tokio::time::interval(LOOK);
        loop {
            tick.tick().await;
            while followers.try_join_next().is_some() {}
            for source in self.sources() {
                let uid = source.uid.clone();
                if lock(&self.0.followed).insert(uid.clone(), source.attempt).is_some() {
                    continue;
                }
                let logs = self.clone();
                followers.spawn(async move {
                    logs.follow(source).await;
                    lock(&logs.0.settled).insert(uid);
                });
            }
            self.forget();
        }
    }

    /// Attempts of whose logs something is still to come.
    pub fn unsettled(&self) -> BTreeSet<AttemptId> {
        let settled = lock(&self.0.settled);
        let followed = lock(&self.0.followed);
        followed.iter().filter(|(uid, _)| !settled.contains(*uid)).map(|(_, of)| *of).collect()
    }

    /// Whether the log of this RayJob's driver is read from its head, and not yet to its end.
    pub fn is_open(&self, job: &Value) -> bool {
        let Some(source) = self.0.cache.attempt(job).and_then(|attempt| http_job(job, attempt)) else {
            return false;
        };
        let submission = http::submission(job);
        let settled = lock(&self.0.settled).contains(&source.uid);
        !submission.is_empty() && !settled && !self.0.is_read(&source.uid, submission)
    }

    async fn follow(&self, source: Source) {
        match source.kind {
            SourceKind::Pod => pod::follow(&self.0, &source).await,
            SourceKind::RayJob => http::follow(&self.0, &source).await,
        }
    }

    fn sources(&self) -> Vec<Source> {
        let cache = &self.0.cache;
        let pods = cache.all(Kind::Pod);
        let jobs = cache.all(Kind::RayJob);
        let pods = pods.iter().filter_map(|pod| submitter(pod, cache.attempt(pod)?));
        let jobs = jobs.iter().filter_map(|job| http_job(job, cache.attempt(job)?));
        pods.chain(jobs).collect()
    }

    /// Drops what is known of objects that no longer exist and are settled.
    fn forget(&self) {
        let mut settled = lock(&self.0.settled);
        let gone: Vec<String> =
            settled.iter().filter(|uid| self.0.cache.by_uid(uid).is_none()).cloned().collect();
        for uid in gone {
            settled.remove(&uid);
            lock(&self.0.followed).remove(&uid);
            lock(&self.0.read).remove(&uid);
        }
    }
}

impl Shared {
    async fn keep(&self, chunk: Chunk) -> bool {
        (self.keep)(chunk).await
    }

    /// Whether the log of a RayJob's submission was read to its end.
    fn is_read(&self, uid: &str, submission: &str) -> bool {
        lock(&self.read).get(uid).is_some_and(|read| read == submission)
    }

    fn note_read(&self, uid: &str, submission: &str) {
        lock(&self.read).insert(uid.to_owned(), submission.to_owned());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An object that has a driver's log.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Source {
    kind: SourceKind,
    attempt: AttemptId,
    namespace: String,
    name: String,
    uid: String,
    /// Container of a pod.
    container: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SourceKind {
    Pod,
    RayJob,
}

/// A pod of the submitter's batch Job, or a head pod with the submitter beside Ray (SidecarMode).
fn submitter(pod: &Value, attempt: AttemptId) -> Option<Source> {
    let containers = pod["spec"]["containers"].as_array()?;
    let name = |container: &Value| container["name"].as_str().map(str::to_owned);
    let named = containers.iter().filter_map(name).find(|name| name == SUBMITTER);
    let of_batch_job = !object::label(pod, JOB_NAME).is_empty();
    let container = if of_batch_job { named.or_else(|| containers.first().and_then(name)) } else { named };
    Some(source(SourceKind::Pod, pod, attempt, &container?))
}

fn http_job(job: &Value, attempt: AttemptId) -> Option<Source> {
    let submits_itself = job["spec"]["submissionMode"] == "HTTPMode";
    submits_itself.then(|| source(SourceKind::RayJob, job, attempt, ""))
}

fn source(kind: SourceKind, object: &Value, attempt: AttemptId, container: &str) -> Source {
    Source {
        kind,
        attempt,
        namespace: object::namespace(object).to_owned(),
        name: object::name(object).to_owned(),
        uid: object::uid(object).to_owned(),
        container: container.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn attempt() -> AttemptId {
        AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 2 }
    }

    #[test]
    fn a_submitter_is_a_pod_of_a_batch_job_or_a_container_of_the_head() {
        let mut pod = json!({
            "metadata": {"name": "train-x", "namespace": "ml", "uid": "u", "labels": {JOB_NAME: "train"}},
            "spec": {"containers": [{"name": "ray-job-submitter"}]},
        });
        let found = submitter(&pod, attempt()).unwrap();
        assert_eq!((found.container.as_str(), found.attempt.number), ("ray-job-submitter", 2));
        pod["spec"]["containers"] = json!([{"name": "mine"}]);
        assert_eq!(submitter(&pod, attempt()).unwrap().container, "mine");
        pod["metadata"]["labels"][JOB_NAME] = json!("");
        assert_eq!(submitter(&pod, attempt()), None);
        pod["spec"]["containers"] = json!([{"name": "ray-head"}, {"name": "ray-job-submitter"}]);
        assert_eq!(submitter(&pod, attempt()).unwrap().container, "ray-job-submitter");
    }

    #[test]
    fn only_http_mode_asks_the_dashboard() {
        let mut job = json!({"metadata": {"uid": "u"}, "spec": {"submissionMode": "HTTPMode"}});
        assert_eq!(http_job(&job, attempt()).unwrap().kind, SourceKind::RayJob);
        job["spec"]["submissionMode"] = json!("K8sJobMode");
        assert_eq!(http_job(&job, attempt()), None);
    }
}
