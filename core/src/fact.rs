//! Facts: what an agent observed, normalised, in the shape that goes over the wire and into Postgres.
//!
//! Owns the vocabulary between agents and deciders. Invariant: a fact says what was seen and when; it never holds a
//! judgement. Parsing is strict on known fields and bounded by the reader; unknown kinds come out as an error, and the
//! record that held them is put aside, never blocking the rest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    id::{AttemptId, JobId},
    placement::Face,
    resources::Resources,
    time::Timestamp,
};

/// One normalised observation. Its number (cluster, epoch, class, seq) and the time travel beside it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fact {
    Node(NodeFact),
    Pod(Box<PodFact>),
    RayCluster(RayClusterFact),
    RayJob(RayJobFact),
    Attempt(AttemptFact),
    Kernel(KernelFact),
    Event(EventFact),
    /// A complete re-list ended: any pod or node of this cluster not listed here no longer exists.
    Inventory(InventoryFact),
    /// Instead of an inventory that would be too long for one record: a part of it.
    Listed(ListedFact),
    /// A RayJob that somebody put into the cluster for Squadron to run.
    Arrival(Box<ArrivalFact>),
    /// The attempts that the cluster holds, told when they are asked for.
    Holdings(HoldingsFact),
}

/// A node as the API server has it. `gone` marks its deletion.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFact {
    pub name: String,
    pub uid: String,
    pub ready: bool,
    pub unschedulable: bool,
    pub capacity: Resources,
    pub allocatable: Resources,
    /// `nvidia.com/gpu.product` or the like; empty when the node has none.
    pub gpu_model: String,
    pub instance_type: String,
    /// Labels and the taints that keep pods away; an agent that does not tell them leaves both empty.
    #[serde(flatten)]
    pub face: Face,
    pub created_at: Option<Timestamp>,
    pub gone: bool,
}

/// A pod of any namespace. `gone` marks its deletion.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PodFact {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// Empty until the scheduler bound it.
    pub node: String,
    /// Pending, Running, Succeeded, Failed or Unknown.
    pub phase: String,
    pub ready: bool,
    /// Scheduler's or kubelet's word on why the pod does not run, for example `Unschedulable`.
    pub reason: String,
    pub message: String,
    /// As the scheduler counts: max(init containers, sum of containers) plus overhead.
    pub requests: Resources,
    pub created_at: Option<Timestamp>,
    /// PodScheduled turned true: from here on the resources are taken.
    pub bound_at: Option<Timestamp>,
    /// First container started.
    pub started_at: Option<Timestamp>,
    /// Last container finished, or the deletion was seen.
    pub finished_at: Option<Timestamp>,
    pub gone: bool,
    /// Its deletion was asked for, and its containers end because of that.
    pub deleting: bool,
    pub attempt: Option<AttemptId>,
    /// `head`, `worker` or `submitter`; empty for other pods.
    pub role: String,
    pub ray_cluster: String,
    pub worker_group: String,
    pub containers: Vec<ContainerFact>,
}

/// One container's state; terminated fields come from `state` or, failing that, `lastState`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerFact {
    pub name: String,
    /// `waiting`, `running` or `terminated`.
    pub state: String,
    /// For example ImagePullBackOff, OOMKilled, Error, Completed.
    pub reason: String,
    pub message: String,
    pub exit_code: Option<i32>,
    pub restarts: i32,
    pub finished_at: Option<Timestamp>,
}

/// A RayCluster's status.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RayClusterFact {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub state: String,
    pub reason: String,
    pub desired_workers: i32,
    pub ready_workers: i32,
    pub head_pod: String,
    pub attempt: Option<AttemptId>,
    pub gone: bool,
    pub gone_why: String,
}

/// A RayJob's status: both of its axes, as they stand.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RayJobFact {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub attempt: Option<AttemptId>,
    /// "", Initializing, Waiting, Running, Complete, Failed, ValidationFailed, Suspending, Suspended, Retrying.
    pub deployment_status: String,
    /// "", PENDING, RUNNING, STOPPED, SUCCEEDED, FAILED.
    pub job_status: String,
    pub reason: String,
    pub message: String,
    pub ray_cluster: String,
    pub submission_id: String,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// When the job says that it last wrote a checkpoint, to the minute; absent if it does not say, or nothing readable.
    pub checkpointed_at: Option<Timestamp>,
    pub gone: bool,
}

/// What the agent did with an attempt it was asked to hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AttemptFact {
    pub attempt: AttemptId,
    pub step: AttemptStep,
    /// A sentence; empty when the step says all.
    #[serde(default)]
    pub message: String,
}

