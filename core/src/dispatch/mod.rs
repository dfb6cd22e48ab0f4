//! Dispatch: decides which waiting job goes to which cluster, and tells every other job why it waits.
//!
//! Owns placement. Invariants: a waiting job is either assigned or has at least one blocker; nothing is assigned beyond
//! what the nodes of a cluster have free, and none to a node whose labels or taints its pods do not accept; a cluster that is silent or not accepted gets nothing; the order of the input
//! does not matter. Within a queue the oldest job is looked at first; one that does not fit is passed over, and told so.
//! Fails safe: a snapshot that is too old makes jobs wait. Repaired by the next pass, which looks at everything again.

mod blockers;
pub mod book;
mod choice;
mod choose;
pub mod estimate;
mod mismatch;
#[cfg(test)]
mod node_tests;
mod outlook;
mod plan;
pub mod predict;
mod refused;
mod room;
pub mod tenants;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use crate::dispatch::{
    choice::{Choice, Ranked, Refusal, Term},
    outlook::{Outlook, Verdict, outlook},
    plan::plan,
};
use crate::{
    id::{AttemptId, ClusterId, JobId},
    placement::{Face, NodeWish},
    resources::Resources,
    time::Timestamp,
};

/// Equal pods of a job: the head, the submitter, or the minimum of one worker group.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct GangPart {
    /// `head`, `submitter` or the name of a worker group.
    pub role: String,
    pub count: u32,
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
#[derive(Clone, Default, Debug)]
pub struct Input {
    pub clusters: Vec<Cluster>,
    pub waiting: Vec<Waiting>,
}

/// Whether a cluster may be given jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Heard,
    /// Its last word is older than the limit.
    Silent {
        since: Timestamp,
    },
    /// Invited, pending or revoked.
    NotAccepted,
}

/// A cluster with what is on it.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub id: ClusterId,
    pub name: String,
    pub standing: Standing,
    pub nodes: Vec<Node>,
    /// Pods that hold or wait for room: not gone and not finished.
    pub pods: Vec<Pod>,
    /// Attempts that have not ended, whose pods may not be there yet.
    pub attempts: Vec<Held>,
}

#[derive(Clone, Default, Debug)]
pub struct Node {
    pub name: String,
    /// Ready and not cordoned.
    pub usable: bool,
    pub allocatable: Resources,
    pub face: Face,
}

#[derive(Clone, Debug)]
pub struct Pod {
    /// Empty while the scheduler has not bound it.
    pub node: String,
    pub requests: Resources,
    pub attempt: Option<AttemptId>,
    /// As in [`GangPart::role`].
    pub role: String,
}

/// An attempt that has not ended.
#[derive(Clone, Debug)]
pub struct Held {
    pub id: AttemptId,
    pub gang: Vec<GangPart>,
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
    /// Jobs of its queue that came later and were placed before.
    pub overtaken: u32,
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
}

/// Kinds of blockers, the most actionable first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Cause {
    /// Bigger than every cluster even when that is empty.
    TooBig,
    /// There is room, but not where the job is pinned to.
    Pinned,
    /// The cluster's nodes have other labels or taints than a pod of the job accepts.
    NoMatchingNode,
    /// No cluster is accepted.
    NoCluster,
    /// The cluster could hold it, but not now.
    ClusterFull,
    /// The cluster has no node that is ready and not cordoned.
    NoReadyNode,
    /// The cluster is silent.
    ClusterStale,
}

impl Cause {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            Cause::TooBig => "TOO_BIG",
            Cause::Pinned => "PINNED",
            Cause::NoMatchingNode => "NO_MATCHING_NODE",
            Cause::NoCluster => "NO_CLUSTER",
            Cause::ClusterFull => "CLUSTER_FULL",
            Cause::NoReadyNode => "NO_READY_NODE",
            Cause::ClusterStale => "CLUSTER_STALE",
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
    /// The candidates with every term, and what the other clusters lacked.
    pub choice: Choice,
}

/// A job that keeps waiting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocked {
    pub job: JobId,
    /// Place among those that keep waiting in its queue, from 1.
    pub position: u32,
    pub queue_length: u32,
    /// What the job's page says.
    pub sentence: String,
    /// Most actionable first; never empty.
    pub blockers: Vec<Blocker>,
}

/// What a pass decided: every waiting job is in exactly one of the two.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    pub assign: Vec<Assign>,
    pub blocked: Vec<Blocked>,
}
