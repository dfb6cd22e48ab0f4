//! Waiting: for a fact, with a deadline, never for a fixed time.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

/// How long to pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// What one look found.
pub enum Look<T> {
    Found(T),
    /// Not yet; what was seen instead goes into the message at the deadline.
    NotYet(String),
}

/// Looks until `look` finds what it looks for. A failure of a look counts as not found yet.
pub fn until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Result<Look<T>>) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        let seen = match look() {
            Ok(Look::Found(value)) => return Ok(value),
            Ok(Look::NotYet(seen)) => seen,
            Err(problem) => format!("{problem:#}"),
        };
        if Instant::now() >= deadline {
            bail!("waited {} s for {what}; last seen: {seen}", limit.as_secs());
        }
        thread::sleep(PAUSE);
    }
}

/// Found if `holds`, else `seen` for the message.
pub fn found_if(holds: bool, seen: impl Into<String>) -> Look<()> {
    if holds { Look::Found(()) } else { Look::NotYet(seen.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_says_what_was_seen_last() {
        let late = until("a ray", Duration::ZERO, || Ok(found_if(false, "a skate"))).unwrap_err().to_string();
        assert_eq!(late, "waited 0 s for a ray; last seen: a skate");
    }

    #[test]
    fn failed_look_is_not_the_end() {
        let mut looks = 0;
        let found = until("a ray", Duration::from_secs(5), || {
            looks += 1;
            if looks < 3 { bail!("not reachable") } else { Ok(Look::Found(looks)) }
        });
        assert_eq!(found.unwrap(), 3);
    }
}
