//! The wall clock, for measurements.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
#[allow(clippy::disallowed_methods, reason = "this is the program's clock module")]
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
