//! Fleet rate: whole agents in one process on fake API servers, a real control plane and its Postgres, built for release.
//!
//! Owns the command and the report; the measurement itself is the agent's example `fleet`, which needs no clusters. A
//! measurement that fails writes no report.

mod report;

use std::process::Stdio;

use anyhow::{Context, Result};
use serde::Deserialize;
use squadron_e2e::{
    command,
    program::{self, Program},
};

const MANIFEST: &str = "xtask/src/bench/rate/rate.yaml";
const REPORT: &str = "docs/benchmarks/fleet.md";

/// How much is measured.
#[derive(clap::Args)]
pub struct Fleet {
    /// Agents of the first measurement.
    #[arg(long, default_value_t = 10)]
    agents: u32,
    /// Agents of the second, whose rate is held against the first.
    #[arg(long, default_value_t = 500)]
    fleet: u32,
    /// Jobs of a burst.
    #[arg(long, default_value_t = 5_000)]
    jobs: u32,
    /// Jobs of one request where they come in lists.
    #[arg(long, default_value_t = 100)]
    batch: u32,
    /// Measured bursts of each.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Take the programs as they were built, instead of building them first.
    #[arg(long)]
    pub built: bool,
}

/// What one measurement found.
#[derive(Deserialize)]
struct Measured {
    agents: u32,
    /// Agents that came while memory was looked at.
    added: u32,
    run_ms: u32,
    connections: u32,
    /// Jobs of one request.
    batch: u32,
    /// Bytes that the control plane held before those came and after, and at the end.
    memory_before: u64,
    memory_after: u64,
    memory_end: u64,
    /// Version of Postgres.
    postgres: String,
    runs: Vec<Burst>,
}

/// One burst.
#[derive(Deserialize)]
struct Burst {
    submitted_per_s: f64,
    made_per_s: f64,
    ended_per_s: f64,
    /// Writes at the API servers for each job, by verb and collection.
    writes: std::collections::BTreeMap<String, f64>,
    cpu_ms: Cpu,
}

/// Milliseconds of CPU for each job.
#[derive(Deserialize, Clone, Copy)]
struct Cpu {
    control_plane: f64,
    postgres: f64,
    agents: f64,
}

impl Fleet {
    /// Measures few agents, with jobs one by one and in lists, then many, and writes docs/benchmarks/fleet.md.
    pub fn run(&self) -> Result<()> {
        if !self.built {
            let profile: &[&str] = if program::is_release() { &["--release"] } else { &[] };
            let example = ["build", "--locked", "--package", "squadron-agent", "--example", "fleet"];
            command::run(command::new("cargo").args(example).args(profile))?;
        }
        let single = self.measure(self.agents, 1)?;
        let few = self.measure(self.agents, self.batch)?;
        let many = self.measure(self.fleet, self.batch)?;
        let text = report::text(&single, &few, &many, self.jobs)?;
        let path = command::root().join(REPORT);
        std::fs::write(&path, &text).with_context(|| format!("writing {}", path.display()))?;
        println!("{text}");
        Ok(())
    }

    fn measure(&self, agents: u32, batch: u32) -> Result<Measured> {
        let plane = Program::ControlPlane.path();
        let fleet = plane.with_file_name("examples").join("fleet");
        let mut measure = command::new(fleet);
        measure.arg("--control-plane").arg(plane).args(["--manifest", MANIFEST]);
        let numbers = [
            ("--agents", agents),
            ("--first", self.agents),
            ("--jobs", self.jobs),
            ("--batch", batch),
            ("--runs", self.runs),
        ];
        for (flag, number) in numbers {
            measure.args([flag, &number.to_string()]);
        }
        let printed = command::output(measure.stderr(Stdio::inherit()))?;
        serde_json::from_str(&printed).context("reading what the measurement printed")
    }
}
