//! `lab replay`: a trace over a fleet in virtual time.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use clap::Args;
use squadron_sim::replay::input::{Refused, read_fleet, read_jobs};

use crate::{app::App, exit::Exit, failure::Failure};

/// Replay a trace of jobs over a fleet
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// CSV of jobs: job,submit_s,duration_s,gpus,team; may be gzipped
    #[arg(long, value_name = "FILE")]
    jobs: PathBuf,
    /// CSV of clusters: cluster,gpu_model,gpus_per_node,nodes
    #[arg(long, value_name = "FILE")]
    fleet: PathBuf,
}

pub fn run(args: &ReplayArgs, app: &App) -> Result<Exit, Failure> {
    let trace = read_jobs(&args.jobs.to_string_lossy(), open(&args.jobs)?).map_err(refused)?;
    let fleet = read_fleet(&args.fleet.to_string_lossy(), open(&args.fleet)?).map_err(refused)?;
    app.out.data(&format!("{} jobs, {} GPUs\n", trace.jobs.len(), fleet.gpus()))?;
    Ok(Exit::Ok)
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| Failure::usage(format!("cannot open {}", path.display())).because(error))
}

fn refused(refused: Refused) -> Failure {
    Failure::usage(refused.to_string()).next("correct the file; nothing was replayed")
}
