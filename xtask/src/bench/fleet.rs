//! Fleet rate: whole agents in one process on fake API servers, a real control plane and its Postgres, all built for release.
//!
//! Owns the build and the command; the measurement itself is the agent's example `fleet`, which needs no clusters.

use anyhow::Result;
use squadron_e2e::command;

const MANIFEST: &str = "xtask/src/bench/rate/rate.yaml";

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
    /// Measured bursts of each.
    #[arg(long, default_value_t = 3)]
    runs: u32,
}

impl Fleet {
    /// Builds, measures and prints.
    pub fn run(&self) -> Result<()> {
        let build =
            ["build", "--release", "--locked", "-p", "squadron-control-plane", "-p", "squadron-agent"];
        command::run(command::new("cargo").args(build).args(["--bins", "--example", "fleet"]))?;
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| command::root().join("target"), std::path::PathBuf::from)
            .join("release");
        let mut measure = command::new(target.join("examples/fleet"));
        measure
            .arg("--control-plane")
            .arg(target.join("squadron-control-plane"))
            .args(["--manifest", MANIFEST]);
        let numbers = [
            ("--agents", self.agents),
            ("--fleet", self.fleet),
            ("--jobs", self.jobs),
            ("--runs", self.runs),
        ];
        for (flag, number) in numbers {
            measure.args([flag, &number.to_string()]);
        }
        command::run(&mut measure)
    }
}
