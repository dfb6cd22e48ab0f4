//! Silence: whether a cluster is heard, judged from the time of its last word.
//!
//! Owns the one answer to "is it silent, and since when", for the dispatcher, the link, lists and pages alike. Invariant: a
//! word counts for as long as the judge's limit, no longer, and a word from the future proves nothing. Fails safe: where the
//! clocks cannot be believed the cluster is called silent, so nothing new is placed there. Repaired by the next word.

use crate::time::Timestamp;

/// A time further ahead than this was written by a clock that ran ahead, in milliseconds. Clocks of several control planes
/// may differ by less.
pub const AHEAD_MS: i64 = 30_000;

/// Judges at one moment, by one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judge {
    pub now: Timestamp,
    /// Age of the last word after which a cluster is silent, in milliseconds.
    pub after_ms: i64,
}

/// What is known of a cluster's last word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    Heard,
    Silent {
        since: Timestamp,
    },
    /// Not one word came so far.
    Never,
}

impl Judge {
    /// Judges a last word.
    pub fn word(self, last_heard_at: Option<Timestamp>) -> Word {
        let Some(heard) = last_heard_at else { return Word::Never };
        if heard.millis_since(self.now) > AHEAD_MS {
            Word::Silent { since: self.now }
        } else if self.now.millis_since(heard) > self.after_ms {
            Word::Silent { since: heard }
        } else {
            Word::Heard
        }
    }

    /// Since when a cluster with this last word is silent; `None` while it is heard and before its first word.
    pub fn silent_since(self, last_heard_at: Option<Timestamp>) -> Option<Timestamp> {
        match self.word(last_heard_at) {
            Word::Silent { since } => Some(since),
            Word::Heard | Word::Never => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);
    const JUDGE: Judge = Judge { now: NOW, after_ms: 25_000 };

    #[test]
    fn a_word_counts_up_to_the_limit() {
        let ago = |millis: i64| NOW.plus_millis(-millis);
        assert_eq!(JUDGE.word(Some(ago(25_000))), Word::Heard);
        assert_eq!(JUDGE.word(Some(ago(25_001))), Word::Silent { since: ago(25_001) });
        assert_eq!((JUDGE.word(None), JUDGE.silent_since(None)), (Word::Never, None));
    }

    #[test]
    fn a_word_from_the_future_proves_nothing() {
        assert_eq!(JUDGE.word(Some(NOW.plus_millis(AHEAD_MS))), Word::Heard, "clocks differ a little");
        let ahead = Some(NOW.plus_millis(3_600_000));
        assert_eq!(JUDGE.silent_since(ahead), Some(NOW));
    }
}
