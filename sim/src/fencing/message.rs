//! Messages between agents and replicas of the control plane. Each may be lost, late, repeated or overtaken.

use squadron_core::{
    id::{AttemptId, ClusterId, Epoch},
    lease::Grant,
};

/// What an attempt is doing in its cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Starting,
    Running,
    Finished,
}

/// What an agent says about its cluster, numbered within its epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    Created {
        attempt: AttemptId,
        uid: u64,
    },
    Running {
        attempt: AttemptId,
    },
    Finished {
        attempt: AttemptId,
    },
    Removed {
        attempt: AttemptId,
    },
    Fenced {
        attempt: AttemptId,
        why: String,
    },
    Refused {
        attempt: AttemptId,
        why: String,
    },
    /// Everything that exists, and what a fencer stopped.
    Inventory {
        held: Vec<(AttemptId, u64, Phase)>,
        fenced: Vec<AttemptId>,
    },
}

/// A report with its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub epoch: Epoch,
    pub seq: u64,
    pub report: Report,
}

/// From an agent: a renewal with everything that waits to be said.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Index of the agent, to answer it.
    pub agent: usize,
    pub cluster: ClusterId,
    pub epoch: Epoch,
    pub pod: String,
    /// Renewals acknowledged to this cluster's agents, by its Lease object.
    pub acknowledged: u64,
    /// Number of the renewal.
    pub number: u64,
    /// Newest desired state that it acted on.
    pub applied: u64,
    pub accepts: Vec<AttemptId>,
    pub records: Vec<Record>,
}

/// An attempt that the cluster should hold.
#[derive(Clone, Debug)]
pub struct Want {
    pub grant: Grant,
    pub job: usize,
    pub name: String,
    pub uid: Option<u64>,
}

/// To an agent.
#[derive(Clone, Debug)]
pub struct Answer {
    pub epoch: Epoch,
    /// The renewal that it acknowledges.
    pub number: u64,
    pub ttl: u64,
    /// Renewals acknowledged to the cluster so far.
    pub total: u64,
    pub generation: u64,
    pub wants: Vec<Want>,
    /// Newest committed record of each epoch that was asked about.
    pub watermarks: Vec<(Epoch, u64)>,
    /// The database's timeline; a failover moves it.
    pub timeline: u32,
    pub wants_inventory: bool,
    pub refused: bool,
}
