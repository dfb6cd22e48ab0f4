//! Loss: what a job becomes when its cluster falls silent, comes back, or is lost.
//!
//! Invariant: a job goes back to the queue only with a [`Proof`], or on its own agent's word that the attempt was stopped;
//! the attempt is not desired from then on, so a cluster that returns lets go of it.

use crate::{
    attempt::{
        Attempt, AttemptState, Job, Refused,
        advance::{cancelled, mark_removed, stopping_sentence},
        preempt, reason,
    },
    id::AttemptId,
    job::JobState,
    lease::{Outlook, Proof, ProofKind, Verdict},
    sentence::{clip, when},
    time::Timestamp,
};

/// The cluster says nothing: the sentence tells since when and what follows.
pub(super) fn silent(job: &Job, verdict: &Verdict, now: Timestamp) -> Result<Job, Refused> {
    let (Verdict::Suspect(outlook) | Verdict::Waits(outlook)) = verdict else {
        return Err(Refused::Nothing("the cluster is heard, or the attempt is gone"));
    };
    let mut next = job.clone();
    let attempt = live(job)?;
    next.reason = reason::CLUSTER_SILENT.to_owned();
    next.sentence =
        format!("{} on {}, silent since {}", job.state, attempt.cluster_name, prospect(job, outlook, now));
    Ok(next)
}

/// Since when, why, and what follows when.
fn prospect(job: &Job, outlook: &Outlook, now: Timestamp) -> String {
    let millis = |count: u64| i64::try_from(count).unwrap_or(i64::MAX / 2_000);
    let since = when(now.plus_millis(-millis(outlook.silent)));
    let what = if job.state == JobState::Stopping { "it counts as stopped" } else { "it starts elsewhere" };
    match outlook.left {
        Some(left) => {
            let at = when(now.plus_millis(millis(left)));
            format!("{since}; {}; {what} at {at} if the silence lasts", outlook.why)
        }
        None => format!("{since}; {}", outlook.why),
    }
}

/// The cluster speaks again: facts follow and say more.
pub(super) fn heard(job: &Job) -> Result<Job, Refused> {
    let attempt = live(job)?;
    if job.reason != reason::CLUSTER_SILENT {
        return Err(Refused::Nothing("the cluster was not called silent"));
    }
    let mut next = job.clone();
    next.sentence = format!("{} on {}", job.state, attempt.cluster_name);
    next.reason = match job.state {
        _ if preempt::is_meant(job) => reason::PREEMPTED.to_owned(),
        JobState::Stopping => reason::CANCELLED.to_owned(),
        _ => String::new(),
    };
    if job.state == JobState::Stopping {
        next.sentence = stopping_sentence(&next);
    }
    Ok(next)
}

/// Nothing of the attempt runs: a job that was being stopped is over, any other waits for its next attempt.
pub(super) fn nothing_runs(job: &Job, proof: &Proof, now: Timestamp) -> Result<Job, Refused> {
    let attempt = live(job)?;
    if job.attempt_id() != Some(proof.attempt()) {
        return Err(Refused::OtherAttempt(proof.attempt()));
    }
    let why = format!("{} {}", attempt.cluster_name, proof.because());
    let word = match proof.kind() {
        ProofKind::LeaseEnded => reason::LEASE_ENDED,
        ProofKind::ReportedGone => reason::REMOVED,
        _ => reason::CLUSTER_LOST,
    };
    Ok(lost(job.clone(), word, &why, now))
}

/// The agent stopped the attempt because its lease had ended, and nothing of it is left.
pub(super) fn fenced(job: &Job, attempt: &Attempt, message: &str, now: Timestamp) -> Result<Job, Refused> {
    let mut next = job.clone();
    mark_removed(&mut next, now);
    if attempt.state.is_terminal() {
        return Ok(next);
    }
    let why = format!("{} stopped it when its lease ended ({})", attempt.cluster_name, clip(message, 200));
    Ok(lost(next, reason::LEASE_ENDED, &why, now))
}

/// Why an attempt is where nobody placed it, as far as is known.
pub(super) const FOUND: &str = "it was found there after the database lost its newest commits";

/// A cluster holds an attempt that the database forgot: it is the job's newest.
pub(super) fn adopted(job: &Job, found: Attempt, exists: bool) -> Result<Job, Refused> {
    if job.state != JobState::Queued {
        return Err(Refused::NotWaiting(job.state));
    }
    if job.attempt.as_ref().is_some_and(|attempt| attempt.number >= found.number) {
        return Err(Refused::OtherAttempt(AttemptId { job: job.id, number: found.number }));
    }
    let mut next = job.clone();
    next.reason = String::new();
    next.state = if exists { JobState::Starting } else { JobState::Assigned };
    next.sentence = format!("{} on {}: {FOUND}", next.state, found.cluster_name);
    let (state, created_at) = match exists {
        true => (AttemptState::Starting, Some(found.assigned_at)),
        false => (AttemptState::Assigned, None),
    };
    next.attempt = Some(Attempt { state, created_at, ..found });
    Ok(next)
}

fn live(job: &Job) -> Result<&Attempt, Refused> {
    job.attempt
        .as_ref()
        .filter(|attempt| !attempt.state.is_terminal())
        .ok_or(Refused::Nothing("no attempt of the job is live"))
}

/// Closes the attempt; a cancelled job ends, any other is queued again.
fn lost(mut job: Job, word: &str, why: &str, now: Timestamp) -> Job {
    let stopping = job.state == JobState::Stopping && !preempt::is_meant(&job);
    if let Some(attempt) = &mut job.attempt {
        attempt.desired = false;
        attempt.ended_because = why.to_owned();
    }
    if stopping {
        return cancelled(job, now);
    }
    let number = job.attempt.as_ref().map_or(0, |attempt| attempt.number);
    if let Some(attempt) = &mut job.attempt {
        attempt.state = AttemptState::Lost;
        attempt.ended_at = Some(now);
    }
    job.state = JobState::Queued;
    job.reason = word.to_owned();
    job.sentence = format!("queued again after attempt {number}: {why}");
    job
}
