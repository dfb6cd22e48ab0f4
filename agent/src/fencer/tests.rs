//! A thousand attempts in one cluster, a slow API server, and a mark that moves at the last moment.

#![allow(clippy::unwrap_used)]
use std::{collections::BTreeMap, sync::OnceLock};

use serde_json::{Value, json};
use squadron_core::job::marks;

use super::{
    server::{Asked, Server},
    *,
};
use crate::{
    attempts::fence,
    controller::Writer,
    plan::CLUSTER_ANNOTATION,
    watch::{Cache, Kind},
};

const CLUSTER: &str = "0196f0a0-0000-7000-8000-0000000000c1";
const SLOW: Duration = Duration::from_millis(50);
const MANY: u32 = 1_000;
const PODS: usize = 3;

static BEGAN: OnceLock<std::time::Instant> = OnceLock::new();

/// Tokio's clock, which tests move.
fn tick() -> Tick {
    let now = tokio::time::Instant::now().into_std();
    let since = now.saturating_duration_since(*BEGAN.get_or_init(std::time::Instant::now));
    Tick(1_000_000 + u64::try_from(since.as_millis()).unwrap())
}

fn id(number: u32) -> AttemptId {
    AttemptId { job: format!("0196f0a0-0000-7000-8000-{number:012}").parse().unwrap(), number: 1 }
}

/// The objects of an attempt: RayJob, RayCluster, submitter and three pods.
fn objects(number: u32, policy: &str) -> Vec<Value> {
    let (job, namespace) = (id(number).job.to_string(), ["ml", "vision"][number as usize % 2]);
    let name = squadron_core::attempt::object_name("t", id(number).job, 1);
    let make = |api: &str, kind: &str, name: String, owner: Option<String>, more: [(&str, &str); 2]| {
        let mut object = json!({"apiVersion": api, "kind": kind,
            "metadata": {"namespace": namespace, "uid": format!("{kind}/{name}"), "name": name,
                "labels": {marks::JOB_ID: job, marks::ATTEMPT: "1",
                    "app.kubernetes.io/created-by": "kuberay-operator"},
                "annotations": {CLUSTER_ANNOTATION: CLUSTER, marks::ON_LOST: policy}},
            "spec": {}});
        for (key, value) in more.into_iter().filter(|(key, _)| !key.is_empty()) {
            object["metadata"]["labels"][key] = value.into();
        }
        if let Some(owner) = owner {
            object["metadata"]["ownerReferences"] = json!([{"uid": owner, "controller": true}]);
        }
        object
    };
    let none = ("", "");
    let mut ray_job = make("ray.io/v1", "RayJob", name.clone(), None, [none; 2]);
    ray_job["metadata"]["finalizers"] = json!(["ray.io/rayjob-finalizer"]);
    let ray_cluster = format!("{name}-x");
    ray_job["status"] = json!({"jobDeploymentStatus": "Running", "rayClusterName": ray_cluster});
    let of_job = Some(format!("RayJob/{name}"));
    let of_cluster = Some(format!("RayCluster/{ray_cluster}"));
    let ray = [("ray.io/cluster", ray_cluster.as_str()), none];
    let submits = [("batch.kubernetes.io/job-name", name.as_str()), none];
    vec![
        make("ray.io/v1", "RayCluster", ray_cluster.clone(), of_job.clone(), [none; 2]),
        make("batch/v1", "Job", name.clone(), of_job, [none; 2]),
        make("v1", "Pod", format!("{name}-head"), of_cluster.clone(), ray),
        make("v1", "Pod", format!("{name}-worker"), of_cluster, ray),
        make("v1", "Pod", format!("{name}-submitter"), Some(format!("Job/{name}")), submits),
        ray_job,
    ]
}

fn crowd(server: &Server, policy: &str) {
    (0..MANY).flat_map(|number| objects(number, policy)).for_each(|object| server.put(object));
}

fn post(server: &Server) -> Post {
    let args = FencerArgs {
        cluster_id: CLUSTER.parse().unwrap(),
        namespaces: Vec::new(),
        pod_uid: "u".into(),
        pod_namespace: "squadron".into(),
    };
    let mut post = Post::new(server.client(), args, tick);
    post.boot = "b".into();
    post
}

