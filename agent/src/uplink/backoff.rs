//! Backoff: how long to wait before dialling again. Full jitter; a connection that held for a minute starts afresh.

use std::time::Duration;

const BASE: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
const HEALTHY: Duration = Duration::from_secs(60);

/// The longest pause when a lease that must not run out lasts only `left` longer: a quarter of it, so that several attempts
/// fit in.
pub fn hurry(left: Duration) -> Duration {
    (left / 4).max(BASE)
}

/// Failures in a row.
#[derive(Default)]
pub struct Backoff(u32);

impl Backoff {
    /// The pause after a connection that lasted `lasted`; `chance` is drawn from [0, 1).
    pub fn next(&mut self, lasted: Duration, chance: f64) -> Duration {
        if lasted >= HEALTHY {
            self.0 = 0;
        }
        let ceiling = BASE.saturating_mul(1 << self.0.min(6)).min(LONGEST);
        self.0 = self.0.saturating_add(1);
        ceiling.mul_f64(chance.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_start_afresh_after_a_healthy_connection() {
        let mut backoff = Backoff::default();
        let pauses: Vec<u128> = (0..8).map(|_| backoff.next(Duration::ZERO, 1.0).as_millis()).collect();
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!(backoff.next(HEALTHY, 1.0), BASE);
        assert_eq!(backoff.next(Duration::ZERO, 0.0), Duration::ZERO);
    }

    #[test]
    fn a_cut_that_a_lease_survives_is_over_before_the_lease() {
        // The cut ends with 10 s left, after many failures; whatever the pauses are, a connection is tried in time.
        let mut left = Duration::from_secs(60);
        let mut backoff = Backoff::default();
        let mut tried = Vec::new();
        while left > BASE {
            let pause = backoff.next(Duration::ZERO, 1.0).min(hurry(left));
            left = left.saturating_sub(pause);
            tried.push(left);
        }
        let in_time = tried.iter().filter(|left| (1..=10).contains(&left.as_secs())).count();
        assert!(in_time >= 4, "{tried:?}");
    }
}
