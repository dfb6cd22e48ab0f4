//! Dispatch rate: from submission to the RayJob object in a worker cluster, with real API servers.
//!
//! Owns the order of a run: idle latency one by one, then a burst. Agents create attempts and reconcile nothing, so that
//! only dispatch is measured. Times come from the API servers' audit logs and from the time of receipt that the control
//! plane stored, all on one machine and one clock.

mod audit;
mod cpu;
mod figures;
mod load;

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use squadron_e2e::{
    stage::{Spec, Stage},
    testbed,
    wait::{self, found_if},
};

use self::{audit::Writes, cpu::Ticks, figures::Run, load::Load};

const NAMESPACE: &str = "default";
const PATIENCE: Duration = Duration::from_secs(600);

/// Measures `runs` bursts of `jobs` after `idle` single submissions and prints the figures.
pub fn rate(runs: u32, jobs: u32, idle: u32) -> Result<()> {
    let stage = Stage::set(Spec::rate(), &|part| println!("-- {part}"))?;
    let mut lone = Vec::new();
    for number in 0..idle {
        lone.extend(measure(&stage, &format!("idle-{number}"), 1)?.latencies());
    }
    println!("{}", figures::idle(&mut lone));
    let mut bursts = Vec::new();
    for number in 0..runs {
        let run = measure(&stage, &format!("burst-{number}"), jobs)?;
        println!("{}", run.line());
        bursts.push(run);
    }
    println!("{}", figures::summary(&bursts));
    Ok(())
}

/// Submits `count` jobs, waits for their objects, cancels them, and tells what it took.
fn measure(stage: &Stage, word: &str, count: u32) -> Result<Run> {
    let prefix = format!("{word}-{}", std::process::id());
    let logs: Vec<_> =
        stage.spec.clusters.iter().map(|name| testbed::audit_log(name)).collect::<Result<_>>()?;
    let starts: Vec<u64> = logs.iter().map(|log| audit::end(log)).collect();
    let folder = stage.data().join("load");
    let before = Ticks::now();
    Load { stage, prefix: prefix.clone(), folder: folder.clone() }.send(count)?;
    let look = || -> Result<Writes> {
        let mut writes = Writes::default();
        for (log, from) in logs.iter().zip(&starts) {
            writes.read(log, *from, NAMESPACE)?;
        }
        Ok(writes)
    };
    let wanted = count as usize;
    wait::until("every RayJob to exist", PATIENCE, || {
        let found = look()?.created.len();
        Ok(found_if(found >= wanted, format!("{found} of {wanted}")))
    })?;
    let cpu = Ticks::now().since(&before);
    let submitted = submitted(stage, &prefix)?;
    let writes = look()?;
    std::fs::remove_dir_all(&folder).context("removing the load")?;
    clear(stage, &prefix)?;
    Ok(Run { submitted, writes, cpu })
}

/// When each job was received, in seconds since 1970, by the last eight digits of its id, which its object's name holds.
fn submitted(stage: &Stage, prefix: &str) -> Result<BTreeMap<String, f64>> {
    let query = format!(
        "select right(replace(id::text, '-', ''), 8) || ' ' || extract(epoch from submitted_at) \
         from job where name like '{prefix}-%'"
    );
    let rows = stage.sql(&query)?;
    let parsed = rows.iter().map(|row| {
        let (id, at) = row.split_once(' ').context("a row has two words")?;
        Ok((id.to_owned(), at.parse().with_context(|| format!("reading the time {at}"))?))
    });
    parsed.collect()
}

/// Ends the jobs of a run, so that the next finds the clusters empty.
fn clear(stage: &Stage, prefix: &str) -> Result<()> {
    for id in stage.sql(&format!("select id from job where name like '{prefix}-%'"))? {
        stage.squadron(&["cancel", &id, "--yes"])?.ok()?;
    }
    wait::until("the jobs of the run to end", PATIENCE, || {
        let open = format!("select count(*) from job where name like '{prefix}-%' and ended_at is null");
        let left = stage.sql(&open)?;
        Ok(found_if(left == ["0"], format!("{left:?} left")))
    })
}
