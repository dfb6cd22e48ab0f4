//! Choice: what was compared when a cluster was chosen, as data that is kept with the decision.
//!
//! Owns the shape in which candidates, their terms and the clusters that cannot take a job are stored and shown. Invariant:
//! candidates stand in the order in which they were ranked, and each says which term set it apart. What was left out to keep
//! a decision small is counted. Nothing here judges; [`super::choose`] and [`super::refused`] do.

use serde::{Deserialize, Serialize};

use crate::{dispatch::Blocker, resources::Resources};

/// Candidates, and refusals, that are kept with one decision at most.
pub const KEPT: usize = 10;

/// One term of the comparison. The smaller value is better; terms count in their order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Term {
    /// Stable word: `borrowing`, `preference`, `data`, `spread`, `price`, `idle_gpus`, `node_size`, `run`, `jobs_there` or `fullness`.
    pub name: String,
    pub value: i64,
    /// What the value counts; empty where it is yes (1) or no (0).
    #[serde(default)]
    pub unit: String,
    /// The value in words, for example `it runs 2 jobs`.
    pub clause: String,
    /// The first term that differs from the chosen cluster's; of the chosen cluster, from the next best one's.
    pub decided: bool,
}

/// A cluster that had room.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ranked {
    pub cluster: String,
    /// Free before the job is placed.
    pub free: Resources,
    /// Of its usable nodes when empty.
    pub total: Resources,
    pub terms: Vec<Term>,
}

/// A cluster that could not take the job.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    #[serde(flatten)]
    pub blocker: Blocker,
    pub free: Resources,
    pub total: Resources,
}

/// Everything that a choice went by.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// Best first; the first one is chosen if the job is placed.
    pub candidates: Vec<Ranked>,
    /// Accepted clusters without room for the job, or that it may not use.
    pub refused: Vec<Refusal>,
    /// Candidates and refusals beyond [`KEPT`] of each.
    pub left_out: u32,
}

impl Choice {
    /// At most [`KEPT`] of each, of `all` candidates and refusals together.
    pub fn new(mut candidates: Vec<Ranked>, mut refused: Vec<Refusal>, all: usize) -> Choice {
        candidates.truncate(KEPT);
        refused.truncate(KEPT);
        let left_out = all.saturating_sub(candidates.len() + refused.len());
        Choice { candidates, refused, left_out: u32::try_from(left_out).unwrap_or(u32::MAX) }
    }
}
