//! A job's life told in events, and properties over random lives.

#![allow(clippy::unwrap_used, clippy::large_enum_variant)]

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    fact::{AttemptFact, AttemptStep, ContainerFact, RayClusterFact, RayJobFact},
    lease::{Live, Policy, Silence, Terms, Word, judge},
};

const EAST: &str = "01938f2e-0000-7000-8000-00000000ea57";
const WEST: &str = "01938f2e-0000-7000-8000-000000003e57";

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_796_000_000_000 + second * 1_000)
}

pub(super) fn job() -> Job {
    Job {
        id: "01938f2e-7a3c-7d31-9d4e-00c0ffee1234".parse().unwrap(),
        name: "train".into(),
        namespace: "default".into(),
        state: JobState::Queued,
        reason: String::new(),
        sentence: "queued".into(),
        started_at: None,
        ended_at: None,
        cancel_requested_at: None,
        cancelled_by: String::new(),
        cancel_reason: String::new(),
        attempt: None,
    }
}

fn id(number: u32) -> AttemptId {
    AttemptId { job: job().id, number }
}

/// An event that can be kept and replayed.
#[derive(Clone, Debug)]
pub(super) enum Told {
    Assigned,
    Cancel,
    NeverCreated,
    RetentionOver,
    Fact {
        cluster: &'static str,
        fact: Fact,
        pods: Vec<PodFact>,
    },
    Silent(u64),
    Heard,
    /// An operator vouches for attempt 1.
    Vouched,
    /// The number, and whether something of it exists.
    Adopted(u32, bool),
    Preempted,
}

fn tell(job: &Job, told: &Told, now: Timestamp) -> Result<Step, Refused> {
    let east: ClusterId = EAST.parse().unwrap();
    let event = match told {
        Told::Assigned => Event::Assigned { cluster: east, cluster_name: "east", because: "it has room" },
        Told::Cancel => Event::CancelRequested { by: "ann", why: "wrong data" },
        Told::NeverCreated => Event::NeverCreated,
        Told::RetentionOver => Event::RetentionOver,
        Told::Fact { cluster, fact, pods } => Event::Fact { from: cluster.parse().unwrap(), fact, pods },
        Told::Silent(millis) => {
            let silence = Silence { counted: *millis, elapsed: *millis, ttl: 60_000 };
            let live = Live { id: id(1), cluster: east, policy: Policy::Fence, accepted: true };
            return match judge(&live, silence, None, &Terms { ttl: 60_000, ..Terms::default() }) {
                Verdict::Gone(proof) => advance(job, Event::NothingRuns { proof: &proof }, now),
                verdict => advance(job, Event::Silent { verdict: &verdict }, now),
            };
        }
        Told::Heard => Event::Heard,
        Told::Preempted => Event::Preempted { because: "stopped for another" },
        Told::Vouched => {
            let word = Word::new("ann", "it burnt").unwrap();
            let proof = Proof::operators_word(id(1), &word);
            return advance(job, Event::NothingRuns { proof: &proof }, now);
        }
        Told::Adopted(number, exists) => {
            Event::Adopted { cluster: east, cluster_name: "east", number: *number, exists: *exists }
        }
    };
    advance(job, event, now)
}

pub(super) fn live(mut job: Job, tellings: &[Told]) -> Job {
    for (second, told) in (1..).zip(tellings) {
        if let Ok(step) = tell(&job, told, at(second)) {
            job = step.job;
        }
    }
    job
}

fn east(fact: Fact) -> Told {
    Told::Fact { cluster: EAST, fact, pods: Vec::new() }
}

pub(super) fn step_of(step: AttemptStep) -> Told {
    step_numbered(1, step)
}

pub(super) fn step_numbered(number: u32, step: AttemptStep) -> Told {
    east(Fact::Attempt(AttemptFact { attempt: id(number), step, message: "namespace not allowed".into() }))
}

pub(super) fn ray_job(deployment: &str, status: &str) -> Told {
    ray_job_with(deployment, status, Vec::new())
}

fn ray_job_with(deployment: &str, status: &str, pods: Vec<PodFact>) -> Told {
    let fact = RayJobFact {
        namespace: "default".into(),
        name: object_name("train", job().id, 1),
        attempt: Some(id(1)),
        deployment_status: deployment.into(),
        job_status: status.into(),
        reason: if deployment == "Failed" { "AppFailed".into() } else { String::new() },
        started_at: Some(at(0)),
        ..RayJobFact::default()
    };
    Told::Fact { cluster: EAST, fact: Fact::RayJob(fact), pods }
}

