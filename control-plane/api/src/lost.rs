//! Lost clusters: an operator's word, and what queues say about jobs there.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /api/v1/clusters/{cluster}/declare-dead` and `POST /api/v1/jobs/{job}/vouch`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WordRequest {
    /// How the caller knows that nothing runs there any more; the audit log keeps it.
    pub reason: String,
}

/// `PUT /api/v1/queues/loss`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueLossRequest {
    pub name: String,
    /// `wait` or `fence`, for jobs that ask for nothing; absent: as the job says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_lost: Option<String>,
    /// Jobs may ask for `rerun`: two copies at once until the old one's lease ends. Needs an administrator.
    #[serde(default)]
    pub allow_overlap: bool,
}
