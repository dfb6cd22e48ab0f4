//! Audit: who did what, and what was refused.

use serde::{Deserialize, Serialize};
use squadron_core::time::Timestamp;
use utoipa::ToSchema;

/// One row of `GET /api/v1/audit`, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    pub id: String,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The token's subject, or `agent:<cluster id>`.
    pub actor: String,
    /// For example `job.submit`, `cluster.accept`, `link.refused`.
    pub action: String,
    pub object: String,
    pub allowed: bool,
    pub detail: String,
    pub request_id: String,
}
