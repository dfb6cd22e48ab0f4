//! The wall clock, read here and nowhere else in the control plane.

use std::time::{SystemTime, UNIX_EPOCH};

use squadron_core::time::Timestamp;

/// Now, in microseconds UTC. A clock before 1970 reads as 1970.
#[allow(clippy::disallowed_methods, reason = "this is the module that reads the clock")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
