//! `list`: jobs, filtered by the server.

use clap::Args;
use squadron_api::{
    Page,
    job::{Job, JobFilter},
};
use squadron_core::job::JobState;

use crate::{
    app::App,
    client::Client,
    exit::Exit,
    failure::Failure,
    render::{
        count,
        list::{ListFormat, list},
        plain,
    },
};

const HELP: &str = "\
Examples:
  squadron list
  squadron list --status queued,running --queue research
  squadron list --owner @me -o wide
  squadron list --status failed --all -o csv > failed.csv
  squadron list --status running -o name | xargs -r squadron cancel --yes

Newest first. A list that matches nothing exits 0 and says so on stderr.";

/// List jobs
#[derive(Debug, Args)]
#[command(visible_alias = "ls", after_help = HELP)]
pub struct ListArgs {
    /// Only these states, separated by commas
    #[arg(short, long, value_delimiter = ',', value_parser = state_parser())]
    status: Vec<String>,
    /// Only this queue
    #[arg(short, long)]
    queue: Option<String>,
    /// Only jobs whose newest attempt is on this cluster
    #[arg(long)]
    cluster: Option<String>,
    /// Only this owner; @me is you
    #[arg(long)]
    owner: Option<String>,
    /// At most so many
    #[arg(short, long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Every page, however many there are
    #[arg(short, long, conflicts_with = "limit")]
    all: bool,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
}

fn state_parser() -> clap::builder::PossibleValuesParser {
    JobState::ALL.map(JobState::word).into()
}

pub async fn run(args: ListArgs, app: &App) -> Result<Exit, Failure> {
    let client = app.client()?;
    let filter = filter(&args, &client).await?;
    let page = if args.all { every_page(&client, filter).await? } else { client.jobs(&filter).await? };
    app.out.data(&list(&page, args.output, app.view(page.as_of)))?;
    remarks(&args, app, &page);
    Ok(Exit::Ok)
}

async fn filter(args: &ListArgs, client: &Client) -> Result<JobFilter, Failure> {
    let owner = match args.owner.as_deref() {
        Some("@me") => Some(client.me().await?.subject),
        other => other.map(str::to_owned),
    };
    Ok(JobFilter {
        status: Some(args.status.join(",")).filter(|status| !status.is_empty()),
        queue: args.queue.clone(),
        cluster: args.cluster.clone(),
        owner,
        limit: Some(if args.all { 500 } else { args.limit }),
        page_token: None,
    })
}

async fn every_page(client: &Client, mut filter: JobFilter) -> Result<Page<Job>, Failure> {
    let mut whole = client.jobs(&filter).await?;
    while let Some(token) = whole.next_page_token.take() {
        filter.page_token = Some(token);
        let page = client.jobs(&filter).await?;
        whole.items.extend(page.items);
        whole.next_page_token = page.next_page_token.filter(|next| Some(next) != filter.page_token.as_ref());
    }
    Ok(whole)
}

/// What the rows cannot say: nothing there, more there, or old.
fn remarks(args: &ListArgs, app: &App, page: &Page<Job>) {
    if page.items.is_empty() {
        let filtered =
            !args.status.is_empty() || args.queue.is_some() || args.cluster.is_some() || args.owner.is_some();
        app.out.note(&match filtered {
            true => "no job matches".to_owned(),
            false => format!("no jobs yet; submit one with {} submit FILE -q QUEUE", app.program),
        });
    }
    if page.next_page_token.is_some() {
        app.out
            .note(&format!("showing the newest {}; --all shows every one", count(page.items.len(), "job")));
    }
    if let Some(partial) = &page.partial {
        app.out.note(&format!("partial: {}", plain(partial)));
    }
}
