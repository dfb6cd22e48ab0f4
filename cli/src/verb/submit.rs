//! `submit`: hands a RayJob to the fleet, once.

mod sweep;

use std::pin::Pin;

use clap::{Args, ValueEnum};
use futures::TryFutureExt;
use squadron_api::job::{Job, SubmitReply, SubmitRequest};
use squadron_core::{
    name::{ClusterName, K8sName, QueueName},
    resources::Resources,
};

use super::prefer::PreferArgs;
use crate::{
    app::App,
    client::Client,
    exit::Exit,
    failure::Failure,
    follow::{log, until_left, wait},
    manifest::Manifest,
    render::{
        amount::resources,
        list::{ItemFormat, item},
        ordinal, plain,
    },
};

const HELP: &str = "\
Examples:
  squadron submit train.yaml -q research           # prints id, place in line, console page
  squadron submit train.yaml -q research --logs    # stays and shows the driver's output
  squadron submit train.yaml -q research --wait    # exits 0, 10 (failed) or 11 (cancelled)
  squadron submit train.yaml --on-lost fence       # it resumes: starts elsewhere when its cluster is lost
  squadron submit train.yaml --prefer west,region=eu-west-1 --residency eu-west-1,eu-central-1 --max-price \"12.50 EUR\"
  squadron submit train.yaml --dry-run=client      # checks the manifest, sends nothing
  squadron submit train.yaml --dry-run -o json     # the server checks it all
  helm template … | squadron submit - -q research --cluster east
  squadron submit sweep.yaml -q research           # many RayJobs with --- between them: all are checked first

The manifest is a plain RayJob (ray.io/v1); it is sent unchanged. Without -q the label squadron.dev/queue of the manifest counts, then the queue \"default\". A lost answer never makes two jobs: every submission carries an idempotency key.";

/// Submit a RayJob manifest
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct SubmitArgs {
    /// File with RayJobs in YAML or JSON, or - for stdin
    #[arg(value_name = "FILE|-")]
    file: String,
    /// Queue that the job waits in and is paid by
    #[arg(short, long, env = "SQUADRON_QUEUE", hide_env_values = true)]
    queue: Option<QueueName>,
    /// Pin the job to one cluster; without it the manifest's annotation squadron.dev/cluster counts
    #[arg(long)]
    cluster: Option<ClusterName>,
    /// Priority class; without it the manifest's label kueue.x-k8s.io/priority-class counts
    #[arg(long, value_name = "NAME")]
    priority: Option<K8sName>,
    /// What happens when its cluster is lost: wait, fence or rerun [default: as the manifest or the queue says]
    #[arg(long, value_name = "POLICY", value_parser = ["wait", "fence", "rerun"])]
    on_lost: Option<String>,
    #[command(flatten)]
    preferences: PreferArgs,
    /// Stay until the job ends; the exit code says how it ended
    #[arg(long)]
    wait: bool,
    /// Stay and write the driver's output to stdout; implies --wait
    #[arg(long)]
    logs: bool,
    /// Check everything and change nothing; `client` does not even ask the server
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "server",
          conflicts_with_all = ["wait", "logs"])]
    dry_run: Option<DryRun>,
    /// Key that makes a repeat of this very submission harmless [default: a new one]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Format of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: ItemFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DryRun {
    Client,
    Server,
}

pub async fn run(args: SubmitArgs, app: &App) -> Result<Exit, Failure> {
    let mut manifests = Manifest::read_all(&args.file)?;
    let manifest = match manifests.pop() {
        Some(only) if manifests.is_empty() => only,
        last => {
            manifests.extend(last);
            return sweep::run(&args, app, &manifests).await;
        }
    };
    let queue = queue(args.queue.as_ref(), &manifest)?;
    if args.dry_run == Some(DryRun::Client) {
        app.out.data(&checked(&manifest, &queue))?;
        return Ok(Exit::Ok);
    }
    let client = app.client()?;
    let reply = client.submit(&request(&args, &manifest, &queue), &key(&args)).await?;
    for warning in &reply.warnings {
        app.out.note(&format!("warning: {}", plain(warning)));
    }
    report(&args, app, &manifest, &queue, &reply)?;
    match reply.job {
        Some(job) if args.wait || args.logs => stay(&args, app, &client, &job).await,
        _ => Ok(Exit::Ok),
    }
}

