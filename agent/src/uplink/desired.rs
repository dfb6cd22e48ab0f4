//! Desired states as they come over the wire.

use squadron_core::{
    desired::{Head, Part},
    id::AttemptId,
};
use squadron_proto::link::{AttemptRef, DesiredAttempt as Sent, DesiredState, WorkerCap};

use crate::plan::DesiredAttempt;
use squadron_core::dispatch::soft::Cap;

/// Reads a message. Attempts whose id cannot be read are left out; the control plane will see that they are never created.
pub fn part(state: DesiredState) -> Part<DesiredAttempt> {
    let DesiredState { generation, base, part, more, seq, .. } = state;
    Part {
        head: Head { seq, base, part, more, generation },
        set: state.attempts.into_iter().filter_map(attempt).collect(),
        removed: state.removed.iter().filter_map(reference).collect(),
    }
}

fn reference(said: &AttemptRef) -> Option<AttemptId> {
    let Ok(job) = said.job_id.parse() else {
        tracing::error!(job = said.job_id, "a desired attempt has no job id that can be read");
        return None;
    };
    Some(AttemptId { job, number: said.number })
}

fn attempt(sent: Sent) -> Option<(AttemptId, DesiredAttempt)> {
    let Sent { job_id, number, queue, name, namespace, manifest, .. } = sent;
    let Sent { on_lost, accepted_by, created, before, .. } = sent;
    let cap = |cap: WorkerCap| Cap { most: cap.most, leaves: cap.leaves };
    let caps = sent.caps.into_iter().map(|(group, sent)| (group, cap(sent))).collect();
    let id = reference(&AttemptRef { job_id, number })?;
    let attempt =
        DesiredAttempt { id, queue, name, namespace, manifest, on_lost, accepted_by, created, before, caps };
    Some((id, attempt))
}
