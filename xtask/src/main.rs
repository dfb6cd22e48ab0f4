//! The runs behind `make`: house rules, generated files, the whole check, the demo.

mod acceptance;
mod bench;
mod build;
mod ci;
mod clean;
mod counts;
mod demo;
mod generate;
mod multikueue;
mod repo;
mod rival;
mod rounds;
mod setup;
mod steps;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// What the project does with itself. `make help` shows the runs that people need.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install missing Debian packages and look for the toolchains.
    Setup,
    /// Check the house rules.
    Tidy,
    /// Write the generated files anew.
    Generate {
        /// Only say which differ, and fail if one does.
        #[arg(long)]
        check: bool,
    },
    /// Check everything, from formatting to a browser on a control plane with two clusters.
    Ci {
        /// Leave out what needs clusters.
        #[arg(long)]
        quick: bool,
    },
    /// Run KubeRay's own end-to-end functions against our agent or against KubeRay's operator.
    Acceptance(acceptance::Acceptance),
    /// Two clusters, a control plane, three jobs.
    Demo,
    /// Stop the demo and remove what it made.
    DemoDown,
    /// Cut networks and kill programs under running jobs.
    Chaos,
    /// Lose clusters and kill programs in rounds, and count copies that ran at once and jobs that stopped for nothing.
    Rounds(rounds::Rounds),
    /// Measure from submit to the driver's first line, beside KubeRay's operator.
    BenchSubmit {
        /// Measured runs of each.
        #[arg(long, default_value_t = 5)]
        runs: u32,
    },
    /// Measure how many jobs a second are dispatched to two clusters and what each costs, beside MultiKueue.
    BenchRate(bench::Rate),
    /// Lose a cluster with many fenced jobs and measure when they start elsewhere.
    BenchFailover(bench::Failover),
    /// Flood two clusters by one team and measure when one that comes later has its share.
    BenchFlood(bench::Flood),
    /// Measure submissions, lists, reasons and the decision cycle while very many jobs wait.
    BenchQueue(bench::Queue),
    /// Measure how many jobs a second reach fake API servers through whole agents, and what 500 agents cost.
    BenchFleet(bench::Fleet),
    /// Stop every stage and take its clusters down.
    Clean,
}

fn main() -> ExitCode {
    match run(&Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<()> {
    match task {
        Task::Setup => setup::run(),
        Task::Tidy => tidy::run(),
        Task::Generate { check: true } => generate::check(),
        Task::Generate { check: false } => generate::write(),
        Task::Ci { quick } => ci::run(*quick),
        Task::Acceptance(acceptance) => {
            ready()?;
            acceptance.run()
        }
        Task::Demo => demo::run(),
        Task::DemoDown => demo::down(),
        Task::Chaos => ci::chaos(),
        Task::Rounds(rounds) => {
            ready_unless(rounds.built)?;
            rounds.run()
        }
        Task::BenchSubmit { runs } => {
            ready()?;
            bench::submit(*runs)
        }
        Task::BenchRate(rate) => {
            ready()?;
            rate.run()
        }
        Task::BenchFailover(failover) => {
            ready_unless(failover.built)?;
            failover.run()
        }
        Task::BenchFlood(flood) => {
            ready_unless(flood.built)?;
            flood.run()
        }
        Task::BenchQueue(queue) => queue.run(),
        Task::BenchFleet(fleet) => {
            ready_unless(fleet.built)?;
            fleet.run()
        }
        Task::Clean => clean::run(),
    }
}

fn ready_unless(built: bool) -> Result<()> {
    if built { Ok(()) } else { ready() }
}

/// What every run on clusters needs first.
fn ready() -> Result<()> {
    setup::run()?;
    build::web_if_changed()?;
    build::programs()
}