/// The queue that was named, that of the manifest's label, or the default one.
pub fn queue(named: Option<&QueueName>, manifest: &Manifest) -> Result<String, Failure> {
    if let Some(queue) = named {
        return Ok(queue.to_string());
    }
    let named = manifest.queue().unwrap_or_else(|| "default".into());
    QueueName::new(named).map(String::from).map_err(|error| {
        Failure::usage(format!("the label squadron.dev/queue names no queue: {error}"))
            .next("name the queue with -q")
    })
}

fn key(args: &SubmitArgs) -> String {
    args.idempotency_key.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string())
}

fn request(args: &SubmitArgs, manifest: &Manifest, queue: &str) -> SubmitRequest {
    SubmitRequest {
        manifest: manifest.text.clone(),
        queue: queue.to_owned(),
        cluster: args.cluster.as_ref().map(ToString::to_string),
        priority_class: args.priority.as_ref().map(ToString::to_string),
        on_lost: args.on_lost.clone(),
        preferences: args.preferences.texts(),
        dry_run: args.dry_run == Some(DryRun::Server),
    }
}

/// The answer goes to stdout, or to stderr where stdout is for the driver's output.
fn report(
    args: &SubmitArgs,
    app: &App,
    manifest: &Manifest,
    queue: &str,
    reply: &SubmitReply,
) -> Result<(), Failure> {
    let text = || match &reply.job {
        Some(job) => accepted(job, reply, app.program),
        None => format!("{}the server would accept it\n", checked(manifest, queue)),
    };
    let text = item(reply, args.output, text);
    if args.logs {
        app.out.note(text.trim_end());
        return Ok(());
    }
    app.out.data(&text)
}

fn accepted(job: &Job, reply: &SubmitReply, program: &str) -> String {
    let (name, id) = (plain(&job.name), job.id);
    let place = reply.position.map(|n| format!(", {} in line", ordinal(n))).unwrap_or_default();
    let mut text = format!("submitted {name} as {id}\n  queue    {}{place}\n", plain(&job.queue));
    if !reply.link.is_empty() {
        text.push_str(&format!("  console  {}\n", plain(&reply.link)));
    }
    format!("{text}  follow   {program} logs -f {id}\n")
}

/// What a dry run found in the manifest.
fn checked(manifest: &Manifest, queue: &str) -> String {
    let parsed = &manifest.parsed;
    let namespace = parsed.namespace.as_deref().unwrap_or("default");
    let mut text = format!("RayJob {namespace}/{} is valid, for queue {queue}\n", plain(&parsed.name));
    let mut total = Resources::default();
    for member in &parsed.gang {
        total = total + member.requests * i64::from(member.count);
        let more = member.most.map_or_else(String::new, |most| format!(", up to {most} if there is room"));
        let (role, each) = (plain(&member.role), resources(member.requests));
        let line = format!("{role:<12} {} x {each}{more}", member.count);
        text.push_str(&format!("  {line}\n"));
    }
    format!("{text}  {:<12} {}\n", "together", resources(total))
}

async fn stay(args: &SubmitArgs, app: &App, client: &Client, job: &Job) -> Result<Exit, Failure> {
    let ended = wait::until(client, app.out, job, None, |job| job.state.is_terminal());
    let work: Pin<Box<dyn Future<Output = Result<Job, Failure>> + '_>> =
        if args.logs { Box::pin(with_output(app, client, job, ended)) } else { Box::pin(ended) };
    let Some(ended) = until_left(app, job, work).await? else { return Ok(Exit::Interrupted) };
    if let Some(line) = wait::read_on(&ended, app.program) {
        app.out.note(&line);
    }
    Ok(wait::outcome(&ended))
}

/// Output and state side by side; both end when the job has ended.
async fn with_output(
    app: &App,
    client: &Client,
    job: &Job,
    ended: impl Future<Output = Result<Job, Failure>>,
) -> Result<Job, Failure> {
    let wish = log::Wish { follow: true, ..log::Wish::default() };
    let output = log::Follower::new(client, app.out, job, wish).beside_a_wait().run(job);
    futures::future::try_join(ended, output.map_ok(|_| ())).await.map(|(job, ())| job)
}
