//! Two phases of a stop, and what may come between them.

#![allow(clippy::unwrap_used)]

use super::{tests::*, *};
use crate::fact::AttemptStep;

const WHY: &str = "stopped to make room for job eval";

fn running() -> Job {
    live(job(), &[Told::Assigned, step_of(AttemptStep::Created), ray_job("Running", "RUNNING")])
}

fn asked() -> Job {
    advance(&running(), Event::Preempted { because: WHY }, at(9)).unwrap().job
}

#[test]
fn r12_a_preempted_job_waits_again_only_when_its_agent_says_that_it_is_gone() {
    let step = advance(&running(), Event::Preempted { because: WHY }, at(9)).unwrap();
    assert!(step.desired_changed.is_some());
    assert_eq!((step.job.state, step.job.reason.as_str()), (JobState::Stopping, reason::PREEMPTED));
    assert_eq!(
        step.job.sentence,
        format!("stopping on east, {WHY}; its agent has not confirmed the end yet")
    );
    assert!(advance(&step.job, Event::Preempted { because: WHY }, at(10)).is_err(), "once");
    let gone = live(step.job, &[ray_job("Failed", "FAILED"), step_of(AttemptStep::Removed)]);
    assert_eq!((gone.state, rules::broken(&gone)), (JobState::Queued, vec![]));
    assert_eq!(gone.sentence, format!("queued again after attempt 1: {WHY}"));
    assert_eq!(gone.attempt.as_ref().unwrap().state, AttemptState::Preempted);
    let again = live(gone, &[Told::Assigned]);
    assert_eq!(again.attempt.unwrap().number, 2);
}

#[test]
fn a_cancellation_that_comes_meanwhile_wins_and_so_does_a_success() {
    let cancelled = live(asked(), &[Told::Cancel]);
    assert_eq!((cancelled.state, cancelled.reason.as_str()), (JobState::Stopping, reason::CANCELLED));
    let over = live(cancelled, &[step_of(AttemptStep::Removed)]);
    assert_eq!(
        (over.state, over.sentence.as_str()),
        (JobState::Cancelled, "cancelled by ann (wrong data) and gone from east")
    );
    let done = live(asked(), &[ray_job("Complete", "SUCCEEDED")]);
    assert_eq!(done.state, JobState::Succeeded);
    assert!(done.sentence.ends_with("before it was stopped for another job"), "{}", done.sentence);
}

#[test]
fn a_stopping_one_on_a_lost_cluster_goes_on_elsewhere_and_one_never_made_waits_again() {
    let silent = live(asked(), &[Told::Silent(40_000)]);
    assert_eq!(silent.reason, reason::CLUSTER_SILENT);
    let heard = live(silent.clone(), &[Told::Heard]);
    assert_eq!((heard.reason.as_str(), heard.sentence), (reason::PREEMPTED, asked().sentence));
    let lost = live(silent, &[Told::Vouched]);
    assert_eq!((lost.state, lost.attempt.unwrap().state), (JobState::Queued, AttemptState::Lost));
    let assigned = live(job(), &[Told::Assigned]);
    let never = advance(&assigned, Event::Preempted { because: WHY }, at(2)).unwrap().job;
    assert_eq!(live(never, &[Told::NeverCreated]).state, JobState::Queued);
    assert!(advance(&job(), Event::Preempted { because: WHY }, at(1)).is_err(), "it does not run");
}
