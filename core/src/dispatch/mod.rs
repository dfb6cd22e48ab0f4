//! Dispatch: decides which waiting job goes to which cluster, and tells every other job why it waits.
//!
//! Owns placement. Invariants: a waiting job is either assigned or has at least one blocker; nothing is assigned beyond
//! what the nodes of a cluster have free, nor beyond what its queue may use of a flavor, and none to a node whose labels or
//! taints its pods do not accept; a cluster that is silent or not accepted gets nothing; the order of the input does not
//! matter. Queues within their guarantee go before those that borrow; within a queue the job of higher priority is looked at
//! first, then the one that is small for its wait, then the older; one that does not fit is passed over, and told so. A gang
//! that starves has a cluster kept for it.
//! Fails safe: a snapshot that is too old makes jobs wait. Repaired by the next pass, which looks at everything again.

mod blockers;
pub mod book;
pub mod change;
mod choice;
mod choose;
pub mod estimate;
mod explain;
#[cfg(test)]
mod flood_tests;
mod forgotten;
mod group;
mod keep;
pub mod lately;
mod location;
mod mismatch;
#[cfg(test)]
mod node_tests;
#[cfg(test)]
mod order_tests;
mod outlook;
pub mod owed;
mod pack;
mod plan;
#[cfg(test)]
mod policy_properties;
#[cfg(test)]
mod policy_tests;
pub mod predict;
pub mod preempt;
#[cfg(test)]
mod preference_tests;
mod price;
mod program;
pub mod quota;
mod refused;
mod room;
#[cfg(test)]
mod set_tests;
mod shape;
mod site;
pub mod soft;
pub mod tenants;
#[cfg(test)]
mod tests;
mod turns;
mod urgency;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

pub use crate::dispatch::{
    choice::{Choice, Ranked, Refusal, Term},
    explain::{MOST_OVERTAKERS, Place, waits},
    forgotten::Forgotten,
    keep::STARVES_AFTER_MS,
    outlook::{Outlook, Verdict, outlook},
    plan::{moves, plan},
    preempt::{Claim, Making, Stake},
    program::program,
    quota::{Bound, Usage},
    shape::{Shape, Vacancy},
    urgency::{PATIENCE_MS, Urgency},
};
use crate::{
    desired,
    id::{AttemptId, ClusterId, JobId},
    meter::Sheet,
    placement::{Face, Labels, NodeWish},
    preference::Preferences,
    quota::Policy,
    resources::Resources,
    time::Timestamp,
};

/// Equal pods of a job: the head, the submitter, or the minimum of one worker group, which is 0 only where the group may grow.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct GangPart {
    /// `head`, `submitter` or the name of a worker group.
    pub role: String,
    pub count: u32,
    /// As many as the group may have; nothing where it has always as many as it has at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u32>,
    /// Of one pod.
    #[serde(flatten)]
    pub requests: Resources,
    /// Which nodes will do for one pod.
    #[serde(default, skip_serializing_if = "NodeWish::is_empty")]
    pub wish: NodeWish,
}

/// Everything the pods of a gang ask for together.
pub fn gang_total(gang: &[GangPart]) -> Resources {
    gang.iter().map(|part| part.requests * i64::from(part.count)).sum()
}

/// Snapshot of everything a pass looks at.
#[derive(Clone, Debug)]
pub struct Input {
    pub clusters: Vec<Cluster>,
    pub waiting: Vec<Waiting>,
    /// What people declared about the use of the fleet; empty limits nothing.
    pub policy: Policy,
    /// Prices in force; needed only where a job has a maximum.
    pub sheet: Option<Sheet>,
    /// Jobs for which others were asked to stop.
    pub claims: Vec<Claim>,
    pub terms: preempt::Terms,
    /// What queues used lately of attempts that have ended.
    pub lately: BTreeMap<String, lately::Lately>,
    /// How far queues with a guarantee were below it; one that is not here counts as new.
    pub owed: BTreeMap<String, preempt::Owed>,
    /// What the database may have forgotten; absent nearly always.
    pub forgotten: Option<Forgotten>,
    pub now: Timestamp,
}

