//! Boot: puts the controller role together and takes it down again.
//!
//! Owns the order: identity and epoch first, then the spool, then watches and workers, then the link. Invariant: facts
//! are on the disk before anything is said about them; whichever part ends first ends the process with a sentence, and
//! the next process starts from the API server and the spool.

mod health;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use clap::{Args, ValueEnum};
use kube::Client;
use squadron_core::id::ClusterId;
use tokio::{
    sync::{Notify, mpsc, watch as watching},
    task::JoinSet,
};

use crate::{
    attempts::{Attempts, Store},
    controller::{self, Dashboards, Queue, Setup, Writer},
    epoch::{self, Held, Holder},
    logs::{Logs, Spooled},
    node::inbox,
    plan::Policy,
    record::Recorder,
    spool::{self, Limits, Spool},
    uplink::{AgentKey, Applied, Ends, Home, LinkError, Peer, PeerSettings, TokenFile},
    watch::{self, Cache, FactSender, Outlets},
};

/// Facts on their way to the spool.
const FACTS: usize = 1024;
const MIB: u64 = 1024 * 1024;

/// What the agent does with ray.io objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Mode {
    /// Reconcile them.
    Operate,
    /// Leave them to KubeRay's operator; create attempts and observe.
    Observe,
}

/// Settings of the controller role.
#[derive(Args, Clone, Debug)]
pub struct ControllerArgs {
    /// Address of the control plane, for example https://control-plane.squadron.internal:7443.
    #[arg(long, env = "SQUADRON_CONTROL_PLANE")]
    pub control_plane: String,
    /// PEM file with the certificate authority of the control plane.
    #[arg(long, env = "SQUADRON_CA")]
    pub ca: PathBuf,
    /// Id of this cluster, as `squadron cluster add` printed it.
    #[arg(long, env = "SQUADRON_CLUSTER_ID")]
    pub cluster_id: ClusterId,
    /// File with the projected token.
    #[arg(long, env = "SQUADRON_TOKEN")]
    pub token: PathBuf,
    /// One-time enrolment code.
    #[arg(long, env = "SQUADRON_ENROLMENT_CODE", hide_env_values = true)]
    pub enrolment_code: Option<String>,
    /// Folder for the spool, the agent's key and what it remembers.
    #[arg(long, env = "SQUADRON_SPOOL", default_value = "/var/lib/squadron")]
    pub spool: PathBuf,
    /// Most that the spool may hold, in MiB.
    #[arg(long, env = "SQUADRON_SPOOL_MIB", default_value_t = 1536)]
    pub spool_mib: u64,
    /// Namespaces in which attempts may run, comma-separated; every namespace if not given.
    #[arg(long, env = "SQUADRON_NAMESPACES", value_delimiter = ',')]
    pub namespaces: Option<Vec<String>>,
    /// What to do with ray.io objects.
    #[arg(long, env = "SQUADRON_MODE", value_enum, default_value = "operate")]
    pub mode: Mode,
    /// Seconds between heartbeats, instead of what the control plane says.
    #[arg(long, env = "SQUADRON_HEARTBEAT_SECONDS", value_parser = clap::value_parser!(u64).range(1..=300))]
    pub heartbeat_seconds: Option<u64>,
    /// Port of the health endpoint.
    #[arg(long, env = "SQUADRON_HEALTH_PORT", default_value_t = 8081)]
    pub health_port: u16,
    #[arg(long, env = "POD_NAME", default_value = "squadron-agent")]
    pub pod_name: String,
    #[arg(long, env = "POD_UID")]
    pub pod_uid: String,
    #[arg(long, env = "POD_NAMESPACE")]
    pub pod_namespace: String,
}

/// Runs until a signal or until a part ends.
pub async fn controller(client: Client, args: ControllerArgs) -> anyhow::Result<()> {
    std::fs::create_dir_all(&args.spool).context("cannot make the spool folder")?;
    let key = AgentKey::load_or_make(&args.spool.join("agent.key"))?;
    let store = Store::load(&args.spool)?;
    let cache = Arc::new(Cache::default());
    // Probes are answered from the start: an agent that waits for the Lease is alive.
    let mut probes = tokio::spawn(health::serve(args.health_port, cache.clone()));
    let home = Home::ask(&client).await?;
    let Started { spool, spooling, spooled, mut held } = start_spool(&client, &args).await?;
    let recorder = Recorder::new(spool.clone());
    let (queue, wake) = (Arc::new(Queue::default()), Arc::new(Notify::new()));
    let facts = keep_facts(recorder.clone());
    let outlets = Outlets {
        cache: cache.clone(),
        facts,
        wake: waker(queue.clone(), wake.clone()),
        kubernetes_version: home.kubernetes_version.clone(),
    };
    let mut watches = watch::start(&client, outlets);
    let dashboards = Dashboards::new(cache.clone())?;
    let logs = logs(&client, &cache, &dashboards, &recorder, &args, spooled)?;
    let mut reconcilers = JoinSet::new();
    if args.mode == Mode::Operate {
        let (tasks, _permit) = controller::start(Setup {
            client: client.clone(),
            cache: cache.clone(),
            queue,
            dashboards,
            options: squadron_ray::Options::default(),
            instance: args.pod_name.clone(),
        });
        reconcilers = tasks;
    }
    let applied = Applied::default();
    let (desired, wanted) = watching::channel(store.desired());
    let attempts = Attempts {
        writer: Writer::new(client.clone(), cache.clone()),
        cache: cache.clone(),
        logs: logs.clone(),
        recorder: recorder.clone(),
        policy: policy(&args),
        store,
        applied: applied.clone(),
        wake,
    };
    let peer = Peer::new(peer_settings(&args), key, spool.epoch(), home, client.clone());
    let heartbeat = args.heartbeat_seconds.map(Duration::from_secs);
    let ends = Ends { spool, desired, applied, heartbeat };
    let mut planning = tokio::spawn(attempts.run(wanted));
    let mut following = tokio::spawn(logs.run());
    let kernel = inbox::run(client.clone(), &args.pod_namespace, |at, fact| recorder.fact_durable(at, fact));
    let ended = tokio::select! {
        ended = spooling => Err(spool_ended(ended)),
        lost = held.keep() => Err(anyhow::Error::new(lost).context("this life of the agent must end")),
        end = crate::uplink::run(peer, ends) => Err(anyhow::Error::new(end)),
        ended = &mut planning => Err(anyhow::anyhow!("the attempt planner ended: {ended:?}")),
        ended = &mut following => Err(anyhow::anyhow!("the log followers ended: {ended:?}")),
        Some(ended) = watches.join_next() => Err(anyhow::anyhow!("a watch ended: {ended:?}")),
        Some(ended) = reconcilers.join_next() => Err(anyhow::anyhow!("a reconciler ended: {ended:?}")),
        () = kernel => Err(anyhow::anyhow!("the watch of kernel lines ended")),
        ended = &mut probes => ended?.context("the health endpoint ended"),
        () = terminated() => Ok(()),
    };
    for part in [&planning, &following] {
        part.abort();
    }
    hand_over(&mut held, &ended).await;
    ended
}

