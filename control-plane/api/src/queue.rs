//! Queues: nodes of the tenant tree.

use serde::{Deserialize, Serialize};
use squadron_core::{quota::ORDINARY, resources::Resources};
use utoipa::ToSchema;

/// `POST /api/v1/queues`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddQueueRequest {
    pub name: String,
}

/// A queue with what is in it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    pub name: String,
    pub queued: u32,
    pub running: u32,
    /// RayJob (YAML) that jobs of Ray's own client are made from; empty for the default one.
    #[serde(default)]
    pub template: String,
    /// What happens to jobs that ask for nothing when their cluster is lost: `wait` or `fence`; empty: as the job says.
    #[serde(default)]
    pub on_lost: String,
    /// Jobs may ask for two copies at once.
    #[serde(default)]
    pub allows_overlap: bool,
    /// The queue above it; absent for a root.
    #[serde(default)]
    pub parent: Option<String>,
    /// Queues above it. Lists come with parents before their children.
    #[serde(default)]
    pub depth: u32,
    /// Thousandths; 1000 is an ordinary weight.
    #[serde(default)]
    pub weight: u32,
    /// What its own live attempts hold.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub used: Resources,
    /// The greatest part that it borrows of what its parent can lend, with what that may borrow itself, over its weight, in
    /// thousandths and over all flavors by their weight; absent for a root, and where its tree cannot be counted.
    #[serde(default)]
    pub share: Option<i64>,
    /// What its own jobs used in the last days, in GPU seconds of an ordinary flavor: a GPU counts by the weight of its flavor, and
    /// 64 cores count as a GPU; older use weighs less, half after a week; a start counts as five minutes at once. Of queues with the
    /// same share, the one that used much less goes first.
    #[serde(default)]
    pub used_lately: u64,
    /// By flavor and resource; empty where nothing is limited.
    #[serde(default)]
    pub quotas: Vec<QueueQuota>,
}

/// Where a queue stands with one flavor and resource: thousandths of a core, bytes, or devices. What cannot be told is
/// absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueQuota {
    pub flavor: String,
    /// What one GPU of the flavor counts as in the share and in what was used lately, in thousandths.
    #[serde(default = "ordinary")]
    pub flavor_weight: u32,
    /// `cpu`, `memory` or `gpu`.
    pub resource: String,
    /// Whether the queue itself names it; one that names nothing uses what its parent may.
    #[serde(default)]
    pub declared: bool,
    /// Its own.
    pub nominal: i64,
    /// With everything below it.
    pub total: i64,
    pub borrowing_limit: Option<i64>,
    pub lending_limit: Option<i64>,
    /// By its jobs and those below it.
    pub used: Option<i64>,
    /// What it uses above what it has.
    pub borrowed: Option<i64>,
    /// What others use of what it has.
    pub lent: Option<i64>,
}

fn ordinary() -> u32 {
    ORDINARY
}

/// `PUT /api/v1/queues`: changes what is given.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetTemplateRequest {
    pub name: String,
    /// A RayJob (ray.io/v1) as YAML or JSON without an entrypoint; empty for the default one.
    pub template: String,
}
