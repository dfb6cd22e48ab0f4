//! Waits until something is true, with a deadline.
//!
//! Invariant: never waits a fixed time; the predicate is asked again and again and its error ends the wait.
//! Fails with `Error::Late`, which says what was waited for and how long.

use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

const PAUSE: Duration = Duration::from_millis(100);

/// Asks until the answer is yes. Gives the time that it took.
pub fn until(
    what: &str,
    limit: Duration,
    hint: &str,
    mut holds: impl FnMut() -> Result<bool>,
) -> Result<Duration> {
    let start = Instant::now();
    loop {
        if holds()? {
            return Ok(start.elapsed());
        }
        if start.elapsed() >= limit {
            return Err(Error::Late {
                what: what.to_owned(),
                seconds: limit.as_secs(),
                hint: hint.to_owned(),
            });
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn asks_again_until_yes() {
        let mut asked = 0;
        let answer = until("a third try", Duration::from_secs(5), "", || {
            asked += 1;
            Ok(asked == 3)
        });
        assert!(answer.is_ok() && asked == 3);
    }

    #[test]
    fn deadline_names_what_and_hint() {
        let error =
            until("the impossible", Duration::ZERO, "look there", || Ok(false)).unwrap_err().to_string();
        assert!(error.contains("the impossible") && error.contains("look there"));
    }

    #[test]
    fn error_of_the_question_ends_the_wait() {
        let ended = until("x", Duration::from_secs(60), "", || Err(Error::Refused("dead".into())));
        assert_eq!(ended.unwrap_err().to_string(), "dead");
    }
}
