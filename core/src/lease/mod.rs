//! Leases: decides when a second attempt of a job may exist, and what must have stopped by then.
//!
//! Owns rules R1 to R14 of fencing, as functions without a clock. The granting side ([`Ears`], [`judge`]) says when
//! nothing of an attempt can run any more; the holding side ([`Holder`], [`Fencer`], [`Watchdog`]) sees to it that this
//! is true. Invariant: a [`Proof`] for a job that waits or is fenced is made only when no container of the attempt runs
//! and none will start. Both sides count on clocks of their own: whoever holds a promise counts from the moment it asked,
//! whoever gave it counts from the moment it answered or later, so the holder always ends first. Fails safe: a pause, a
//! restart or a lost message makes the granting side wait longer. Repaired by the next renewal, by time, or by a word
//! of an operator.

mod countdown;
mod ears;
mod failover;
mod fencer;
mod granter;
mod holder;
mod leader;
mod object;
mod policy;
mod proof;
mod terms;
#[cfg(test)]
mod tests;
mod watchdog;

pub use crate::lease::{
    countdown::Countdown,
    ears::{Ears, Renewal, Silence, is_news},
    failover::{FORGOTTEN, Failover, Strange, Told, unknown_attempt},
    fencer::{Fencer, Fencing, LeaseObject},
    granter::{Live, Outlook, Verdict, judge},
    holder::{Grant, Holder, NotStarted, Standing},
    leader::{Duty, Race, Row},
    object::{Found, Marks, compare},
    policy::{Chosen, Policy, QueueLease, Refusal, Wish, choose},
    proof::{Proof, ProofKind, Word, WordRefused},
    terms::{Terms, TermsError},
    watchdog::Watchdog,
};

/// A point on one process's monotonic clock, in milliseconds. Never compared with another process's ticks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tick(pub u64);

impl Tick {
    /// The point `millis` later; saturates.
    pub fn plus(self, millis: u64) -> Tick {
        Tick(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this; 0 if `earlier` is later.
    pub fn since(self, earlier: Tick) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// `12 s`, `9 m 30 s`: a number of milliseconds as people read it, rounded up to the second.
pub(crate) fn seconds(millis: u64) -> String {
    let whole = millis.div_ceil(1_000);
    if whole < 120 { format!("{whole} s") } else { format!("{} m {} s", whole / 60, whole % 60) }
}
