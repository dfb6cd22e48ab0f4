//! `lab`: what would happen, in virtual time. Nothing here reaches a control plane or a cluster.

mod fencing;
mod replay;
mod trace;

use clap::{Args, Subcommand};

use crate::{app::App, exit::Exit, failure::Failure};

const HELP: &str = "\
Examples:
  squadron lab replay --jobs jobs.csv --fleet fleet.csv --json
  squadron lab replay --jobs jobs.csv.gz --fleet fleet.csv --policy multikueue-all-at-once --seed 3
  squadron lab fencing --seeds 10000";

/// Simulate in virtual time: fencing, replay, trace
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LabArgs {
    #[command(subcommand)]
    verb: LabVerb,
}

#[derive(Debug, Subcommand)]
enum LabVerb {
    Fencing(fencing::FencingArgs),
    Replay(replay::ReplayArgs),
    Trace(trace::TraceArgs),
}

pub fn run(args: LabArgs, app: &App) -> Result<Exit, Failure> {
    match args.verb {
        LabVerb::Fencing(args) => fencing::run(&args, app),
        LabVerb::Replay(args) => replay::run(&args, app),
        LabVerb::Trace(args) => trace::run(&args, app),
    }
}
