//! Jobs driven through all tasks on a real database, by facts as agents commit them.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use squadron_core::{
    attempt::{Event, advance as decide, object_name},
    fact::{
        AttemptFact, AttemptStep, ContainerFact, Fact, InventoryFact, KernelFact, KernelSignal, RayJobFact,
    },
    id::{AttemptId, ClusterId, ControlPlaneId, JobId},
    job::JobState,
};
use squadron_store::{
    Store,
    job::{JobRow, advance},
    testing::{
        self,
        fixture::{self, NOW},
    },
};
use uuid::Uuid;

use super::*;
use crate::{
    clock,
    state::{Settings, Shared},
    wake::Wake,
};

async fn app() -> AppState {
    app_with(squadron_core::lease::Terms::default()).await
}

pub async fn app_with(lease: squadron_core::lease::Terms) -> AppState {
    app_over(testing::store().await, lease)
}

pub fn app_over(store: Store, lease: squadron_core::lease::Terms) -> AppState {
    AppState::new(Shared {
        store,
        wake: Wake::default(),
        identity: ControlPlaneId(Uuid::nil()),
        settings: Settings {
            public_url: "https://localhost:8443".into(),
            agent_address: String::new(),
            ca_bundle: String::new(),
            heartbeat: Duration::from_secs(10),
            lease,
            finished_retention: Duration::ZERO,
            protected_run: Duration::from_secs(600),
        },
    })
}

/// All passes until nothing is left.
pub async fn settle(app: &AppState, holder: Uuid) {
    loop {
        let mut left = vec![project::pass(app, holder).await.unwrap()];
        left.push(correlate::pass(app, holder).await.unwrap());
        left.push(correlate::sweep(app, holder).await.unwrap());
        left.push(dispatch::pass(app, holder).await.unwrap());
        if left.iter().all(|left| *left == Left::Nothing) {
            return;
        }
    }
}

pub async fn heard(store: &Store) {
    let update = "update cluster set last_heard_at = to_timestamp($1::float8 / 1000000)";
    fixture::execute(store, update, clock::now().0).await;
}

pub async fn ready(app: &AppState, name: &str) -> ClusterId {
    let cluster = fixture::cluster(&app.store, name).await;
    heard(&app.store).await;
    fixture::facts(&app.store, cluster, vec![Fact::Node(fixture::node("n1"))]).await;
    cluster
}

async fn row(app: &AppState, job: JobId) -> JobRow {
    app.store.job(&job.to_string()).await.unwrap().unwrap()
}

fn step(attempt: AttemptId, step: AttemptStep) -> Fact {
    Fact::Attempt(AttemptFact { attempt, step, message: String::new() })
}

fn ray_job(attempt: AttemptId, deployment: &str, status: &str) -> Fact {
    Fact::RayJob(RayJobFact {
        namespace: "default".into(),
        name: object_name("train", attempt.job, attempt.number),
        attempt: Some(attempt),
        deployment_status: deployment.into(),
        job_status: status.into(),
        ..RayJobFact::default()
    })
}

fn killed(attempt: AttemptId) -> Fact {
    let end = ContainerFact {
        name: "ray-worker".into(),
        reason: "OOMKilled".into(),
        exit_code: Some(137),
        finished_at: Some(NOW),
        ..ContainerFact::default()
    };
    let pod = squadron_core::fact::PodFact {
        role: "worker".into(),
        containers: vec![end],
        ..fixture::pod("w", Some(attempt))
    };
    Fact::Pod(Box::new(pod))
}

fn kernel_line() -> Fact {
    let signal = KernelSignal::OomKill { pod_uid: "uid-w".into(), process: "ray::eat".into(), pid: 7 };
    Fact::Kernel(KernelFact { node: "n1".into(), line: "Killed process 7".into(), signal })
}

