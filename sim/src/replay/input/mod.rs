//! Input: the two CSV files of a replay, read as if an enemy had written them.
//!
//! Invariant: what leaves this room is complete, in range and small enough for exact arithmetic; everything else is refused
//! with file, line, column and reason. Unknown columns are ignored. Files may be gzipped.

mod fleet;
mod jobs;
mod table;
#[cfg(test)]
mod tests;

pub use fleet::{Fleet, Pool, Site, read_fleet};
pub use jobs::{Job, Trace, read_jobs};
pub use table::{MAX_BYTES, Refused};
