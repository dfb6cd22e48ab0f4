//! Clock: the one place that reads clocks: the wall clock, and the one that counts leases.

use nix::time::{ClockId, clock_gettime};
use squadron_core::{lease::Tick, time::Timestamp};

/// Now, in microseconds since 1970.
pub fn now() -> Timestamp {
    #[allow(clippy::disallowed_methods)]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Now on the clock that counts leases: it goes on while the machine sleeps and jumps for nobody. A machine without it
/// reads as 0, which ends no lease and gives none.
pub fn tick() -> Tick {
    let Ok(since) = clock_gettime(ClockId::CLOCK_BOOTTIME) else { return Tick(0) };
    Tick(u64::try_from(std::time::Duration::from(since).as_millis()).unwrap_or(0))
}
