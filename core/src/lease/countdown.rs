//! Countdown: a promise of time left, counted from the moment it was asked for.
//!
//! Owns the one trick that needs no common clock (R6): whoever asks notes when it asked; the answer says how long the
//! promise lasts; the end is counted from the question. However long question and answer took, the one who asked ends
//! no later than the one who answered, but for drift. Invariant: `until` never falls, and an answer to a question
//! that was never asked, or not by this life, changes nothing (R13).

use std::collections::BTreeMap;

use crate::lease::Tick;

/// Questions that are remembered at a time; an answer to an older one comes too late to matter.
const REMEMBERED: usize = 256;

/// When each open question was asked, and the end of the best promise so far.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Countdown {
    asked: BTreeMap<u64, Tick>,
    last: u64,
    until: Option<Tick>,
}

impl Countdown {
    /// One that knows of a promise from before.
    pub fn known(until: Tick) -> Countdown {
        Countdown { until: Some(until), ..Countdown::default() }
    }

    /// Notes a question; answers its number, which counts from 1.
    pub fn ask(&mut self, now: Tick) -> u64 {
        self.last = self.last.saturating_add(1);
        self.asked.insert(self.last, now);
        if self.asked.len() > REMEMBERED {
            self.asked.pop_first();
        }
        self.last
    }

    /// Number of the last question; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Takes the answer that `left` milliseconds were left when question `number` was answered. False if it is no news.
    pub fn answer(&mut self, number: u64, left: u64) -> bool {
        let Some(asked) = self.asked.get(&number) else { return false };
        let until = asked.plus(left);
        let longer = self.until.is_none_or(|known| until > known);
        if longer {
            self.until = Some(until);
        }
        self.asked = self.asked.split_off(&number);
        longer
    }

    /// When question `number` was asked, if that is still known.
    pub fn asked_at(&self, number: u64) -> Option<Tick> {
        self.asked.get(&number).copied()
    }

    /// The end of the promise; none before the first answer.
    pub fn until(&self) -> Option<Tick> {
        self.until
    }

    /// Milliseconds left at `now`; 0 when it ended or never began.
    pub fn left(&self, now: Tick) -> u64 {
        self.until.map_or(0, |until| until.since(now))
    }
}
