//! Rank: the order in which heads of lines are served, and the few constants behind it.
//!
//! First those within their tenant's guarantee, then those that borrow. Within a class the smallest of
//! `size × √pressure ÷ √patience` goes first: size is predicted GPU time, pressure is what the tenant uses over what it is
//! guaranteed, patience grows with the wait. So short work goes first, nobody who floods goes before others for long, and
//! everybody's turn comes.

use crate::dispatch::{
    book::{Millis, Shape},
    preempt::Patience,
    urgency::{PATIENCE_MS, impatient, pressed, size},
};

/// Constants of the order. Times in milliseconds. The defaults were measured: docs/benchmarks/replay.md.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// After three such waits the weight of a job's size is half, after eight a third.
    pub patience: Millis,
    /// After this wait a gang of [`Terms::large`] within its tenant's guarantee may have a cluster kept for it. Smaller ones
    /// wait longer, in proportion, because the room they need comes up more often.
    pub reserve_guaranteed: Millis,
    /// The same for gangs that borrow.
    pub reserve_borrowing: Millis,
    /// A gang that depends on a kept cluster, in thousandths of a GPU.
    pub large: i64,
    /// Whether borrowing jobs are stopped for tenants that wait below their guarantee.
    pub reclaim: bool,
    /// Asked of tenants that take back what they are guaranteed.
    pub before_stops: Patience,
    /// A job runs at least this long before it may be stopped; twice as long after each stop.
    pub protected: Millis,
    /// For so long room that was taken back from borrowers is not lent to those that were stopped before and run for long.
    pub cooling: Millis,
    /// Clusters that may be kept at one time.
    pub reservations: usize,
}

impl Default for Terms {
    fn default() -> Self {
        const HOUR: Millis = 3_600_000;
        Terms {
            patience: PATIENCE_MS,
            reserve_guaranteed: 96 * HOUR,
            reserve_borrowing: 336 * HOUR,
            large: 16_000,
            reservations: 1,
            reclaim: true,
            before_stops: Patience::default(),
            protected: HOUR / 6,
            cooling: 2 * HOUR,
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
    /// Size times pressure over patience, the last two as roots. Made of sums, products, quotients and a square root only, so equal
    /// on every machine.
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

/// Size times the root of pressure over the root of patience.
pub(super) fn score(terms: &Terms, shape: Shape, predicted: Millis, waited: Millis, pressure: u64) -> f64 {
    impatient(size(shape.milli, predicted) * pressed(pressure), waited, terms.patience)
}
