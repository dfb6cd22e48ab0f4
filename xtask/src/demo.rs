//! The demo: two clusters, a control plane, three Ray jobs. Says what it does before it does it.
//!
//! May be run again at any time: what is up stays up, the jobs are submitted anew.

use std::time::Duration;

use anyhow::{Context, Result};
use squadron_e2e::{
    command,
    stage::{Spec, Stage},
    testbed,
    wait::{self, Look},
};

const QUEUE: &str = "research";
const FIRST: [&str; 2] = ["forecast", "embeddings"];
const THIRD: &str = "evaluation";
/// How long a job of the demo may take on a machine that does other things besides.
const PATIENCE: Duration = Duration::from_secs(900);

/// Runs it.
pub fn run() -> Result<()> {
    chapter("building: 15 minutes the first time, seconds afterwards");
    crate::ready()?;
    chapter("clusters, control plane, agents: 25 minutes the first time, a minute afterwards");
    let stage = Stage::set(Spec::demo(), &|part| println!("-- {part}"))?;
    chapter("it is up, and while jobs run it can be looked at");
    reach(&stage)?;
    chapter("a queue and a price sheet");
    queue(&stage)?;
    show(&stage, &["prices", "apply", "-f", "demo/prices.yaml"])?;
    chapter("three jobs of one shape: one fits on each cluster, the third has to wait");
    let [forecast, embeddings] = FIRST.map(|name| submit(&stage, name));
    let (forecast, embeddings) = (forecast?, embeddings?);
    for job in [&forecast, &embeddings] {
        wait_placed(&stage, job)?;
    }
    let third = submit(&stage, THIRD)?;
    wait_explained(&stage, &third)?;
    show(&stage, &["list"])?;
    show(&stage, &["why", &third])?;
    chapter("waiting for them to finish");
    for job in [&forecast, &embeddings, &third] {
        show(&stage, &["wait", job, "--timeout", &PATIENCE.as_secs().to_string()])?;
    }
    finished(&stage, &forecast)
}

/// Stops what `run` started and removes what it made.
pub fn down() -> Result<()> {
    let spec = Spec::demo();
    let clusters = spec.clusters.clone();
    Stage::found(spec).strike()?;
    testbed::down(&clusters)
}

fn chapter(title: &str) {
    println!("\n==> {title}");
}

/// Runs a command of the CLI and shows it as a person would have typed it.
fn show(stage: &Stage, args: &[&str]) -> Result<()> {
    println!("\n$ squadron {}", args.join(" "));
    command::run(stage.cli()?.args(args))
}

fn queue(stage: &Stage) -> Result<()> {
    let queues = command::output(stage.cli()?.args(["queue", "list", "-o", "name"]))?;
    if queues.lines().any(|name| name == QUEUE) {
        return Ok(());
    }
    show(stage, &["queue", "add", QUEUE])
}

/// The id of the new job.
fn submit(stage: &Stage, name: &str) -> Result<String> {
    let file = format!("demo/{name}.yaml");
    println!("\n$ squadron submit {file} -q {QUEUE}");
    let reply = stage.json(&["submit", &file, "-q", QUEUE])?;
    let id = reply["job"]["id"].as_str().context("the answer to the submission names no job")?.to_owned();
    println!("submitted {name} as {id}");
    Ok(id)
}

fn wait_placed(stage: &Stage, job: &str) -> Result<()> {
    wait::until("the job to be assigned to a cluster", Duration::from_secs(30), || {
        let detail = stage.json(&["describe", job])?;
        let sentence = detail["job"]["sentence"].as_str().unwrap_or_default().to_owned();
        Ok(if detail["job"]["state"] == "queued" { Look::NotYet(sentence) } else { Look::Found(()) })
    })
}

fn wait_explained(stage: &Stage, job: &str) -> Result<()> {
    wait::until("the reason why the third job waits", Duration::from_secs(30), || {
        let why = stage.json(&["why", job])?;
        let blockers = why["blockers"].as_array().map_or(0, Vec::len);
        Ok(if blockers > 0 { Look::Found(()) } else { Look::NotYet(why["sentence"].to_string()) })
    })
}

fn finished(stage: &Stage, job: &str) -> Result<()> {
    chapter("afterwards: the pods are gone, the answers stay");
    show(stage, &["describe", job])?;
    println!("\n$ squadron logs {job} | grep step | tail -n 3");
    let log = stage.squadron(&["logs", job])?.ok()?;
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("step")).collect();
    println!("{}", lines[lines.len().saturating_sub(3)..].join("\n"));
    show(stage, &["usage", "--by", "team,job"])?;
    show(stage, &["cluster", "list"])?;
    chapter("it is all still running");
    reach(stage)?;
    println!("stop      make demo-down");
    Ok(())
}

/// Says how to look at it.
fn reach(stage: &Stage) -> Result<()> {
    let ca = stage.data().join("tls/ca.crt");
    let token_file = stage.data().join("admin.token");
    println!("console   {}/jobs#token={}", stage.server(), stage.token()?);
    println!("by hand   export SQUADRON_SERVER={} SQUADRON_CA={}", stage.server(), ca.display());
    println!("          export SQUADRON_TOKEN=$(cat {})", token_file.display());
    println!("          target/debug/squadron list");
    Ok(())
}