fn ray_cluster_gone() -> Told {
    east(Fact::RayCluster(RayClusterFact {
        attempt: Some(id(1)),
        name: "train-x".into(),
        gone: true,
        ..RayClusterFact::default()
    }))
}

fn pod(pods: Vec<PodFact>) -> Told {
    let fact = Fact::Pod(Box::new(PodFact { attempt: Some(id(1)), ..PodFact::default() }));
    Told::Fact { cluster: EAST, fact, pods }
}

fn oom_worker() -> PodFact {
    PodFact {
        name: "w-0".into(),
        role: "worker".into(),
        containers: vec![ContainerFact { reason: "OOMKilled".into(), ..ContainerFact::default() }],
        ..PodFact::default()
    }
}

#[test]
fn a_plain_life_ends_in_success_and_is_let_go_after_its_retention() {
    let begun = live(job(), &[Told::Assigned, step_of(AttemptStep::Created), ray_job("Running", "RUNNING")]);
    assert_eq!((begun.state, begun.sentence.as_str()), (JobState::Running, "running on east"));
    let ended = live(begun, &[ray_job("Complete", "SUCCEEDED")]);
    assert_eq!(ended.state, JobState::Succeeded);
    assert!(ended.sentence.starts_with("succeeded on east after"), "{}", ended.sentence);
    let let_go = tell(&ended, &Told::RetentionOver, at(900)).unwrap();
    assert_eq!(let_go.desired_changed, Some(EAST.parse().unwrap()));
    assert_eq!(let_go.job.ended_at, ended.ended_at);
}

#[test]
fn a_cancelled_job_waits_for_the_agent_s_word() {
    let begun = live(job(), &[Told::Assigned, step_of(AttemptStep::Created), Told::Cancel]);
    assert_eq!(begun.state, JobState::Stopping);
    assert!(tell(&begun, &Told::NeverCreated, at(9)).is_err());
    let gone = live(begun, &[ray_job("Complete", "STOPPED"), step_of(AttemptStep::Removed)]);
    assert_eq!(
        (gone.state, gone.sentence.as_str()),
        (JobState::Cancelled, "cancelled by ann (wrong data) and gone from east")
    );
}

#[test]
fn an_attempt_cancelled_before_the_agent_made_it_ends_without_a_removal() {
    let ended = live(job(), &[Told::Assigned, Told::Cancel, Told::NeverCreated]);
    assert_eq!(ended.state, JobState::Cancelled);
    assert!(ended.attempt.unwrap().removed_at.is_some());
}

#[test]
fn a_job_cancelled_in_the_queue_ends_at_once() {
    let ended = live(job(), &[Told::Cancel, Told::Assigned]);
    assert_eq!((ended.state, ended.attempt), (JobState::Cancelled, None));
}

fn ray_job_gone() -> Told {
    let Told::Fact { fact: Fact::RayJob(seen), .. } = ray_job("Running", "RUNNING") else { unreachable!() };
    east(Fact::RayJob(RayJobFact { gone: true, ..seen }))
}

#[test]
fn a_ray_job_deleted_by_a_person_fails_the_job_with_a_next_step() {
    for before in [vec![], vec![ray_job_gone()]] {
        let told = [vec![Told::Assigned, ray_job("Running", "RUNNING")], before].concat();
        let ended = live(live(job(), &told), &[step_of(AttemptStep::Removed)]);
        assert_eq!((ended.state, ended.reason.as_str()), (JobState::Failed, "REMOVED"));
        assert_eq!(
            ended.sentence,
            "failed: RayJob default/train-ffee1234-1 was deleted in east by someone else while the job was running; \
             submit it again"
        );
        assert!(!ended.attempt.unwrap().desired);
    }
}

#[test]
fn a_deleted_ray_cluster_is_named_and_remembered_as_the_cause() {
    let running = live(job(), &[Told::Assigned, ray_job("Running", "RUNNING"), ray_cluster_gone()]);
    assert_eq!((running.state, running.reason.as_str()), (JobState::Running, "CLUSTER_DELETED"));
    let told_more = live(running, &[pod(vec![]), ray_job("Running", "RUNNING")]);
    assert!(told_more.sentence.contains("RayCluster train-x was deleted"), "{}", told_more.sentence);
    let failed = live(told_more, &[ray_job("Failed", "FAILED")]);
    assert_eq!((failed.state, failed.reason.as_str()), (JobState::Failed, "CLUSTER_DELETED"));
    assert!(failed.sentence.contains("its RayCluster was deleted while it ran, then the driver failed"));
}

