//! Fleet: many whole agents in one process against fake API servers, a real control plane and its Postgres.
//!
//! Measures jobs per second from submission to the RayJob object and to the end that the control plane knows, writes per job
//! at the API servers, and what a connected agent costs the control plane in memory. The agents are the program's own code
//! from boot to spool; only the API servers are fakes, in this process and named so. Prints one JSON object;
//! `make bench-fleet` runs it and writes the report.

mod cluster;
mod fake;
mod figures;
mod identity;
mod people;
mod plane;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::json;

use self::{
    cluster::Fleet,
    figures::Run,
    people::{Jobs, People},
    plane::Plane,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a fleet rests before memory is looked at.
const REST: Duration = Duration::from_secs(20);

/// Measures a fleet of agents on fake API servers.
#[derive(Parser)]
struct Line {
    /// The control plane's program.
    #[arg(long)]
    control_plane: PathBuf,
    /// Agents that are connected while jobs are measured.
    #[arg(long, default_value_t = 10)]
    agents: usize,
    /// Agents that are connected first; those that come after them are what memory is measured of.
    #[arg(long, default_value_t = 10)]
    first: usize,
    /// Jobs of a burst.
    #[arg(long, default_value_t = 5_000)]
    jobs: usize,
    /// Measured bursts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Connections that submit at the same time.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Jobs of one request; 1 submits them one by one.
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// Milliseconds from a RayJob's creation to its end, as the fakes say.
    #[arg(long, default_value_t = 2_000)]
    run_ms: u64,
    /// RayJob manifest; NAME in it becomes the job's name.
    #[arg(long)]
    manifest: PathBuf,
    /// File that takes the control plane's log.
    #[arg(long)]
    log: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter("error").init();
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed before");
    }
    let line = Line::parse();
    let folder = tempfile::tempdir()?;
    let plane = Plane::start(&line.control_plane, folder.path()).await?;
    let measured = measure(&line, &plane, folder.path()).await;
    plane.stop().await;
    if let Some(log) = &line.log {
        std::fs::copy(folder.path().join(plane::LOG), log).context("keeping the log")?;
    }
    println!("{}", measured?);
    Ok(())
}

async fn measure(line: &Line, plane: &Plane, folder: &std::path::Path) -> Result<serde_json::Value> {
    let people = People::of(&plane.data, &plane.people)?;
    let manifest = std::fs::read_to_string(&line.manifest).context("reading the manifest")?;
    let lasts = Duration::from_millis(line.run_ms);
    let mut fleet = Fleet::new(folder.to_owned(), people.clone(), plane.agents, lasts);
    fleet.grow(line.first.min(line.agents)).await?;
    tokio::time::sleep(REST).await;
    let before = plane.memory()?;
    let added = line.agents.saturating_sub(fleet.len());
    fleet.grow(line.agents).await?;
    if added > 0 {
        tokio::time::sleep(REST).await;
    }
    let after = plane.memory()?;
    eprintln!("{} agents: control plane {} KiB, before {} KiB", fleet.len(), after / 1_024, before / 1_024);
    let mut runs = Vec::new();
    for number in 0..=line.runs {
        let prefix = format!("a{}-r{number}", line.agents);
        let jobs = Jobs { manifest: &manifest, prefix: &prefix, count: line.jobs, batch: line.batch.max(1) };
        let submit = people.submit(jobs, line.connections);
        let run = Run::make(&fleet, plane, &people, line.jobs, submit).await?;
        eprintln!("{} agents, burst {number}: {}", line.agents, run.line());
        // The first warms everything up.
        runs.extend((number > 0).then(|| run.json()));
    }
    Ok(json!({"agents": line.agents, "added": added, "jobs": line.jobs, "run_ms": line.run_ms,
        "connections": line.connections, "batch": line.batch, "memory_before": before, "memory_after": after,
        "memory_end": plane.memory()?, "postgres": plane.postgres(), "runs": runs}))
}
