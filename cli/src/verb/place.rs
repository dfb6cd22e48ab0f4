//! `where`: where a job could run now, with everything that was compared.

use clap::Args;
use squadron_api::placement::WhereRequest;
use squadron_core::name::{ClusterName, QueueName};

use super::{prefer::PreferArgs, submit};
use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    manifest::Manifest,
    render::{
        fit::wrapped,
        list::{ItemFormat, item},
        place::place,
    },
};

const HELP: &str = "\
Examples:
  squadron where -f train.yaml -q research       # where it would go if it were submitted now
  squadron where -f train.yaml --cluster east    # what east has free, or lacks
  squadron where train                           # a job that waits
  squadron where -f train.yaml -o json | jq '.candidates[].terms'

The dispatcher decides as in a real pass, over everything that waits, and nothing is changed. Clusters with room stand best \
first. Their terms count in this order; the first that differs decides (marked *), the smaller value wins:
  borrowing    1 where its queue would go beyond its guarantee
  preference   place in the list of --prefer; after all of them what is in no list, then what --avoid names
  data         its data sets that are not near
  spread       jobs of its group there
  price        what it would cost an hour, for a job with --max-price
  idle_gpus    GPUs on the nodes it would take that it does not ask for
  node_size    the largest of those nodes, so that large nodes stay free for large work
  run          0 where jobs of this pass went and some more follow, in a fleet of 64 clusters and more
  jobs_there   jobs that run there
  fullness     how full the cluster would be in its scarcest resource
For a job that has its place, see squadron why JOB --history.";

/// Show where a job would run, and why there
#[derive(Debug, Args)]
#[command(name = "where", after_help = HELP)]
pub struct WhereArgs {
    /// Name or id of a job that waits
    #[arg(required_unless_present = "file", conflicts_with_all = ["file", "queue", "cluster", "prefer", "avoid", "data",
        "spread", "residency", "max_price", "spot"])]
    job: Option<String>,
    /// File with one RayJob in YAML or JSON, or - for stdin; nothing is submitted
    #[arg(short, long, value_name = "FILE|-")]
    file: Option<String>,
    /// Queue that it would wait in [default: as for submit]
    #[arg(short, long)]
    queue: Option<QueueName>,
    /// Pin it to one cluster; without it the manifest's annotation squadron.dev/cluster counts
    #[arg(long)]
    cluster: Option<ClusterName>,
    #[command(flatten)]
    preferences: PreferArgs,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ItemFormat,
}

pub async fn run(args: WhereArgs, app: &App) -> Result<Exit, Failure> {
    let found = match (&args.job, &args.file) {
        (Some(job), _) => app.client()?.job_where(job).await?,
        (None, file) => {
            let manifest = Manifest::read(file.as_deref().unwrap_or("-"))?;
            let queue = submit::queue(args.queue.as_ref(), &manifest)?;
            let cluster = args.cluster.as_ref().map(ToString::to_string);
            let preferences = args.preferences.texts();
            app.client()?.look(&WhereRequest { manifest: manifest.text, queue, cluster, preferences }).await?
        }
    };
    app.out.data(&item(&found, args.output, || {
        let view = app.view(found.as_of);
        wrapped(&place(&found, view), view.width)
    }))?;
    Ok(Exit::Ok)
}
