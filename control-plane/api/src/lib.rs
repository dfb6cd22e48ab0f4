//! The HTTP API as types: requests, responses, error codes. The OpenAPI document is made from here.
//!
//! Invariant: CLI, console and server share these types; nothing here judges. Times are RFC 3339 UTC, names are
//! `snake_case`, lists come in a [`Page`] that says its age and whether it is partial.

pub mod about;
pub mod arrival;
pub mod audit;
pub mod cluster;
pub mod error;
pub mod incident;
pub mod job;
pub mod log;
pub mod lost;
pub mod placement;
pub mod policy;
pub mod queue;
pub mod route;
pub mod token;
pub mod usage;
pub mod what_if;

use serde::{Deserialize, Serialize};
use squadron_core::time::Timestamp;
use utoipa::ToSchema;

/// A list with its scope and age.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Give it back as `page_token` for the rows after these; absent on the last page.
    pub next_page_token: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
    /// Set when some cluster's word is older than its limit, so that rows may be out of date.
    pub partial: Option<String>,
}

/// One line of `GET /api/v1/events` (server-sent): something of this kind changed; fetch it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// `job`, `cluster`, `queue`, `incident`, `usage` or `log`.
    pub kind: String,
    pub id: String,
    pub version: i64,
}
