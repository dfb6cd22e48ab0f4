//! Proof: the reason why nothing of an attempt runs any more, or why a second copy is allowed.
//!
//! Invariant (R5): a value of [`Proof`] is made here and by the granter only, so an attempt cannot be closed as lost
//! without one. Every proof is a sentence that people are shown as it stands.

use crate::{id::AttemptId, sentence::clip};

/// Which clause of R5 holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProofKind {
    /// The agent saw the object with this uid go.
    ReportedGone,
    /// The agent never accepted it, and its grant is over.
    NeverAccepted,
    /// Its lease and the guard are over.
    LeaseEnded,
    /// The owner allowed a second copy.
    OverlapAllowed,
    /// A person vouches for it.
    OperatorsWord,
    /// A newer attempt was found, so this one was closed before a failover forgot it.
    Superseded,
}

impl ProofKind {
    /// The word stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            ProofKind::ReportedGone => "reported_gone",
            ProofKind::NeverAccepted => "never_accepted",
            ProofKind::LeaseEnded => "lease_ended",
            ProofKind::OverlapAllowed => "overlap_allowed",
            ProofKind::OperatorsWord => "operators_word",
            ProofKind::Superseded => "superseded",
        }
    }
}

/// Nothing of `attempt` runs, or its owner does not mind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    attempt: AttemptId,
    kind: ProofKind,
    because: String,
}

/// What a person says about a lost cluster, for the audit.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Word {
    by: String,
    why: String,
}

/// Why a word or a report proves nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WordRefused {
    #[error("nobody stands behind the word; sign in, then say it again")]
    Nobody,
    #[error(
        "say how you know that nothing runs there, for example \"the machines were returned\"; the audit keeps the words"
    )]
    NoReason,
    #[error("the report speaks of the object with uid {said:?}, and the attempt's has uid {known:?}")]
    OtherUid { known: String, said: String },
}

impl Word {
    /// The word of `by`, who says `why` nothing runs there.
    pub fn new(by: &str, why: &str) -> Result<Word, WordRefused> {
        let (by, why) = (clip(by, 200), clip(why, 200));
        if by.is_empty() {
            Err(WordRefused::Nobody)
        } else if why.is_empty() {
            Err(WordRefused::NoReason)
        } else {
            Ok(Word { by, why })
        }
    }
}

impl Proof {
    pub(super) fn new(attempt: AttemptId, kind: ProofKind, because: String) -> Proof {
        Proof { attempt, kind, because }
    }

    /// The agent saw the attempt's object and its pods go. `known` is the uid that it reported when it made it.
    pub fn reported_gone(
        attempt: AttemptId,
        known: Option<&str>,
        said: &str,
        why: &str,
    ) -> Result<Proof, WordRefused> {
        match known {
            Some(known) if known != said => {
                Err(WordRefused::OtherUid { known: clip(known, 63), said: clip(said, 63) })
            }
            _ => Ok(Proof::new(attempt, ProofKind::ReportedGone, clip(why, 300))),
        }
    }

    /// An operator vouches that nothing of the attempt runs.
    pub fn operators_word(attempt: AttemptId, word: &Word) -> Proof {
        let because = format!("{} says that nothing of it runs any more ({})", word.by, word.why);
        Proof::new(attempt, ProofKind::OperatorsWord, because)
    }

    /// A cluster holds attempt `newer`, which can only exist because this one was closed before.
    pub fn superseded(attempt: AttemptId, newer: u32) -> Option<Proof> {
        let because =
            format!("was given up before the database lost its newest commits: attempt {newer} was found");
        (newer > attempt.number).then(|| Proof::new(attempt, ProofKind::Superseded, because))
    }

    pub fn attempt(&self) -> AttemptId {
        self.attempt
    }

    pub fn kind(&self) -> ProofKind {
        self.kind
    }

    /// A clause that follows the name of the cluster.
    pub fn because(&self) -> &str {
        &self.because
    }
}
