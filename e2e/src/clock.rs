//! The wall clock, for measurements: all that is measured here happens on one machine and one clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
#[allow(clippy::disallowed_methods, reason = "this is the program's clock module")]
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Seconds since 1970 of a time such as `2026-11-30T01:45:52.123456Z`.
pub fn seconds(time: &str) -> Option<f64> {
    let (date, clock) = time.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut clock = clock.split(':');
    let (hour, minute) = (clock.next()?.parse::<f64>().ok()?, clock.next()?.parse::<f64>().ok()?);
    let second: f64 = clock.next()?.parse().ok()?;
    Some(days(year, month, day) * 86_400.0 + hour * 3_600.0 + minute * 60.0 + second)
}

/// Days from 1970-01-01 in the Gregorian calendar, counting years from March so that a leap day comes last.
#[expect(clippy::cast_precision_loss, reason = "days are far below 2⁵³")]
fn days(year: i64, month: i64, day: i64) -> f64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_years = 365 * year + year / 4 - year / 100 + year / 400;
    (of_years + (153 * month + 2) / 5 + day - 1 - 719_468) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_are_read_to_the_microsecond() {
        assert_eq!(seconds("1970-01-02T00:00:01.5Z"), Some(86_401.5));
        assert_eq!(seconds("2026-11-30T01:45:52.125000Z"), Some(1_796_003_152.125));
        assert_eq!(seconds("2024-02-29T00:00:00Z"), Some(1_709_164_800.0));
        assert_eq!(seconds("yesterday"), None);
    }
}
