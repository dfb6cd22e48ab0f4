//! Preemption: which running jobs a queue may have stopped so that its own can start, in Kueue's words.
//!
//! Owns the words and their defaults; who is stopped is the dispatcher's to decide. Invariant: nothing is stopped for a
//! queue that does not ask for it, because both rules are `Never` where nothing is said.

use serde::{Deserialize, Serialize};

/// What a queue says; it holds for all below it that say nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Preemption {
    /// `withinClusterQueue`: jobs of the same quota.
    pub within: Within,
    /// `reclaimWithinCohort`: jobs of others that borrow what this queue is guaranteed.
    pub reclaim: Reclaim,
}

/// Which jobs of the same quota may be stopped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum Within {
    #[default]
    Never,
    LowerPriority,
    /// Those as urgent that were submitted later as well.
    LowerOrNewerEqualPriority,
}

/// Which jobs of borrowers may be stopped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum Reclaim {
    #[default]
    Never,
    LowerPriority,
    Any,
}

impl Preemption {
    /// Whether anything may ever be stopped for such a queue.
    pub fn is_never(self) -> bool {
        self == Preemption::default()
    }
}

impl Within {
    pub const ALL: [Within; 3] = [Within::Never, Within::LowerPriority, Within::LowerOrNewerEqualPriority];

    /// The word stored, written and read.
    pub fn word(self) -> &'static str {
        match self {
            Within::Never => "Never",
            Within::LowerPriority => "LowerPriority",
            Within::LowerOrNewerEqualPriority => "LowerOrNewerEqualPriority",
        }
    }

    pub fn from_word(word: &str) -> Option<Within> {
        Within::ALL.into_iter().find(|one| one.word() == word)
    }
}

impl Reclaim {
    pub const ALL: [Reclaim; 3] = [Reclaim::Never, Reclaim::LowerPriority, Reclaim::Any];

    /// The word stored, written and read.
    pub fn word(self) -> &'static str {
        match self {
            Reclaim::Never => "Never",
            Reclaim::LowerPriority => "LowerPriority",
            Reclaim::Any => "Any",
        }
    }

    pub fn from_word(word: &str) -> Option<Reclaim> {
        Reclaim::ALL.into_iter().find(|one| one.word() == word)
    }
}
