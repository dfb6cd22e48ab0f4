//! Estimates: how long a waiting job will go on waiting, from how long jobs like it waited before.
//!
//! Owns what may be said about the time ahead. A sample is a job that began to wait at some place in its queue and has been placed
//! since. The estimate takes the samples that are nearest in queue, size and place, scales each by the place, keeps those that
//! waited longer than this job has, and reads quantiles of what they still had before them, one rank above the plain
//! quantile, so that with exchangeable jobs at least nine of ten are placed by `p90`. Invariant: `p50` is at most `p90`; with fewer
//! than [`ENOUGH`] such samples nothing is said but that. Fails by being wrong when the fleet changes, which is why what came
//! true is kept beside every estimate; repaired by the next jobs that are placed, because only the newest samples count.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{
    dispatch::{Blocker, Cause},
    resources::Resources,
    sentence::duration,
    time::Timestamp,
};

/// Samples without which nothing is said. With nine or more the ninth of ten ranks exists.
pub const ENOUGH: usize = 10;
/// The newest samples that one estimate goes by.
const NEWEST: usize = 100;

/// How large a job is, for finding jobs like it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SizeClass(pub i16);

impl SizeClass {
    /// No GPU, one, up to seven, up to fifteen, sixteen and more.
    pub fn of(asked: Resources) -> SizeClass {
        SizeClass(match asked.gpus {
            ..=0 => 0,
            1 => 1,
            2..=7 => 2,
            8..=15 => 3,
            16.. => 4,
        })
    }
}

/// A job of the queue that waited and has been placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Past {
    pub class: SizeClass,
    /// Its place in the queue when the time began to count, from 1.
    pub position: u32,
    /// From then until a cluster was chosen for it, in milliseconds.
    pub waited_ms: i64,
}

/// The job that is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    pub class: SizeClass,
    /// Its place in the queue when its time began to count, from 1.
    pub position: u32,
    /// How long it has waited since, in milliseconds.
    pub waited_ms: i64,
}

/// What can be said about the time ahead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Estimate {
    /// Half of the jobs like it get a cluster within `p50_ms` from now, nine of ten within `p90_ms`.
    Known { p50_ms: i64, p90_ms: i64, samples: u32 },
    /// Nothing to go by, and why.
    Unknown { because: String },
    /// Time alone will not place it.
    Never { because: String },
}

/// How earlier estimates of the queue came true.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Coverage {
    /// Estimates of jobs that have been placed since.
    pub judged: u32,
    pub by_p50: u32,
    pub by_p90: u32,
}

/// The estimate. `history` is of the job's queue, the newest placement first.
pub fn estimate(blockers: &[Blocker], history: &[Past], ask: Ask) -> Estimate {
    if let Some(because) = never(blockers) {
        return Estimate::Never { because };
    }
    if let Some(because) = not_by_time(blockers) {
        return Estimate::Unknown { because };
    }
    let mut most = 0;
    for level in LEVELS {
        let waits: Vec<i128> = history
            .iter()
            .filter(|past| level(past, &ask))
            .take(NEWEST)
            .map(|past| scaled(past, &ask))
            .collect();
        most = most.max(waits.len());
        let mut left: Vec<i128> =
            waits.into_iter().map(|wait| wait - i128::from(ask.waited_ms)).filter(|left| *left > 0).collect();
        if left.len() >= ENOUGH {
            left.sort_unstable();
            return known(&left);
        }
    }
    Estimate::Unknown { because: too_few(most) }
}

/// From the most to the least alike.
const LEVELS: [fn(&Past, &Ask) -> bool; 4] = [
    |past, ask| past.class == ask.class && band(past.position) == band(ask.position),
    |past, ask| band(past.position) == band(ask.position),
    |past, ask| past.class == ask.class,
    |_, _| true,
];

/// Places that are alike: 1, 2 and 3, 4 to 7, and so on.
fn band(position: u32) -> u32 {
    position.max(1).ilog2()
}

/// The sample's wait, had it begun at the place of the job that is asked about.
fn scaled(past: &Past, ask: &Ask) -> i128 {
    i128::from(past.waited_ms.max(0)) * i128::from(ask.position.max(1)) / i128::from(past.position.max(1))
}

fn known(left: &[i128]) -> Estimate {
    let rank = |tenths: usize| ((left.len() + 1) * tenths).div_ceil(10).clamp(1, left.len());
    let at = |tenths: usize| {
        left.get(rank(tenths) - 1).map_or(i64::MAX, |millis| i64::try_from(*millis).unwrap_or(i64::MAX))
    };
    let samples = u32::try_from(left.len()).unwrap_or(u32::MAX);
    Estimate::Known { p50_ms: at(5), p90_ms: at(9), samples }
}

fn too_few(most: usize) -> String {
    if most < ENOUGH {
        format!("fewer than {ENOUGH} jobs of this queue have got a place after waiting")
    } else {
        format!("it has waited longer than nearly all of the {most} jobs like it that got a place")
    }
}

/// Nothing that happens by itself places the job.
fn never(blockers: &[Blocker]) -> Option<String> {
    let lasts = |code| {
        matches!(
            code,
            Cause::TooBig
                | Cause::NoMatchingNode
                | Cause::NoCluster
                | Cause::QuotaNever
                | Cause::NoFlavor
                | Cause::Residency
        )
    };
    let all = !blockers.is_empty() && blockers.iter().all(|blocker| lasts(blocker.code));
    all.then(|| blockers[0].sentence.clone())
}

/// Somebody has to repair or change something first, and the history says nothing about that.
fn not_by_time(blockers: &[Blocker]) -> Option<String> {
    let first = blockers.first().filter(|_| !passes_with_time(blockers))?;
    Some(format!("it waits for a change, not for other jobs: {}", first.sentence))
}

/// Whether some blocker goes away when other jobs end. Waits of other kinds are no samples either.
pub fn passes_with_time(blockers: &[Blocker]) -> bool {
    let repair = |code| {
        matches!(
            code,
            Cause::TooBig
                | Cause::NoMatchingNode
                | Cause::NoCluster
                | Cause::NoReadyNode
                | Cause::ClusterStale
                | Cause::Failover
                | Cause::Pinned
                | Cause::Residency
                | Cause::MaxPrice
                | Cause::QuotaNever
                | Cause::NoFlavor
        )
    };
    blockers.iter().any(|blocker| !repair(blocker.code))
}

impl Estimate {
    /// One line for people, with how earlier estimates came true.
    pub fn sentence(&self, coverage: Coverage) -> String {
        match self {
            Estimate::Known { p50_ms, p90_ms, .. } => {
                format!("p50 {}, p90 {} ({})", span(*p50_ms), span(*p90_ms), coverage.sentence())
            }
            Estimate::Unknown { because } => format!("unknown: {because}"),
            Estimate::Never { because } => format!("never as things are: {because}"),
        }
    }
}

impl Coverage {
    fn sentence(self) -> String {
        match self.judged {
            0 => "no earlier estimate of this queue could be checked yet".to_owned(),
            1 => {
                let how = if self.by_p90 == 1 { "came" } else { "did not come" };
                format!("the one earlier estimate that could be checked {how} true by p90")
            }
            judged => {
                let percent = u64::from(self.by_p90) * 100 / u64::from(judged);
                format!("in the last {judged} estimates {percent} % had a place by p90")
            }
        }
    }
}

fn span(millis: i64) -> String {
    duration(Timestamp(0), Timestamp::from_millis(millis))
}
