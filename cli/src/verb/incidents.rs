//! `incidents`: what broke, on what evidence, and whom it hit; and a person's word that it is over.

use clap::{Args, Subcommand, ValueEnum};
use squadron_api::{Page, incident::Incident};

use crate::{
    app::App,
    client::Client,
    clock::now,
    exit::Exit,
    failure::Failure,
    render::{
        fit::wrapped,
        incident::show,
        list::{ItemFormat, ListFormat, item, list},
        plain,
    },
};

const HELP: &str = "\
Examples:
  squadron incidents                     # open ones, the same as incidents list
  squadron incidents --state all -o wide
  squadron incidents show 0193a5a0-7c1e-7000-8000-1f2e3d4c5b6a
  squadron incidents resolve ID --reason \"the GPU was replaced\"";

const LIST_HELP: &str = "\
Examples:
  squadron incidents list
  squadron incidents list --state all -o csv > incidents.csv";

const SHOW_HELP: &str = "\
Examples:
  squadron incidents show 0193a5a0-7c1e-7000-8000-1f2e3d4c5b6a
  squadron incidents show ID -o json | jq .evidence";

const RESOLVE_HELP: &str = "\
Examples:
  squadron incidents resolve 0193a5a0-7c1e-7000-8000-1f2e3d4c5b6a --reason \"the GPU was replaced\"

The reason is shown with the incident and in the timelines of the jobs it hit, and kept in the audit log. What is seen of the same cause afterwards is a new incident.";

/// Incidents: list, show, resolve
#[derive(Debug, Args)]
#[command(alias = "incident", after_help = HELP, args_conflicts_with_subcommands = true)]
pub struct IncidentsArgs {
    #[command(subcommand)]
    verb: Option<IncidentsVerb>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum IncidentsVerb {
    /// List incidents, newest first
    #[command(visible_alias = "ls", after_help = LIST_HELP)]
    List(ListArgs),
    /// Show one incident: cause, evidence, hit jobs, next step
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Id, as the list shows it
        id: String,
        /// Format
        #[arg(short, long, value_enum, default_value_t)]
        output: ItemFormat,
    },
    /// Say that an incident is over, and why
    #[command(after_help = RESOLVE_HELP)]
    Resolve {
        /// Id, as the list shows it
        id: String,
        /// Why it is over; shown with the incident and kept in the audit log
        #[arg(long)]
        reason: String,
        /// Format
        #[arg(short, long, value_enum, default_value_t)]
        output: ItemFormat,
    },
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Which ones
    #[arg(short, long, value_enum, default_value_t)]
    state: Which,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Which {
    #[default]
    Open,
    Resolved,
    All,
}

impl Which {
    fn filter(self) -> Option<&'static str> {
        match self {
            Which::Open => Some("open"),
            Which::Resolved => Some("resolved"),
            Which::All => None,
        }
    }
}

pub async fn run(args: IncidentsArgs, app: &App) -> Result<Exit, Failure> {
    match args.verb.unwrap_or(IncidentsVerb::List(args.list)) {
        IncidentsVerb::List(args) => run_list(&args, app).await,
        IncidentsVerb::Show { id, output } => print(&app.client()?.incident(&id).await?, output, app),
        IncidentsVerb::Resolve { id, reason, output } => {
            print(&app.client()?.resolve_incident(&id, &reason).await?, output, app)
        }
    }
}

fn print(incident: &Incident, output: ItemFormat, app: &App) -> Result<Exit, Failure> {
    app.out.data(&item(incident, output, || {
        let view = app.view(now());
        wrapped(&show(incident, view), view.width)
    }))?;
    Ok(Exit::Ok)
}

async fn run_list(args: &ListArgs, app: &App) -> Result<Exit, Failure> {
    let page = every_page(&app.client()?, args.state.filter()).await?;
    app.out.data(&list(&page, args.output, app.view(page.as_of)))?;
    if page.items.is_empty() {
        app.out.note(match args.state {
            Which::Open => "no open incidents; --state all shows past ones",
            Which::Resolved => "no resolved incidents",
            Which::All => "no incidents so far",
        });
    }
    if let Some(partial) = &page.partial {
        app.out.note(&format!("partial: {}", plain(partial)));
    }
    Ok(Exit::Ok)
}

async fn every_page(client: &Client, state: Option<&str>) -> Result<Page<Incident>, Failure> {
    let mut whole = client.incidents(state, None).await?;
    while let Some(token) = whole.next_page_token.take() {
        let page = client.incidents(state, Some(&token)).await?;
        whole.items.extend(page.items);
        whole.next_page_token = page.next_page_token.filter(|next| *next != token);
    }
    Ok(whole)
}