/// A step of an attempt inside its cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStep {
    /// The RayJob object exists.
    Created,
    /// The cluster refuses it for good (namespace not allowed, API server says Invalid): it never ran.
    Refused,
    /// The RayJob and everything it owned are gone.
    Removed,
    /// The lease ended, the attempt was stopped for it, and everything it owned is gone.
    Fenced,
}

/// A line of a node's kernel log that the node role knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KernelFact {
    pub node: String,
    /// The line as it stood, at most 1,024 bytes.
    pub line: String,
    pub signal: KernelSignal,
}

/// What the line means.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum KernelSignal {
    /// NVIDIA driver: `NVRM: Xid (PCI:0000:3b:00): 79, …`. `pods` hold the device, where the kubelet's list says so.
    Xid { code: u32, pci: String, pods: Vec<String> },
    /// The memory controller killed a process of a container. `pod_uid` is empty where the cgroup names no pod.
    OomKill { pod_uid: String, process: String, pid: u32 },
}

/// A Warning event of the API server on an object we follow.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EventFact {
    pub namespace: String,
    pub object_kind: String,
    pub object_name: String,
    pub object_uid: String,
    pub reason: String,
    pub message: String,
    pub count: i32,
    pub attempt: Option<AttemptId>,
}

/// Uids that exist at the end of a full list.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InventoryFact {
    pub pod_uids: Vec<String>,
    pub node_uids: Vec<String>,
    /// Attempts whose RayJob exists, with the RayJob's uid.
    pub attempts: BTreeMap<String, String>,
    pub agent_version: String,
    pub kubernetes_version: String,
}

/// What a part of a full list is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedKind {
    #[default]
    Pod,
    Node,
}

/// Every uid that exists, of one kind, from `from` on and below `until`; in the order of their bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListedFact {
    pub of: ListedKind,
    pub from: String,
    /// Empty where the part has no end.
    pub until: String,
    pub uids: Vec<String>,
}

/// Attempts that one fact names at most when it tells what is held.
pub const MOST_HELD: usize = 2_000;

/// All attempts that a cluster holds or may still start by an older word of the control plane, or a part of them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HoldingsFact {
    /// Of the database that asked: nothing that was granted under an older one starts after this was told.
    pub timeline: u64,
    /// Something of these exists.
    pub held: Vec<AttemptId>,
    /// These were accepted, and nothing of them was seen yet.
    pub accepted: Vec<AttemptId>,
    /// Another part follows.
    pub more: bool,
}

/// A suspended RayJob with the label of a queue, as it stands in its cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ArrivalFact {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// The queue that its label names.
    pub queue: String,
    /// The only cluster that its annotation lets it run on; empty for any.
    pub cluster: String,
    /// The priority class that its label names; empty for the ordinary priority.
    pub priority_class: String,
    pub created_at: Option<Timestamp>,
    /// Grows with every change of its spec.
    pub generation: i64,
    /// The RayJob as JSON, without what concerns its cluster only; empty once it carries the mark of its import.
    pub manifest: String,
    /// The job that the mark names: it was imported before, whatever the control plane remembers.
    pub imported_as: Option<JobId>,
    /// Its status tells the end of the job.
    pub settled: bool,
    /// It was deleted, or is not Squadron's to run any more.
    pub gone: bool,
    /// What became of it, as a phrase; empty while it stands.
    pub gone_why: String,
}

impl Fact {
    /// The attempt this fact speaks of, if any.
    pub fn attempt(&self) -> Option<AttemptId> {
        match self {
            Fact::Pod(pod) => pod.attempt,
            Fact::RayCluster(cluster) => cluster.attempt,
            Fact::RayJob(job) => job.attempt,
            Fact::Attempt(step) => Some(step.attempt),
            Fact::Event(event) => event.attempt,
            Fact::Node(_)
            | Fact::Kernel(_)
            | Fact::Inventory(_)
            | Fact::Listed(_)
            | Fact::Arrival(_)
            | Fact::Holdings(_) => None,
        }
    }

    /// The word stored as the fact's kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Fact::Node(_) => "node",
            Fact::Pod(_) => "pod",
            Fact::RayCluster(_) => "ray_cluster",
            Fact::RayJob(_) => "ray_job",
            Fact::Attempt(_) => "attempt",
            Fact::Kernel(_) => "kernel",
            Fact::Event(_) => "event",
            Fact::Inventory(_) => "inventory",
            Fact::Listed(_) => "listed",
            Fact::Arrival(_) => "arrival",
            Fact::Holdings(_) => "holdings",
        }
    }
}
