//! Clocks, read here and nowhere else in the control plane: the wall clock, and the one that counts leases.

use std::time::{SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use squadron_core::{lease::Tick, time::Timestamp};

/// Now, in microseconds UTC. A clock before 1970 reads as 1970.
#[allow(clippy::disallowed_methods, reason = "this is the module that reads the clock")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Now on the clock that counts leases: it goes on while the machine sleeps and jumps for nobody. A machine without it
/// reads as 0, which ends no lease and gives none.
pub fn tick() -> Tick {
    let Ok(since) = clock_gettime(ClockId::CLOCK_BOOTTIME) else { return Tick(0) };
    Tick(u64::try_from(std::time::Duration::from(since).as_millis()).unwrap_or(0))
}