/// The spool under a new epoch, and the Lease that gave the epoch.
struct Started {
    spool: Spool,
    spooling: tokio::task::JoinHandle<Result<(), spool::DiskError>>,
    spooled: Spooled,
    held: Held,
}

async fn start_spool(client: &Client, args: &ControllerArgs) -> anyhow::Result<Started> {
    let holder = Holder {
        namespace: args.pod_namespace.clone(),
        pod: args.pod_name.clone(),
        pod_uid: args.pod_uid.clone(),
    };
    let folder = args.spool.join("records");
    let (mut newest, mut spooled) = (0, Spooled::default());
    let recovered = spool::recover(&folder, |record| {
        newest = newest.max(record.stream.epoch);
        spooled.note(record);
    })?;
    for path in &recovered.damaged {
        tracing::error!(path = %path.display(), "a damaged spool file was put aside; its readable records go on");
    }
    let held = epoch::take(client, &holder, newest).await?;
    tracing::info!(epoch = held.epoch, waiting = recovered.index.load().records, "this life of the agent");
    let total = args.spool_mib.saturating_mul(MIB);
    let limits = Limits { total, logs: total / 2, segment: 16 * MIB };
    let (spool, spooling) = Spool::start(&folder, held.epoch, limits, recovered.index);
    Ok(Started { spool, spooling, spooled, held })
}

fn keep_facts(recorder: Recorder) -> FactSender {
    let (facts, mut incoming) = mpsc::channel(FACTS);
    tokio::spawn(async move {
        while let Some((at, fact)) = incoming.recv().await {
            if !recorder.fact(at, &fact).await {
                return;
            }
        }
    });
    facts
}

fn waker(queue: Arc<Queue>, wake: Arc<Notify>) -> Arc<dyn Fn(watch::Target) + Send + Sync> {
    Arc::new(move |target| {
        queue.wake(target);
        wake.notify_one();
    })
}

fn logs(
    client: &Client,
    cache: &Arc<Cache>,
    dashboards: &Dashboards,
    recorder: &Recorder,
    args: &ControllerArgs,
    spooled: Spooled,
) -> anyhow::Result<Logs> {
    let recorder = recorder.clone();
    let keep = Arc::new(move |chunk| {
        let recorder = recorder.clone();
        Box::pin(async move { recorder.log_durable(chunk).await }) as _
    });
    let folder = args.spool.join("logs");
    Logs::new(client.clone(), cache.clone(), dashboards.clone(), keep, folder, spooled)
        .context("cannot make the log folder")
}

fn policy(args: &ControllerArgs) -> Policy {
    let namespaces =
        args.namespaces.clone().map(|all| all.into_iter().filter(|one| !one.is_empty()).collect());
    Policy { cluster: args.cluster_id, namespaces }
}

fn peer_settings(args: &ControllerArgs) -> PeerSettings {
    PeerSettings {
        address: args.control_plane.clone(),
        ca: args.ca.clone(),
        cluster: args.cluster_id,
        token: TokenFile(args.token.clone()),
        code: args.enrolment_code.clone(),
        pod_uid: args.pod_uid.clone(),
    }
}

fn spool_ended(ended: Result<Result<(), spool::DiskError>, tokio::task::JoinError>) -> anyhow::Error {
    match ended {
        Ok(Err(error)) => anyhow::Error::new(error).context("the spool's disk failed"),
        Ok(Ok(())) => anyhow::anyhow!("the spool ended"),
        Err(error) => anyhow::Error::new(error).context("the spool ended"),
    }
}

/// Leaves the Lease so that the next life can take it at once. If another life is in charge at the control plane, the
/// next one gets an epoch above that one's: whoever holds the Lease is the agent of this cluster.
async fn hand_over(held: &mut Held, ended: &anyhow::Result<()>) {
    if let Err(error) = ended
        && let Some(LinkError::Replaced { epoch_above, .. }) = error.downcast_ref()
        && let Err(error) = held.raise(*epoch_above).await
    {
        tracing::warn!(%error, "the Lease cannot be raised");
        return;
    }
    held.release().await;
}

/// Returns at SIGTERM or SIGINT. Everything that matters is on the disk already.
async fn terminated() {
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
    let terminate = async {
        match &mut term {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = terminate => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}
