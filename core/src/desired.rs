//! The desired set of a cluster: how much of it one message to the agent can carry.
//!
//! Owns the question whether one more attempt fits. Invariant: nothing is assigned that would make the set longer than the
//! message, so the control stream always has something to send. Fails safe: a job waits, and is told why. Repaired by every
//! attempt that ends or is cancelled.

use std::sync::Arc;

use crate::dispatch::{Blocked, Blocker, Cause, Waiting};

/// Bytes of an attempt beside its manifest, at most: ids, names, queue and framing.
pub const BESIDE_MANIFEST: u64 = 2_048;

/// Whether an attempt with a manifest of `manifest` bytes fits beside `held` bytes of manifests of `attempts` others in a
/// message of `limit` bytes.
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
            "{cluster} has room for it, but the manifests that {cluster} holds already fill the one message to its agent"
        ),
        try_this: "wait until jobs there end, cancel some, or submit smaller manifests".to_owned(),
        with: Vec::new(),
    };
    let sentence = format!("queued in {}: {}", job.queue, blocker.sentence);
    Blocked { job: job.job, position, queue_length, sentence, blockers: Arc::new(vec![blocker]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_never_outgrows_the_message() {
        const LIMIT: u64 = 16 << 20;
        let most = 256 << 10;
        let mut attempts = 0;
        while fits(attempts * most, attempts, most, LIMIT) {
            attempts += 1;
        }
        assert_eq!(attempts, 63, "of the longest manifests");
        assert!(attempts * (most + BESIDE_MANIFEST) <= LIMIT);
        assert!(!fits(u64::MAX, 1, 1, LIMIT) && !fits(0, u64::MAX, 1, LIMIT));
    }
}
