//! Queues: nodes of the tenant tree.

use serde::{Deserialize, Serialize};
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
}

/// `PUT /api/v1/queues`: changes what is given.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetTemplateRequest {
    pub name: String,
    /// A RayJob (ray.io/v1) as YAML or JSON without an entrypoint; empty for the default one.
    pub template: String,
}
