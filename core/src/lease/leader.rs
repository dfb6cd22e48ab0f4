//! Leader: which of several control planes may write (R10).
//!
//! Owns taking over a duty and the check that every write makes. Invariants: a term is taken by changing a row that was
//! not changed for a while on the taker's own monotonic clock, so a wall clock that jumps neither steals a duty nor keeps
//! it; a write stands only under the term and the history of the database it was decided under, so neither a paused leader
//! nor one from before a failover can commit. Fails safe: nobody writes until someone took the duty. Repaired by the
//! next look of any replica.

use crate::lease::Tick;

/// The duty's row. `beat` grows whenever its holder keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Row {
    pub term: u64,
    pub beat: u64,
    /// The replica that holds it.
    pub holder: u64,
    /// The database's history under which it was taken, by a number that no other has; a failover begins another.
    pub history: u64,
}

impl Row {
    /// Whether a write that was decided under `self` may be committed while `now` is the row.
    pub fn stands(&self, now: &Row, history: u64) -> bool {
        (self.term, self.holder) == (now.term, now.holder)
            && self.history == history
            && now.history == history
    }
}

/// What one replica has seen of a duty.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Race {
    seen: Option<(Row, Tick)>,
}

/// What a replica may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duty {
    /// It holds the duty; it writes this row, if the row is still what it saw.
    Keep(Row),
    /// Nobody kept it for long; it writes this row, if the row is still what it saw, and begins with new ears.
    Take(Row),
    /// Somebody else does it.
    Wait,
}

impl Race {
    /// Looks at the row as `me`. A row that nobody touched for `patience` milliseconds is free.
    pub fn look(&mut self, row: Row, me: u64, history: u64, patience: u64, now: Tick) -> Duty {
        let since = match self.seen {
            Some((seen, since)) if seen == row => since,
            _ => now,
        };
        self.seen = Some((row, since));
        let next = Row { beat: row.beat.saturating_add(1), ..row };
        if row.history != history || row.term == 0 {
            Duty::Take(Row { term: row.term.saturating_add(1), holder: me, history, ..next })
        } else if row.holder == me {
            Duty::Keep(next)
        } else if now.since(since) >= patience {
            Duty::Take(Row { term: row.term.saturating_add(1), holder: me, ..next })
        } else {
            Duty::Wait
        }
    }
}
