//! Preemption: which running attempts stop so that a waiting job gets what it is owed, and for whom their room is kept.
//!
//! Owns the plan and the claims that follow from it. Everything is decided on paper first: with all that may be stopped gone,
//! would the job fit; and if so, what of that is really needed, on the one cluster where least work is lost. Invariants: a queue is stopped for
//! another only where it borrows, and keeps its nominal quota in all that is short; nothing stops before its protected time;
//! what is beyond gangs goes before any attempt stops; nothing more stops than is needed; what stops already counts as gone until it is stuck, so nobody stops twice for one job; room and
//! quota are free when the pods are gone, and then they are the beneficiary's before anybody else's; of two beneficiaries, the one for
//! whom others were asked first. A pass looks for a bounded count of steps. Fails by stopping nothing: the job waits
//! for whatever ends. A claim that does not hold any more is dropped, and what comes free is everyone's.

#[cfg(test)]
mod claim_tests;
mod claims;
pub(crate) mod cost;
mod ledger;
mod paper;
mod patience;
#[cfg(test)]
mod patience_tests;
#[cfg(test)]
mod properties;
mod rules;
mod search;
#[cfg(test)]
mod search_tests;
mod shrink;
#[cfg(test)]
mod shrink_properties;
#[cfg(test)]
mod shrink_tests;
mod steps;
#[cfg(test)]
mod tests;
mod trial;
mod victims;
mod words;
#[cfg(test)]
mod world;

use serde::{Deserialize, Serialize};

pub use self::shrink::{Lift, Shrink};
pub(super) use self::{
    claims::{Claimed, Coming},
    words::{CUT, TOO_EARLY, waits_for},
};
pub use self::{cost::Patience, patience::Owed};
use self::{paper::Paper, rules::Rules, search::Found};
use crate::{
    dispatch::{plan::Pass, site::Open},
    id::{AttemptId, ClusterId, JobId},
    quota::Policy,
    time::Timestamp,
};

/// Jobs that get room made for them in one pass, at most.
pub const MOST_AT_ONCE: usize = 64;
/// What was asked to stop so long ago, in milliseconds, and is still there does not count as room to come any more, and no
/// claim waits longer for it.
pub const STUCK_AFTER_MS: i64 = 600_000;
/// What ended so long ago, in milliseconds, and still has pods keeps them for somebody to look at.
pub const STAYS_AFTER_MS: i64 = 120_000;
/// Kinds of jobs for which a pass looks in vain, at most.
const MOST_IN_VAIN: usize = 256;

/// Constants of preemption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// An attempt runs at least so many milliseconds before it may be stopped; twice as long after each stop.
    pub protected_ms: u64,
    /// Asked of queues that take back what they are guaranteed. A borrower of which nothing is expected is not spared.
    pub patience: Patience,
    /// Nodes, pods and attempts that one pass looks at to find who must stop, at most.
    pub steps: u64,
}

/// About two seconds of one core; the other replicas take a duty for free that is not kept for four.
const STEPS: u64 = 40_000_000;

impl Default for Terms {
    fn default() -> Terms {
        Terms { protected_ms: 600_000, patience: Patience::default(), steps: STEPS }
    }
}

/// What stopping an attempt would cost, and whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stake {
    /// Of the job.
    pub name: String,
    pub priority: i32,
    pub submitted_at: Timestamp,
    /// Since when it runs; nothing before that.
    pub began: Option<Timestamp>,
    /// How long it is expected to run in all, in milliseconds, as [`Waiting::expected_ms`](super::Waiting).
    pub expected_ms: Option<u64>,
    /// Its job goes on from its last checkpoint.
    pub resumes: bool,
    /// When it wrote that, as far as it said.
    pub saved: Option<Timestamp>,
    /// Attempts of its job that were stopped for others before.
    pub stops: u32,
    /// It is on its way out.
    pub asked: Option<Asked>,
    /// When its end was learnt, if it has ended.
    pub ended: Option<Timestamp>,
}