/// A snapshot of nothing, at the beginning of time.
impl Default for Input {
    fn default() -> Input {
        Input {
            clusters: Vec::new(),
            waiting: Vec::new(),
            policy: Policy::default(),
            sheet: None,
            claims: Vec::new(),
            terms: preempt::Terms::default(),
            lately: BTreeMap::new(),
            owed: BTreeMap::new(),
            forgotten: None,
            now: Timestamp(0),
        }
    }
}

/// Whether a cluster may be given jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Heard,
    /// Its last word is older than the limit.
    Silent {
        since: Timestamp,
    },
    /// It is heard, and has yet to tell what it holds, because the database may have forgotten some of it.
    Untold,
    /// Invited, pending or revoked.
    NotAccepted,
}

impl Standing {
    /// It gets no jobs now, and gets some again without anybody's word.
    fn is_away(self) -> bool {
        matches!(self, Standing::Silent { .. } | Standing::Untold)
    }
}

/// A cluster with what is on it.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub id: ClusterId,
    pub name: String,
    pub standing: Standing,
    /// What operators say of it, for example its region and the data sets near it.
    pub labels: Labels,
    pub nodes: Vec<Node>,
    /// Pods that hold or wait for room: not gone and not finished.
    pub pods: Vec<Pod>,
    /// Attempts that have not ended, whose pods may not be there yet.
    pub attempts: Vec<Held>,
    /// Attempts that have ended and of which pods are still there: they still count against quota.
    pub leaving: Vec<Held>,
    /// How much its desired set holds.
    pub set: desired::Size,
}

#[derive(Clone, Default, Debug)]
pub struct Node {
    pub name: String,
    /// Ready and not cordoned.
    pub usable: bool,
    pub allocatable: Resources,
    pub face: Face,
}

#[derive(Clone, Default, Debug)]
pub struct Pod {
    /// Empty while the scheduler has not bound it.
    pub node: String,
    pub requests: Resources,
    pub attempt: Option<AttemptId>,
    /// As in [`GangPart::role`].
    pub role: String,
    /// Of the object; needed only of worker groups that may grow.
    pub name: String,
}

/// An attempt that holds something of a cluster.
#[derive(Clone, Debug)]
pub struct Held {
    pub id: AttemptId,
    pub gang: Vec<GangPart>,
    pub queue: String,
    /// What it was charged when it was assigned; empty when no flavor was declared then.
    pub usage: Usage,
    /// As in [`Preferences::spread`].
    pub spread: String,
    pub assigned_at: Timestamp,
    pub stake: Stake,
    /// How far its worker groups may grow, where less than they asked for.
    pub capped: Option<soft::Capped>,
}

/// A job that waits for a placement.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub job: JobId,
    pub name: String,
    pub queue: String,
    pub submitted_at: Timestamp,
    pub gang: Vec<GangPart>,
    pub pinned: Option<ClusterId>,
    pub preferences: Preferences,
    /// Value of its priority class; the higher goes first within its queue.
    pub priority: i32,
    /// What it runs, by [`program`]; empty where that is not known.
    pub program: String,
    /// How long it is expected to run, in milliseconds, from jobs like it that ended; `None` while there are too few.
    pub expected_ms: Option<u64>,
    /// Bytes of its manifest, by [`desired::rounded`].
    pub manifest: u64,
    /// So many of the next younger jobs that are equal to it wait as well and are not part of the snapshot, at least.
    pub behind: u32,
}

/// One reason why a job waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocker {
    pub code: Cause,
    /// Name of the cluster it speaks of; empty when it is about all.
    pub cluster: String,
    pub sentence: String,
    /// What would change it; empty when only time will.
    pub try_this: String,
    /// What must change as well before the job starts; empty when changing this one is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Cause>,
}

