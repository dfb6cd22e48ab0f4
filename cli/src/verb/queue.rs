//! `queue`: where jobs wait and who pays.

use clap::{Args, Subcommand};
use squadron_core::name::QueueName;

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    render::list::{ListFormat, list},
};

const HELP: &str = "\
Examples:
  squadron queue                         # the same as queue list
  squadron queue add research
  squadron queue add acme/vision/training";

const ADD_HELP: &str = "\
Examples:
  squadron queue add research
  squadron queue add acme/vision/training";

const LIST_HELP: &str = "\
Examples:
  squadron queue list
  squadron queue list -o name";

/// Queues: add, list
#[derive(Debug, Args)]
#[command(visible_alias = "queues", after_help = HELP, args_conflicts_with_subcommands = true)]
pub struct QueueArgs {
    #[command(subcommand)]
    verb: Option<QueueVerb>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum QueueVerb {
    /// Add a queue
    #[command(after_help = ADD_HELP)]
    Add {
        /// Parts of lower-case letters, digits and '-', separated by '/'
        name: QueueName,
    },
    /// List queues with what waits and runs in them
    #[command(visible_alias = "ls", after_help = LIST_HELP)]
    List(ListArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
}

pub async fn run(args: QueueArgs, app: &App) -> Result<Exit, Failure> {
    match args.verb.unwrap_or(QueueVerb::List(args.list)) {
        QueueVerb::Add { name } => {
            let queue = app.client()?.add_queue(name.as_str()).await?;
            let program = app.program;
            app.out.note(&format!(
                "queue {} is there; use it with {program} submit FILE -q {}",
                queue.name, queue.name
            ));
        }
        QueueVerb::List(args) => {
            let page = app.client()?.queues().await?;
            app.out.data(&list(&page, args.output, app.view(page.as_of)))?;
            if page.items.is_empty() {
                app.out.note(&format!("no queues; add one with {} queue add NAME", app.program));
            }
        }
    }
    Ok(Exit::Ok)
}
