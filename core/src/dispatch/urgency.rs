//! Urgency: which of two jobs goes first where nothing declared tells them apart.
//!
//! Owns the trade of short against old work: the size of a job, which is what it asks for times how long it is expected to run,
//! over a patience that grows with its wait. So short work goes first, and everybody's turn comes. Invariant: made of sums,
//! products and quotients only, so equal on every machine. Shared by the running dispatcher and the book of replays.
//! Fails by a wrong expectation, which only moves a job in its line; repaired by its wait.

use crate::{
    dispatch::{Waiting, gang_total},
    resources::Resources,
    time::Timestamp,
};

/// The wait that halves the weight of a job's size, in milliseconds. Measured: docs/benchmarks/replay.md.
pub(crate) const PATIENCE_MS: u64 = 2 * 3_600_000;

/// A core counts as this part of a GPU.
const CORES_PER_GPU: i64 = 64;

/// The smaller goes first. Compared as bits, because those of positive numbers lie in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Urgency(u64);

impl Urgency {
    /// Of a waiting job.
    pub(crate) fn of_waiting(job: &Waiting, now: Timestamp) -> Urgency {
        Urgency::of(gang_total(&job.gang), job.expected_ms, now.millis_since(job.submitted_at))
    }

    /// Of a job that asks for `gang` and has waited so long. How long it will run is not known without history; then age
    /// alone decides.
    pub(crate) fn of(gang: Resources, expected_ms: Option<u64>, waited_ms: i64) -> Urgency {
        let Some(expected) = expected_ms else { return Urgency::default() };
        let waited = u64::try_from(waited_ms).unwrap_or(0);
        Urgency(impatient(size(milli(gang), expected), waited, PATIENCE_MS).to_bits())
    }
}

/// Thousandths of a GPU.
fn milli(gang: Resources) -> i64 {
    gang.gpus.max(0).saturating_mul(1_000).saturating_add(gang.cpu_milli.max(0) / CORES_PER_GPU)
}

/// GPU seconds. A second more keeps the size of what takes no time from being nothing.
pub(crate) fn size(milli: i64, expected_ms: u64) -> f64 {
    (real(expected_ms) / 1_000.0 + 1.0) * (real(u64::try_from(milli).unwrap_or(0)) / 1_000.0)
}

/// What is left of a size after a wait.
pub(crate) fn impatient(size: f64, waited_ms: u64, patience_ms: u64) -> f64 {
    size / (1.0 + real(waited_ms) / real(patience_ms.max(1)))
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
        let gang = Resources { gpus, ..Resources::default() };
        Urgency::of(gang, Some(expected), i64::try_from(waited).unwrap_or(0))
    }

    #[test]
    fn short_work_goes_first_until_the_other_has_waited_long() {
        assert!(of(1, HOUR, 0) < of(1, 2 * HOUR, 0));
        assert!(of(1, HOUR, 0) < of(2, HOUR, 0));
        assert!(of(1, 2 * HOUR, 8 * HOUR) < of(1, HOUR, 0));
    }

    #[test]
    fn without_an_expectation_nothing_but_age_counts() {
        let large = Resources { gpus: 64, ..Resources::default() };
        assert_eq!(Urgency::of(large, None, 5), Urgency::of(Resources::default(), None, 0));
    }

    #[test]
    fn cores_count_a_little() {
        let cores = |cpu_milli| Resources { cpu_milli, ..Resources::default() };
        assert!(Urgency::of(cores(1_000), Some(HOUR), 0) < Urgency::of(cores(4_000), Some(HOUR), 0));
        assert!(Urgency::of(cores(4_000), Some(HOUR), 0) < of(1, HOUR, 0));
    }
}