#[tokio::test]
async fn a_job_is_placed_runs_fails_for_memory_and_is_explained() {
    let app = app().await;
    let holder = Uuid::now_v7();
    let east = ready(&app, "east").await;
    settle(&app, holder).await;
    let job = fixture::queued(&app.store, "train").await;
    settle(&app, holder).await;
    assert_eq!(row(&app, job.id).await.state, JobState::Assigned);
    let id = AttemptId { job: job.id, number: 1 };
    let begun = vec![step(id, AttemptStep::Created), ray_job(id, "Running", "RUNNING")];
    fixture::facts(&app.store, east, begun).await;
    settle(&app, holder).await;
    assert_eq!(row(&app, job.id).await.sentence, "running on east");
    fixture::facts(&app.store, east, vec![kernel_line(), killed(id), ray_job(id, "Failed", "FAILED")]).await;
    settle(&app, holder).await;
    let ended = row(&app, job.id).await;
    assert_eq!((ended.state, ended.reason.as_str()), (JobState::Failed, "OOM_KILLED"));
    let incidents = app.store.incidents_of_job(job.id).await.unwrap();
    assert_eq!(incidents.len(), 1);
    assert_eq!((incidents[0].verdict.as_str(), incidents[0].evidence.len()), ("OOM_KILLED", 2));
    // The agent's word on the end is a day old when it arrives.
    let attempt = app.store.attempts(job.id).await.unwrap().remove(0);
    let learnt = attempt.end_learnt_at.unwrap();
    assert!(learnt.millis_since(attempt.ended_at.unwrap()) > 80_000_000, "{attempt:?}");
    assert_eq!(app.store.retention_over(learnt.plus_millis(-1)).await.unwrap(), []);
    release::pass(&app, holder).await.unwrap();
    let held = app.store.desired(east).await.unwrap();
    assert_eq!((held.moment.generation, held.set), (2, vec![]));
}

