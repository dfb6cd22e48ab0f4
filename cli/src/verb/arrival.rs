//! `cluster allow-queue`, `disallow-queue`, `queues`: who may submit by putting RayJobs into a cluster.

use clap::Args;
use squadron_core::name::{K8sName, QueueName};

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    render::{
        list::{ListFormat, list},
        plain,
    },
};

pub const ALLOW_HELP: &str = "\
Examples:
  squadron cluster allow-queue east ml research    # suspended RayJobs in namespace ml of east may queue in research

Whoever may create RayJobs in that namespace can then run jobs in the namespace of the same name of every cluster.";

pub const DISALLOW_HELP: &str = "\
Examples:
  squadron cluster disallow-queue east ml research

Jobs that were imported before go on.";

pub const QUEUES_HELP: &str = "\
Examples:
  squadron cluster queues east
  squadron cluster queues east -o csv";

/// What a permission is about.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// Name or id of the cluster
    cluster: String,
    namespace: K8sName,
    queue: QueueName,
}

#[derive(Debug, Args)]
pub struct QueuesArgs {
    /// Name or id of the cluster
    cluster: String,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
}

pub async fn allow(args: &RuleArgs, app: &App) -> Result<Exit, Failure> {
    let RuleArgs { cluster, namespace, queue } = args;
    app.client()?.allow_queue(cluster, namespace.as_str(), queue.as_str()).await?;
    app.out.note(&format!(
        "suspended RayJobs with the label squadron.dev/queue: {} in namespace {namespace} of {} become jobs in queue {queue}",
        queue.as_str().replace('/', "."),
        plain(cluster)
    ));
    Ok(Exit::Ok)
}

pub async fn disallow(args: &RuleArgs, app: &App) -> Result<Exit, Failure> {
    let RuleArgs { cluster, namespace, queue } = args;
    app.client()?.disallow_queue(cluster, namespace.as_str(), queue.as_str()).await?;
    app.out.note(&format!(
        "RayJobs in namespace {namespace} of {} are refused in queue {queue} from now on",
        plain(cluster)
    ));
    Ok(Exit::Ok)
}

pub async fn queues(args: &QueuesArgs, app: &App) -> Result<Exit, Failure> {
    let page = app.client()?.allowed_queues(&args.cluster).await?;
    app.out.data(&list(&page, args.output, app.view(page.as_of)))?;
    if page.items.is_empty() {
        app.out.note(&format!(
            "no namespace of {} may submit by kubectl; allow one with {} cluster allow-queue {} NAMESPACE QUEUE",
            plain(&args.cluster),
            app.program,
            plain(&args.cluster)
        ));
    }
    Ok(Exit::Ok)
}
