//! Rank: the order in which heads of lines are served, and the few constants behind it.
//!
//! First those within their tenant's guarantee, then those that borrow. Within a class the smallest of
//! `size × pressure ÷ patience` goes first: size is predicted GPU time, pressure is what the tenant uses over what it is
//! guaranteed, patience grows with the wait. So short work goes first, nobody who floods goes before others for long, and
//! everybody's turn comes.

use crate::dispatch::book::{Millis, Shape};

/// Constants of the order. Times in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Terms {
    /// Power of the size, in quarters: 4 is the size itself, 2 its root.
    pub size_quarters: u32,
    /// The wait that halves the weight of a job's size.
    pub patience: Millis,
    /// Power of patience, in quarters.
    pub patience_quarters: u32,
    /// Power of the tenant's pressure among those that borrow, in quarters.
    pub pressure_quarters: u32,
    /// Whether work within the guarantee goes before all that borrows.
    pub guarantee_first: bool,
    /// After this wait a gang within its tenant's guarantee may have a cluster kept for it.
    pub reserve_guaranteed: Millis,
    /// The same for a gang that borrows.
    pub reserve_borrowing: Millis,
    /// The smallest gang that anything is reserved for, in thousandths of a GPU.
    pub reserve_from: i64,
    /// Clusters that may be kept at one time.
    pub reservations: usize,
    /// Whether backfill goes by the time by which nine of ten end instead of the median.
    pub careful_backfill: u32,
    pub place: u32,
    pub gpu_quarters: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Terms {
            size_quarters: 4,
            patience: 3_600_000,
            patience_quarters: 4,
            pressure_quarters: 4,
            guarantee_first: true,
            reserve_guaranteed: 3_600_000,
            reserve_borrowing: 4 * 3_600_000,
            reserve_from: 2_000,
            reservations: 1,
            careful_backfill: 0,
            place: 0,
            gpu_quarters: 4,
        }
    }
}

/// Who goes before whom, whatever the size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// A cluster was kept for it.
    Reserved,
    /// With this job its tenant stays within its guarantee.
    Guaranteed,
    /// With this job its tenant uses what others leave unused.
    Borrowing,
}

/// The place of a head among the others; smaller goes first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rank {
    pub class: Class,
    /// Size times pressure over patience. Made of products and square roots only, so equal on every machine.
    pub score: f64,
    pub submitted: Millis,
    pub job: u64,
}

impl Rank {
    /// Whether this goes before `other`.
    pub fn before(&self, other: &Rank) -> bool {
        self.class
            .cmp(&other.class)
            .then(self.score.total_cmp(&other.score))
            .then((self.submitted, self.job).cmp(&(other.submitted, other.job)))
            .is_lt()
    }
}

/// Size times pressure over patience.
pub(super) fn score(
    terms: &Terms,
    shape: Shape,
    predicted: Millis,
    waited: Millis,
    pressure: Option<u64>,
) -> f64 {
    let seconds = real(predicted) / 1_000.0 + 1.0;
    let gpus = real(u64::try_from(shape.milli).unwrap_or(0)) / 1_000.0;
    let size = quarters(seconds, terms.size_quarters) * quarters(gpus, terms.gpu_quarters);
    let patience = 1.0 + real(waited) / real(terms.patience.max(1));
    let pressed = pressure
        .map_or(1.0, |pressure| quarters((real(pressure) / 1_000.0).max(1.0), terms.pressure_quarters));
    size * pressed / quarters(patience, terms.patience_quarters)
}

/// `base` to the power of `count` quarters.
fn quarters(base: f64, count: u32) -> f64 {
    let root = base.sqrt();
    let fourth = root.sqrt();
    let mut power = 1.0;
    for _ in 0..count / 4 {
        power *= base;
    }
    if count % 4 >= 2 {
        power *= root;
    }
    if count % 2 == 1 {
        power *= fourth;
    }
    power
}

/// Exact up to 2⁵³, which is far beyond any time or amount here.
#[expect(clippy::cast_precision_loss, reason = "a rank needs no more than 53 bits")]
fn real(number: u64) -> f64 {
    number as f64
}