#[tokio::test]
async fn a_crash_between_passes_repeats_nothing_and_loses_nothing() {
    let app = app().await;
    let holder = Uuid::now_v7();
    let east = ready(&app, "east").await;
    let job = fixture::queued(&app.store, "train").await;
    settle(&app, holder).await;
    let id = AttemptId { job: job.id, number: 1 };
    fixture::facts(&app.store, east, vec![step(id, AttemptStep::Created)]).await;
    // Another process takes over while the first one still has its batch in hand.
    let stale = app.store.next_facts("project", None, 10).await.unwrap();
    fixture::execute(&app.store, "update duty_term set history = $1", 0).await;
    settle(&app, Uuid::now_v7()).await;
    let seen = row(&app, job.id).await;
    assert_eq!(seen.state, JobState::Starting);
    assert_eq!(project::pass(&app, holder).await.unwrap(), Left::NotOurs, "the first lost its duty");
    assert_eq!(stale[0].facts.len(), 1);
    assert_eq!(row(&app, job.id).await.version, seen.version);
    assert!(app.store.next_facts("project", None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_job_too_big_waits_with_its_reason_while_another_runs() {
    let app = app().await;
    let holder = Uuid::now_v7();
    ready(&app, "east").await;
    app.store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
    let mut big = fixture::new_job("big");
    big.gang[0].requests.cpu_milli = 64_000;
    fixture::insert(&app.store, &big).await;
    let small = fixture::queued(&app.store, "small").await;
    settle(&app, holder).await;
    let waits = row(&app, big.id).await;
    assert_eq!((waits.state, waits.reason.as_str()), (JobState::Queued, "TOO_BIG"));
    assert!(waits.sentence.contains("never fits on any cluster"), "{}", waits.sentence);
    assert_eq!(row(&app, small.id).await.state, JobState::Assigned);
    dispatch::pass(&app, holder).await.unwrap();
    assert_eq!(row(&app, big.id).await.version, waits.version, "the same reason is no news");
}

#[tokio::test]
async fn a_job_waits_that_would_make_the_desired_set_longer_than_an_agent_may_hold() {
    let app = app().await;
    let holder = Uuid::now_v7();
    ready(&app, "east").await;
    app.store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
    let first = fixture::queued(&app.store, "first").await;
    settle(&app, holder).await;
    assert_eq!(row(&app, first.id).await.state, JobState::Assigned);
    let long = "update attempt set manifest_bytes = $1";
    fixture::execute(&app.store, long, i64::try_from(squadron_core::desired::LIMIT).unwrap() - 4_096).await;
    let second = fixture::queued(&app.store, "second").await;
    settle(&app, holder).await;
    let waits = row(&app, second.id).await;
    assert_eq!((waits.state, waits.reason.as_str()), (JobState::Queued, "CLUSTER_FULL"));
    assert!(waits.sentence.contains("one agent may hold"), "{}", waits.sentence);
    assert_eq!(dispatch::pass(&app, holder).await.unwrap(), Left::Nothing);
    assert_eq!(row(&app, second.id).await.version, waits.version, "the same reason is no news");
    assert_eq!(row(&app, fixture::queued(&app.store, "small").await.id).await.state, JobState::Queued);
    settle(&app, holder).await;
    assert_eq!(row(&app, second.id).await.state, JobState::Queued);
}

#[tokio::test]
async fn words_of_a_cluster_that_does_not_hold_the_attempt_change_nothing() {
    let app = app().await;
    let holder = Uuid::now_v7();
    let (east, west) = (ready(&app, "east").await, ready(&app, "west").await);
    let job = fixture::queued(&app.store, "train").await;
    settle(&app, holder).await;
    let id = AttemptId { job: job.id, number: 1 };
    let other = if row(&app, job.id).await.cluster.as_deref() == Some("east") { west } else { east };
    fixture::facts(&app.store, other, vec![killed(id), kernel_line(), ray_job(id, "Complete", "SUCCEEDED")])
        .await;
    settle(&app, holder).await;
    assert_eq!(row(&app, job.id).await.state, JobState::Assigned);
    assert_eq!(app.store.pods_of_job(job.id).await.unwrap(), []);
    assert_eq!(app.store.incidents_of_job(job.id).await.unwrap(), []);
}

#[tokio::test]
async fn a_fact_that_cannot_take_effect_is_put_aside_and_the_next_goes_on() {
    let app = app().await;
    let holder = Uuid::now_v7();
    let east = ready(&app, "east").await;
    let (broken, sound) = (fixture::queued(&app.store, "a").await, fixture::queued(&app.store, "b").await);
    settle(&app, holder).await;
    fixture::execute(&app.store, "update job set state = 'riddle' where name = 'a' and $1 = 1", 1).await;
    let of = |job: JobId| step(AttemptId { job, number: 1 }, AttemptStep::Created);
    fixture::facts(&app.store, east, vec![of(broken.id), of(sound.id)]).await;
    settle(&app, holder).await;
    assert_eq!(row(&app, sound.id).await.state, JobState::Starting);
}

#[tokio::test]
async fn a_full_disk_makes_facts_wait_and_drops_none() {
    let app = app().await;
    let holder = Uuid::now_v7();
    let east = fixture::cluster(&app.store, "east").await;
    fixture::facts(&app.store, east, vec![Fact::Node(fixture::node("n1"))]).await;
    fixture::break_writes(&app.store, "node", "true", "53100").await;
    assert!(project::pass(&app, holder).await.is_err());
    fixture::heal(&app.store).await;
    assert_eq!(project::pass(&app, holder).await.unwrap(), Left::More);
    assert_eq!(app.store.capacities().await.unwrap()[&east].nodes, 1);
}

#[tokio::test]
async fn a_lock_wait_drops_no_evidence_and_one_bad_fact_drops_itself_only() {
    let app = app().await;
    let holder = Uuid::now_v7();
    let east = ready(&app, "east").await;
    settle(&app, holder).await;
    let job = fixture::queued(&app.store, "train").await;
    settle(&app, holder).await;
    let id = AttemptId { job: job.id, number: 1 };
    let xid = |node: &str, code| {
        let signal = KernelSignal::Xid { code, pci: "0000:01:00".into(), pods: Vec::new() };
        Fact::Kernel(KernelFact { node: node.into(), line: format!("NVRM: Xid {code}"), signal })
    };
    fixture::facts(&app.store, east, vec![xid("n1", 79), killed(id), kernel_line()]).await;
    project::pass(&app, holder).await.unwrap();
    fixture::break_writes(&app.store, "incident", "true", "55P03").await;
    assert!(correlate::pass(&app, holder).await.is_err(), "it waits");
    fixture::heal(&app.store).await;
    fixture::break_writes(&app.store, "incident", "new.verdict <> 'OOM_KILLED'", "22000").await;
    settle(&app, holder).await;
    let verdicts: Vec<_> = app.store.incidents_of_job(job.id).await.unwrap();
    assert_eq!(verdicts.len(), 1, "the sound facts are judged: {verdicts:?}");
    assert_eq!(verdicts[0].verdict, "OOM_KILLED");
}

#[tokio::test]
async fn a_cluster_that_cannot_be_judged_keeps_no_other_one_waiting() {
    let app = app().await;
    let holder = Uuid::now_v7();
    let (east, west) = (ready(&app, "east").await, ready(&app, "west").await);
    settle(&app, holder).await;
    for cluster in [east, west] {
        let signal = KernelSignal::Xid { code: 79, pci: "0000:01:00".into(), pods: Vec::new() };
        let line = Fact::Kernel(KernelFact { node: "n1".into(), line: "NVRM: Xid 79".into(), signal });
        fixture::facts(&app.store, cluster, vec![line]).await;
    }
    project::pass(&app, holder).await.unwrap();
    fixture::break_writes(&app.store, "incident", &format!("new.cluster_id = '{east}'"), "XX000").await;
    assert!(correlate::pass(&app, holder).await.is_err(), "the trouble is told");
    assert_eq!(app.store.clusters_with_incidents().await.unwrap(), [west]);
    fixture::heal(&app.store).await;
    settle(&app, holder).await;
    assert_eq!(app.store.clusters_with_incidents().await.unwrap().len(), 2);
}

#[tokio::test]
async fn room_comes_back_when_a_list_misses_pods() {
    let app = app().await;
    let holder = Uuid::now_v7();
    let east = ready(&app, "east").await;
    let mut full = fixture::pod("full", None);
    full.requests.cpu_milli = 4_000;
    fixture::facts(&app.store, east, vec![Fact::Pod(Box::new(full))]).await;
    settle(&app, holder).await;
    let job = fixture::queued(&app.store, "train").await;
    settle(&app, holder).await;
    assert_eq!(row(&app, job.id).await.reason, "CLUSTER_FULL");
    let list = InventoryFact { node_uids: vec!["uid-n1".into()], ..InventoryFact::default() };
    fixture::facts(&app.store, east, vec![Fact::Inventory(list)]).await;
    settle(&app, holder).await;
    assert_eq!(row(&app, job.id).await.state, JobState::Assigned);
}

#[tokio::test]
async fn a_stopped_attempt_that_was_never_made_ends_by_the_agent_s_generation() {
    let app = app().await;
    let holder = Uuid::now_v7();
    ready(&app, "east").await;
    let job = fixture::queued(&app.store, "train").await;
    settle(&app, holder).await;
    app.store
        .txn("test", &job.id, |db, job| {
            Box::pin(async move {
                let before = advance::lock(db, *job).await?.unwrap();
                let event = Event::CancelRequested { by: "ann", why: "" };
                advance::save(db, &decide(&before, event, NOW).unwrap()).await
            })
        })
        .await
        .unwrap();
    release::pass(&app, holder).await.unwrap();
    assert_eq!(row(&app, job.id).await.state, JobState::Stopping);
    fixture::execute(&app.store, "update cluster set applied_generation = $1", 2).await;
    release::pass(&app, holder).await.unwrap();
    assert_eq!(row(&app, job.id).await.state, JobState::Cancelled);
}

#[tokio::test]
async fn the_loops_do_all_of_it_by_themselves() {
    let app = app().await;
    ready(&app, "east").await;
    let job = fixture::queued(&app.store, "train").await;
    let tasks = tokio::spawn(run(app.clone(), Uuid::now_v7()));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while row(&app, job.id).await.state != JobState::Assigned {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", row(&app, job.id).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tasks.abort();
}