/// The agent's Lease, which repeats the fencer's mark.
fn agent_lease(mark: &str, left: u64) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": "squadron",
        "name": epoch::NAME, "annotations": {mark::ECHO: mark, mark::LEFT: left.to_string(),
        mark::LENGTH: "20000"}}, "spec": {}})
}

/// Milliseconds until the last pod was asked to go, all with the fence's grace, and each after its RayJob.
fn last_pod(server: &Server, since: Duration) -> u128 {
    let (jobs, pods) = (server.asked("rayjobs"), server.asked("pods"));
    assert_eq!((jobs.len(), pods.len()), (MANY as usize, PODS * MANY as usize), "each once");
    assert!(pods.iter().all(|pod| pod.grace == Some(10)), "with the grace of the fence");
    let jobs: BTreeMap<&str, &Asked> = jobs.iter().map(|job| (job.name.as_str(), job)).collect();
    for pod in &pods {
        let job = jobs[pod.name.rsplit_once('-').unwrap().0];
        assert!(job.at < pod.at, "{}", pod.name);
        assert!(
            (pod.at - job.at) <= Duration::from_millis(500),
            "{}: a living operator acts meanwhile",
            pod.name
        );
    }
    pods.iter().map(|pod| (pod.at - since).as_millis()).max().unwrap()
}

/// What the control plane allows for between the end of a lease and the last request to stop.
fn poll() -> u128 {
    u128::from(Terms::default().for_crowd(u64::from(MANY)).poll)
}

#[tokio::test(start_paused = true)]
async fn the_fencer_stops_a_thousand_attempts_within_the_guard() {
    let server = Server::new(SLOW);
    crowd(&server, "fence");
    let mut post = post(&server);
    post.look().await.map(drop).unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    let since = server.now();
    let Seen::Over(over) = post.look().await.unwrap() else { panic!("the end is over") };
    post.stop(*over).await;
    let took = last_pod(&server, since);
    eprintln!("the last of {} pods was asked to go after {took} ms", PODS * MANY as usize);
    assert!(took <= poll(), "the last request came after {took} ms, and the guard has {} ms for it", poll());
    let note = mark::read(&post.leases).await.unwrap().unwrap().stopped;
    assert_eq!(note.attempts().len(), MANY as usize);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(server.count("pods"), 0);
    // Two rounds look for pods that came late; then it is only watched whether the agent is back.
    assert!(calls_of(&mut post, &server, 3).await < 300);
    assert!(calls_of(&mut post, &server, 3).await < 30);
}

/// Calls of so many looks, with what they stop.
async fn calls_of(post: &mut Post, server: &Server, looks: u32) -> usize {
    let before = server.calls();
    for _ in 0..looks {
        if let Seen::Over(over) = post.look().await.unwrap() {
            post.stop(*over).await;
        }
    }
    server.calls() - before
}

