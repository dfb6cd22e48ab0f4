//! Fleet: many whole agents in one process against fake API servers, a real control plane and its Postgres.
//!
//! Measures jobs per second from submission to the RayJob object, writes per job at the API servers, bytes on the wire per job,
//! and what a connected agent costs the control plane in memory. The agents are the program's own code from boot to spool; only
//! the API servers are fakes, in this process and named so. `make bench-fleet` runs it.

mod cluster;
mod fake;
mod figures;
mod identity;
mod people;
mod plane;
mod relay;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use clap::Parser;

use self::{cluster::Fleet, figures::Run, people::People, plane::Plane};

/// Measures a fleet of agents on fake API servers.
#[derive(Parser)]
struct Line {
    /// The control plane's program.
    #[arg(long)]
    control_plane: PathBuf,
    /// Agents of the first measurement.
    #[arg(long, default_value_t = 10)]
    agents: usize,
    /// Agents of the second.
    #[arg(long, default_value_t = 500)]
    fleet: usize,
    /// Jobs of a burst.
    #[arg(long, default_value_t = 5_000)]
    jobs: usize,
    /// Bursts of each measurement.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Connections that submit at the same time.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// RayJob manifest; NAME in it becomes the job's name.
    #[arg(long)]
    manifest: PathBuf,
}

#[tokio::main]
async fn main() -> Result<()> {
    tracing_subscriber::fmt().with_env_filter("error").init();
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed before");
    }
    let line = Line::parse();
    let folder = tempfile::tempdir()?;
    let plane = Plane::start(&line.control_plane, folder.path()).await?;
    let measured = measure(&line, &plane, folder.path()).await;
    plane.stop().await;
    measured
}

async fn measure(line: &Line, plane: &Plane, folder: &std::path::Path) -> Result<()> {
    let people = People::of(&plane.data, &plane.people)?;
    let manifest = std::fs::read_to_string(&line.manifest).context("reading the manifest")?;
    let (relay, bytes) = relay::start(plane.agents).await?;
    let mut fleet = Fleet::new(folder.to_owned(), people.clone(), relay);
    let mut rates = Vec::new();
    for agents in [line.agents, line.fleet] {
        let before = plane.memory()?;
        let added = agents.saturating_sub(fleet.len());
        if added == 0 {
            continue;
        }
        fleet.grow(agents).await?;
        tokio::time::sleep(Duration::from_secs(20)).await;
        println!("{agents} agents: {}", figures::memory(before, plane.memory()?, added));
        let mut runs = Vec::new();
        for number in 0..=line.runs {
            let prefix = format!("a{agents}-r{number}");
            let run = Run::make(&fleet, plane, &bytes, line.jobs, async {
                people.submit(&manifest, &prefix, line.jobs, line.connections).await
            });
            let run = run.await?;
            println!("{agents} agents, run {number}: {}", run.line());
            // The first warms everything up.
            runs.extend((number > 0).then_some(run));
        }
        println!("{agents} agents: {}", figures::summary(&runs));
        rates.push(figures::median_rate(&runs));
    }
    if let [few, many] = rates[..] {
        println!("rate with {} agents against {}: {:.0} %", line.fleet, line.agents, many / few * 100.0);
    }
    Ok(())
}
