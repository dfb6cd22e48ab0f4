//! Time: between our microseconds and Postgres' `timestamptz`.
//!
//! Invariant: a value that came from here goes back unchanged. Times outside what Postgres can hold are pulled to its
//! edge (years 1 to 9999), so that a hostile clock never fails a whole batch.

use sqlx::types::time::OffsetDateTime;
use squadron_core::time::Timestamp;

/// 0001-01-01T00:00:00Z in microseconds since 1970.
const EARLIEST: i64 = -62_135_596_800_000_000;
/// 9999-12-31T23:59:59.999999Z in microseconds since 1970.
const LATEST: i64 = 253_402_300_799_999_999;

/// For binding to a `timestamptz`.
pub fn at(stamp: Timestamp) -> OffsetDateTime {
    let micros = stamp.0.clamp(EARLIEST, LATEST);
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// For binding to a `timestamptz` that may be null.
pub fn at_opt(stamp: Option<Timestamp>) -> Option<OffsetDateTime> {
    stamp.map(at)
}

/// From a `timestamptz` column.
pub fn stamp(column: OffsetDateTime) -> Timestamp {
    Timestamp(i64::try_from(column.unix_timestamp_nanos() / 1_000).unwrap_or(LATEST))
}

/// From a `timestamptz` column that may be null.
pub fn stamp_opt(column: Option<OffsetDateTime>) -> Option<Timestamp> {
    column.map(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_microsecond_goes_there_and_back() {
        for micros in [0, 1, -1, 1_796_000_000_123_456, EARLIEST, LATEST] {
            assert_eq!(stamp(at(Timestamp(micros))), Timestamp(micros));
        }
    }

    #[test]
    fn a_hostile_clock_is_pulled_to_the_edge() {
        assert_eq!(stamp(at(Timestamp(i64::MAX))), Timestamp(LATEST));
        assert_eq!(stamp(at(Timestamp(i64::MIN))), Timestamp(EARLIEST));
    }
}
