//! Ids of the simulation: indices as the core's ids and back.

use squadron_core::{
    id::{ClusterId, JobId},
    time::Timestamp,
};
use uuid::Uuid;

use crate::fencing::scenario::Ms;

/// Virtual time 0 as a wall clock.
const EPOCH_MS: i64 = 1_796_000_000_000;

/// The id of the cluster with this index.
pub fn cluster(index: usize) -> ClusterId {
    ClusterId(Uuid::from_u128(index as u128 + 1))
}

/// The index of a cluster's id.
pub fn index_of(cluster: ClusterId) -> usize {
    usize::try_from(cluster.0.as_u128().saturating_sub(1)).unwrap_or(0)
}

/// The id of the job with this index.
pub fn job(index: usize) -> JobId {
    JobId(Uuid::from_u128(index as u128 + 1))
}

/// The index of a job's id.
pub fn job_index(job: JobId) -> usize {
    usize::try_from(job.0.as_u128().saturating_sub(1)).unwrap_or(0)
}

/// Virtual time as a wall clock shows it.
pub fn wall(now: Ms, offset: i64) -> Timestamp {
    Timestamp::from_millis(EPOCH_MS + i64::try_from(now).unwrap_or(i64::MAX) + offset)
}

/// A monotonic clock of one machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// How much faster than real time, in millionths.
    pub rate_ppm: i64,
    pub offset: u64,
}

impl Clock {
    /// A clock within the assumed drift: any two differ by less than 1 %.
    pub fn draw(rng: &mut crate::rng::Rng) -> Clock {
        let rate = i64::try_from(rng.below(9_800)).unwrap_or(0) - 4_900;
        Clock { rate_ppm: rate, offset: rng.below(1 << 40) }
    }

    /// The clock's reading at real time `now`.
    pub fn read(&self, now: Ms) -> squadron_core::lease::Tick {
        let drift = i64::try_from(now).unwrap_or(0) * self.rate_ppm / 1_000_000;
        squadron_core::lease::Tick((self.offset + now).saturating_add_signed(drift))
    }

    /// Real time that must pass, at most, until the clock has gone on by `ticks`.
    pub fn real(&self, ticks: u64) -> Ms {
        let parts = u64::try_from(1_000_000 + self.rate_ppm).unwrap_or(1_000_000);
        (ticks * 1_000_000).div_ceil(parts)
    }
}
