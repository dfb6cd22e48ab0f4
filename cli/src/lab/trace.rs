//! `lab trace`: a made-up trace for `lab replay`.

use std::path::PathBuf;

use clap::Args;
use squadron_sim::replay::{
    export::write_jobs,
    generate::{Assumptions, generate},
    input::read_fleet,
};

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    lab::replay::{open, refused},
};

const HELP: &str = "\
Examples:
  squadron lab trace --fleet fleet.csv --seed 1 > jobs.csv
  squadron lab trace --fleet fleet.csv --load 0.77 --like flood --jobs 20000 --days 16 > jobs.csv

--like: philly, light-tail, heavy-tail, no-recurrence, few-teams, many-teams, flood, gangs, calm";

/// Make up a trace of jobs for a fleet
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct TraceArgs {
    /// CSV of clusters that the load refers to
    #[arg(long, value_name = "FILE")]
    fleet: PathBuf,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of jobs
    #[arg(long, value_name = "N", default_value_t = 62_000, value_parser = clap::value_parser!(u32).range(1..=2_000_000))]
    jobs: u32,
    /// Days over which they are submitted
    #[arg(long, value_name = "N", default_value_t = 49, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    days: u32,
    /// GPU time asked for over the capacity of these days
    #[arg(long, value_name = "X", default_value_t = 0.92)]
    load: f64,
    /// Set of assumptions
    #[arg(long, value_name = "NAME", default_value = "philly")]
    like: String,
}

pub fn run(args: &TraceArgs, app: &App) -> Result<Exit, Failure> {
    let fleet = read_fleet(&args.fleet.to_string_lossy(), open(&args.fleet)?).map_err(|why| refused(&why))?;
    if !(args.load > 0.0 && args.load <= 10.0) {
        return Err(Failure::usage(format!("a load of {} cannot be made", args.load))
            .next("give --load a number above 0 and at most 10"));
    }
    let named = Assumptions::named(&args.like, args.seed, fleet.gpus(), args.load);
    let assumptions = named.ok_or_else(|| {
        Failure::usage(format!("there is no set of assumptions {:?}", args.like))
            .next(format!("use one of {}", Assumptions::NAMES.join(", ")))
    })?;
    let jobs = usize::try_from(args.jobs).unwrap_or(usize::MAX);
    let trace = generate(&Assumptions { jobs, days: args.days, ..assumptions });
    let mut text = Vec::new();
    write_jobs(&trace, &mut text)
        .map_err(|error| Failure::new(Exit::General, "cannot write the trace as CSV").because(error))?;
    app.out.bytes(&text)?;
    Ok(Exit::Ok)
}