/// Kinds of blockers, the most actionable first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Cause {
    /// Bigger than every cluster even when that is empty.
    TooBig,
    /// Its queue may not use so much, even if nothing ran.
    QuotaNever,
    /// There is room, but not where the job is pinned to.
    Pinned,
    /// The cluster is, or may be, outside of the regions that the job may run in.
    Residency,
    /// The job would cost more there than it may, or the price is not known.
    MaxPrice,
    /// The cluster's nodes have other labels or taints than a pod of the job accepts.
    NoMatchingNode,
    /// The cluster's nodes that would do have no flavor that the queue may use.
    NoFlavor,
    /// No cluster is accepted.
    NoCluster,
    /// Its queue may use so much, but not now.
    QuotaExhausted,
    /// Others were asked to stop for it.
    MakingRoom,
    /// What is free is kept for a gang that has waited too long, or for a job for which others stop.
    Reserved,
    /// The cluster could hold it, but not now.
    ClusterFull,
    /// The cluster has no node that is ready and not cordoned.
    NoReadyNode,
    /// The cluster is silent.
    ClusterStale,
    /// It may run already, because the database lost its newest commits.
    Failover,
}

impl Cause {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            Cause::TooBig => "TOO_BIG",
            Cause::QuotaNever => "QUOTA_NEVER",
            Cause::Pinned => "PINNED",
            Cause::Residency => "RESIDENCY",
            Cause::MaxPrice => "MAX_PRICE",
            Cause::NoMatchingNode => "NO_MATCHING_NODE",
            Cause::NoFlavor => "NO_FLAVOR",
            Cause::NoCluster => "NO_CLUSTER",
            Cause::QuotaExhausted => "QUOTA_EXHAUSTED",
            Cause::MakingRoom => "MAKING_ROOM",
            Cause::Reserved => "RESERVED",
            Cause::ClusterFull => "CLUSTER_FULL",
            Cause::NoReadyNode => "NO_READY_NODE",
            Cause::ClusterStale => "CLUSTER_STALE",
            Cause::Failover => "FAILOVER",
        }
    }
}

/// A job that gets a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assign {
    pub job: JobId,
    pub cluster: ClusterId,
    /// Why this cluster, with the terms that were compared.
    pub because: String,
    /// What its queue is charged until the attempt is over; empty when no flavor is declared.
    pub usage: Usage,
    /// What keeps its pods on nodes of the flavors that they were placed on; empty when no flavor is declared.
    pub bound: Bound,
    /// The candidates with every term, and what the other clusters lacked.
    pub choice: Choice,
}

/// A job that keeps waiting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    pub job: JobId,
    /// First those of which one change is enough, the most actionable first; never empty. Equal jobs share them.
    pub blockers: Arc<Vec<Blocker>>,
    /// Whether it could start only beyond what is left of a guarantee. Those that do not stand before in their queue.
    pub borrows: bool,
    /// What is said of this job alone, at the end of its sentence; empty for nearly all.
    pub note: String,
}

impl Blocked {
    /// Whether room is made for this one, so that it waits for nothing for which jobs that are equal to it wait.
    pub fn is_alone(&self) -> bool {
        self.blockers.first().is_some_and(|first| first.code == Cause::MakingRoom)
    }

    /// Whether it hears anything that jobs which are equal to it do not.
    pub fn is_its_own(&self) -> bool {
        self.is_alone() || !self.note.is_empty()
    }
}

/// What a pass decided: every waiting job is either assigned or blocked, unless it was cut.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    pub assign: Vec<Assign>,
    /// Of each queue in the order of its line.
    pub blocked: Vec<Blocked>,
    /// Who is asked to stop or to shrink, and for whom; their jobs are among the blocked ones.
    pub making: Vec<Making>,
    /// Worker groups that may grow again.
    pub lifts: Vec<preempt::Lift>,
    /// Jobs for which no room is kept any more.
    pub dropped: Vec<JobId>,
    /// How far queues with a guarantee are below it from now on, if any queue may have others stopped.
    pub owed: BTreeMap<String, preempt::Owed>,
    /// All jobs of some shape that were read are placed, and more of it wait. Nothing was placed after that, nobody is asked
    /// to stop and nobody is told why it waits, because the next would be one of those: the next pass goes on.
    pub cut: bool,
}
