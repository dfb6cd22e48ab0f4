//! The agent of one cluster: one binary, and its roles.

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use squadron_agent::{
    boot::{self, ControllerArgs},
    fencer::{self, FencerArgs},
    node::{self, NodeArgs},
    watchdog::{self, WatchdogArgs},
};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The agent of one Kubernetes cluster in a Squadron fleet.
#[derive(Parser)]
#[command(name = "squadron-agent", version, about)]
struct Cli {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Reconciles Ray objects, holds the attempts that the control plane wants, and reports what it sees.
    Controller(Box<ControllerArgs>),
    /// Reads a node's kernel log and hands the lines that matter to the controller.
    Node(NodeArgs),
    /// Stops what may start elsewhere when the controller is dead and its lease is over.
    Fencer(FencerArgs),
    /// In a pod of a job: runs it for as long as the agent promises.
    Watchdog(WatchdogArgs),
    /// Prints the custom resource definitions as YAML.
    Crds,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let filter = EnvFilter::try_from_env("SQUADRON_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().json().with_env_filter(filter);
    match Cli::parse().role {
        Role::Crds => print_crds()?,
        Role::Watchdog(args) => {
            // Its output is the job's.
            log.with_writer(std::io::stderr).init();
            return watchdog::step(args).await.map(ExitCode::from);
        }
        role => {
            log.init();
            in_a_cluster(role).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A role that works with the cluster's API server.
async fn in_a_cluster(role: Role) -> anyhow::Result<()> {
    if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
        tracing::debug!("a TLS provider was installed before");
    }
    let client = kube::Client::try_default().await.context("cannot find the cluster's API server")?;
    match role {
        Role::Controller(args) => Box::pin(boot::controller(client, *args)).await,
        Role::Node(args) => node::run(client, args).await,
        Role::Fencer(args) => fencer::run(client, args).await,
        Role::Watchdog(_) | Role::Crds => Ok(()),
    }
}

fn print_crds() -> anyhow::Result<()> {
    use std::io::Write;
    std::io::stdout().write_all(squadron_ray::crd::yaml().as_bytes()).context("cannot print")
}
