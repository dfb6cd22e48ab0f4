//! `usage`: who held what, for how long, for how much.

use clap::Args;
use squadron_api::usage::UsageQuery;

use super::period::point;
use crate::{
    app::App,
    clock::now,
    exit::Exit,
    failure::Failure,
    render::{
        plain,
        usage::{By, UsageFormat, usage},
    },
};

const HELP: &str = "\
Examples:
  squadron usage                         # this month by kind: team, shared, overhead, idle
  squadron usage --by team,job --from 7d
  squadron usage --by cluster --from 2026-11-01 --to 2026-12-01 -o csv > november.csv

The amounts of all rows add up to what the nodes cost. While they add up to less than one unit of the currency they have four \
digits more; <0.01 is little, not nothing. amount_exact (CSV, JSON) is the amount before rounding, an integer: docs/prices.md \
says in which unit. Days begin at midnight UTC. Notes on what is estimated go to stderr.";

/// Show resources held and what they cost
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct UsageArgs {
    /// Begin: a day, an RFC 3339 time, or a span back from now (7d) [default: the month's first day]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// End, not included; written like --from [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// What rows are told apart by, separated by commas
    #[arg(long, value_delimiter = ',', value_enum, default_value = "kind")]
    by: Vec<By>,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: UsageFormat,
}

pub async fn run(args: UsageArgs, app: &App) -> Result<Exit, Failure> {
    let now = now();
    let time = |text: &Option<String>| {
        text.as_deref()
            .map(|text| point(text, now).map(|at| at.to_string()).map_err(Failure::usage))
            .transpose()
    };
    let mut by: Vec<By> = Vec::new();
    args.by.iter().for_each(|key| by.extend((!by.contains(key)).then_some(*key)));
    let query = UsageQuery {
        from: time(&args.from)?,
        to: time(&args.to)?,
        by: Some(by.iter().map(|key| key.word()).collect::<Vec<_>>().join(",")),
    };
    let report = app.client()?.usage(&query).await?;
    app.out.data(&usage(&report, &by, args.output, app.out.colour))?;
    for note in &report.notes {
        app.out.note(&format!("note: {}", plain(note)));
    }
    Ok(Exit::Ok)
}
