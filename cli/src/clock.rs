//! The wall clock, read here and nowhere else.

use squadron_core::time::Timestamp;

/// This machine's clock.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
