//! The desired set of a cluster: how large it may become, and its way down to the agent.
//!
//! Owns the question whether one more attempt fits, and both ends of the stream that carries the set as a whole once and as
//! changes from then on. Invariant: nothing is assigned that would make the set larger than an agent is asked to hold. Fails safe:
//! a job waits, and is told why. Repaired by every attempt that ends or is cancelled.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use crate::dispatch::{Blocker, Cause};

pub use receiver::{Body, Heard, Held, Part, Receiver};
pub use sender::{Ask, Head, Moment, Place, Sender};

/// Bytes that the attempts of one cluster may have together. An agent that takes no changes gets them in one message, which may not
/// be longer; and every agent holds the set in memory, up to four times while it reads, compares and sends.
pub const LIMIT: u64 = 16 << 20;

/// Bytes of an attempt beside its manifest, at most: ids, names, queue and framing.
pub const BESIDE_MANIFEST: u64 = 2_048;

/// Whether an attempt with a manifest of `manifest` bytes fits beside `held` bytes of manifests of `attempts` others in a
/// set of `limit` bytes.
pub fn fits(held: u64, attempts: u64, manifest: u64, limit: u64) -> bool {
    let beside = attempts.saturating_add(2).saturating_mul(BESIDE_MANIFEST);
    held.saturating_add(manifest).saturating_add(beside) <= limit
}

/// What a cluster should hold, as far as its size goes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Size {
    pub attempts: u64,
    /// Of their manifests together, in bytes.
    pub bytes: u64,
}

impl Size {
    /// Whether one more attempt with a manifest of `manifest` bytes fits.
    pub fn takes(self, manifest: u64) -> bool {
        fits(self.bytes, self.attempts, manifest, LIMIT)
    }

    /// How many attempts with manifests of `manifest` bytes fit, at most.
    pub fn room_for(self, manifest: u64) -> u64 {
        let used = self.attempts.saturating_add(2).saturating_mul(BESIDE_MANIFEST).saturating_add(self.bytes);
        let each = manifest.saturating_add(BESIDE_MANIFEST);
        LIMIT.saturating_sub(used).saturating_add(BESIDE_MANIFEST) / each
    }

    /// With one more attempt.
    #[must_use]
    pub fn with(self, manifest: u64) -> Size {
        let bytes = self.bytes.saturating_add(manifest);
        Size { attempts: self.attempts.saturating_add(1), bytes }
    }
}

/// The size that a manifest of `bytes` bytes is counted with before it is placed: the next power of two, from 4 KiB on, so
/// that jobs which differ in little but their script are alike to the dispatcher.
pub fn rounded(bytes: u64) -> u64 {
    bytes.max(4 << 10).checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// What a job hears for which there is room on `cluster`, but none in its desired set.
pub fn full(cluster: &str) -> Blocker {
    Blocker {
        code: Cause::ClusterFull,
        cluster: cluster.to_owned(),
        sentence: format!(
            "the manifests that {cluster} holds have the {} MiB that one agent may hold, so it gets no other job now",
            LIMIT >> 20
        ),
        try_this: "wait until jobs there end, cancel some, or submit smaller manifests".to_owned(),
        with: Vec::new(),
    }
}
