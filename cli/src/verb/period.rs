//! Periods: what `--from` and `--to` may be written as.

use squadron_core::time::Timestamp;

/// Accepts RFC 3339, a day (`2026-11-01`, midnight UTC), or a span back from `now` (`30m`, `24h`, `7d`).
pub fn point(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Some(millis) = span(text) {
        return Ok(now.plus_millis(-millis));
    }
    let day = format!("{text}T00:00:00Z");
    text.parse().or_else(|_| day.parse::<Timestamp>()).map_err(|_| {
        format!("{text:?} is no time; write 2026-11-01, 2026-11-01T08:00:00Z, or a span back from now such as 7d, 24h, 30m")
    })
}

fn span(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: i64 = number.parse().ok().filter(|n| (0..=36_500).contains(n))?;
    let unit = match unit {
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_796_000_600_000_000);

    #[test]
    fn days_spans_and_full_times_are_understood() {
        let points = ["2026-11-01", "2026-11-01T08:00:00+02:00", "24h", "30m"]
            .map(|text| point(text, NOW).map(|p| p.to_string()));
        assert_eq!(points[0].as_deref(), Ok("2026-11-01T00:00:00Z"));
        assert_eq!(points[1].as_deref(), Ok("2026-11-01T06:00:00Z"));
        assert_eq!(points[2].as_deref(), Ok("2026-11-29T01:03:20Z"));
        assert_eq!(points[3].as_deref(), Ok("2026-11-30T00:33:20Z"));
    }

    #[test]
    fn nonsense_is_answered_with_examples() {
        for text in ["", "d", "yesterday", "-1d", "2026-13-01", "99999999d", "é"] {
            assert!(point(text, NOW).is_err_and(|problem| problem.contains("7d")), "{text}");
        }
    }
}