#[test]
fn a_retry_that_runs_again_says_so_no_longer() {
    let retrying =
        live(job(), &[Told::Assigned, ray_job("Running", "RUNNING"), ray_job("Retrying", "FAILED")]);
    assert_eq!((retrying.state, retrying.reason.as_str()), (JobState::Starting, "RETRYING"));
    let gone = live(retrying, &[ray_cluster_gone(), ray_job("Running", "RUNNING")]);
    assert_eq!(
        (gone.state, gone.reason.as_str(), gone.sentence.as_str()),
        (JobState::Running, "", "running on east")
    );
}

#[test]
fn memory_is_named_as_the_cause_of_a_failure_that_followed_it() {
    let ended = live(job(), &[Told::Assigned, ray_job_with("Failed", "FAILED", vec![oom_worker()])]);
    assert_eq!(ended.reason, "OOM_KILLED");
    assert!(ended.sentence.contains("worker pod w-0 was killed for memory"), "{}", ended.sentence);
}

#[test]
fn a_refusal_by_the_cluster_says_why() {
    let ended = live(job(), &[Told::Assigned, step_of(AttemptStep::Refused)]);
    assert_eq!((ended.state, ended.reason.as_str()), (JobState::Failed, "REFUSED"));
    assert!(ended.sentence.contains("namespace not allowed"), "{}", ended.sentence);
}

#[test]
fn a_word_from_another_cluster_or_attempt_is_refused() {
    let begun = live(job(), &[Told::Assigned]);
    let Told::Fact { fact, .. } = ray_job("Complete", "SUCCEEDED") else { unreachable!() };
    let foreign = Told::Fact { cluster: WEST, fact: fact.clone(), pods: vec![] };
    assert_eq!(tell(&begun, &foreign, at(5)), Err(Refused::OtherCluster));
    let Fact::RayJob(mut older) = fact else { unreachable!() };
    older.attempt = Some(id(7));
    assert_eq!(tell(&begun, &east(Fact::RayJob(older)), at(5)), Err(Refused::OtherAttempt(id(7))));
}

#[test]
fn a_lost_cluster_sends_a_fenced_job_back_to_the_queue_with_the_reason() {
    let running = live(job(), &[Told::Assigned, ray_job("Running", "RUNNING")]);
    let silent = live(running, &[Told::Silent(45_000)]);
    assert_eq!((silent.state, silent.reason.as_str()), (JobState::Running, "CLUSTER_SILENT"));
    let parts =
        ["running on east, silent since ", "policy fence: it runs on there", "it starts elsewhere at "];
    assert!(parts.iter().all(|part| silent.sentence.contains(part)), "{}", silent.sentence);
    let back = live(silent.clone(), &[Told::Heard]);
    assert_eq!((back.reason.as_str(), back.sentence.as_str()), ("", "running on east"));
    let step = tell(&silent, &Told::Silent(80_000), at(99)).unwrap();
    assert_eq!(step.desired_changed, Some(EAST.parse().unwrap()));
    assert_eq!((step.job.state, step.job.reason.as_str()), (JobState::Queued, "LEASE_ENDED"));
    assert!(
        step.job
            .sentence
            .starts_with("queued again after attempt 1: east was silent for 80 s; its lease of 60 s"),
        "{}",
        step.job.sentence
    );
    let late = live(
        step.job,
        &[ray_job("Complete", "SUCCEEDED"), ray_cluster_gone(), step_of(AttemptStep::Removed)],
    );
    assert_eq!(late.state, JobState::Queued, "what the first copy says now changes nothing");
    let again = live(late, &[Told::Assigned]);
    assert_eq!(again.attempt.unwrap().object_name, "train-ffee1234-2");
}

#[test]
fn r12_a_cancelled_job_on_a_lost_cluster_is_over_only_when_nothing_can_run() {
    let stopping = live(job(), &[Told::Assigned, step_of(AttemptStep::Created), Told::Cancel]);
    let waits = live(stopping, &[Told::Silent(72_000)]);
    assert_eq!(waits.state, JobState::Stopping);
    assert_eq!(live(waits, &[Told::Silent(72_600)]).state, JobState::Cancelled);
}

#[test]
fn an_attempt_that_the_agent_fenced_is_lost_and_its_job_goes_on() {
    let running = live(job(), &[Told::Assigned, ray_job("Running", "RUNNING")]);
    let fenced = live(running, &[ray_job_gone(), step_of(AttemptStep::Fenced)]);
    assert_eq!((fenced.state, fenced.reason.as_str()), (JobState::Queued, "LEASE_ENDED"));
    let attempt = fenced.attempt.unwrap();
    assert_eq!((attempt.state, attempt.desired), (AttemptState::Lost, false));
    assert!(attempt.removed_at.is_some());
}

