//! Preemption on a real database, from the plan to the beneficiary's start.

#![allow(clippy::unwrap_used)]

use squadron_core::{
    attempt::{Event, advance as decide, object_name, reason},
    dispatch::{GangPart, soft::Cap},
    fact::{AttemptFact, AttemptStep, Fact, PodFact, RayJobFact},
    id::{AttemptId, ClusterId, JobId},
    job::JobState,
    quota::{Flavor, Policy, Preemption, Queue, Quota, Reclaim, Resource, Within, diff},
};
use squadron_store::{
    job::{JobRow, NewJob, advance},
    quota,
    testing::fixture,
};
use uuid::Uuid;

use super::{
    tests::{app_with, heard, ready, settle},
    *,
};
use crate::clock;

/// Two teams that are guaranteed two of the four cores of east, and lend what they do not use.
struct Lab {
    app: AppState,
    holder: Uuid,
    east: ClusterId,
}

fn team(name: &str, rules: Preemption) -> Queue {
    let quota = |nominal| Quota { nominal, ..Quota::default() };
    let quotas = [(Resource::Cpu, quota(2_000)), (Resource::Memory, quota(4 << 30))];
    Queue {
        name: name.into(),
        parent: Some("lab".into()),
        weight: 1_000,
        quotas: [("any".to_owned(), quotas.into())].into(),
        preemption: Some(rules),
    }
}

impl Lab {
    async fn new(rules: Preemption) -> Lab {
        let app = app_with(squadron_core::lease::Terms::default()).await;
        let holder = Uuid::now_v7();
        let east = ready(&app, "east").await;
        let root =
            Queue { name: "lab".into(), parent: None, weight: 1_000, quotas: [].into(), preemption: None };
        let target = Policy {
            flavors: vec![Flavor { name: "any".into(), ..Flavor::default() }],
            queues: vec![root, team("lab/a", rules), team("lab/b", rules)],
            ..Policy::default()
        };
        app.store
            .txn("test", &target, |db, target| {
                Box::pin(async move {
                    quota::lock(db).await?;
                    let current = quota::policy(db).await?;
                    let kept = current.queues.iter().filter(|queue| !queue.name.starts_with("lab"));
                    let queues = kept.chain(&target.queues).cloned().collect();
                    let target = Policy { queues, ..target.clone() };
                    quota::apply(db, &target, &diff(&current, &target), clock::now()).await
                })
            })
            .await
            .unwrap();
        let lab = Lab { app, holder, east };
        lab.settle().await;
        lab
    }

    /// Both teams lend; a runs two jobs, one within its guarantee and one on loan, and then the lender b wants its own back.
    async fn lending() -> (Lab, [JobId; 3]) {
        let lab = Lab::new(rules(Within::Never, Reclaim::Any)).await;
        let first = lab.submit("first", "lab/a", 2).await;
        lab.runs(first, "first").await;
        let second = lab.submit("second", "lab/a", 2).await;
        lab.runs(second, "second").await;
        let owner = lab.submit("owner", "lab/b", 2).await;
        (lab, [first, second, owner])
    }

    async fn settle(&self) {
        heard(&self.app.store).await;
        settle(&self.app, self.holder).await;
    }

    async fn submit(&self, name: &str, queue: &str, cores: i64) -> JobId {
        let mut new: NewJob = fixture::new_job(name);
        new.queue = queue.into();
        new.gang[0].requests.cpu_milli = cores * 1_000;
        new.submitted_at = clock::now();
        fixture::insert(&self.app.store, &new).await;
        self.settle().await;
        new.id
    }

    async fn tell(&self, facts: Vec<Fact>) {
        fixture::facts(&self.app.store, self.east, facts).await;
        self.settle().await;
    }

    /// The job's newest attempt runs, since an hour.
    async fn runs(&self, job: JobId, name: &str) {
        let attempt = AttemptId { job, number: self.row(job).await.attempt };
        let status = RayJobFact {
            namespace: "default".into(),
            name: object_name(name, job, attempt.number),
            attempt: Some(attempt),
            deployment_status: "Running".into(),
            job_status: "RUNNING".into(),
            ..RayJobFact::default()
        };
        self.tell(vec![step(attempt, AttemptStep::Created), Fact::RayJob(status)]).await;
        assert_eq!(self.row(job).await.state, JobState::Running);
        let long = "update attempt set running_at = now() - make_interval(hours => $1::integer)
                    where running_at < now() - interval '2 hours'";
        fixture::execute(&self.app.store, long, 1).await;
    }

