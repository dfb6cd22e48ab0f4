//! `why`: what keeps a job from running, as the dispatcher wrote it.

use clap::Args;

use crate::{
    app::App,
    clock::now,
    exit::Exit,
    failure::Failure,
    render::{
        fit::wrapped,
        list::{ItemFormat, item},
        why::why,
    },
};

const HELP: &str = "\
Examples:
  squadron why train
  squadron why train -o json | jq '.blockers[].code'

Blockers stand by rank: the first is the one to act on. A job that does not wait says what it is doing instead.";

/// Say why a job waits and what would change that
#[derive(Debug, Args)]
#[command(alias = "why-pending", after_help = HELP)]
pub struct WhyArgs {
    /// Name or id
    job: String,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ItemFormat,
}

pub async fn run(args: WhyArgs, app: &App) -> Result<Exit, Failure> {
    let detail = app.client()?.job(&args.job).await?;
    app.out.data(&item(&detail.why, args.output, || {
        let view = app.view(now());
        wrapped(&why(&detail.job, detail.why.as_ref(), view), view.width)
    }))?;
    Ok(Exit::Ok)
}
