//! Figures of a burst, and of several.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{cluster::Fleet, plane::Plane, relay::Bytes};

const PATIENCE: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(10);

/// What a burst took.
pub struct Run {
    jobs: usize,
    /// Until the last submission was answered, and until the last object existed.
    submitted: Duration,
    done: Duration,
    writes: BTreeMap<(String, String), u64>,
    /// Up and down, bytes.
    wire: (u64, u64),
    /// CPU seconds of control plane, Postgres, and this process with agents, fakes and generator.
    cpu: [f64; 3],
}

impl Run {
    /// Measures from the first submission until the objects of all `jobs` exist.
    pub async fn make(
        fleet: &Fleet,
        plane: &Plane,
        bytes: &Bytes,
        jobs: usize,
        submit: impl Future<Output = Result<Duration>>,
    ) -> Result<Run> {
        let (before, writes, wire, cpu) = (fleet.ray_jobs(), fleet.writes(), bytes.now(), plane.cpu());
        let begun = Instant::now();
        let submitted = submit.await?;
        let wanted = before + jobs;
        let all = async {
            while fleet.ray_jobs() < wanted {
                tokio::time::sleep(LOOK).await;
            }
        };
        let late = || format!("{} of {wanted} objects exist", fleet.ray_jobs());
        tokio::time::timeout(PATIENCE, all).await.with_context(late)?;
        let done = begun.elapsed();
        let after = plane.cpu();
        let (up, down) = bytes.now();
        let mut made = fleet.writes();
        for (key, count) in writes {
            *made.entry(key).or_default() -= count;
        }
        Ok(Run {
            jobs,
            submitted,
            done,
            writes: made,
            wire: (up - wire.0, down - wire.1),
            cpu: std::array::from_fn(|part| after[part] - cpu[part]),
        })
    }

    fn rate(&self) -> f64 {
        self.jobs as f64 / self.done.as_secs_f64()
    }

    fn per_job(&self, number: f64) -> f64 {
        number / self.jobs as f64
    }

    pub fn line(&self) -> String {
        let writes: u64 = self.writes.values().sum();
        let kinds: Vec<String> = self
            .writes
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|((verb, of), count)| format!("{verb} {of} {count}"))
            .collect();
        let cpu = self.cpu.map(|seconds| format!("{:.2}", self.per_job(seconds * 1_000.0)));
        format!(
            "{:.0} jobs/s ({:.0}/s submitted); {:.2} writes a job ({}); {:.0} bytes up and {:.0} down a job; ms of CPU a \
             job: control plane {}, Postgres {}, agents with fakes and generator {}",
            self.rate(),
            self.jobs as f64 / self.submitted.as_secs_f64(),
            self.per_job(writes as f64),
            kinds.join(", "),
            self.per_job(self.wire.0 as f64),
            self.per_job(self.wire.1 as f64),
            cpu[0],
            cpu[1],
            cpu[2]
        )
    }
}

pub fn median_rate(runs: &[Run]) -> f64 {
    let mut rates: Vec<f64> = runs.iter().map(Run::rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}

pub fn summary(runs: &[Run]) -> String {
    let rates: Vec<String> = runs.iter().map(|run| format!("{:.0}", run.rate())).collect();
    format!("median {:.0} jobs/s of {}", median_rate(runs), rates.join(", "))
}

/// What `added` agents cost.
pub fn memory(before: u64, after: u64, added: usize) -> String {
    let kib = |bytes: u64| bytes / 1_024;
    let each = after.saturating_sub(before) / added.max(1) as u64;
    format!(
        "control plane {} KiB, before {} KiB: {} KiB for each that came",
        kib(after),
        kib(before),
        kib(each)
    )
}
