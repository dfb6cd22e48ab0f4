//! `lab replay`: a trace over a fleet in virtual time.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
};

use clap::Args;
use squadron_core::dispatch::book::Terms;
use squadron_sim::replay::{
    PolicyName, Setting,
    export::write_runs,
    figures::{Figures, figures, median},
    input::{Fleet, Refused, Trace, read_fleet, read_jobs},
    replay,
};

use crate::{app::App, exit::Exit, failure::Failure};

const HELP: &str = "\
Examples:
  squadron lab replay --jobs jobs.csv --fleet fleet.csv
  squadron lab replay --jobs jobs.csv.gz --fleet fleet.csv --policy multikueue-all-at-once --seeds 5 --json

Policies: default (the dispatcher's book), live (the plan that the control plane carries out), oracle (the book, told run
times), and models of others:
multikueue-all-at-once, multikueue-incremental, fifo-best-fit, static-hash";

/// More seeds than anyone waits for.
const MOST_SEEDS: u64 = 1_000;

/// Replay a trace of jobs over a fleet
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ReplayArgs {
    /// CSV of jobs: job,submit_s,duration_s,gpus,team; may be gzipped
    #[arg(long, value_name = "FILE")]
    jobs: PathBuf,
    /// CSV of clusters: cluster,gpu_model,gpus_per_node,nodes
    #[arg(long, value_name = "FILE")]
    fleet: PathBuf,
    /// Who decides
    #[arg(long, value_name = "NAME", default_value = "default")]
    policy: PolicyName,
    /// First seed of what the policy leaves to chance
    #[arg(long, alias = "first-seed", value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many seeds; more than one gives medians
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Also write start, end, cluster and reason of every job (of the first seed) as CSV
    #[arg(long, value_name = "FILE")]
    per_job: Option<PathBuf>,
}

pub fn run(args: &ReplayArgs, app: &App) -> Result<Exit, Failure> {
    spare_input(args)?;
    let trace = read_jobs(&args.jobs.to_string_lossy(), open(&args.jobs)?).map_err(|why| refused(&why))?;
    let fleet = read_fleet(&args.fleet.to_string_lossy(), open(&args.fleet)?).map_err(|why| refused(&why))?;
    let mut runs = Vec::new();
    for seed in (0..args.seeds).map(|number| args.seed.wrapping_add(number)) {
        let wanted = args.per_job.as_deref().filter(|_| runs.is_empty());
        runs.push(one_seed(args.policy, seed, &trace, &fleet, wanted)?);
    }
    let figures = median(runs).unwrap_or_default();
    let text = if args.json { json(&figures)? } else { table(&figures) };
    app.out.data(&text)?;
    Ok(Exit::Ok)
}

/// Refuses to write over what is read.
fn spare_input(args: &ReplayArgs) -> Result<(), Failure> {
    let Some(out) = args.per_job.as_deref().and_then(|path| path.canonicalize().ok()) else { return Ok(()) };
    let is_input = |path: &PathBuf| path.canonicalize().is_ok_and(|input| input == out);
    if [&args.jobs, &args.fleet].into_iter().any(is_input) {
        let problem = format!("--per-job would write over {}; nothing was replayed", out.display());
        return Err(Failure::usage(problem).next("name another file"));
    }
    Ok(())
}

fn one_seed(
    policy: PolicyName,
    seed: u64,
    trace: &Trace,
    fleet: &Fleet,
    per_job: Option<&Path>,
) -> Result<Figures, Failure> {
    let setting = Setting { trace, fleet, policy, seed, terms: Terms::default() };
    let outcome = replay(&setting).map_err(|broken| {
        Failure::new(Exit::General, format!("the policy {} broke a rule: {broken}", policy.text()))
            .next("this is a fault of the policy, not of the files; report it with both")
    })?;
    if let Some(path) = per_job {
        let written =
            File::create(path).and_then(|file| write_runs(trace, fleet, &outcome, BufWriter::new(file)));
        written.map_err(|error| {
            Failure::new(Exit::General, format!("cannot write {}", path.display())).because(error)
        })?;
    }
    Ok(figures(&setting, &outcome))
}

pub(super) fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| Failure::usage(format!("cannot open {}", path.display())).because(error))
}

pub(super) fn refused(refused: &Refused) -> Failure {
    Failure::usage(refused.to_string()).next("correct the file; nothing was replayed")
}

fn json(figures: &Figures) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(figures);
    let text =
        text.map_err(|error| Failure::new(Exit::General, "cannot write the figures as JSON").because(error))?;
    Ok(text + "\n")
}

/// The figures that are read first.
fn table(figures: &Figures) -> String {
    let model = if figures.model { " (model of published rules)" } else { "" };
    let hours = |seconds: f64| format!("{:.2} h", seconds / 3_600.0);
    let rows = [
        ("policy", format!("{}{model}", figures.policy)),
        ("jobs", jobs(figures)),
        ("offered load", format!("{:.3}", figures.offered_load)),
        ("mean completion", hours(figures.mean_completion_s)),
        ("mean wait", hours(figures.mean_wait_s)),
        ("wait p50", hours(figures.p50_wait_s)),
        ("wait p95", hours(figures.p95_wait_s)),
        ("wait p99", hours(figures.p99_wait_s)),
        ("wait of gangs of 16 and more", hours(figures.mean_wait_gangs_16_up_s)),
        ("GPU-hours waiting", format!("{:.0}", figures.gpu_hours_waiting)),
        ("share error", format!("{:.4}", figures.share_error)),
    ];
    rows.map(|(name, value)| format!("{name:<30}{value}\n")).concat()
}

/// How many ran, and what became of the other rows.
fn jobs(figures: &Figures) -> String {
    let text = format!("{}, {} fit no cluster", figures.jobs, figures.jobs_that_never_fit);
    match figures.jobs_without_duration {
        0 => text,
        left_out => format!("{text}, {left_out} rows without a duration were left out"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rows_that_were_left_out_are_told() {
        let figures = Figures { jobs: 3, jobs_without_duration: 2, ..Figures::default() };
        assert!(table(&figures).contains("3, 0 fit no cluster, 2 rows without a duration were left out\n"));
    }

    #[test]
    fn what_is_read_is_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("jobs.csv"), "").unwrap();
        std::os::unix::fs::symlink("jobs.csv", path("link.csv")).unwrap();
        let args = |per_job: &str| ReplayArgs {
            jobs: path("jobs.csv"),
            fleet: path("fleet.csv"),
            policy: "default".parse().unwrap(),
            seed: u64::MAX,
            seeds: 2,
            json: false,
            per_job: Some(path(per_job)),
        };
        assert!(spare_input(&args("jobs.csv")).is_err() && spare_input(&args("link.csv")).is_err());
        assert!(spare_input(&args("runs.csv")).is_ok());
    }
}
