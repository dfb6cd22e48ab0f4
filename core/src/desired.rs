//! The desired set of a cluster: how much of it one message to the agent can carry.
//!
//! Owns the question whether one more attempt fits. Invariant: nothing is assigned that would make the set longer than the
//! message, so the control stream always has something to send. Fails safe: a job waits, and is told why. Repaired by every
//! attempt that ends or is cancelled.

use crate::dispatch::{Blocker, Cause};

/// Bytes of the message that carries the set, at most.
pub const LIMIT: u64 = 16 << 20;

/// Bytes of an attempt beside its manifest, at most: ids, names, queue and framing.
pub const BESIDE_MANIFEST: u64 = 2_048;

/// Whether an attempt with a manifest of `manifest` bytes fits beside `held` bytes of manifests of `attempts` others in a
/// message of `limit` bytes.
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
            "the manifests that {cluster} holds fill the one message to its agent, so it gets no other job now"
        ),
        try_this: "wait until jobs there end, cancel some, or submit smaller manifests".to_owned(),
        with: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_never_outgrows_the_message() {
        let most = 256 << 10;
        let mut attempts = 0;
        while fits(attempts * most, attempts, most, LIMIT) {
            attempts += 1;
        }
        assert_eq!(attempts, 63, "of the longest manifests");
        assert!(attempts * (most + BESIDE_MANIFEST) <= LIMIT);
        assert!(!fits(u64::MAX, 1, 1, LIMIT) && !fits(0, u64::MAX, 1, LIMIT));
    }

    #[test]
    fn a_manifest_is_counted_with_at_least_what_it_has() {
        for (bytes, expected) in
            [(0, 4 << 10), (4 << 10, 4 << 10), ((4 << 10) + 1, 8 << 10), (262_144, 262_144)]
        {
            assert_eq!(rounded(bytes), expected);
        }
        assert_eq!(rounded(u64::MAX), u64::MAX);
        let nearly = Size { attempts: 1, bytes: LIMIT - 20_000 };
        assert!(nearly.takes(8_192) && !nearly.with(8_192).takes(8_192));
        let (mut size, most) = (nearly, nearly.room_for(4_096));
        let taken = std::iter::from_fn(|| size.takes(4_096).then(|| size = size.with(4_096))).count() as u64;
        assert!(taken > 0 && taken <= most, "{taken} of {most}");
    }
}
