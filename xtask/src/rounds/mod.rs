//! `make rounds`: the rounds of faults on a stage of their own, for our side or for MultiKueue on the same clusters.
//!
//! Invariant: one side alone acts on the clusters. Whoever is to run takes them over from whoever ran before.

mod broken;
mod link;
mod rival;

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use squadron_e2e::{
    command,
    rounds::{self, Plan, Squadron},
    stage::{Spec, Stage},
    testbed,
};

use self::rival::Rival;
use crate::acceptance::operator;

/// Whose jobs are put into danger.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Side {
    /// Ours.
    Squadron,
    /// MultiKueue, built from Kueue's module, with KubeRay's operator in each cluster.
    Multikueue,
}

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
    /// Whose jobs run.
    #[arg(long, value_enum, default_value = "squadron")]
    side: Side,
    /// Which of the two pairs of clusters to run on; two runs at once need different ones, and different seeds.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    stage: u8,
    /// Length of the lease in seconds; MultiKueue's time until a worker counts as lost is 30 s.
    #[arg(long, default_value_t = 20)]
    lease: u32,
    /// Fenced jobs; beside them one job waits on each cluster.
    #[arg(long, default_value_t = 6)]
    jobs: u32,
    /// Submissions measured before each loss; during it there is one every 2 s.
    #[arg(long, default_value_t = 5)]
    probes: u32,
    /// End the jobs afterwards, instead of keeping them for the next run. MultiKueue's are always ended.
    #[arg(long)]
    dismiss: bool,
    /// Take the programs as they were built, instead of building them first.
    #[arg(long)]
    pub built: bool,
}

impl Rounds {
    /// Runs them; the clusters stay up for the next run.
    pub fn run(&self) -> Result<()> {
        let spec = Spec::rounds(self.stage, self.lease);
        println!("-- clusters");
        testbed::up(&spec.clusters, spec.up)?;
        match self.side {
            Side::Squadron => self.run_ours(spec),
            Side::Multikueue => self.run_rival(spec),
        }
    }

    fn run_ours(&self, spec: Spec) -> Result<()> {
        rival::give_back(&spec)?;
        for cluster in &spec.clusters {
            operator::ask_for_agents(cluster, 1)?;
        }
        let stage = Stage::set(spec, &|part| println!("-- {part}"))?;
        println!("-- second control plane");
        stage.start_second()?;
        stage.share_agents()?;
        let side = Squadron(stage);
        let outcome = rounds::run(&side, &self.plan(self.lease));
        if self.dismiss {
            rounds::dismiss(&side)?;
        }
        outcome
    }

    fn run_rival(&self, spec: Spec) -> Result<()> {
        let stage = Stage::found(spec);
        if stage.control_plane().pid().is_some() {
            println!("-- ending our jobs");
            rounds::dismiss(&Squadron(stage.clone()))?;
            stage.stop_control_plane()?;
        }
        let side = Rival::take_over(stage)?;
        let outcome = rounds::run(&side, &self.plan(rival::LOST_AFTER));
        side.leave()?;
        outcome
    }

    fn plan(&self, lease: u32) -> Plan {
        Plan {
            rounds: self.rounds,
            faults: self.faults.clone(),
            seed: self.seed,
            lease,
            jobs: self.jobs,
            probes: self.probes,
            file: file(),
        }
    }
}

/// Beside the built programs, so that `cargo clean` forgets the rounds of builds that are gone.
fn file() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| command::root().join("target"), PathBuf::from).join("rounds.jsonl")
}
