//! Clock: the one place that reads the wall clock.

use squadron_core::time::Timestamp;

/// Now, in microseconds since 1970.
pub fn now() -> Timestamp {
    #[allow(clippy::disallowed_methods)]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
