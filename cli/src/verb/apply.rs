//! `apply`, `diff` and `policy`: queues with quotas, flavors and priority classes as they are declared.

use clap::{Args, ValueEnum};
use squadron_api::{
    policy::{PolicyQuery, PolicyReply},
    what_if::WhatIfQuery,
};
use squadron_core::quota::{Policy, check::check};

use crate::{
    app::App,
    client::ClientError,
    exit::Exit,
    failure::Failure,
    render::{
        count,
        list::{ItemFormat, item},
        policy::{changes, tally},
        what_if::what_if,
    },
    texts::Texts,
};

const APPLY_HELP: &str = "\
Examples:
  squadron apply -f policy.yaml --dry-run          # the server checks it and tells what would change
  squadron apply -f policy.yaml --what-if          # which jobs would start, which would wait for what; changes nothing
  squadron apply -f policy.yaml
  squadron apply -f flavors.yaml -f teams/         # several files, or all of a folder
  squadron policy | sed s/8/16/ | squadron apply -f -
  kubectl get cohorts,clusterqueues,resourceflavors,localqueues -A -o yaml | squadron apply -f -

Kinds: Flavor, Queue and PriorityClass of squadron.dev/v1, and of Kueue (v1beta1, v1beta2) ResourceFlavor, Cohort, ClusterQueue, \
LocalQueue and WorkloadPriorityClass. What the text names is added or changed, all of it or nothing; --prune also removes \
what it does not name.";

const DIFF_HELP: &str = "\
Examples:
  squadron diff -f policy.yaml                     # what apply would change
  squadron diff -f policy.yaml --what-if           # and what that would do to jobs and queues now
  squadron diff -f teams/ --prune -o json";

const POLICY_HELP: &str = "\
Examples:
  squadron policy                                  # everything that is declared, to be applied again
  squadron policy > policy.yaml";

/// Declare queues with quotas, flavors and priority classes
#[derive(Debug, Args)]
#[command(after_help = APPLY_HELP)]
pub struct ApplyArgs {
    #[command(flatten)]
    what: What,
    /// Check everything and change nothing; `client` does not even ask the server
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "server")]
    #[arg(conflicts_with = "what_if")]
    dry_run: Option<DryRun>,
}

/// Tell what apply would change
#[derive(Debug, Args)]
#[command(after_help = DIFF_HELP)]
pub struct DiffArgs {
    #[command(flatten)]
    what: What,
}

/// Print everything that is declared, as YAML that can be applied again
#[derive(Debug, Args)]
#[command(after_help = POLICY_HELP)]
pub struct PolicyArgs {}

#[derive(Debug, Args)]
struct What {
    /// YAML file, folder with YAML files, or - for stdin; may be given several times
    #[arg(short, long = "file", value_name = "FILE|DIR|-", required = true)]
    files: Vec<String>,
    /// Also remove what the files do not name
    #[arg(long)]
    prune: bool,
    /// Change nothing; tell which waiting jobs would start now, which would wait for what, and where queues would stand
    #[arg(long)]
    what_if: bool,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ItemFormat,
}

impl What {
    /// The texts; one that says nothing prunes nothing.
    fn texts(&self) -> Result<Texts, Failure> {
        let texts = Texts::read(&self.files)?;
        match texts.declared.check_prune(self.prune) {
            Ok(()) => Ok(texts),
            Err(problems) => Err(Failure::usage("this is no text to prune by; nothing was sent")
                .fields(problems.iter().map(|problem| texts.field(problem)).collect())
                .next("look at what was read; a command before it may have failed")),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum DryRun {
    Client,
    Server,
}

pub async fn apply(args: ApplyArgs, app: &App) -> Result<Exit, Failure> {
    let texts = args.what.texts()?;
    if args.dry_run == Some(DryRun::Client) {
        app.out.data(&checked(&texts)?)?;
        return Ok(Exit::Ok);
    }
    put(&args.what, &texts, args.dry_run.is_some(), app).await
}

pub async fn diff(args: DiffArgs, app: &App) -> Result<Exit, Failure> {
    let texts = args.what.texts()?;
    put(&args.what, &texts, true, app).await
}

pub async fn policy(_args: PolicyArgs, app: &App) -> Result<Exit, Failure> {
    let text = app.client()?.policy().await?;
    app.out.data(&text)?;
    Ok(Exit::Ok)
}

async fn put(what: &What, texts: &Texts, dry_run: bool, app: &App) -> Result<Exit, Failure> {
    if what.what_if {
        return look(what, texts, app).await;
    }
    let query = PolicyQuery { dry_run, prune: what.prune };
    let reply =
        app.client()?.put_policy(texts.text.clone(), &query).await.map_err(|error| told(error, texts))?;
    let colour = app.out.colour;
    app.out.data(&item(&reply, what.output, || changes(&reply.changes, colour)))?;
    let nothing = "the text declares nothing; nothing to change".to_owned();
    app.out.note(&if texts.declared.is_empty() { nothing } else { outcome(&reply) });
    Ok(Exit::Ok)
}

async fn look(what: &What, texts: &Texts, app: &App) -> Result<Exit, Failure> {
    let query = WhatIfQuery { prune: what.prune };
    let told = app.client()?.what_if(texts.text.clone(), &query).await.map_err(|error| told(error, texts))?;
    app.out.data(&item(&told, what.output, || what_if(&told, app.view(told.as_of))))?;
    app.out.note("nothing was changed; apply it without --what-if");
    Ok(Exit::Ok)
}

/// What the server says of lines, said of files.
fn told(error: ClientError, texts: &Texts) -> Failure {
    match error {
        ClientError::Refused(problem) => Failure::from(texts.in_files(*problem)),
        other => other.into(),
    }
}

fn outcome(reply: &PolicyReply) -> String {
    match (reply.changes.is_empty(), reply.applied) {
        (true, _) => "the policy says all of it already; nothing to change".to_owned(),
        (false, true) => format!("{}; version {} is in force", tally(&reply.changes), reply.version),
        (false, false) => format!("{}; nothing was changed", tally(&reply.changes)),
    }
}

/// Checks what can be checked without the server: the texts for themselves. What they name and do not have, the server
/// may have.
fn checked(texts: &Texts) -> Result<String, Failure> {
    let faults = check(&texts.declared.onto(&Policy::default(), true));
    let problems = texts.declared.problems(faults.iter().filter(|fault| !fault.missing));
    let fields: Vec<_> = problems.iter().map(|problem| texts.field(problem)).collect();
    if !fields.is_empty() {
        let number = count(fields.len(), "problem");
        return Err(Failure::usage(format!("this is no valid policy ({number}); nothing was sent"))
            .fields(fields)
            .next("correct the lines above and apply it again; docs/guide/queues.md shows the format"));
    }
    let policy = &texts.declared.policy;
    Ok(format!(
        "valid: {}, {}, priority classes: {}\n",
        count(policy.flavors.len(), "flavor"),
        count(policy.queues.len(), "queue"),
        policy.priority_classes.len()
    ))
}