impl Default for Stake {
    fn default() -> Stake {
        Stake {
            name: String::new(),
            priority: 0,
            submitted_at: Timestamp(0),
            began: None,
            expected_ms: None,
            resumes: false,
            saved: None,
            stops: 0,
            asked: None,
            ended: None,
        }
    }
}

impl Stake {
    /// Whether what it holds is about to come free. What stays too long after its end, or after it was asked to stop, is not.
    pub fn is_leaving(&self, now: Timestamp) -> bool {
        let asked = self.asked.is_some_and(|asked| now.millis_since(asked.at) < STUCK_AFTER_MS);
        asked || self.ended.is_some_and(|ended| now.millis_since(ended) < STAYS_AFTER_MS)
    }
}

/// Somebody asked an attempt to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    pub at: Timestamp,
    /// The job that its room is for; nobody's when it was cancelled.
    pub makes_room_for: Option<JobId>,
}

/// A waiting job for which others were asked to stop on a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    pub job: JobId,
    pub cluster: ClusterId,
    pub since: Timestamp,
}

/// Room that is to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Making {
    pub job: JobId,
    pub cluster: ClusterId,
    /// For the job's history: who stops, and why that is right.
    pub because: String,
    /// All on that cluster.
    pub stops: Vec<Stop>,
    /// Of attempts that go on. Stops and these are never both empty.
    pub shrinks: Vec<Shrink>,
}

/// An attempt that has to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    pub attempt: AttemptId,
    pub kind: Kind,
    /// A clause that follows the name of the cluster.
    pub because: String,
    /// Work that has to be done again, in thousandths of a GPU times milliseconds.
    pub lost: i128,
}

/// By which right an attempt is stopped or shrunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Kind {
    /// It has more than its gang, which nobody promised it.
    Shrink,
    /// Its queue borrows what another is guaranteed.
    Reclaim,
    /// A more urgent job of the same quota waits.
    Priority,
}

impl Kind {
    /// The word stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Shrink => "SHRINK",
            Kind::Reclaim => "RECLAIM",
            Kind::Priority => "PRIORITY",
        }
    }
}

/// Whether any queue may have anything stopped.
pub fn is_possible(policy: &Policy) -> bool {
    !Rules::of(policy).is_empty()
}

impl Pass<'_> {
    /// Chooses what must stop. Call it when everything is placed, so that only those wait that fit nowhere.
    pub(super) fn make_room(&mut self) -> Vec<Making> {
        let rules = Rules::of(&self.input.policy);
        let mut making = Vec::new();
        if rules.is_empty() && !self.sites.iter().any(Open::is_elastic) {
            return making;
        }
        let mut paper = Paper::new(self);
        self.ask_all_again();
        let mut in_vain = 0;
        while making.len() < MOST_AT_ONCE && in_vain < MOST_IN_VAIN {
            let groups = &self.groups;
            let Some(group) = self.turns.next(&paper.quotas, |group| groups[group].charge.as_ref()) else {
                break;
            };
            match self.room_for(group, &rules, &mut paper) {
                // The last one that was read stays to speak for those that were not; the next pass goes on.
                Found::Stops(_) if self.groups[group].is_at_edge() => self.set_aside(group),
                Found::Stops(plan) => making.extend(self.claim(group, plan, &mut paper)),
                Found::Nothing { looked } => {
                    in_vain += usize::from(looked);
                    self.set_aside(group);
                }
                Found::TooEarly => {
                    in_vain += 1;
                    self.claimed.early.extend(self.groups[group].head().map(|job| job.job));
                    self.set_aside(group);
                }
                Found::Cut => {
                    in_vain += 1;
                    self.claimed.cut.extend(self.groups[group].head().map(|job| job.job));
                    self.set_aside(group);
                }
            }
        }
        making
    }
}
