//! Pace: how long the loop rests after it looked at all attempts.
//!
//! Invariant: over time looking takes a small part of the time; what was not used of that is saved up to a bound, so that news that
//! come after a quiet while are followed at once, and those of a burst are looked at together.

use std::time::Duration;

use tokio::time::Instant;

/// Resting takes so many times as long as looking.
const RESTS_PER_LOOK: u32 = 49;
const LONGEST_REST: Duration = Duration::from_millis(100);
/// Looking that is saved up at most.
const SAVED: Duration = Duration::from_millis(50);

pub struct Pace {
    saved: Duration,
    counted: Instant,
}

impl Pace {
    pub fn new(now: Instant) -> Pace {
        Pace { saved: SAVED, counted: now }
    }

    /// The rest after one look that took so long and ended at `now`.
    pub fn rest(&mut self, looked: Duration, now: Instant) -> Duration {
        let earned = (now - self.counted) / (RESTS_PER_LOOK + 1);
        let saved = (self.saved + earned).min(SAVED);
        (self.saved, self.counted) = (saved.saturating_sub(looked), now);
        (looked.saturating_sub(saved) * RESTS_PER_LOOK).min(LONGEST_REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_quiet_while_nothing_rests_and_in_a_burst_everything_does() {
        let millis = Duration::from_millis;
        let begun = Instant::now();
        let mut pace = Pace::new(begun);
        let quiet: Vec<Duration> = (0..10).map(|_| pace.rest(millis(5), begun)).collect();
        assert_eq!(quiet, [Duration::ZERO; 10]);
        assert_eq!(pace.rest(millis(1), begun), millis(49), "what was saved is used up");
        assert_eq!(pace.rest(millis(5), begun), LONGEST_REST);
        assert_eq!(
            pace.rest(millis(20), begun + Duration::from_secs(1)),
            Duration::ZERO,
            "a second earns 20 ms"
        );
        assert_eq!(
            pace.rest(millis(51), begun + Duration::from_secs(3_600)),
            millis(49),
            "and an hour 50 ms"
        );
    }
}
