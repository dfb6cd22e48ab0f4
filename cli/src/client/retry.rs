//! Retry: decides whether a request that failed is sent again, and when.
//!
//! Pure. Invariant: a request that may have been carried out is repeated only when repeating it is harmless.
//! Fails towards giving up: past its patience the last error stands as it is.

use std::time::Duration;

/// Whether the server may see a request twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeat {
    /// Reading, or carrying an idempotency key, or setting what is already set.
    Harmless,
    /// A second copy would do a second thing.
    OnlyIfNeverSent,
}

/// How the last try ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    NeverSent,
    AnswerLost,
    /// The server said it cannot now, perhaps for how long.
    Busy {
        retry_after: Option<Duration>,
    },
    /// Trying again would bring the same.
    Final,
}

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// The pause before the next try, or `None` to give up. `tries` counts those made, `spent` is the time since the first.
pub fn next_pause(
    trouble: Trouble,
    repeat: Repeat,
    tries: u32,
    spent: Duration,
    patience: Duration,
) -> Option<Duration> {
    let allowed = match trouble {
        Trouble::Final => false,
        Trouble::NeverSent | Trouble::Busy { .. } => true,
        Trouble::AnswerLost => repeat == Repeat::Harmless,
    };
    let pause = match trouble {
        Trouble::Busy { retry_after: Some(asked) } => asked,
        _ => backoff(tries),
    };
    (allowed && spent.saturating_add(pause) <= patience).then_some(pause)
}

/// 0.2 s, then twice as long each time, up to 4 s.
pub fn backoff(tries: u32) -> Duration {
    let doublings = tries.saturating_sub(1).min(10);
    FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn pause(trouble: Trouble, repeat: Repeat, tries: u32, spent_seconds: u64) -> Option<Duration> {
        next_pause(trouble, repeat, tries, Duration::from_secs(spent_seconds), PATIENCE)
    }

    #[test]
    fn lost_answer_is_asked_for_again_only_when_harmless() {
        assert!(pause(Trouble::AnswerLost, Repeat::Harmless, 1, 0).is_some());
        assert_eq!(pause(Trouble::AnswerLost, Repeat::OnlyIfNeverSent, 1, 0), None);
        assert!(pause(Trouble::NeverSent, Repeat::OnlyIfNeverSent, 1, 0).is_some());
    }

    #[test]
    fn refusal_is_never_repeated() {
        assert_eq!(pause(Trouble::Final, Repeat::Harmless, 1, 0), None);
    }

    #[test]
    fn pauses_grow_and_end_with_patience() {
        let pauses: Vec<u128> = (1..=7)
            .filter_map(|n| pause(Trouble::NeverSent, Repeat::Harmless, n, 0))
            .map(|p| p.as_millis())
            .collect();
        assert_eq!(pauses, [200, 400, 800, 1_600, 3_200, 4_000, 4_000]);
        assert_eq!(pause(Trouble::NeverSent, Repeat::Harmless, 7, 27), None);
    }

    #[test]
    fn server_that_asks_for_time_gets_it() {
        let busy = Trouble::Busy { retry_after: Some(Duration::from_secs(9)) };
        assert_eq!(pause(busy, Repeat::Harmless, 1, 0), Some(Duration::from_secs(9)));
        assert_eq!(pause(busy, Repeat::Harmless, 1, 25), None);
    }
}
