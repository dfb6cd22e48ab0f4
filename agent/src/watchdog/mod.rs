//! Watchdog: the fence inside a pod, for a node that is cut off from its API server, or from everything (T5).
//!
//! Owns both ends of one question: how much of the lease is left for this attempt? The agent answers it at its [`desk`]; in the
//! pod a process stands before Ray in its container, asks, and counts from its question ([`run`]). Invariants: user code does
//! not start before the first answer, and is killed when the last promise and its grace are over, whoever can be reached then;
//! a question and an answer count only if they are signed with the secret of the attempt, which lies in its RayJob and in its
//! pods; an answer never reaches further than the renewal that the attempt's desired state answers. Fails safe: without an
//! answer the job stops. Repaired by the next answer, for which the container that the kubelet starts anew waits.

pub mod desk;
pub mod install;
pub mod run;
pub mod word;

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Settings of the watchdog role.
#[derive(Args, Clone, Debug)]
pub struct WatchdogArgs {
    #[command(subcommand)]
    pub step: Step,
}

/// What the role does in a pod.
#[derive(Subcommand, Clone, Debug)]
pub enum Step {
    /// Copies this program into a folder that another container of the pod mounts.
    Install { folder: PathBuf },
    /// Runs a command for as long as the agent promises.
    Run(run::RunArgs),
}

/// Does it; answers with the code that the process ends with.
pub async fn step(args: WatchdogArgs) -> anyhow::Result<u8> {
    match args.step {
        Step::Install { folder } => install::into(&folder).map(|()| 0),
        Step::Run(args) => run::run(args).await,
    }
}
