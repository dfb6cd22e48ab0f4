//! `lab fencing`: a fleet that breaks in every way, over many seeds; does any job run twice?

use clap::Args;
use squadron_sim::fencing::{ByPolicy, Report, play, run as play_all};

use crate::{app::App, exit::Exit, failure::Failure};

const HELP: &str = "\
Examples:
  squadron lab fencing --seeds 10000
  squadron lab fencing --seeds 10000 --first-seed 500000 --json
  squadron lab fencing --first-seed 42 --seeds 1 --trace

Exit 1 when a rule broke; the seed and the command that shows it again are printed.";

/// More seeds than anyone waits for.
const MOST_SEEDS: u64 = 10_000_000;
/// How often a person hears how far it is.
const SAID_EVERY: u64 = 10_000;

/// Break a fleet by seed and look for jobs that run twice
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct FencingArgs {
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: u64,
    /// The first of them
    #[arg(long, value_name = "N", default_value_t = 1)]
    first_seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Print every event of one seed
    #[arg(long)]
    trace: bool,
}

pub fn run(args: &FencingArgs, app: &App) -> Result<Exit, Failure> {
    if args.trace {
        return trace(args, app);
    }
    let report = play_all(args.first_seed, args.seeds, |done| {
        if done.is_multiple_of(SAID_EVERY) && done < args.seeds {
            app.out.note(&format!("{done} of {} seeds", args.seeds));
        }
    });
    app.out.data(&if args.json { json(&report)? } else { table(&report) })?;
    match &report.first_broken {
        None => Ok(Exit::Ok),
        Some(broken) => {
            let first = broken.what.first().map_or("", String::as_str);
            Err(Failure::new(Exit::General, format!("seed {} broke a rule: {first}", broken.seed))
                .next(&*broken.reproduce))
        }
    }
}

fn trace(args: &FencingArgs, app: &App) -> Result<Exit, Failure> {
    if args.seeds != 1 {
        return Err(Failure::usage("--trace shows one seed").next("add --seeds 1 --first-seed N"));
    }
    let outcome = play(args.first_seed, None, true);
    app.out.data(&(outcome.trace.join("\n") + "\n"))?;
    for line in &outcome.history.broken {
        app.out.note(&format!("broken: {line}"));
    }
    Ok(if outcome.history.broken.is_empty() { Exit::Ok } else { Exit::General })
}

fn json(report: &Report) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report);
    let text =
        text.map_err(|error| Failure::new(Exit::General, "cannot write the figures as JSON").because(error))?;
    Ok(text + "\n")
}

/// The figures that are read first.
fn table(report: &Report) -> String {
    let last = report.first_seed.saturating_add(report.seeds - 1);
    let mut text = format!("seeds {} to {last}: {} broke a rule\n\n", report.first_seed, report.broken);
    text.push_str(
        "policy       runs  re-runs  overlaps  overlap s  needless evictions  re-run median s     max s\n",
    );
    for (policy, figures) in &report.by_policy {
        text.push_str(&row(policy, figures));
    }
    let without = &report.without_watchdog;
    text.push_str(&format!(
        "\nnot covered ({}): {} overlaps, {:.0} s\n\nfaults\n",
        without.why, without.overlaps, without.overlap_seconds
    ));
    for (fault, count) in &report.faults {
        text.push_str(&format!("  {fault:<24}{count:>8}\n"));
    }
    text
}

fn row(policy: &str, figures: &ByPolicy) -> String {
    format!(
        "{policy:<8}{:>9}{:>9}{:>10}{:>11.0}{:>20}{:>17.1}{:>10.1}\n",
        figures.runs,
        figures.reruns,
        figures.overlaps,
        figures.overlap_seconds,
        figures.needless_evictions,
        figures.rerun_s.median,
        figures.rerun_s.max
    )
}
