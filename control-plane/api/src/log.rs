//! Logs: the driver's output by byte offset.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Header of the answer: the attempt whose bytes follow.
pub const ATTEMPT_HEADER: &str = "squadron-log-attempt";
/// Header of the answer: offset of the first byte that follows; greater than asked for when older bytes are missing.
pub const OFFSET_HEADER: &str = "squadron-log-offset";

/// Query of `GET /api/v1/jobs/{job}/logs`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogQuery {
    /// The newest attempt by default.
    pub attempt: Option<u32>,
    /// Bytes to skip; 0 by default.
    pub offset: Option<u64>,
    /// Keep the answer open until the attempt has ended and all of its log was sent.
    pub follow: Option<bool>,
}
