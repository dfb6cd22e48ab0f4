//! `cluster`: invite, look at, accept and revoke clusters.

use std::time::Duration;

use clap::{Args, Subcommand};
use squadron_api::cluster::{AddClusterReply, Cluster, ClusterIdentity};
use squadron_core::name::ClusterName;

use super::{arrival, label};
use crate::{
    app::App,
    client::Client,
    clock::now,
    confirm::confirm,
    exit::Exit,
    failure::Failure,
    follow::Outage,
    render::{
        cluster::{identity, show},
        count,
        fit::wrapped,
        list::{ItemFormat, ListFormat, item, list},
        plain,
        time::absolute,
    },
};

const HELP: &str = "\
Examples:
  squadron cluster                       # the same as cluster list
  squadron cluster add east              # prints the Helm command for the agent
  squadron cluster accept east           # shows who the cluster says it is, asks, accepts
  squadron cluster show east";

const ADD_HELP: &str = "\
Examples:
  squadron cluster add east
  squadron cluster add east -o json > invitation.json

The Helm command goes to stdout. It holds a one-time code: whoever has it can offer a cluster under this name until the code expires, but nothing is accepted without `squadron cluster accept`.";

const ACCEPT_HELP: &str = "\
Examples:
  squadron cluster accept east
  squadron cluster accept east --wait              # waits until the agent has introduced itself
  squadron cluster accept east --yes --wait --timeout 300
  squadron cluster accept east --identity 3f9c0d5e…   # no other identity than this

Compare the identity with the cluster before saying yes:
  kubectl get namespace kube-system -o jsonpath={.metadata.uid}
  kubectl get --raw /openid/v1/jwks";

const CLEAR_HELP: &str = "\
Examples:
  squadron cluster clear-alarm east

An identity that was offered anew and that nobody accepted is turned away with its alarm. The agent in charge goes on.";

const LIST_HELP: &str = "\
Examples:
  squadron cluster list
  squadron cluster list -o wide
  squadron cluster list --all            # revoked ones too";

const SHOW_HELP: &str = "\
Examples:
  squadron cluster show east
  squadron cluster show east -o json | jq .silent_since";

const REVOKE_HELP: &str = "\
Examples:
  squadron cluster revoke east

The agent of a revoked cluster is refused from then on. It is no longer listed, except with --all. Its lease ends: jobs with policy fence or rerun stop there and start elsewhere, those with policy wait run on.";

const DEAD_HELP: &str = "\
Examples:
  squadron cluster declare-dead east --reason \"the machines were returned\"
  squadron cluster declare-dead east --reason \"the rack burnt\" --yes

Jobs of that cluster start elsewhere within seconds, whatever their policy. If something of them still runs there, it runs twice. The audit log keeps your words. A cluster that is heard cannot be declared dead. The next agent of the cluster is let in, one restored from a backup too.";

