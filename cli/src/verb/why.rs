//! `why`: what keeps a job from running, as the dispatcher wrote it.

use clap::Args;
use squadron_api::placement::DecisionQuery;

use crate::{
    app::App,
    clock::now,
    exit::Exit,
    failure::Failure,
    render::{
        fit::wrapped,
        list::{ItemFormat, item},
        place::history,
        why::{capped, why},
    },
};

const HELP: &str = "\
Examples:
  squadron why train
  squadron why train -o json | jq '.blockers[].code'
  squadron why train --history                   # every decision about it, the newest first
  squadron why train --history --limit 500 -o json

Blockers stand by rank: the first is the one to act on. Behind them: the jobs that the dispatcher looks at before this one, \
how long jobs like it went on waiting for a cluster (half of them, nine of ten, and how often that came true), and what would help. \
A job that does not wait says what it is doing instead, and for whom its worker groups have to be small.";

/// Say why a job waits and what would change that
#[derive(Debug, Args)]
#[command(alias = "why-pending", after_help = HELP)]
pub struct WhyArgs {
    /// Name or id
    job: String,
    /// Show every decision that was made about it and when, with all that was compared
    #[arg(long)]
    history: bool,
    /// With --history: at most so many
    #[arg(short, long, requires = "history", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ItemFormat,
}

pub async fn run(args: WhyArgs, app: &App) -> Result<Exit, Failure> {
    if args.history {
        return decisions(args, app).await;
    }
    let detail = app.client()?.job(&args.job).await?;
    app.out.data(&item(&detail.why, args.output, || {
        let view = app.view(now());
        let text = why(&detail.job, detail.why.as_ref(), view) + &capped(&detail.attempts);
        wrapped(&text, view.width)
    }))?;
    Ok(Exit::Ok)
}

async fn decisions(args: WhyArgs, app: &App) -> Result<Exit, Failure> {
    let query = DecisionQuery { limit: Some(args.limit), page_token: None };
    let page = app.client()?.decisions(&args.job, &query).await?;
    app.out.data(&item(&page, args.output, || {
        let view = app.view(page.as_of);
        wrapped(&history(&page.items, view), view.width)
    }))?;
    if page.items.is_empty() {
        app.out.note("nothing was decided about it yet, or it is older than the history");
    }
    if page.next_page_token.is_some() {
        app.out.note(&format!("showing the newest {}; --limit shows more", page.items.len()));
    }
    Ok(Exit::Ok)
}
