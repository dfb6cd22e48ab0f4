//! Node role: reads a node's kernel log and tells the controller the lines that matter.
//!
//! Owns the way from a kernel record to an Event in the agent's namespace, where the controller's [`inbox`] takes it.
//! That namespace is the only door between the two: the API server authenticates both ends and nothing listens on the
//! node. Invariant: a line is reported once per boot; its position moves only after the API server has the Event, and is
//! stored then. A record that the kernel overwrote before it was read is lost, and the gap is logged.

mod boot;
mod devices;
pub mod inbox;
mod kmsg;
mod position;
mod report;
mod signal;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use kube::Client;
use squadron_core::fact::{KernelFact, KernelSignal};
use tokio::{sync::mpsc, task::JoinSet};

use self::{boot::Boot, kmsg::Record, position::Position, report::Reporter};

/// Label of the Events that carry kernel lines.
pub const KERNEL_LABEL: &str = "squadron.dev/kernel-line";
/// Longest part of a line that is reported, in bytes.
const LONGEST_LINE: usize = 600;
/// How often a position that moved without a report is stored.
const STORE_EVERY: Duration = Duration::from_secs(5);
/// Records read and not yet reported, per source.
const QUEUE: usize = 64;

/// Settings of the node role.
#[derive(Args, Debug, Clone)]
pub struct NodeArgs {
    /// Kernel logs to follow: the device, or files with records in its format.
    #[arg(long, env = "SQUADRON_KMSG", value_delimiter = ',', default_value = "/dev/kmsg")]
    pub kmsg: Vec<PathBuf>,
    /// List of devices held by pods, in the shape of the kubelet's pod-resources answer as JSON.
    #[arg(long, env = "SQUADRON_DEVICE_LIST")]
    pub device_list: Option<PathBuf>,
    /// Folder that keeps how far each log was reported.
    #[arg(long, env = "SQUADRON_STATE", default_value = "/var/lib/squadron-node")]
    pub state: PathBuf,
    /// Report only kills below this cgroup; needed where several kubelets share one kernel.
    #[arg(long, env = "SQUADRON_CGROUP_ROOT", default_value = "")]
    pub cgroup_root: String,
    /// Name of this node.
    #[arg(long, env = "NODE_NAME")]
    pub node_name: String,
    /// The agent's namespace, in which the Events are made.
    #[arg(long, env = "POD_NAMESPACE")]
    pub namespace: String,
}

/// Follows every log until the first of them cannot be read any more.
pub async fn run(client: Client, args: NodeArgs) -> anyhow::Result<()> {
    std::fs::create_dir_all(&args.state)?;
    let boot = Boot::read()?;
    let mut logs = JoinSet::new();
    for path in args.kmsg.clone() {
        logs.spawn(follow(client.clone(), args.clone(), boot.clone(), path));
    }
    match logs.join_next().await {
        Some(ended) => ended?,
        None => anyhow::bail!("no kernel log is given; name one with --kmsg"),
    }
}

async fn follow(client: Client, args: NodeArgs, boot: Boot, path: PathBuf) -> anyhow::Result<()> {
    let mut position = Position::load(&args.state, &path, &boot.id)?;
    let reporter = Reporter::new(client, &args.namespace, &args.node_name, &boot, &path);
    let (out, mut records) = mpsc::channel::<Record>(QUEUE);
    let (from, source) = (position.next(), path.clone());
    let reading = tokio::task::spawn_blocking(move || kmsg::read(&source, from, &out));
    let mut store = tokio::time::interval(STORE_EVERY);
    loop {
        tokio::select! {
            record = records.recv() => {
                let Some(record) = record else { break };
                let fact = judge(&args, &record);
                if let Some(fact) = &fact {
                    reporter.report(fact, &record).await;
                }
                position.passed(record.seq)?;
                if fact.is_some() {
                    position.store()?;
                }
            }
            _ = store.tick() => position.store()?,
        }
    }
    position.store()?;
    reading.await??;
    anyhow::bail!("{} ended", path.display())
}

/// The fact in a record, if it is one that is told.
fn judge(args: &NodeArgs, record: &Record) -> Option<KernelFact> {
    let mut signal = signal::of(&record.text, &args.cgroup_root)?;
    if let KernelSignal::Xid { pods, .. } = &mut signal {
        *pods = args.device_list.as_deref().map(devices::holders).unwrap_or_default();
    }
    let line = signal::cut(&record.text, LONGEST_LINE).to_owned();
    Some(KernelFact { node: args.node_name.clone(), line, signal })
}