    async fn gone(&self, job: JobId, number: u32) {
        self.tell(vec![step(AttemptId { job, number }, AttemptStep::Removed)]).await;
    }

    async fn row(&self, job: JobId) -> JobRow {
        self.app.store.job(&job.to_string()).await.unwrap().unwrap()
    }

    async fn state(&self, job: JobId) -> JobState {
        self.row(job).await.state
    }

    /// Outcomes of the job's decisions, the newest first.
    async fn history(&self, job: JobId) -> Vec<(String, String)> {
        let rows = self.app.store.decisions(job, None, 50).await.unwrap();
        rows.into_iter().map(|row| (row.outcome, row.cause)).collect()
    }
}

fn step(attempt: AttemptId, step: AttemptStep) -> Fact {
    Fact::Attempt(AttemptFact { attempt, step, message: String::new() })
}

fn rules(within: Within, reclaim: Reclaim) -> Preemption {
    Preemption { within, reclaim }
}

fn has(history: &[(String, String)], outcome: &str, cause: &str) -> bool {
    history.iter().any(|one| (one.0.as_str(), one.1.as_str()) == (outcome, cause))
}

#[tokio::test]
async fn r12_a_borrower_is_asked_to_stop_and_its_room_starts_the_owner_only_when_it_is_gone() {
    let (lab, [first, second, owner]) = Lab::lending().await;
    let stopping = lab.row(second).await;
    assert_eq!((stopping.state, stopping.reason.as_str()), (JobState::Stopping, reason::PREEMPTED));
    assert!(stopping.sentence.contains("lab/b takes back what it is guaranteed"), "{}", stopping.sentence);
    assert_eq!(lab.state(first).await, JobState::Running, "one is enough");
    let waits = lab.row(owner).await;
    assert_eq!((waits.state, waits.reason.as_str()), (JobState::Queued, "MAKING_ROOM"));
    assert!(waits.sentence.contains("waits for second to stop on east (stop asked"), "{}", waits.sentence);
    let desired = lab.app.store.desired(lab.east).await.unwrap().set;
    assert_eq!(desired.iter().map(|one| one.id.job).collect::<Vec<_>>(), [first]);
    lab.settle().await;
    assert_eq!(lab.state(owner).await, JobState::Queued, "its agent has not said that it is gone");
    let snatcher = lab.submit("snatcher", "lab/a", 1).await;
    lab.gone(second, 1).await;
    assert_eq!(lab.state(owner).await, JobState::Assigned);
    let back = lab.row(second).await;
    assert_eq!((back.state, lab.state(snatcher).await), (JobState::Queued, JobState::Queued));
    assert!(lab.app.store.attempts(second).await.unwrap()[0].state == "preempted");
    assert!(has(&lab.history(second).await, "stopped", "RECLAIM"));
    assert!(has(&lab.history(owner).await, "makes_room", "RECLAIM"));
    lab.gone(first, 1).await;
    lab.settle().await;
    let again = lab.row(second).await;
    assert_eq!((again.state, again.attempt), (JobState::Assigned, 2));
    let desired = lab.app.store.desired(lab.east).await.unwrap().set;
    let told = desired.iter().find(|one| one.id.job == second).unwrap();
    assert!(told.before.starts_with("stopped to make room for job owner"), "{}", told.before);
}

#[tokio::test]
async fn a_stop_is_asked_once_and_a_cancellation_that_comes_meanwhile_wins() {
    let (lab, [first, second, owner]) = Lab::lending().await;
    let version = lab.row(second).await.version;
    lab.settle().await;
    lab.settle().await;
    assert_eq!(lab.row(second).await.version, version, "no second stop");
    let cancelled = lab
        .app
        .store
        .txn("test", &second, |db, job| {
            Box::pin(async move {
                let before = advance::lock(db, *job).await?.unwrap();
                let event = Event::CancelRequested { by: "ann", why: "" };
                advance::save(db, &decide(&before, event, clock::now()).unwrap()).await
            })
        })
        .await;
    cancelled.unwrap();
    lab.gone(second, 1).await;
    assert_eq!((lab.state(second).await, lab.state(owner).await), (JobState::Cancelled, JobState::Assigned));
    assert_eq!(lab.state(first).await, JobState::Running);
}

