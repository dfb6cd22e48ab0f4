//! `prices`: the sheet that turns held resources into money.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use squadron_api::error::FieldProblem;
use squadron_core::meter::Sheet;

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    render::{
        count,
        list::{ItemFormat, item},
        plain,
    },
};

const HELP: &str = "\
Examples:
  squadron prices show
  squadron prices apply -f sheet.yaml --dry-run
  squadron prices apply -f sheet.yaml";

const APPLY_HELP: &str = "\
Examples:
  squadron prices apply -f sheet.yaml --dry-run   # finds gaps, overlaps, typos
  squadron prices apply -f sheet.yaml
  squadron prices show | sed s/0.04/0.05/ | squadron prices apply -f -";

const SHOW_HELP: &str = "\
Examples:
  squadron prices show
  squadron prices show > sheet.yaml";

/// A price sheet has a few lines for each cluster.
const LONGEST_SHEET: u64 = 1 << 20;

/// Price sheets: apply, show
#[derive(Debug, Args)]
#[command(alias = "price", after_help = HELP)]
pub struct PricesArgs {
    #[command(subcommand)]
    verb: PricesVerb,
}

#[derive(Debug, Subcommand)]
enum PricesVerb {
    /// Check a price sheet and put it in force
    #[command(after_help = APPLY_HELP)]
    Apply {
        /// YAML file, or - for stdin
        #[arg(short, long, value_name = "FILE|-")]
        file: PathBuf,
        /// Check, change nothing
        #[arg(long)]
        dry_run: bool,
        /// Format
        #[arg(short, long, value_enum, default_value_t)]
        output: ItemFormat,
    },
    /// Print the sheet in force as it was applied
    #[command(after_help = SHOW_HELP)]
    Show,
}

pub async fn run(args: PricesArgs, app: &App) -> Result<Exit, Failure> {
    match args.verb {
        PricesVerb::Show => {
            let sheet = app.client()?.prices().await?;
            app.out.data(&sheet)?;
        }
        PricesVerb::Apply { file, dry_run, output } => {
            let sheet = checked(read(&file)?, &file)?;
            let reply = app.client()?.put_prices(sheet, dry_run).await?;
            let verb = if dry_run { "is valid and was not applied" } else { "is in force" };
            let intervals = count(reply.intervals as usize, "interval");
            let line = format!(
                "price sheet {} {verb}: version {}, {}, {intervals}\n",
                plain(&reply.name),
                reply.version,
                plain(&reply.currency),
            );
            app.out.data(&item(&reply, output, || line))?;
        }
    }
    Ok(Exit::Ok)
}

/// Refuses a sheet here already, with the code that the server runs.
fn checked(sheet: String, path: &Path) -> Result<String, Failure> {
    let Err(bad) = Sheet::parse(&sheet) else { return Ok(sheet) };
    let number = count(bad.problems.len(), "problem");
    let fields =
        bad.problems.into_iter().map(|problem| FieldProblem { path: problem.path, problem: problem.problem });
    Err(Failure::usage(format!("{} is no valid price sheet ({number}); nothing was sent", path.display()))
        .fields(fields.collect())
        .next("correct the lines above and apply it again"))
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(LONGEST_SHEET).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(LONGEST_SHEET).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::usage(format!("cannot read {}", path.display())).because(error))?;
    Ok(text)
}
