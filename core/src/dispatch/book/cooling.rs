//! Cooling: room that was taken back from borrowers is not lent at once to one that was stopped before and runs for long.
//!
//! Who had borrowers stopped will come back, and whatever was stopped and starts again in between would be stopped once more: all
//! that it did would be lost, time after time. So for a while after a stop as much as was taken back goes to others, and those
//! that were stopped only get what is free beside it. Invariant: it ends by itself, and keeps nobody off who is within a guarantee,
//! was never stopped or has a cluster kept for him. Fails by keeping room from a job though the tenant does not come back, for
//! [`Terms::cooling`](super::Terms) at most.

use crate::dispatch::book::{Book, Class, Millis};

/// What was taken back on a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cooling {
    site: usize,
    /// Thousandths of a GPU.
    milli: i64,
    until: Millis,
}

impl Book {
    /// Room was taken back: whoever was stopped gets none of it before it has cooled.
    pub(super) fn cool(&mut self, site: usize, milli: i64, now: Millis) {
        let until = now.saturating_add(self.terms.cooling);
        self.cooling.push(Cooling { site, milli, until });
    }

    /// Forgets what has cooled; whoever waited for it has a chance again.
    pub(super) fn forget_cooled(&mut self, now: Millis) {
        let before = self.cooling.len();
        self.cooling.retain(|cooling| cooling.until > now);
        self.released |= self.cooling.len() < before;
    }

    /// When something has cooled next.
    pub(super) fn next_cooled(&self, now: Millis) -> Option<Millis> {
        self.cooling.iter().map(|cooling| cooling.until).filter(|until| *until > now).min()
    }

    /// What a cluster does not lend to the head of a line, in thousandths of a GPU.
    pub(super) fn not_lent(&self, line: usize, site: usize) -> i64 {
        let taken: i64 = self.cooling_on(site).map(|cooling| cooling.milli).sum();
        if taken > 0 && self.class(line) == Class::Borrowing && self.would_stop_again(line) {
            taken
        } else {
            0
        }
    }

    /// When a cluster that has room lends it to the head of a line at the latest, if it does not now.
    pub(super) fn lent_from(&self, line: usize, site: usize) -> Option<Millis> {
        let shape = self.lines[line].shape;
        let short = self.room(site, shape) - shape.milli < self.not_lent(line, site);
        self.cooling_on(site).map(|cooling| cooling.until).max().filter(|_| short)
    }

    fn cooling_on(&self, site: usize) -> impl Iterator<Item = &Cooling> {
        self.cooling.iter().filter(move |cooling| cooling.site == site)
    }

    fn would_stop_again(&self, line: usize) -> bool {
        self.lines[line].ran > 0 && self.terms.before_stops.lasts(self.predict_line(line).millis, 0)
    }
}
