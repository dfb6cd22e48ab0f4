//! Logs: the driver's output by byte offset.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Header of the answer: the attempt whose bytes follow.
pub const ATTEMPT_HEADER: &str = "squadron-log-attempt";
/// Header of the answer: offset of the first byte that follows; greater than asked for when older bytes are missing.
pub const OFFSET_HEADER: &str = "squadron-log-offset";
/// Header of the answer, where bytes are missing before its first: how many and why, in a sentence.
pub const GAP_HEADER: &str = "squadron-log-gap";

/// Query of `GET /api/v1/jobs/{job}/logs`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct LogQuery {
    /// The newest attempt by default.
    pub attempt: Option<u32>,
    /// Bytes to skip; 0 by default.
    pub offset: Option<u64>,
    /// Keep the answer open until the attempt has ended and all of its log was sent.
    pub follow: Option<bool>,
    /// Put a line in the place of bytes that are missing and go on, for people who read or keep the text; bytes of the
    /// answer then say nothing about offsets. Without it the answer ends where bytes are missing.
    pub marks: Option<bool>,
}
