//! Figures of a burst.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{cluster::Fleet, people::People, plane::Plane};

const PATIENCE: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(10);
/// The control plane is asked less often, because asking costs it something.
const ASK: Duration = Duration::from_millis(50);

/// What a burst took.
pub struct Run {
    jobs: usize,
    /// From the first submission until the last was answered.
    submitted: Duration,
    /// Until the last object existed.
    made: Duration,
    /// Until the control plane knew the end of the last job.
    ended: Duration,
    writes: BTreeMap<(String, String), u64>,
    /// CPU seconds of control plane, Postgres, and this process with agents, fakes and generator.
    cpu: [f64; 3],
}

impl Run {
    /// Measures from the first submission until all `jobs` have ended.
    pub async fn make(
        fleet: &Fleet,
        plane: &Plane,
        people: &People,
        jobs: usize,
        submit: impl Future<Output = Result<Duration>>,
    ) -> Result<Run> {
        let (before, writes, cpu) = (fleet.made(), fleet.writes(), plane.cpu());
        let begun = Instant::now();
        let counted = async {
            let wanted = before + jobs as u64;
            while fleet.made() < wanted {
                tokio::time::sleep(LOOK).await;
            }
            begun.elapsed()
        };
        let both = async { tokio::join!(submit, counted) };
        let late = || format!("{} of {jobs} objects were made", fleet.made() - before);
        let (submitted, made) = tokio::time::timeout(PATIENCE, both).await.with_context(late)?;
        let over = async {
            while people.any_open_job().await? {
                tokio::time::sleep(ASK).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(PATIENCE, over).await.context("not all jobs have ended in time")??;
        let (ended, after) = (begun.elapsed(), plane.cpu());
        let mut more = fleet.writes();
        for (key, count) in writes {
            *more.entry(key).or_default() -= count;
        }
        more.retain(|_, count| *count > 0);
        let cpu = std::array::from_fn(|part| after[part] - cpu[part]);
        Ok(Run { jobs, submitted: submitted?, made, ended, writes: more, cpu })
    }

    fn rate(&self, time: Duration) -> f64 {
        self.jobs as f64 / time.as_secs_f64()
    }

    fn per_job(&self, number: f64) -> f64 {
        number / self.jobs as f64
    }

    pub fn line(&self) -> String {
        let [plane, postgres, agents] = self.cpu.map(|seconds| self.per_job(seconds * 1_000.0));
        format!(
            "{:.0} jobs/s to the object, {:.0} to the end ({:.0} submitted); {:.2} writes a job; ms of CPU a job: \
             control plane {plane:.2}, Postgres {postgres:.2}, agents with fakes and generator {agents:.2}",
            self.rate(self.made),
            self.rate(self.ended),
            self.rate(self.submitted),
            self.per_job(self.writes.values().sum::<u64>() as f64),
        )
    }

    pub fn json(&self) -> Value {
        let [plane, postgres, agents] = self.cpu.map(|seconds| self.per_job(seconds * 1_000.0));
        let writes = self
            .writes
            .iter()
            .map(|((verb, of), count)| (format!("{verb} {of}"), Value::from(self.per_job(*count as f64))));
        json!({"submitted_per_s": self.rate(self.submitted), "made_per_s": self.rate(self.made),
            "ended_per_s": self.rate(self.ended), "writes": writes.collect::<serde_json::Map<_, _>>(),
            "cpu_ms": {"control_plane": plane, "postgres": postgres, "agents": agents}})
    }
}