#[tokio::test(start_paused = true)]
async fn the_agent_stops_a_thousand_attempts_within_the_guard() {
    let server = Server::new(SLOW);
    crowd(&server, "fence");
    let cache = std::sync::Arc::new(Cache::of(CLUSTER.parse().unwrap()));
    for kind in [Kind::RayJob, Kind::RayCluster, Kind::BatchJob, Kind::Pod] {
        let resource = format!("{}s", kind.resource().kind.to_lowercase());
        for object in server.all(&resource) {
            cache.shelf(kind).put(std::sync::Arc::new(object));
        }
    }
    let writer = Writer::new(server.client(), cache.clone());
    let attempts = (0..MANY).map(id).collect();
    let since = server.now();
    let failed = fence::fence(&writer, &cache, &attempts, Terms::default().grace).await;
    assert_eq!(failed, 0);
    let took = last_pod(&server, since);
    eprintln!("the last of {} pods was asked to go after {took} ms", PODS * MANY as usize);
    assert!(took <= poll(), "the last request came after {took} ms, and the guard has {} ms for it", poll());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_is_made_again_though_the_ray_job_is_gone() {
    let server = Server::new(SLOW);
    for mut object in objects(1, "fence") {
        object["metadata"]["finalizers"] = json!([]);
        server.put(object);
    }
    server.break_deletions("pods", 500, 3);
    let mut post = post(&server);
    let held = post.reach.held().await.unwrap();
    let first = post.reach.stop(held, 10_000).await;
    assert_eq!((first.failed > 0, first.left, server.count("rayjobs")), (true, 1, 0));
    let held = post.reach.held().await.unwrap();
    assert!(held.is_empty());
    let second = post.reach.stop(held, 10_000).await;
    assert_eq!(second.failed, 0);
    assert!(server.all("pods").iter().all(|pod| pod["metadata"]["deletionTimestamp"].is_string()));
}

#[tokio::test(start_paused = true)]
async fn a_mark_that_moves_while_the_fencer_looks_stops_nothing() {
    let server = Server::new(SLOW);
    objects(1, "fence").into_iter().for_each(|object| server.put(object));
    let mut post = post(&server);
    post.look().await.map(drop).unwrap();
    let first = mark::read(&post.leases).await.unwrap().unwrap().mark;
    server.put(agent_lease(&first, 15_000));
    post.look().await.map(drop).unwrap();
    // The lease as the fencer counts it runs out, while the agent writes.
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(6)).await;
        let newest = mark::read(&post.leases).await.unwrap().unwrap().mark;
        server.on_list(move |put| put(agent_lease(&newest, 15_000)));
        assert!(matches!(post.look().await.unwrap(), Seen::Calm(_)));
    }
    tokio::time::sleep(Duration::from_secs(9)).await;
    post.look().await.map(drop).unwrap();
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert!(matches!(post.look().await.unwrap(), Seen::Over(_)), "an agent that is silent is not waited for");
}

#[tokio::test(start_paused = true)]
async fn patience_after_an_outage_does_not_give_up_what_was_begun() {
    let server = Server::new(SLOW);
    // Nothing but the fencer deletes the pods.
    for mut object in objects(1, "fence").into_iter().filter(|object| object["kind"] != "RayCluster") {
        object["metadata"]["finalizers"] = json!([]);
        server.put(object);
    }
    server.break_deletions("pods", 500, 3);
    let mut post = post(&server);
    post.look().await.map(drop).unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    let Seen::Over(over) = post.look().await.unwrap() else { panic!("the end is over") };
    post.stop(*over).await;
    assert_eq!(
        (server.count("rayjobs"), server.count("pods")),
        (0, PODS),
        "the RayJob is gone, its pods are not"
    );
    tokio::time::advance(Duration::from_secs(400)).await;
    assert!(matches!(post.look().await.unwrap(), Seen::Calm(_)), "it is patient after an outage");
    for _ in 0..40 {
        match post.look().await.unwrap() {
            Seen::Calm(pause) => tokio::time::sleep(pause).await,
            Seen::Over(over) => tokio::time::sleep(post.stop(*over).await).await,
        }
    }
    assert_eq!(server.count("pods"), 0, "nobody else goes on with them");
}

#[tokio::test(start_paused = true)]
async fn rounds_without_a_pod_count_on_end_only() {
    let server = Server::new(SLOW);
    let (pods, rest): (Vec<_>, Vec<_>) =
        objects(1, "fence").into_iter().partition(|object| object["kind"] == "Pod");
    rest.into_iter().for_each(|object| server.put(object));
    let mut post = post(&server);
    for pod in [None, Some(pods[0].clone()), None] {
        pod.into_iter().for_each(|pod| server.put(pod));
        let held = post.reach.held().await.unwrap();
        post.reach.stop(held, 10_000).await;
        tokio::time::sleep(Duration::from_secs(11)).await;
    }
    let held = post.reach.held().await.unwrap();
    assert_eq!(post.reach.stop(held, 10_000).await.left, 0);
    // The pod came between the quiet rounds, so the second of them was the first on end when it ended.
    server.put(pods[1].clone());
    let held = post.reach.held().await.unwrap();
    post.reach.stop(held, 10_000).await;
    assert_eq!(server.asked("pods").len(), 1, "after two on end nothing is looked for any more");
}
