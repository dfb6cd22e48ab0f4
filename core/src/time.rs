//! Time: one type, microseconds UTC, so that a round trip through Postgres is equal.
//!
//! The wall clock is read in the shells only; deciders get `now` as a parameter.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, in microseconds since 1970-01-01T00:00:00Z. Serialised as RFC 3339.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The point `millis` after (or, negative, before) this one; saturates.
    pub fn plus_millis(self, millis: i64) -> Self {
        Timestamp(self.0.saturating_add(millis.saturating_mul(1_000)))
    }

    /// Whole milliseconds since 1970; rounds down.
    pub fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub fn from_millis(millis: i64) -> Self {
        Timestamp(millis.saturating_mul(1_000))
    }

    /// Midnight UTC of the first day of the month.
    pub fn month_start(self) -> Self {
        let utc =
            jiff::Timestamp::from_microsecond(self.0).map(|point| point.to_zoned(jiff::tz::TimeZone::UTC));
        let first = utc.and_then(|day| day.first_of_month()?.start_of_day());
        first.map_or(self, |midnight| midnight.timestamp().into())
    }

    /// Whole milliseconds from `earlier` to this; negative if `earlier` is later.
    pub fn millis_since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0) / 1_000
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(point) => point.fmt(f),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|point| Timestamp(point.as_microsecond()))
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(point: jiff::Timestamp) -> Self {
        Timestamp(point.as_microsecond())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_at_midnight_utc_of_their_first_day() {
        let point: Timestamp = "2026-11-29T15:04:05.678Z".parse().unwrap();
        assert_eq!(point.month_start().to_string(), "2026-11-01T00:00:00Z");
        assert_eq!(point.month_start().month_start(), point.month_start());
    }

    #[test]
    fn microseconds_survive_a_round_trip_through_text() {
        let point = Timestamp(1_796_000_000_123_456);
        assert_eq!(point.to_string().parse::<Timestamp>().unwrap(), point);
    }
}
