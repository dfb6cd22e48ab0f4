//! Preemption: an attempt that is stopped to make room for another job.
//!
//! Two phases (R12): it is asked to stop and is not desired from then on, and only when its agent says that nothing of it is
//! left does it end and its job wait again. Invariants: the job keeps its age and its place of submission; a cancellation
//! that comes meanwhile wins. Fails by an agent that never confirms, which is what leases are for.

use crate::{
    attempt::{
        AttemptState, Job, Refused,
        advance::{cancelled, stopping_sentence},
        reason,
    },
    job::JobState,
    sentence::clip,
    time::Timestamp,
};

/// The dispatcher asks the newest attempt to stop.
pub(super) fn asked(job: &Job, because: &str) -> Result<Job, Refused> {
    let live = matches!(job.state, JobState::Assigned | JobState::Starting | JobState::Running);
    if !live {
        return Err(Refused::Nothing("no attempt of the job runs that could be stopped"));
    }
    let mut next = job.clone();
    if let Some(attempt) = &mut next.attempt {
        attempt.state = AttemptState::Stopping;
        attempt.desired = false;
        attempt.ended_because = clip(because, 400);
    }
    next.state = JobState::Stopping;
    next.reason = reason::PREEMPTED.to_owned();
    next.sentence = stopping_sentence(&next);
    Ok(next)
}

/// Whether the job stops for another one, and nobody cancelled it since.
pub(super) fn is_meant(job: &Job) -> bool {
    job.state == JobState::Stopping && job.cancel_requested_at.is_none()
}

/// Nothing is left of an attempt that was asked to stop: a cancelled job is over, one that made room waits again.
pub(super) fn stopped(mut job: Job, now: Timestamp) -> Job {
    if !is_meant(&job) {
        return cancelled(job, now);
    }
    let (number, why) = match &mut job.attempt {
        Some(attempt) => {
            attempt.state = AttemptState::Preempted;
            attempt.ended_at = Some(now);
            (attempt.number, attempt.ended_because.clone())
        }
        None => (0, String::new()),
    };
    job.state = JobState::Queued;
    job.reason = reason::PREEMPTED.to_owned();
    job.sentence = format!("queued again after attempt {number}: {why}");
    job
}