#[tokio::test]
async fn an_urgent_job_stops_a_less_urgent_one_of_its_queue_and_nothing_stops_by_default() {
    for within in [Within::Never, Within::LowerPriority] {
        let lab = Lab::new(rules(within, Reclaim::Never)).await;
        let plain = lab.submit("plain", "lab/a", 4).await;
        lab.runs(plain, "plain").await;
        let mut urgent = fixture::new_job("urgent");
        urgent.queue = "lab/a".into();
        urgent.gang[0].requests.cpu_milli = 2_000;
        urgent.priority = Some(fixture::priority("high", 10));
        fixture::insert(&lab.app.store, &urgent).await;
        lab.settle().await;
        if within == Within::Never {
            assert_eq!(lab.state(plain).await, JobState::Running);
            continue;
        }
        let stopping = lab.row(plain).await;
        assert!(
            stopping.sentence.contains("more urgent (priority 10, this one has 0)"),
            "{}",
            stopping.sentence
        );
        lab.gone(plain, 1).await;
        assert_eq!(
            (lab.state(urgent.id).await, lab.state(plain).await),
            (JobState::Assigned, JobState::Queued)
        );
    }
}

#[tokio::test]
async fn a_group_beyond_its_minimum_shrinks_for_a_job_that_waits_and_may_grow_again_when_room_is_back() {
    let lab = Lab::new(rules(Within::Never, Reclaim::Never)).await;
    let mut grows = fixture::new_job("grows");
    grows.queue = "lab/a".into();
    let role = "w".to_owned();
    grows.gang.push(GangPart {
        role,
        count: 0,
        most: Some(9),
        requests: fixture::ONE,
        ..GangPart::default()
    });
    fixture::insert(&lab.app.store, &grows).await;
    lab.settle().await;
    lab.runs(grows.id, "grows").await;
    let attempt = AttemptId { job: grows.id, number: 1 };
    let worker = |name: &str, gone: bool| {
        let (role, worker_group) = ("worker".to_owned(), "w".to_owned());
        Fact::Pod(PodFact { role, worker_group, gone, ..fixture::pod(name, Some(attempt)) }.into())
    };
    let head = Fact::Pod(fixture::pod("head", Some(attempt)).into());
    lab.tell(vec![head, worker("w-1", false), worker("w-2", false), worker("w-3", false)]).await;
    let waits = lab.submit("waits", "lab/b", 2).await;
    let row = lab.row(waits).await;
    assert_eq!((row.state, row.reason.as_str()), (JobState::Queued, "MAKING_ROOM"));
    assert!(row.sentence.contains("waits for 2 pods of grows to stop on east"), "{}", row.sentence);
    let caps = async || {
        let desired = lab.app.store.desired(lab.east).await.unwrap().set;
        desired.into_iter().find(|one| one.id == attempt).unwrap().caps
    };
    let leaves = vec!["w-2".to_owned(), "w-3".to_owned()];
    assert_eq!(caps().await, [("w".to_owned(), Cap { most: 1, leaves })].into());
    let held = lab.app.store.attempts(grows.id).await.unwrap();
    assert!(held[0].capped_because.starts_with("worker group w may have 1 pod (at least 0)"), "{held:?}");
    assert!(has(&lab.history(grows.id).await, "shrunk", "SHRINK"));
    assert!(has(&lab.history(waits).await, "makes_room", "SHRINK"));
    let version = lab.row(grows.id).await.version;
    lab.tell(vec![worker("w-3", true)]).await;
    assert_eq!(lab.state(waits).await, JobState::Queued, "one of them is still there");
    assert_eq!(lab.row(grows.id).await.version, version, "it is asked once");
    lab.tell(vec![worker("w-2", true)]).await;
    assert_eq!(lab.state(waits).await, JobState::Assigned);
    lab.gone(waits, 1).await;
    let long = "update attempt set capped_at = capped_at - make_interval(mins => $1::integer)";
    fixture::execute(&lab.app.store, long, 2).await;
    lab.settle().await;
    assert_eq!(
        caps().await,
        [("w".to_owned(), Cap { most: 3, leaves: vec![] })].into(),
        "four cores, and its head"
    );
    assert!(has(&lab.history(grows.id).await, "lifted", ""));
}
