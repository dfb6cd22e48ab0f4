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
}
