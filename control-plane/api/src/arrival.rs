//! Arrivals: who may submit by putting a RayJob into a cluster, and where a job came from.

use serde::{Deserialize, Serialize};
use squadron_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

/// A permission: RayJobs in this namespace of the cluster may become jobs in this queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AllowedQueue {
    pub namespace: String,
    pub queue: String,
    pub allowed_by: String,
    #[schema(value_type = String, format = DateTime)]
    pub allowed_at: Timestamp,
}

/// `POST /api/v1/clusters/{cluster}/queues`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowQueueRequest {
    pub namespace: String,
    pub queue: String,
}

/// Query of `DELETE /api/v1/clusters/{cluster}/queues`.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DisallowQueueQuery {
    pub namespace: String,
    pub queue: String,
}

/// The RayJob that a job came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobSource {
    pub cluster: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// When it was deleted or taken back; absent while it stands.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub gone_at: Option<Timestamp>,
}
