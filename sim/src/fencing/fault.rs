//! Faults: the threats T1 to T12, each with a beginning and an end.

use crate::fencing::scenario::Ms;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// T1: the agent is killed and comes back, perhaps as another pod without its disk.
    AgentCrash,
    /// T1: a new version takes over; the old one says goodbye.
    AgentUpgrade,
    /// T1: the agent stands still and goes on as if nothing had happened.
    AgentPause,
    /// T2: nothing gets through.
    Cut,
    /// T2, T8: nothing gets through, and all of it arrives afterwards.
    BlackHole,
    /// T3: no replica runs.
    PlaneDown,
    /// T3: Postgres does not answer.
    PostgresDown,
    /// T4: the cluster's API server does not answer; its pods run on.
    ApiDown,
    /// T5: nodes are cut off from their API server and from the agent; their pods run on.
    NodeCut,
    /// T6: the cluster is gone for good.
    Destroyed,
    /// T7: one replica stands still and goes on as if nothing had happened.
    ReplicaPause,
    /// T3, T7: one replica is killed and comes back.
    ReplicaCrash,
    /// T9: wall clocks jump by an hour.
    ClockJump,
    /// T10: Postgres fails over to a replica that lacks the last commits.
    Failover,
    /// T11: a copy of the cluster with its Secret appears.
    Copy,
    /// T12: a person deletes an object.
    HumanDeletes,
    /// T12: a person makes an object under the name of an attempt to come.
    HumanTakesName,
    /// The fencer is killed and comes back on its node.
    FencerCrash,
}

impl Kind {
    pub const ALL: [Kind; 18] = [
        Kind::AgentCrash,
        Kind::AgentUpgrade,
        Kind::AgentPause,
        Kind::Cut,
        Kind::BlackHole,
        Kind::PlaneDown,
        Kind::PostgresDown,
        Kind::ApiDown,
        Kind::NodeCut,
        Kind::Destroyed,
        Kind::ReplicaPause,
        Kind::ReplicaCrash,
        Kind::ClockJump,
        Kind::Failover,
        Kind::Copy,
        Kind::HumanDeletes,
        Kind::HumanTakesName,
        Kind::FencerCrash,
    ];

    /// The threat and the word for it, as counted in the report.
    pub fn word(self) -> &'static str {
        match self {
            Kind::AgentCrash => "T1_agent_crash",
            Kind::AgentUpgrade => "T1_agent_upgrade",
            Kind::AgentPause => "T1_agent_pause",
            Kind::Cut => "T2_link_cut",
            Kind::BlackHole => "T2_T8_black_hole",
            Kind::PlaneDown => "T3_control_plane_down",
            Kind::PostgresDown => "T3_postgres_down",
            Kind::ApiDown => "T4_api_server_down",
            Kind::NodeCut => "T5_node_cut_off",
            Kind::Destroyed => "T6_cluster_destroyed",
            Kind::ReplicaPause => "T7_replica_paused",
            Kind::ReplicaCrash => "T7_replica_crash",
            Kind::ClockJump => "T9_clock_jump",
            Kind::Failover => "T10_postgres_failover",
            Kind::Copy => "T11_copied_cluster",
            Kind::HumanDeletes => "T12_object_deleted",
            Kind::HumanTakesName => "T12_name_taken",
            Kind::FencerCrash => "fencer_crash",
        }
    }
}

/// One fault of a run.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: Kind,
    pub at: Ms,
    pub until: Ms,
    /// Index of the cluster that it hits, where it hits one.
    pub cluster: usize,
    pub replica: usize,
    /// Further chance: whether the disk is lost, how much the database forgets.
    pub draw: u64,
}
