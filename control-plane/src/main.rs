//! The control plane's command line.

use std::{io::IsTerminal as _, process::ExitCode};

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use squadron_control_plane::{boot, config::Serve, http};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One control plane for Ray on many Kubernetes clusters.
#[derive(Parser)]
#[command(version, name = "squadron-control-plane")]
struct Line {
    #[command(subcommand)]
    command: Command,
    /// Write log lines as JSON.
    #[arg(long, env = "SQUADRON_LOG_JSON", global = true)]
    log_json: bool,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<Serve>),
    /// Prints the OpenAPI document.
    Openapi,
}

fn main() -> ExitCode {
    match run(Line::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("squadron-control-plane: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(line: Line) -> anyhow::Result<()> {
    match line.command {
        Command::Openapi => {
            print!("{}", http::openapi::text());
            Ok(())
        }
        Command::Serve(options) => {
            log_to_stderr(line.log_json);
            if rustls::crypto::aws_lc_rs::default_provider().install_default().is_err() {
                anyhow::bail!("another crypto provider was installed first");
            }
            tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(*options))
        }
    }
}

async fn serve(options: Serve) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let running = tokio::select! {
        running = boot::start(options) => running?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    let failed = tokio::select! {
        _ = terminate.recv() => false,
        _ = interrupt.recv() => false,
        () = running.failed() => true,
    };
    running.stop().await;
    anyhow::ensure!(!failed, "a part of the control plane ended by itself; its log says why; start it again");
    Ok(())
}

fn log_to_stderr(json: bool) {
    let filter = EnvFilter::try_from_env("SQUADRON_LOG").unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    if json { builder.json().init() } else { builder.init() }
}
