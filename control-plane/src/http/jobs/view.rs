//! A job's row as the API shows it.

use squadron_api::{
    arrival::JobSource,
    job::{Job, Why},
    placement::Ahead,
};
use squadron_core::{dispatch::gang_total, job::JobState, silence::Judge};
use squadron_store::{arrival::Source, job::JobRow};

/// The row as of the moment of `silence`.
pub fn job(row: &JobRow, silence: Judge) -> Job {
    let on_cluster = !row.state.is_terminal() && row.state != JobState::Queued;
    Job {
        id: row.id,
        name: row.name.clone(),
        namespace: row.namespace.clone(),
        queue: row.queue.clone(),
        state: row.state,
        reason: row.reason.clone(),
        sentence: row.sentence.clone(),
        cluster: row.cluster.clone(),
        attempt: row.attempt,
        owner: row.owner.clone(),
        requests: gang_total(&row.gang),
        submitted_at: row.submitted_at,
        started_at: row.started_at,
        ended_at: row.ended_at,
        version: row.version,
        priority_class: row.priority_class.clone(),
        priority: row.priority,
        on_lost: row.on_lost.policy.word().to_owned(),
        on_lost_because: row.on_lost.because.clone(),
        stale_since: silence.silent_since(row.cluster_heard_at).filter(|_| on_cluster),
    }
}

/// What the dispatcher wrote, for a job that waits; for any other, its sentence. [`super::wait`] adds what is ahead.
pub fn why(row: &JobRow) -> Why {
    Why {
        sentence: row.sentence.clone(),
        position: None,
        queue_length: 0,
        blockers: row.blockers.iter().cloned().map(Into::into).collect(),
        ahead: Ahead::default(),
        estimate: None,
        decided_at: row.decided_at.unwrap_or(row.submitted_at),
    }
}

/// The RayJob that a job came from.
pub fn source(source: Source) -> JobSource {
    JobSource {
        cluster: source.cluster,
        namespace: source.namespace,
        name: source.name,
        uid: source.uid,
        gone_at: source.gone_at,
    }
}
