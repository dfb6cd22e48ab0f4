//! From submission to the driver's first line: ours and KubeRay's operator, in turns, on one cluster.
//!
//! The driver prints its own clock, which is this machine's, so nothing that reads the log is measured. Both operators
//! get the same manifest, and neither runs while the other is measured.

mod failover;
mod fleet;
mod flood;
mod queue;
mod rate;
mod report;

use std::{fs, time::Duration};

use anyhow::{Context, Result, bail};
use squadron_e2e::{
    clock, command,
    stage::{Spec, Stage},
    testbed,
    wait::{self, Look, found_if},
};

use self::report::Report;
pub use self::{failover::Failover, fleet::Fleet, flood::Flood, queue::Queue, rate::Rate};
use crate::acceptance::Operator;

const MANIFEST: &str = "xtask/src/bench/first-line.yaml";
const MARK: &str = "first line at ";
const PATIENCE: Duration = Duration::from_secs(240);

/// Measures `runs` times each and writes docs/benchmarks/submit.md.
pub fn submit(runs: u32) -> Result<()> {
    let stage = Stage::set(Spec::acceptance(), &|part| println!("-- {part}"))?;
    let cluster = stage.spec.clusters[0].clone();
    let mut report = Report::default();
    for run in 0..=runs {
        Operator::Squadron.take_over(&cluster)?;
        stage.wait_for_state(&cluster, &["active"])?;
        let ours = through_squadron(&stage)?;
        wait_empty(&cluster)?;
        Operator::Kuberay.take_over(&cluster)?;
        let theirs = through_kuberay(&cluster)?;
        wait_empty(&cluster)?;
        println!("run {run}: squadron {ours:.1} s, kuberay {theirs:.1} s");
        if run > 0 {
            report.add(ours, theirs);
        }
    }
    let path = command::root().join("docs/benchmarks/submit.md");
    fs::create_dir_all(path.parent().context("the report has a folder")?)?;
    let text = report.text()?;
    fs::write(&path, &text).with_context(|| format!("writing {}", path.display()))?;
    println!("{text}");
    Ok(())
}

/// Seconds from `squadron submit` to the driver's first line.
fn through_squadron(stage: &Stage) -> Result<f64> {
    let begun = clock::now();
    let reply = stage.json(&["submit", MANIFEST, "-q", "default"])?;
    let job = reply["job"]["id"].as_str().context("the answer to the submission names no job")?.to_owned();
    stage.squadron(&["wait", &job, "--timeout", &PATIENCE.as_secs().to_string()])?.ok()?;
    let log = stage.squadron(&["logs", &job])?.ok()?;
    Ok(printed_at(&log)? - begun)
}

/// Seconds from `kubectl create` to the driver's first line.
fn through_kuberay(cluster: &str) -> Result<f64> {
    let kubectl = |args: &[&str]| command::output(testbed::tool("kubectl", cluster)?.args(args));
    let begun = clock::now();
    kubectl(&["create", "-f", MANIFEST])?;
    let log = wait::until("the driver's first line", PATIENCE, || {
        let log = kubectl(&["logs", "-l", "batch.kubernetes.io/job-name=first-line", "--tail=-1"])?;
        Ok(if log.contains(MARK) { Look::Found(log) } else { Look::NotYet(log) })
    })?;
    wait::until("the RayJob to be complete", PATIENCE, || {
        let state =
            kubectl(&["get", "rayjob", "first-line", "-o", "jsonpath={.status.jobDeploymentStatus}"])?;
        Ok(found_if(state == "Complete", &state))
    })?;
    kubectl(&["delete", "rayjob", "first-line"])?;
    Ok(printed_at(&log)? - begun)
}

fn printed_at(log: &str) -> Result<f64> {
    let Some((_, after)) = log.split_once(MARK) else { bail!("the driver printed no time:\n{log}") };
    let number = after.split_whitespace().next().unwrap_or_default();
    number.parse().with_context(|| format!("reading the time {number:?} that the driver printed"))
}

/// Nothing of a run may use the node when the next begins; a submitter that has ended may lie there.
fn wait_empty(cluster: &str) -> Result<()> {
    let live = "--field-selector=status.phase!=Succeeded,status.phase!=Failed";
    wait::until("the pods of the run to end", PATIENCE, || {
        let pods =
            command::output(testbed::tool("kubectl", cluster)?.args(["get", "pods", live, "-o", "name"]))?;
        Ok(found_if(pods.trim().is_empty(), pods))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_from_between_other_lines() {
        let log = "2026-11-29 12:00:00,000 INFO cli.py:39\nfirst line at 1796000000.25\nJob succeeded\n";
        assert_eq!(printed_at(log).unwrap(), 1_796_000_000.25);
        assert!(printed_at("nothing").is_err());
    }
}
