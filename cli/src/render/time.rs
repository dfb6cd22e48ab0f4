//! Times and spans: relative where a person glances, absolute UTC where text is kept.

use squadron_core::time::Timestamp;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// `42 s`, `4 m 05 s`, `6 m`, `2 h 05 m`, `3 d 04 h`. Negative spans read as `0 s`.
pub fn span(millis: i64) -> String {
    match millis.max(0) {
        ms if ms < MINUTE => format!("{} s", ms / SECOND),
        ms if ms < 10 * MINUTE && ms % MINUTE >= SECOND => {
            format!("{} m {:02} s", ms / MINUTE, ms % MINUTE / SECOND)
        }
        ms if ms < HOUR => format!("{} m", ms / MINUTE),
        ms if ms < DAY => format!("{} h {:02} m", ms / HOUR, ms % HOUR / MINUTE),
        ms => format!("{} d {:02} h", ms / DAY, ms % DAY / HOUR),
    }
}

/// The span from `then` to `now`.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    span(now.millis_since(then))
}

/// `2026-11-29T17:20:01Z`: RFC 3339 in whole seconds.
pub fn absolute(point: Timestamp) -> String {
    Timestamp(point.0 - point.0.rem_euclid(1_000_000)).to_string()
}

/// The absolute time, or a dash.
pub fn absolute_or_dash(point: Option<Timestamp>) -> String {
    point.map_or_else(|| "-".into(), absolute)
}

/// The absolute time, or nothing.
pub fn absolute_or_nothing(point: Option<Timestamp>) -> String {
    point.map(absolute).unwrap_or_default()
}

/// `17:20:01`, the time of day in UTC; where the date is known from the line above.
pub fn clock(point: Timestamp) -> String {
    let text = absolute(point);
    text.split_once('T').map_or(text.clone(), |(_, clock)| clock.trim_end_matches('Z').to_owned())
}

/// `2026-11-29`, the day in UTC.
pub fn day(point: Timestamp) -> String {
    let text = absolute(point);
    text.split_once('T').map_or(text.clone(), |(day, _)| day.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_at_a_glance() {
        let spans: Vec<String> =
            [-5, 0, 42_900, 245_000, 360_400, 1_500_000, 7_500_000, 273_600_000].map(span).to_vec();
        assert_eq!(spans.join(", "), "0 s, 0 s, 42 s, 4 m 05 s, 6 m, 25 m, 2 h 05 m, 3 d 04 h");
    }

    #[test]
    fn absolute_time_is_utc_in_seconds() {
        let point = Timestamp(1_796_000_001_234_567);
        assert_eq!(absolute(point), "2026-11-30T00:53:21Z");
        assert_eq!((day(point).as_str(), clock(point).as_str()), ("2026-11-30", "00:53:21"));
    }
}