/// Clusters: add, list, show, accept, clear-alarm, declare-dead, revoke; who may submit in them
#[derive(Debug, Args)]
#[command(visible_alias = "clusters", after_help = HELP, args_conflicts_with_subcommands = true)]
pub struct ClusterArgs {
    #[command(subcommand)]
    verb: Option<ClusterVerb>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum ClusterVerb {
    /// Invite a cluster and print the Helm command for its agent
    #[command(after_help = ADD_HELP)]
    Add {
        /// Name for the cluster: lower-case letters, digits and '-'
        name: ClusterName,
        /// Format
        #[arg(short, long, value_enum, default_value_t)]
        output: ItemFormat,
    },
    /// List clusters with the age of their last word
    #[command(visible_alias = "ls", after_help = LIST_HELP)]
    List(ListArgs),
    /// Show one cluster: state, capacity, identity, agent
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Name or id
        name: String,
        /// Format
        #[arg(short, long, value_enum, default_value_t)]
        output: ItemFormat,
    },
    /// Accept a cluster whose agent has introduced itself
    #[command(after_help = ACCEPT_HELP)]
    Accept(AcceptArgs),
    /// Clear a cluster's alarm; accepts nothing
    #[command(after_help = CLEAR_HELP)]
    ClearAlarm {
        /// Name or id
        name: String,
    },
    /// Say that nothing runs on a silent cluster any more
    #[command(after_help = DEAD_HELP)]
    DeclareDead {
        /// Name or id
        name: String,
        /// How you know; kept in the audit log
        #[arg(long)]
        reason: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Refuse a cluster's agent from now on
    #[command(after_help = REVOKE_HELP)]
    Revoke {
        /// Name or id
        name: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Say where a cluster is and what is near it
    #[command(after_help = label::HELP)]
    Label(label::LabelArgs),
    /// Let a namespace submit to a queue by kubectl
    #[command(after_help = arrival::ALLOW_HELP)]
    AllowQueue(arrival::RuleArgs),
    /// Take that back
    #[command(after_help = arrival::DISALLOW_HELP)]
    DisallowQueue(arrival::RuleArgs),
    /// List which namespaces may submit to which queues by kubectl
    #[command(after_help = arrival::QUEUES_HELP)]
    Queues(arrival::QueuesArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Revoked clusters too
    #[arg(short, long)]
    all: bool,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
}

#[derive(Debug, Args)]
struct AcceptArgs {
    /// Name or id
    name: String,
    /// Do not ask; an identity that is offered anew must be named with --identity as well
    #[arg(short, long)]
    yes: bool,
    /// Digest of the identity to accept; any other is refused
    #[arg(long, value_name = "DIGEST")]
    identity: Option<String>,
    /// Wait until the agent has introduced itself, and after accepting until it is heard
    #[arg(long)]
    wait: bool,
    /// With --wait, give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
}

pub async fn run(args: ClusterArgs, app: &App) -> Result<Exit, Failure> {
    match args.verb.unwrap_or(ClusterVerb::List(args.list)) {
        ClusterVerb::Add { name, output } => add(&name, output, app).await,
        ClusterVerb::List(args) => run_list(&args, app).await,
        ClusterVerb::Show { name, output } => {
            let cluster = app.client()?.cluster(&name).await?;
            app.out.data(&item(&cluster, output, || {
                let view = app.view(now());
                wrapped(&show(&cluster, view), view.width)
            }))?;
            Ok(Exit::Ok)
        }
        ClusterVerb::Accept(args) => accept(&args, app).await,
        ClusterVerb::ClearAlarm { name } => {
            said(app, &app.client()?.clear_alarm(&name).await?);
            Ok(Exit::Ok)
        }
        ClusterVerb::DeclareDead { name, reason, yes } => {
            let client = app.client()?;
            let cluster = client.cluster(&name).await?;
            let name = plain(&cluster.name);
            confirm(
                &format!("start every job of {name} elsewhere? What still runs there would run twice"),
                yes,
            )?;
            let cluster = client.declare_dead(&name, &reason).await?;
            said(app, &cluster);
            app.out.note(&format!("its jobs are queued again; see {} list", app.program));
            Ok(Exit::Ok)
        }
        ClusterVerb::Revoke { name, yes } => {
            let client = app.client()?;
            let cluster = client.cluster(&name).await?;
            confirm(&format!("revoke {} ({})?", plain(&cluster.name), plain(&cluster.state)), yes)?;
            said(app, &client.revoke_cluster(&name).await?);
            Ok(Exit::Ok)
        }
        ClusterVerb::Label(args) => label::run(&args, app).await,
        ClusterVerb::AllowQueue(args) => arrival::allow(&args, app).await,
        ClusterVerb::DisallowQueue(args) => arrival::disallow(&args, app).await,
        ClusterVerb::Queues(args) => arrival::queues(&args, app).await,
    }
}

async fn add(name: &ClusterName, output: ItemFormat, app: &App) -> Result<Exit, Failure> {
    let reply = app.client()?.add_cluster(name.as_str()).await?;
    if output == ItemFormat::Text {
        app.out.note(&format!("cluster {name} is invited. Run this where kubectl reaches that cluster:"));
    }
    app.out.data(&item(&reply, output, || format!("{}\n", reply.helm_command.trim_end())))?;
    if output == ItemFormat::Text {
        app.out.note(&then(&reply, name, app.program));
    }
    Ok(Exit::Ok)
}

fn then(reply: &AddClusterReply, name: &ClusterName, program: &str) -> String {
    let expires = absolute(reply.code_expires_at);
    format!("The code in it works once and until {expires}. Then: {program} cluster accept {name} --wait")
}

async fn run_list(args: &ListArgs, app: &App) -> Result<Exit, Failure> {
    let mut page = app.client()?.clusters().await?;
    let everything = page.items.len();
    page.items.retain(|cluster| args.all || cluster.state != "revoked");
    let hidden = everything - page.items.len();
    app.out.data(&list(&page, args.output, app.view(page.as_of)))?;
    if everything == 0 {
        app.out.note(&format!("no clusters yet; invite one with {} cluster add NAME", app.program));
    }
    if hidden > 0 {
        let verb = if hidden == 1 { "is" } else { "are" };
        app.out.note(&format!("{} {verb} not shown; --all shows them", count(hidden, "revoked cluster")));
    }
    for cluster in &page.items {
        if cluster.silent_since.is_some() {
            app.out.note(&format!("{} is {}", cluster.name, plain(&cluster.sentence)));
        }
        if !cluster.alarm.is_empty() {
            app.out.note(&format!("alarm: {}: {}", cluster.name, plain(&cluster.alarm)));
        }
    }
    Ok(Exit::Ok)
}

async fn accept(args: &AcceptArgs, app: &App) -> Result<Exit, Failure> {
    let client = app.client()?;
    let limit = Duration::from_secs(args.timeout);
    let mut cluster = client.cluster(&args.name).await?;
    if args.wait && cluster.state == "invited" {
        app.out.note(&format!("waiting for the agent of {} to introduce itself", plain(&cluster.name)));
        cluster = until(&client, app, &args.name, limit, |cluster| cluster.state != "invited").await?;
    }
    match waiting(&cluster) {
        Some(offered) => {
            let digest = look(args, app, &cluster, offered)?;
            cluster = client.accept_cluster(&args.name, &digest).await?;
        }
        // The server says what is missing.
        None if cluster.identity.is_none() => cluster = client.accept_cluster(&args.name, "").await?,
        None => tell_nothing_waits(app, &cluster),
    }
    if args.wait && cluster.last_heard_at.is_none_or(|_| cluster.state != "active") {
        cluster = until(&client, app, &args.name, limit, |cluster| {
            cluster.state == "active" && cluster.last_heard_at.is_some() && cluster.nodes > 0
        })
        .await?;
    }
    said(app, &cluster);
    Ok(Exit::Ok)
}

/// The identity that waits for a word.
fn waiting(cluster: &Cluster) -> Option<&ClusterIdentity> {
    cluster.reoffer.as_ref().or(cluster.identity.as_ref().filter(|_| cluster.state == "pending"))
}

/// Shows who asks and what differs from who is in force, and asks. Answers the digest of what was shown.
fn look(
    args: &AcceptArgs,
    app: &App,
    cluster: &Cluster,
    offered: &ClusterIdentity,
) -> Result<String, Failure> {
    let name = plain(&cluster.name);
    let shown = |identity: &ClusterIdentity| self::identity(identity).trim_end().to_owned();
    if let (Some(_), Some(known)) = (&cluster.reoffer, &cluster.identity) {
        app.out.note(&format!("{name} is\n{}\nand somebody in it asks to be its agent as", shown(known)));
    } else {
        app.out.note(&format!("{name} says it is"));
    }
    app.out.note(&shown(offered));
    match &args.identity {
        Some(named) if *named != offered.digest => {
            return Err(Failure::new(Exit::Conflict, format!("{name} offers another identity than {named}")));
        }
        None if args.yes && cluster.reoffer.is_some() => {
            return Err(Failure::new(
                Exit::Usage,
                format!("a new identity of {name} is not accepted unseen"),
            )
            .next(format!("compare it, then repeat with --identity {}", offered.digest)));
        }
        _ => {}
    }
    confirm(&format!("accept {name}?"), args.yes)?;
    Ok(offered.digest.clone())
}

fn tell_nothing_waits(app: &App, cluster: &Cluster) {
    let name = plain(&cluster.name);
    app.out.note(&format!("nothing of {name} waits to be accepted"));
    if !cluster.alarm.is_empty() {
        let program = app.program;
        app.out.note(&format!("its alarm stays; clear it with {program} cluster clear-alarm {name}"));
    }
}

fn said(app: &App, cluster: &Cluster) {
    app.out.note(&format!(
        "cluster {} is {}: {}",
        plain(&cluster.name),
        plain(&cluster.state),
        plain(&cluster.sentence)
    ));
}

/// Asks every second until `is_there`; fails with exit code 6 and the last sentence after `limit`.
async fn until(
    client: &Client,
    app: &App,
    name: &str,
    limit: Duration,
    is_there: impl Fn(&Cluster) -> bool,
) -> Result<Cluster, Failure> {
    let deadline = tokio::time::Instant::now() + limit;
    let (mut outage, mut last) = (Outage::none(app.out), "nothing was heard".to_owned());
    while tokio::time::Instant::now() < deadline {
        match client.hasty().cluster(name).await {
            Ok(cluster) if is_there(&cluster) => return Ok(cluster),
            Ok(cluster) => {
                outage.over();
                last = format!("it is {}: {}", cluster.state, plain(&cluster.sentence));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Err(error) => outage.bear(error, "still waiting").await?,
        }
    }
    Err(Failure::new(
        Exit::Unavailable,
        format!("cluster {name} did not get there within {} s; {last}", limit.as_secs()),
    )
    .next("look at the agent: kubectl -n squadron logs deploy/squadron-agent"))
}
