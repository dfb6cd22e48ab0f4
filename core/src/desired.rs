//! The desired set of a cluster: how large it may become, and its way down to the agent.
//!
//! Owns the question whether one more attempt fits, and both ends of the stream that carries the set as a whole once and as
//! changes from then on. Invariant: nothing is assigned that would make the set larger than an agent is asked to hold. Fails safe:
//! a job waits, and is told why. Repaired by every attempt that ends or is cancelled.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::dispatch::{Blocked, Blocker, Cause, Waiting};

pub use receiver::{Body, Heard, Held, Part, Receiver};
pub use sender::{Ask, Head, Moment, Place, Sender};

/// Bytes that the attempts of one cluster may have together. The agent holds them in memory and on its disk.
pub const LIMIT: u64 = 256 << 20;
/// Bytes of an attempt beside its manifest, at most: ids, names, queue and framing.
pub const BESIDE_MANIFEST: u64 = 2_048;

/// Whether an attempt with a manifest of `manifest` bytes fits beside `held` bytes of manifests of `attempts` others in a
/// set of `limit` bytes.
pub fn fits(held: u64, attempts: u64, manifest: u64, limit: u64) -> bool {
    let beside = attempts.saturating_add(2).saturating_mul(BESIDE_MANIFEST);
    held.saturating_add(manifest).saturating_add(beside) <= limit
}

/// What a job hears that has a place on `cluster` and does not fit into its desired set. `position` is 1 for the first.
pub fn held_back(job: &Waiting, cluster: &str, position: u32, queue_length: u32) -> Blocked {
    let blocker = Blocker {
        code: Cause::ClusterFull,
        cluster: cluster.to_owned(),
        sentence: format!(
            "{cluster} has room for it, but the manifests that {cluster} holds already have the {} MiB that one agent may hold",
            LIMIT >> 20
        ),
        try_this: "wait until jobs there end, cancel some, or submit smaller manifests".to_owned(),
        with: Vec::new(),
    };
    let sentence = format!("queued in {}: {}", job.queue, blocker.sentence);
    Blocked { job: job.job, position, queue_length, sentence, blockers: Arc::new(vec![blocker]) }
}
