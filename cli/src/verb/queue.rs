//! `queue`: where jobs wait and who pays.

use clap::{Args, Subcommand};
use squadron_api::lost::QueueLossRequest;
use squadron_api::placement::WaitingQuery;
use squadron_core::name::QueueName;

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    manifest::Manifest,
    render::{
        list::{ListFormat, list},
        tree::tree,
    },
};

const HELP: &str = "\
Examples:
  squadron queue                         # the same as queue list
  squadron queue add research
  squadron queue add acme/vision/training
  squadron queue set research --template gpu.yaml
  squadron queue waiting research        # who is next, and what each waits for";

const ADD_HELP: &str = "\
Examples:
  squadron queue add research
  squadron queue add acme/vision/training
  squadron queue add research --template gpu.yaml";

const SET_HELP: &str = "\
Examples:
  squadron queue set research --template gpu.yaml   # for jobs of Ray's own client
  squadron queue set research --no-template         # back to the default
  squadron queue show research > gpu.yaml";

const SHOW_HELP: &str = "\
Examples:
  squadron queue show research                      # the template, as it was set";

const WAITING_HELP: &str = "\
Examples:
  squadron queue waiting research                   # in the order in which the dispatcher looks at them
  squadron queue waiting research --all -o csv > line.csv

WAITS counts from the submission, SINCE from the last change of the causes; the code and the sentence are of the first blocker. \
squadron why ID tells the others.";
const LOSS_HELP: &str = "\
Examples:
  squadron queue on-lost research fence                  # its jobs resume: they start elsewhere after the lease
  squadron queue on-lost research job                    # as each job says of itself
  squadron queue on-lost sweeps job --allow-overlap      # jobs may ask for rerun";

const LIST_HELP: &str = "\
Examples:
  squadron queue list
  squadron queue list -o name

NOMINAL is what a queue has with everything below it. BORROWED is what it uses above that, LENT what others use of it, told in \
proportion to what each leaves unused. SHARE is the greatest part of what its parent can lend, with what that may borrow itself, that it borrows, over its weight.";

/// Queues: add, set, show, waiting, list
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
        /// RayJob without an entrypoint from which jobs of Ray's own client are made; - for stdin
        #[arg(long, value_name = "FILE|-")]
        template: Option<String>,
    },
    /// Change a queue
    #[command(after_help = SET_HELP)]
    Set {
        name: QueueName,
        /// RayJob without an entrypoint from which jobs of Ray's own client are made; - for stdin
        #[arg(long, value_name = "FILE|-", required_unless_present = "no_template")]
        template: Option<String>,
        /// Make them from the default template again
        #[arg(long, conflicts_with = "template")]
        no_template: bool,
    },
    /// Say what happens to a queue's jobs when their cluster is lost
    #[command(after_help = LOSS_HELP)]
    OnLost {
        name: QueueName,
        /// For jobs that ask for nothing; job: as the job says of itself
        #[arg(value_parser = ["wait", "fence", "job"])]
        policy: String,
        /// Let jobs ask for rerun: two copies at once until the old one's lease ends; needs an administrator
        #[arg(long)]
        allow_overlap: bool,
    },
    /// Print a queue's template
    #[command(after_help = SHOW_HELP)]
    Show { name: QueueName },
    /// List the jobs that wait in a queue, in the order in which the dispatcher looks at them
    #[command(visible_alias = "line", after_help = WAITING_HELP)]
    Waiting(WaitingArgs),
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

#[derive(Debug, Args)]
struct WaitingArgs {
    name: QueueName,
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

pub async fn run(args: QueueArgs, app: &App) -> Result<Exit, Failure> {
    match args.verb.unwrap_or(QueueVerb::List(args.list)) {
        QueueVerb::Add { name, template } => {
            let template = template.as_deref().map(Manifest::read_template).transpose()?;
            let queue = app.client()?.add_queue(name.as_str()).await?;
            if let Some(template) = template {
                app.client()?.set_template(name.as_str(), template).await?;
            }
            let program = app.program;
            app.out.note(&format!(
                "queue {} is there; use it with {program} submit FILE -q {}",
                queue.name, queue.name
            ));
        }
        QueueVerb::Set { name, template, .. } => {
            let template = template.as_deref().map(Manifest::read_template).transpose()?;
            let word = if template.is_some() {
                "is made from this template"
            } else {
                "is made from the default template"
            };
            app.client()?.set_template(name.as_str(), template.unwrap_or_default()).await?;
            app.out.note(&format!("what Ray's own client submits to queue {name} {word} from now on"));
        }
        QueueVerb::OnLost { name, policy, allow_overlap } => {
            let on_lost = Some(policy).filter(|word| word != "job");
            let told = on_lost.clone().unwrap_or_else(|| "as the job says".to_owned());
            let request = QueueLossRequest { name: name.to_string(), on_lost, allow_overlap };
            app.client()?.set_queue_loss(&request).await?;
            app.out.note(&format!("jobs submitted to queue {name} from now on: {told}"));
        }
        QueueVerb::Show { name } => show(&name, app).await?,
        QueueVerb::Waiting(args) => waiting(&args, app).await?,
        QueueVerb::List(args) => {
            let page = app.client()?.queues().await?;
            let view = app.view(page.as_of);
            app.out.data(&match args.output {
                ListFormat::Table => tree(&page.items, view),
                other => list(&page, other, view),
            })?;
            if page.items.is_empty() {
                app.out.note(&format!("no queues; add one with {} queue add NAME", app.program));
            }
        }
    }
    Ok(Exit::Ok)
}

async fn show(name: &QueueName, app: &App) -> Result<(), Failure> {
    let page = app.client()?.queues().await?;
    let Some(queue) = page.items.into_iter().find(|queue| queue.name == name.as_str()) else {
        return Err(Failure::new(Exit::NotFound, format!("there is no queue {name}"))
            .next(format!("list them with `{} queue list`", app.program)));
    };
    if queue.template.is_empty() {
        app.out.note(&format!(
            "queue {name} has no template of its own; jobs of Ray's own client get the default one"
        ));
        return Ok(());
    }
    app.out.data(&queue.template)
}

async fn waiting(args: &WaitingArgs, app: &App) -> Result<(), Failure> {
    let client = app.client()?;
    let limit = if args.all { 500 } else { args.limit };
    let mut query = WaitingQuery { queue: args.name.to_string(), limit: Some(limit), page_token: None };
    let mut page = client.waiting(&query).await?;
    while args.all
        && let Some(token) = page.next_page_token.take()
    {
        query.page_token = Some(token);
        let next = client.waiting(&query).await?;
        page.items.extend(next.items);
        page.next_page_token = next.next_page_token.filter(|next| Some(next) != query.page_token.as_ref());
    }
    app.out.data(&list(&page, args.output, app.view(page.as_of)))?;
    if page.items.is_empty() {
        app.out.note(&format!("no job waits in {}", args.name));
    }
    if page.next_page_token.is_some() {
        app.out.note(&format!("showing the first {}; --all shows every one", page.items.len()));
    }
    Ok(())
}
