//! Policy: what the owner of a job wants when its cluster falls silent.
//!
//! Owns the choice and its reason. Invariant: nobody gets two copies of a job without asking for it twice, once at the
//! job and once at the queue.

use std::{fmt, str::FromStr};

/// What happens to an attempt whose cluster is lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Policy {
    /// Never started elsewhere without proof that the first copy is gone, or an operator's word. Never stops by itself.
    Wait,
    /// Stops itself when its lease ends; started elsewhere after that.
    Fence,
    /// Started elsewhere as soon as the cluster is suspected; two copies may run at once, and that is counted.
    Rerun,
}

impl Policy {
    pub const ALL: [Policy; 3] = [Policy::Wait, Policy::Fence, Policy::Rerun];

    /// The word stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Policy::Wait => "wait",
            Policy::Fence => "fence",
            Policy::Rerun => "rerun",
        }
    }

    /// Whether the cluster stops the attempt by itself when its lease ends.
    pub fn stops_itself(self) -> bool {
        self != Policy::Wait
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Policy {
    type Err = Refusal;
    fn from_str(word: &str) -> Result<Policy, Refusal> {
        Policy::ALL
            .into_iter()
            .find(|policy| policy.word() == word)
            .ok_or_else(|| Refusal::Unknown(crate::sentence::clip(word, 40)))
    }
}

/// What a job says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    pub policy: Option<Policy>,
    /// It reads `SQUADRON_ATTEMPT` and its last checkpoint, and goes on from there.
    pub resumes: bool,
    /// Where it writes checkpoints; empty when it does not say.
    pub checkpoint: String,
}

/// What a queue says about its jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueLease {
    /// For jobs that ask for nothing; never `rerun`, which a job must ask for itself.
    pub default: Option<Policy>,
    /// An administrator allows two copies at once in this queue.
    pub allows_overlap: bool,
}

/// A policy with the reason for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    pub policy: Policy,
    pub because: String,
}

/// Why a job cannot have what it asks for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{0:?} is no policy for a lost cluster; choose wait, fence or rerun")]
    Unknown(String),
    #[error(
        "the job asks for rerun, and its queue does not allow two copies of a job at once; choose fence, or ask an \
         administrator to allow overlap in the queue"
    )]
    OverlapNotAllowed,
}

/// The policy of a job in a queue.
pub fn choose(wish: &Wish, queue: QueueLease) -> Result<Chosen, Refusal> {
    let default = queue.default.filter(|policy| *policy != Policy::Rerun);
    let (policy, because) = match (wish.policy, default) {
        (Some(Policy::Rerun), _) if !queue.allows_overlap => return Err(Refusal::OverlapNotAllowed),
        (Some(policy), _) => (policy, "the job asks for it"),
        (None, Some(policy)) => (policy, "it is the queue's default"),
        (None, None) if wish.resumes => (Policy::Fence, "the job says that it can resume"),
        (None, None) if wish.checkpoint.is_empty() => (Policy::Wait, "the job names no checkpoint"),
        (None, None) => (Policy::Wait, "the job does not say that it can resume"),
    };
    Ok(Chosen { policy, because: because.to_owned() })
}