fn any_pods() -> impl Strategy<Value = Vec<PodFact>> {
    let healthy = PodFact { name: "h".into(), role: "head".into(), ready: true, ..PodFact::default() };
    prop_oneof![Just(vec![]), Just(vec![healthy]), Just(vec![oom_worker()])]
}

fn any_ray_job() -> impl Strategy<Value = Told> {
    let words =
        ["", "Initializing", "Running", "Complete", "Failed", "ValidationFailed", "Retrying", "Suspended"];
    let statuses = ["", "PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"];
    (prop::sample::select(words.to_vec()), prop::sample::select(statuses.to_vec()), any_pods())
        .prop_map(|(deployment, status, pods)| ray_job_with(deployment, status, pods))
}

fn any_telling() -> impl Strategy<Value = Told> {
    prop_oneof![
        2 => Just(Told::Assigned),
        1 => Just(Told::Cancel),
        1 => prop::sample::select(vec![Told::NeverCreated, Told::RetentionOver]),
        1 => Just(Told::Preempted),
        2 => Just(step_of(AttemptStep::Created)),
        1 => Just(step_of(AttemptStep::Removed)),
        1 => Just(step_of(AttemptStep::Refused)),
        1 => Just(step_of(AttemptStep::Fenced)),
        1 => prop::sample::select(vec![10_000_u64, 45_000, 65_000, 90_000]).prop_map(Told::Silent),
        1 => Just(Told::Heard),
        1 => Just(Told::Vouched),
        1 => (1_u32..4, any::<bool>()).prop_map(|(number, exists)| Told::Adopted(number, exists)),
        1 => Just(ray_cluster_gone()),
        6 => any_ray_job(),
        3 => any_pods().prop_map(pod),
    ]
}

proptest! {
    #[test]
    fn every_life_keeps_the_rules_and_ends_once(tellings in vec(any_telling(), 1..30)) {
        let mut now = job();
        let mut end: Option<Job> = None;
        for (second, told) in (1..).zip(&tellings) {
            if let Ok(step) = tell(&now, told, at(second)) {
                now = step.job;
            }
            prop_assert_eq!(rules::broken(&now), Vec::<&str>::new(), "after {:?}", told);
            if let Some(ended) = &end {
                prop_assert_eq!((now.state, &now.sentence, now.ended_at), (ended.state, &ended.sentence, ended.ended_at));
            } else if now.state.is_terminal() {
                end = Some(now.clone());
            }
        }
    }

    #[test]
    fn an_event_told_twice_is_told_once(tellings in vec(any_telling(), 1..20)) {
        let mut now = job();
        for (second, told) in (1..).zip(&tellings) {
            if let Ok(step) = tell(&now, told, at(second)) {
                let again = tell(&step.job, told, at(second));
                prop_assert!(again.is_err() || again.as_ref().unwrap().job == step.job, "{:?}", again);
                now = step.job;
            }
        }
    }

    #[test]
    fn the_desired_set_changes_exactly_when_the_step_says_so(tellings in vec(any_telling(), 1..20)) {
        let mut now = job();
        for (second, told) in (1..).zip(&tellings) {
            if let Ok(step) = tell(&now, told, at(second)) {
                let held = |job: &Job| job.attempt.as_ref().is_some_and(|attempt| attempt.desired);
                prop_assert_eq!(held(&now) != held(&step.job), step.desired_changed.is_some());
                now = step.job;
            }
        }
    }
}

#[test]
fn a_copy_of_the_rayjob_under_another_name_or_namespace_ends_no_job() {
    let running =
        live(job(), &[Told::Assigned, step_of(AttemptStep::Created), ray_job("Running", "RUNNING")]);
    let fact = RayJobFact {
        namespace: "default".into(),
        name: object_name("train", job().id, 1),
        attempt: Some(id(1)),
        deployment_status: "Failed".into(),
        ..RayJobFact::default()
    };
    let copies = [
        RayJobFact { namespace: "other".into(), ..fact.clone() },
        RayJobFact { name: "copy".into(), gone: true, ..fact.clone() },
    ];
    let told = |fact| tell(&running, &east(Fact::RayJob(fact)), at(9));
    assert!(copies.into_iter().all(|copy| told(copy) == Err(Refused::OtherObject)));
    assert_eq!(told(fact).unwrap().job.state, JobState::Failed);
}
