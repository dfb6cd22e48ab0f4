//! `make rounds`: the rounds of faults on a stage of their own.

use std::path::PathBuf;

use anyhow::Result;
use squadron_e2e::{
    command,
    rounds::{self, Plan},
    stage::{Spec, Stage},
};

/// Breaks two real clusters again and again, and counts copies that ran at once and jobs that stopped for nothing.
#[derive(clap::Args)]
pub struct Rounds {
    /// Rounds to run now; those of earlier runs with the same seed are kept and not run again.
    #[arg(long, default_value_t = 10)]
    rounds: u32,
    /// Faults to draw from: `lost` (longer than a lease), `brief` (shorter), or single ones, separated by commas.
    #[arg(long, default_value = "lost")]
    faults: String,
    /// What the faults are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Length of the lease in seconds.
    #[arg(long, default_value_t = 20)]
    lease: u32,
    /// Fenced jobs; beside them one job waits on each cluster.
    #[arg(long, default_value_t = 6)]
    jobs: u32,
    /// Submissions measured before each loss; during it one follows the other.
    #[arg(long, default_value_t = 5)]
    probes: u32,
    /// End the jobs afterwards, instead of keeping them for the next run.
    #[arg(long)]
    dismiss: bool,
    /// Take the programs as they were built, instead of building them first.
    #[arg(long)]
    pub built: bool,
}

impl Rounds {
    /// Runs them; the clusters stay up for the next run.
    pub fn run(&self) -> Result<()> {
        let stage = Stage::set(Spec::rounds(self.lease), &|part| println!("-- {part}"))?;
        println!("-- second control plane");
        stage.start_second()?;
        stage.share_agents()?;
        let plan = Plan {
            rounds: self.rounds,
            faults: self.faults.clone(),
            seed: self.seed,
            lease: self.lease,
            jobs: self.jobs,
            probes: self.probes,
            file: file(),
        };
        let outcome = rounds::run(&stage, &plan);
        if self.dismiss {
            rounds::dismiss(&stage, &plan)?;
        }
        outcome
    }
}

/// Beside the built programs, so that `cargo clean` forgets the rounds of builds that are gone.
fn file() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| command::root().join("target"), PathBuf::from).join("rounds.jsonl")
}
