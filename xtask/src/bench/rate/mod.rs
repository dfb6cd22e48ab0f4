//! Dispatch rate: from submission to the RayJob object in a worker cluster, with real API servers, beside MultiKueue.
//!
//! Owns the order of a run: idle latency one by one, then bursts, the sides in turns. Nothing reconciles RayJobs, so that only
//! dispatch is measured. Times come from the API servers' audit logs and from the time of receipt that the control plane
//! stored, all on one machine and one clock.

mod audit;
mod cpu;
mod figures;
mod load;
mod multikueue;
mod side;
mod squadron;

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use squadron_e2e::{
    stage::{Spec, Stage},
    testbed,
    wait::{self, found_if},
};

use crate::{acceptance::operator, multikueue::RATE_MANAGER};

use self::{audit::Writes, cpu::Ticks, figures::Run, side::Side, squadron::Squadron};

const NAMESPACE: &str = "default";
const PATIENCE: Duration = Duration::from_secs(1_800);

/// Submissions to a stage, for other measurements.
pub struct Load<'a>(Squadron<'a>);

impl<'a> Load<'a> {
    pub fn new(stage: &'a Stage) -> Load<'a> {
        Load(Squadron(stage))
    }

    /// Submits `count` jobs called `<prefix>-<number>` with bodies of this form.
    pub fn send(&self, prefix: &str, count: u32, body: fn(&str) -> String) -> Result<()> {
        let folder = testbed::bin()?.join("load");
        load::send(&load::Target { body, ..self.0.target()? }, prefix, count, &folder)?;
        Ok(std::fs::remove_dir_all(&folder)?)
    }

    /// Cancels the jobs with the prefix and waits for their end.
    pub fn clear(&self, prefix: &str) -> Result<()> {
        self.0.clear(prefix)
    }
}

/// When RayJobs were created in a worker cluster, in seconds since 1970, by their names, as its log tells from byte `from` on.
pub fn created_since(cluster: &str, from: u64) -> Result<BTreeMap<String, f64>> {
    let mut writes = Writes::default();
    writes.read(&testbed::audit_log(cluster)?, from, NAMESPACE, true)?;
    Ok(writes.created)
}

/// How much is measured.
#[derive(clap::Args)]
pub struct Rate {
    /// Measured bursts of each side.
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Jobs of a burst.
    #[arg(long, default_value_t = 1000)]
    jobs: u32,
    /// Jobs of a burst for MultiKueue, which takes about a second for each.
    #[arg(long, default_value_t = 300)]
    rival_jobs: u32,
    /// Jobs that are submitted alone, one after another, before the bursts.
    #[arg(long, default_value_t = 40)]
    idle: u32,
    /// Leave MultiKueue out.
    #[arg(long)]
    alone: bool,
}

impl Rate {
    /// Measures the sides in turns and prints their figures.
    pub fn run(&self) -> Result<()> {
        let spec = Spec::rate();
        // A run that was cut off while the other side had its turn left the agents away.
        for cluster in spec.clusters.iter().filter(|cluster| testbed::kubeconfig(cluster).is_ok()) {
            let asked = operator::ask_for_agents(cluster, 1);
            asked.unwrap_or_else(|problem| println!("-- {cluster} is not up yet: {problem:#}"));
        }
        let stage = Stage::set(spec, &|part| println!("-- {part}"))?;
        let mut sides: Vec<(Box<dyn Side + '_>, u32, Vec<Run>)> =
            vec![(Box::new(Squadron(&stage)), self.jobs, Vec::new())];
        if !self.alone {
            let rival = Box::new(multikueue::over(&stage.spec.clusters));
            rival.up()?;
            sides.push((rival, self.rival_jobs, Vec::new()));
        }
        for round in 0..=self.runs {
            for (side, jobs, runs) in &mut sides {
                side.take_over()?;
                if round == 0 {
                    self.idle(&**side)?;
                } else {
                    let run = measure(&**side, &format!("burst-{round}"), *jobs)?;
                    println!("{}: {}", side.name(), run.line());
                    runs.push(run);
                }
            }
        }
        for (side, _, runs) in &sides {
            println!("{}: {}", side.name(), figures::summary(runs));
        }
        Ok(())
    }

    /// Jobs that come alone; they warm everything up as well.
    fn idle(&self, side: &dyn Side) -> Result<()> {
        let mut lone = Vec::new();
        for number in 0..self.idle {
            lone.extend(measure(side, &format!("idle-{number}"), 1)?.latencies());
        }
        println!("{}: {}", side.name(), figures::idle(&mut lone));
        Ok(())
    }
}

/// Submits `count` jobs, waits for their objects, ends them, and tells what it took.
fn measure(side: &dyn Side, word: &str, count: u32) -> Result<Run> {
    let prefix = format!("{word}-{}", std::process::id());
    let clusters = side.clusters();
    let logs: Vec<_> = clusters.iter().map(|name| testbed::audit_log(name)).collect::<Result<_>>()?;
    let starts: Vec<u64> = logs.iter().map(|log| audit::end(log)).collect();
    let folder = testbed::bin()?.join("load");
    let target = side.target()?;
    let before = Ticks::now();
    load::send(&target, &prefix, count, &folder)?;
    let look = || -> Result<Writes> {
        let mut writes = Writes::default();
        for ((log, from), cluster) in logs.iter().zip(&starts).zip(&clusters) {
            writes.read(log, *from, NAMESPACE, cluster != RATE_MANAGER)?;
        }
        Ok(writes)
    };
    wait::until("every RayJob to exist", PATIENCE, || {
        let found = look()?.created.len();
        Ok(found_if(found >= count as usize, format!("{found} of {count}")))
    })?;
    let cpu = Ticks::now().since(&before, |process| side.is_part(process));
    let writes = look()?;
    let received = side.received(&prefix, &writes.received)?;
    std::fs::remove_dir_all(&folder)?;
    side.clear(&prefix)?;
    Ok(Run { received, writes, cpu })
}
