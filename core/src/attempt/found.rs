//! Found: what becomes of a job when a cluster tells of an attempt that the database may have forgotten (R4, T10).
//!
//! Owns who is taken back: only an attempt newer than all that are known, of a job that has not ended. Invariant: an older one
//! that looks live was given up before, or the newer one could not exist, so it is closed first. Fails safe: where another
//! cluster told as well that it holds the older one, somebody is wrong, and what is known stays.

use crate::{
    attempt::{Attempt, AttemptState, Event, Job, Step, advance},
    fact::{AttemptFact, AttemptStep, Fact},
    id::{AttemptId, ClusterId},
    lease::{Proof, Strange, unknown_attempt},
    time::Timestamp,
};

/// What a cluster told.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub cluster: ClusterId,
    pub cluster_name: &'a str,
    pub attempt: AttemptId,
    /// Something of it was seen there.
    pub exists: bool,
}

/// What follows from it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakenBack {
    /// The end of an older attempt.
    pub closed: Option<Step>,
    /// The attempt that was found, to be written behind that.
    pub adopted: Option<Step>,
    /// It is known, and that it was made was not.
    pub made: Option<Step>,
}

/// Judges what was found of `job`; `named`: the cluster of its live attempt told since the failover that it holds that one.
pub fn take_back(job: &Job, found: &Found<'_>, named: bool, now: Timestamp) -> TakenBack {
    let before = job.attempt.as_ref();
    let (known, number) = (before.map_or(0, |attempt| attempt.number), found.attempt.number);
    if number == known && found.exists {
        let made = reported(job, (found.cluster, found.attempt), AttemptStep::Created, now);
        return TakenBack { made, ..TakenBack::default() };
    }
    if unknown_attempt(number, known, job.state.is_terminal()) == Strange::Stop {
        return TakenBack::default();
    }
    let live = before.filter(|attempt| !attempt.state.is_terminal());
    if named && live.is_some_and(|attempt| attempt.cluster != found.cluster) {
        return TakenBack::default();
    }
    let proof = live.and(job.attempt_id()).and_then(|older| Proof::superseded(older, number));
    let closed = proof.and_then(|proof| advance(job, Event::NothingRuns { proof: &proof }, now).ok());
    let Found { cluster, cluster_name, exists, .. } = *found;
    let event = Event::Adopted { cluster, cluster_name, number, exists };
    let adopted = advance(closed.as_ref().map_or(job, |step| &step.job), event, now).ok();
    TakenBack { closed, adopted, made: None }
}

/// What follows when the cluster told everything that it holds, and nothing of the job's attempt, which was to stop: it has, and the
/// word on that was forgotten.
pub fn let_go(job: &Job, cluster: ClusterId, now: Timestamp) -> Option<Step> {
    let stopping = |attempt: &&Attempt| attempt.state == AttemptState::Stopping && !attempt.desired;
    job.attempt.as_ref().filter(stopping)?;
    reported(job, (cluster, job.attempt_id()?), AttemptStep::Removed, now)
}

/// What the agent's word on an attempt would come to.
fn reported(
    job: &Job,
    (from, attempt): (ClusterId, AttemptId),
    step: AttemptStep,
    now: Timestamp,
) -> Option<Step> {
    let fact = Fact::Attempt(AttemptFact { attempt, step, message: String::new() });
    advance(job, Event::Fact { from, fact: &fact, pods: &[] }, now).ok()
}
