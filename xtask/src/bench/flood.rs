//! A team that floods the fleet, and one that comes later: how long until the newcomer has its share of all clusters together.
//!
//! Owns the order of a run. The flood holds everything and has more in the queue; the newcomer is guaranteed a half and its
//! queue reclaims. Times come from the audit logs of the API servers. Nothing reconciles RayJobs, so no pods are started; the
//! agents create and delete the objects as always.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use squadron_e2e::{
    clock, command,
    stage::{Spec, Stage},
    wait::{self, found_if},
};

use super::rate::{Load, created_since};

const POLICY: &str = "xtask/src/bench/flood.yaml";
/// Jobs of two cores that a team's guarantee in the policy has room for; both teams together have twice as many.
const SHARE: usize = 125;
const PATIENCE: Duration = Duration::from_secs(600);

/// How long is looked.
#[derive(clap::Args)]
pub struct Flood {
    /// Seconds that the flood runs before the newcomer comes; attempts are left alone for the first ten minutes.
    #[arg(long, default_value_t = 610)]
    lead: u32,
    /// Seconds over which what the newcomer missed is told.
    #[arg(long, default_value_t = 3_600)]
    window: u32,
    /// Take the programs as they were built, instead of building them first.
    #[arg(long)]
    pub built: bool,
}

impl Flood {
    /// Floods, lets the newcomer come, and prints what it had when.
    pub fn run(&self) -> Result<()> {
        let stage = Stage::set(Spec::flood(), &|part| println!("-- {part}"))?;
        let policy = command::root().join(POLICY);
        stage.squadron(&["apply", "-f", &policy.display().to_string()])?.ok()?;
        let (load, number) = (Load::new(&stage), std::process::id());
        let (flood, newcomer) = (format!("flood-{number}"), format!("newcomer-{number}"));
        let logs = Logs::new(&stage)?;
        load.send(&flood, 400, |manifest| body(manifest, "flood"))?;
        logs.wait("the flood to hold everything", &flood, 2 * SHARE)?;
        wait_for("the flood's protected time", self.lead)?;
        let came = clock::now();
        load.send(&newcomer, 200, |manifest| body(manifest, "newcomer"))?;
        logs.wait("the newcomer to have its share", &newcomer, SHARE)?;
        let passed = Duration::from_secs_f64((clock::now() - came).max(0.0)).as_secs();
        wait_for("the window", self.window.saturating_sub(u32::try_from(passed)?))?;
        let times: Vec<f64> = logs.times(&newcomer)?.into_iter().map(|at| at - came).collect();
        println!("{}", told(&times, f64::from(self.window)));
        println!("of the flood run {}, of the newcomer {}", held(&stage, &flood)?, held(&stage, &newcomer)?);
        load.clear(&flood)?;
        load.clear(&newcomer)
    }
}

/// Of jobs that begin at these times, in order, seconds after their team came.
fn told(times: &[f64], window: f64) -> String {
    let at = |count: usize| times.get(count.saturating_sub(1)).copied().unwrap_or(f64::INFINITY);
    let missed: f64 = (1..=SHARE).map(|count| at(count).min(window)).sum();
    format!(
        "the newcomer had its first job after {:.1} s, 95 % of its share after {:.1} s, all of it after {:.1} s; in {window:.0} s it \
         missed {:.2} % of what it was owed",
        at(1),
        at((SHARE * 95).div_ceil(100)),
        at(SHARE),
        100.0 * missed / (window * SHARE as f64)
    )
}

/// The manifest with two pods of one core each, for a queue.
fn body(manifest: &str, queue: &str) -> String {
    json!({"manifest": manifest.replace("cpu: 10m", "cpu: 1"), "queue": queue}).to_string()
}

fn wait_for(what: &str, seconds: u32) -> Result<()> {
    let until = clock::now() + f64::from(seconds);
    wait::until(what, Duration::from_secs(u64::from(seconds) + 60), || {
        Ok(found_if(clock::now() >= until, format!("{:.0} s left", until - clock::now())))
    })
}

/// RayJobs of these jobs that exist in the clusters.
fn held(stage: &Stage, prefix: &str) -> Result<usize> {
    let in_one = |cluster: &String| {
        let names = stage.kubectl(cluster, &["get", "rayjobs", "-o", "name"])?;
        Ok(names.lines().filter(|name| name.contains(prefix)).count())
    };
    stage.spec.clusters.iter().map(in_one).sum()
}

/// The clusters' logs from the beginning of the run on.
struct Logs(Vec<(String, u64)>);

impl Logs {
    fn new(stage: &Stage) -> Result<Logs> {
        let from = |cluster: &String| {
            let log = squadron_e2e::testbed::audit_log(cluster)?;
            Ok((cluster.clone(), std::fs::metadata(log)?.len()))
        };
        Ok(Logs(stage.spec.clusters.iter().map(from).collect::<Result<_>>()?))
    }

    /// When RayJobs of jobs with the prefix were created, the first first.
    fn times(&self, prefix: &str) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for (cluster, from) in &self.0 {
            let created = created_since(cluster, *from)?;
            times.extend(created.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, at)| *at));
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    }

    fn wait(&self, what: &str, prefix: &str, count: usize) -> Result<()> {
        wait::until(what, PATIENCE, || {
            let found = self.times(prefix)?.len();
            Ok(found_if(found >= count, format!("{found} of {count}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_the_wait_for_each_job_of_the_share() {
        let times: Vec<f64> = (0..200).map(|job| if job < 119 { 9.0 } else { 18.0 }).collect();
        let told = told(&times, 3_600.0);
        assert!(
            told.contains("first job after 9.0 s, 95 % of its share after 9.0 s, all of it after 18.0 s"),
            "{told}"
        );
        assert!(told.contains("missed 0.26 %"), "{told}");
    }

    #[test]
    fn a_share_that_never_came_is_missed_for_the_whole_window() {
        assert!(told(&[], 100.0).ends_with("missed 100.00 % of what it was owed"));
    }
}
