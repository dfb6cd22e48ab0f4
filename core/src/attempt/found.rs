//! Found: what becomes of a job when a cluster tells of an attempt that the database may have forgotten (R4, T10).
//!
//! Owns who is taken back: only an attempt newer than all that are known, of a job that has not ended. Invariant: an older one
//! that looks live was given up before, or the newer one could not exist, so it is closed first.

use crate::{
    attempt::{Event, Job, Step, advance},
    id::{AttemptId, ClusterId},
    lease::{Proof, Strange, unknown_attempt},
    time::Timestamp,
};

/// What follows from it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakenBack {
    /// The end of an older attempt.
    pub closed: Option<Step>,
    /// The attempt that was found, to be written behind that.
    pub adopted: Option<Step>,
}

/// Judges attempt `found` of `job` on a cluster; `exists`: something of it was seen there.
pub fn take_back(
    job: &Job,
    found: AttemptId,
    (cluster, cluster_name): (ClusterId, &str),
    exists: bool,
    now: Timestamp,
) -> TakenBack {
    let before = job.attempt.as_ref();
    let known = before.map_or(0, |attempt| attempt.number);
    if unknown_attempt(found.number, known, job.state.is_terminal()) == Strange::Stop {
        return TakenBack::default();
    }
    let live = before.filter(|attempt| !attempt.state.is_terminal()).and(job.attempt_id());
    let proof = live.and_then(|older| Proof::superseded(older, found.number));
    let closed = proof.and_then(|proof| advance(job, Event::NothingRuns { proof: &proof }, now).ok());
    let event = Event::Adopted { cluster, cluster_name, number: found.number, exists };
    let adopted = advance(closed.as_ref().map_or(job, |step| &step.job), event, now).ok();
    TakenBack { closed, adopted }
}
