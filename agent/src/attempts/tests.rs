//! What a pass does against an API server that hangs, and under a lease that ends while it acts.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use squadron_core::{job::marks, lease::Tick};
use squadron_proto::link::Lease as Promise;

use super::*;
use crate::{
    controller::Dashboards,
    fencer::server::Server,
    logs::Spooled,
    spool::{Index, Limits, Spool},
    watch::Kind,
};

const CLUSTER: &str = "0196f0a0-0000-7000-8000-0000000000c1";

fn id(number: u32) -> AttemptId {
    AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number }
}

fn object(api: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"namespace": "ml", "name": name,
        "uid": format!("{kind}/{name}"), "resourceVersion": "1",
        "labels": {marks::JOB_ID: id(1).job.to_string(), marks::ATTEMPT: "1"},
        "ownerReferences": [{"uid": "gone", "controller": true}]}, "spec": {}})
}

/// A cluster with a pod that is left of attempt 1, and a RayJob that nobody wants.
struct Stage {
    server: Server,
    attempts: Attempts,
    _folder: tempfile::TempDir,
}

fn stage() -> Stage {
    let (server, folder) = (Server::new(Duration::from_millis(1)), tempfile::tempdir().unwrap());
    let cluster = CLUSTER.parse().unwrap();
    let cache = Arc::new(Cache::of(cluster));
    let pod = object("v1", "Pod", "left");
    server.put(pod.clone());
    server.put(object("ray.io/v1", "RayJob", "unwanted"));
    cache.shelf(Kind::Pod).put(Arc::new(pod));
    let limits = Limits { total: 1 << 20, logs: 1 << 20, segment: 1 << 20 };
    let (spool, _writing) = Spool::start(folder.path(), 7, limits, Index::default());
    let keep = Arc::new(|_| Box::pin(std::future::ready(true)) as _);
    let (dashboards, spooled) = (Dashboards::new(cache.clone()).unwrap(), Spooled::default());
    let logs_folder = folder.path().join("logs");
    let attempts = Attempts {
        writer: Writer::new(server.client(), cache.clone()),
        logs: Logs::new(server.client(), cache.clone(), dashboards, keep, logs_folder, spooled).unwrap(),
        recorder: Recorder::new(spool),
        policy: Policy { cluster, home: "squadron".into(), namespaces: None, watchdog: None },
        store: Store::load(folder.path(), cluster).unwrap(),
        applied: Applied::default(),
        lease: Lease::begin(folder.path(), 7, 0),
        accepts: watch::channel(BTreeSet::new()).0,
        notes: Api::namespaced(server.client(), "squadron"),
        wake: Arc::default(),
        asked: Asked::new(Arc::default()),
        cache,
    };
    Stage { server, attempts, _folder: folder }
}

impl Stage {
    /// The control plane promises a lease of `millis`, which the agent asked for at `asked`.
    fn promised(&self, asked: Tick, millis: u64) {
        let lease = &self.attempts.lease;
        let number = lease.send(asked);
        lease.desired(1, 0, 0);
        lease.promised(&Promise {
            number,
            lease_ms: millis,
            generation: 1,
            timeline: 1,
            renewals: number,
            wants_holdings: false,
        });
    }

    async fn act(&mut self, todo: Todo, fences: &mut Fences) -> Ended {
        let wanted = DesiredAttempt { accepted_by: Some(7), ..DesiredAttempt::bare(id(2)) };
        let desired = Desired::of(1, [(id(2), wanted)]);
        let acted = self.attempts.act_all(todo, "the test says so", Some(&desired), fences);
        timeout(Duration::from_secs(5), acted).await.unwrap()
    }
}

/// Attempt 1 is stopped, a RayJob deleted and attempt 2 created.
fn todo() -> Todo {
    let unwanted = ("ml".to_owned(), "unwanted".to_owned(), "RayJob/unwanted".to_owned());
    let (namespace, name, uid) = unwanted;
    let made = object("ray.io/v1", "RayJob", "made");
    Todo::of(vec![
        plan::Action::Create { attempt: id(2), object: made },
        plan::Action::Delete { attempt: id(3), namespace, name, uid },
        plan::Action::Fence { attempt: id(1) },
    ])
}

fn names(server: &Server) -> Vec<String> {
    let jobs = server.all("rayjobs");
    jobs.iter().map(|job| job["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_hangs_keeps_no_other_attempt() {
    let mut stage = stage();
    stage.promised(clock::tick(), 60_000);
    stage.server.hang_deletions("pods");
    let mut fences = Fences::default();
    assert_eq!(stage.act(todo(), &mut fences).await, Ended::Done);
    assert_eq!(names(&stage.server), ["made"]);
    let again = Todo { fenced: [id(1)].into(), ..Todo::default() };
    assert_eq!(stage.act(again, &mut fences).await, Ended::Done);
    let deadline = Instant::now() + Duration::from_secs(5);
    while stage.server.asked("pods").is_empty() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(stage.server.asked("pods").len(), 1, "a stop that is under way is not begun again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ended_since_the_plan_lets_nothing_begin_and_deletes_go_on() {
    let mut stage = stage();
    // It counts from the question, which was asked when the machine began.
    stage.promised(Tick(0), 1);
    assert_eq!(stage.act(todo(), &mut Fences::default()).await, Ended::Again);
    assert_eq!(names(&stage.server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_of_an_older_set_than_is_held_starts_nothing() {
    let mut stage = stage();
    stage.promised(clock::tick(), 60_000);
    stage.attempts.lease.desired(2, 0, 0);
    assert_eq!(stage.act(todo(), &mut Fences::default()).await, Ended::Again);
    assert_eq!(names(&stage.server), Vec::<String>::new());
}
