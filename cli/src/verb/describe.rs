//! `describe`: everything known about one job.

use clap::Args;
use squadron_api::{incident::Incident, job::JobDetail};

use crate::{
    app::App,
    client::Client,
    clock::now,
    exit::Exit,
    failure::Failure,
    render::{
        describe::describe,
        fit::wrapped,
        list::{ItemFormat, item},
    },
};

const HELP: &str = "\
Examples:
  squadron describe train
  squadron describe 0193a5a0-7c1e-7000-8000-1f2e3d4c5b6a
  squadron describe train -o json | jq .timeline

A name that several jobs carry means the newest; an id means exactly one. Works after the job's pods are gone.";

/// Titles of at most so many incidents are fetched; the others are shown by id.
const MOST_INCIDENTS: usize = 10;

/// Show one job: state, timeline, placement, attempts, pods, cost, incidents
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct DescribeArgs {
    /// Name or id
    job: String,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ItemFormat,
}

pub async fn run(args: DescribeArgs, app: &App) -> Result<Exit, Failure> {
    let client = app.client()?;
    let detail = client.job(&args.job).await?;
    let incidents = match args.output {
        ItemFormat::Text => incidents(&client, &detail).await,
        _ => Vec::new(),
    };
    app.out.data(&item(&detail, args.output, || {
        let view = app.view(now());
        wrapped(&describe(&detail, &incidents, view), view.width)
    }))?;
    Ok(Exit::Ok)
}

/// Those that can be fetched; the page is worth showing without the others.
async fn incidents(client: &Client, detail: &JobDetail) -> Vec<Incident> {
    let fetch = |id: squadron_core::id::IncidentId| async move { client.incident(&id.to_string()).await };
    let wanted = detail.incidents.iter().take(MOST_INCIDENTS).copied().map(fetch);
    futures::future::join_all(wanted).await.into_iter().filter_map(Result::ok).collect()
}
