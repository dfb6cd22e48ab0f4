//! Urgency: which of two jobs goes first where neither a guarantee nor a priority tells them apart.
//!
//! Owns the trade of short against old work: the size of a job, which is what it asks for times how long it is expected to run,
//! over a patience that grows with the root of its wait. So short work goes first, and everybody's turn comes. Invariant: made
//! of sums, products, quotients and roots only, so equal on every machine. Shared by the running dispatcher and the book of replays.
//! Fails by a wrong expectation, which only moves a job in its line; repaired by its wait.

use std::cmp::Reverse;

use crate::{
    dispatch::{Waiting, gang_total},
    id::JobId,
    resources::Resources,
    time::Timestamp,
};

/// After three such waits, in milliseconds, the weight of a job's size is half, after eight a third. Measured:
/// docs/benchmarks/replay.md.
pub const PATIENCE_MS: u64 = 2 * 3_600_000;

/// A core counts as this part of a GPU.
const CORES_PER_GPU: i64 = 64;

/// The smaller goes first. Compared as bits, because those of positive numbers lie in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Urgency(u64);

impl Urgency {
    /// Of a job of this size, as [`Waiting::size`] has it, that has waited so long.
    pub fn of(size: f64, waited_ms: i64) -> Urgency {
        Urgency(impatient(size, u64::try_from(waited_ms).unwrap_or(0), PATIENCE_MS).to_bits())
    }

    /// As if the job were larger by the root of this, in thousandths, as far as that is more than one.
    pub(crate) fn pressed(self, pressure: u64) -> Urgency {
        Urgency((self.value() * pressed(pressure)).to_bits())
    }

    /// The number that is compared.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl Waiting {
    /// GPU seconds that it is expected to take. How long it will run is not known without history: 0, and age alone decides.
    pub fn size(&self) -> f64 {
        self.expected_ms.map_or(0.0, |expected| size(milli(gang_total(&self.gang)), expected))
    }

    /// Its place among those of its queue that stay within a guarantee, or among those that do not: the smaller goes first.
    pub fn turn(&self, now: Timestamp) -> (Reverse<i32>, Urgency, Timestamp, JobId) {
        let urgency = Urgency::of(self.size(), now.millis_since(self.submitted_at));
        (Reverse(self.priority), urgency, self.submitted_at, self.job)
    }
}

/// Thousandths of a GPU.
pub(crate) fn milli(gang: Resources) -> i64 {
    gang.gpus.max(0).saturating_mul(1_000).saturating_add(gang.cpu_milli.max(0) / CORES_PER_GPU)
}

/// GPU seconds. A second more keeps the size of what takes no time from being nothing.
pub(crate) fn size(milli: i64, expected_ms: u64) -> f64 {
    (real(expected_ms) / 1_000.0 + 1.0) * (real(u64::try_from(milli).unwrap_or(0)) / 1_000.0)
}

/// By how much a queue's use over its guarantee, in thousandths, makes its jobs count as larger.
pub(crate) fn pressed(pressure: u64) -> f64 {
    (real(pressure) / 1_000.0).max(1.0).sqrt()
}

/// From so many waits on, patience grows with the wait and no more with its root only, so that nobody starves: five days.
const STARVES: f64 = 64.0;

/// What is left of a size after a wait.
pub(crate) fn impatient(size: f64, waited_ms: u64, patience_ms: u64) -> f64 {
    let waits = 1.0 + real(waited_ms) / real(patience_ms.max(1));
    size / waits.sqrt().max(waits / STARVES.sqrt())
}

/// Exact up to 2⁵³, which is far beyond any time or amount here.
#[expect(clippy::cast_precision_loss, reason = "a rank needs no more than 53 bits")]
pub(crate) fn real(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;

    fn of(gpus: i64, expected: u64, waited: u64) -> Urgency {
        Urgency::of(size(gpus * 1_000, expected), i64::try_from(waited).unwrap_or(0))
    }

    #[test]
    fn patience_grows_with_the_root_of_the_wait_and_in_the_end_with_the_wait() {
        let left = |hours| impatient(8.0, hours * HOUR, PATIENCE_MS);
        assert_eq!([left(0), left(6), left(16), left(126), left(510)], [8.0, 4.0, 8.0 / 3.0, 1.0, 0.25]);
    }

    #[test]
    fn short_work_goes_first_until_the_other_has_waited_long() {
        assert!(of(1, HOUR, 0) < of(1, 2 * HOUR, 0));
        assert!(of(1, HOUR, 0) < of(2, HOUR, 0));
        assert!(of(1, 2 * HOUR, 8 * HOUR) < of(1, HOUR, 0));
    }

    #[test]
    fn cores_count_a_little() {
        let cores = |cpu_milli| milli(Resources { cpu_milli, ..Resources::default() });
        assert_eq!((cores(64_000), cores(32_000)), (1_000, 500));
    }

    #[test]
    fn a_wait_that_is_not_there_yet_is_none() {
        assert_eq!(Urgency::of(5.0, -1), Urgency::of(5.0, 0));
    }
}
