//! Boot: puts the controller role together and takes it down again.
//!
//! Owns the order: identity and epoch first, then the spool, then watches and workers, then the link. Invariant: facts
//! are on the disk before anything is said about them; whichever part ends first ends the process with a sentence, and
//! the next process starts from the API server and the spool.

mod args;
mod health;
mod life;

use std::{collections::BTreeSet, net::Ipv4Addr, sync::Arc, time::Duration};

use anyhow::Context;
use kube::{Api, Client};
use squadron_core::id::AttemptId;
use tokio::{
    net::UdpSocket,
    sync::{Notify, mpsc, watch as watching},
    task::JoinSet,
};

use crate::{
    arrivals::{Arrivals, Pictures},
    attempts::{self, Asked, Attempts, Store},
    clock,
    controller::{self, Dashboards, Events, Queue, Setup, Writer},
    lease::Lease,
    logs::{Logs, Spooled},
    node::inbox,
    plan::{Desired, SECRET_ANNOTATION},
    record::Recorder,
    uplink::{self, AgentKey, Applied, Ends, Home, Peer},
    watch::{self, Cache, FactSender, Kind, Outlets, TargetKind, object},
    watchdog::{desk, word::Secret},
};

pub use args::{ControllerArgs, Mode};
use life::Life;

/// Facts on their way to the spool.
const FACTS: usize = 1024;

/// Why a part of the agent ended; each part is meant to run for ever.
type Ended = anyhow::Error;

/// What the parts share.
struct Bench<'a> {
    client: &'a Client,
    args: &'a ControllerArgs,
    cache: Arc<Cache>,
    dashboards: Dashboards,
    recorder: Recorder,
    /// Objects to reconcile.
    queue: Arc<Queue>,
    /// Wakes the planner of attempts.
    wake: Arc<Notify>,
    /// Wakes the planner of arrivals.
    wake_arrivals: Arc<Notify>,
    /// What the control plane promised.
    lease: Lease,
    /// Attempts that we would start.
    accepts: watching::Sender<BTreeSet<AttemptId>>,
    /// Wakes the watches to tell everything again.
    again: Arc<Notify>,
}

/// Runs until a signal or until a part ends.
pub async fn controller(client: Client, args: ControllerArgs) -> anyhow::Result<()> {
    std::fs::create_dir_all(&args.spool).context("cannot make the spool folder")?;
    let key = AgentKey::load_or_make(&args.spool.join("agent.key"))?;
    let store = Store::load(&args.spool, args.cluster_id)?;
    let cache = Arc::new(Cache::of(args.cluster_id));
    if let Some(desired) = store.desired() {
        attempts::expect(&desired, &cache);
    }
    let mut parts = JoinSet::new();
    // Probes are answered from the start: an agent that waits for the Lease is alive.
    serve_probes(args.health_port, cache.clone(), &mut parts);
    let home = Home::ask(&client).await?;
    let Life { spool, spooled, mut held } = life::begin(&client, &args, &mut parts).await?;
    let bench = Bench {
        client: &client,
        args: &args,
        dashboards: Dashboards::new(cache.clone())?,
        cache,
        recorder: Recorder::new(spool.clone()),
        queue: Arc::new(Queue::default()),
        wake: Arc::new(Notify::new()),
        wake_arrivals: Arc::new(Notify::new()),
        lease: Lease::begin(&args.spool, held.epoch, held.renewals),
        accepts: watching::channel(BTreeSet::new()).0,
        again: Arc::new(Notify::new()),
    };
    let peer =
        Arc::new(Peer::new(args.peer(), key, (spool.epoch(), bench.lease.clone()), home, client.clone()));
    bench.watch(peer.home(), &mut parts);
    let logs = bench.logs(spooled)?;
    bench.reconcile(peer.clone(), logs.clone(), &mut parts);
    bench.take_kernel_lines(&mut parts);
    let (desired, wanted) = watching::channel(store.desired());
    let applied = Applied::default();
    bench.hold_attempts(store, logs, applied.clone(), wanted, &mut parts);
    let (pictures, told) = watching::channel(Pictures::new());
    bench.show_arrivals(told, &mut parts);
    let heartbeat = args.heartbeat_seconds.map(Duration::from_secs);
    let accepts = bench.accepts.subscribe();
    let lease = bench.lease.clone();
    bench.answer_watchdogs(desired.subscribe(), &mut parts).await?;
    let ends = Ends { spool, desired, applied, pictures, lease, accepts, heartbeat };
    parts.spawn(async move { anyhow::Error::new(uplink::run(peer, ends).await) });
    let ended = tokio::select! {
        Some(ended) = parts.join_next() => Err(ended.unwrap_or_else(anyhow::Error::new)),
        lost = held.keep(&bench.lease) => Err(anyhow::Error::new(lost)),
        () = terminated() => Ok(()),
    };
    parts.abort_all();
    life::hand_over(&mut held, &ended).await;
    ended.context("this life of the agent must end")
}

fn serve_probes(port: u16, cache: Arc<Cache>, parts: &mut JoinSet<Ended>) {
    parts.spawn(async move {
        let ended = health::serve(port, cache).await;
        anyhow::anyhow!("the health endpoint ended: {ended:?}")
    });
}

impl Bench<'_> {
    /// Watches the API server; facts go to the spool, wakes to the reconcilers and the planner.
    fn watch(&self, home: &Home, parts: &mut JoinSet<Ended>) {
        let (queue, wake, arrivals) = (self.queue.clone(), self.wake.clone(), self.wake_arrivals.clone());
        let outlets = Outlets {
            cache: self.cache.clone(),
            facts: self.keep_facts(parts),
            wake: Arc::new(move |target| {
                if target.kind == TargetKind::Job {
                    arrivals.notify_one();
                }
                queue.wake(target);
                wake.notify_one();
            }),
            kubernetes_version: home.kubernetes_version.clone(),
            again: self.again.clone(),
        };
        stand_by("a watch", watch::start(self.client, outlets), parts);
    }

    fn keep_facts(&self, parts: &mut JoinSet<Ended>) -> FactSender {
        let (facts, mut incoming) = mpsc::channel(FACTS);
        let recorder = self.recorder.clone();
        parts.spawn(async move {
            while let Some((at, fact)) = incoming.recv().await {
                if !recorder.fact(at, &fact).await {
                    break;
                }
            }
            anyhow::anyhow!("facts are not kept any more")
        });
        facts
    }

    fn reconcile(&self, peer: Arc<Peer>, logs: Logs, parts: &mut JoinSet<Ended>) {
        if self.args.mode == Mode::Observe {
            return;
        }
        let (tasks, _permit) = controller::start(Setup {
            client: self.client.clone(),
            cache: self.cache.clone(),
            queue: self.queue.clone(),
            dashboards: self.dashboards.clone(),
            peer,
            log_open: Arc::new(move |job| logs.is_open(job)),
            options: squadron_ray::Options::default(),
            instance: self.args.pod_name.clone(),
        });
        stand_by("a reconciler", tasks, parts);
    }

    fn take_kernel_lines(&self, parts: &mut JoinSet<Ended>) {
        let (client, recorder) = (self.client.clone(), self.recorder.clone());
        let namespace = self.args.pod_namespace.clone();
        parts.spawn(async move {
            inbox::run(client, &namespace, |at, fact| recorder.fact_durable(at, fact)).await;
            anyhow::anyhow!("the watch of kernel lines ended")
        });
    }

    fn hold_attempts(
        &self,
        store: Store,
        logs: Logs,
        applied: Applied,
        wanted: watching::Receiver<Option<Desired>>,
        parts: &mut JoinSet<Ended>,
    ) {
        let attempts = Attempts {
            writer: Writer::new(self.client.clone(), self.cache.clone()),
            cache: self.cache.clone(),
            logs: logs.clone(),
            recorder: self.recorder.clone(),
            policy: self.args.policy(),
            store,
            applied,
            lease: self.lease.clone(),
            accepts: self.accepts.clone(),
            notes: Api::namespaced(self.client.clone(), &self.args.pod_namespace),
            wake: self.wake.clone(),
            asked: Asked::new(self.again.clone()),
        };
        let lease = self.lease.clone();
        parts.spawn(async move {
            lease.keep_on_disk().await;
            anyhow::anyhow!("the end of the lease is not kept any more")
        });
        parts.spawn(async move {
            attempts.run(wanted).await;
            anyhow::anyhow!("the planner of attempts ended")
        });
        parts.spawn(async move {
            logs.run().await;
            anyhow::anyhow!("the log followers ended")
        });
    }

    /// Tells the watchdogs of attempts that are held how much of the lease is left for them.
    async fn answer_watchdogs(
        &self,
        wanted: watching::Receiver<Option<Desired>>,
        parts: &mut JoinSet<Ended>,
    ) -> anyhow::Result<()> {
        if self.args.watchdog_address.is_none() {
            return Ok(());
        }
        let here = (Ipv4Addr::UNSPECIFIED, self.args.watchdog_port);
        let socket = UdpSocket::bind(here).await.context("cannot listen for watchdogs")?;
        let (cache, lease) = (self.cache.clone(), self.lease.clone());
        parts.spawn(async move {
            desk::answer(socket, |attempt| {
                let wanted = wanted.borrow();
                let held = wanted.as_ref()?.attempts.get(&attempt)?;
                let object = cache.get(Kind::RayJob, &held.namespace, &held.name)?;
                let ours = cache.attempt(&object) == Some(attempt) && !object::is_deleting(&object);
                let secret = Secret::read(object::annotation(&object, SECRET_ANNOTATION)).filter(|_| ours)?;
                Some((secret, lease.left_for(wanted.as_ref()?.generation, clock::tick())))
            })
            .await;
            anyhow::anyhow!("watchdogs are answered no more")
        });
        Ok(())
    }

    /// Tells of RayJobs that wait for Squadron, and writes on them what became of them.
    fn show_arrivals(&self, pictures: watching::Receiver<Pictures>, parts: &mut JoinSet<Ended>) {
        let arrivals = Arrivals {
            writer: Writer::new(self.client.clone(), self.cache.clone()),
            events: Events::new(self.client.clone(), self.args.pod_name.clone()),
            cache: self.cache.clone(),
            recorder: self.recorder.clone(),
            policy: self.args.policy(),
            wake: self.wake_arrivals.clone(),
        };
        parts.spawn(async move {
            arrivals.run(pictures).await;
            anyhow::anyhow!("the planner of arrivals ended")
        });
    }

    fn logs(&self, spooled: Spooled) -> anyhow::Result<Logs> {
        let recorder = self.recorder.clone();
        let keep = Arc::new(move |chunk| {
            let recorder = recorder.clone();
            Box::pin(async move { recorder.log_durable(chunk).await }) as _
        });
        let folder = self.args.spool.join("logs");
        Logs::new(self.client.clone(), self.cache.clone(), self.dashboards.clone(), keep, folder, spooled)
            .context("cannot make the log folder")
    }
}

/// Makes one part of several tasks; the first that ends ends it.
fn stand_by(what: &'static str, mut tasks: JoinSet<()>, parts: &mut JoinSet<Ended>) {
    parts.spawn(async move {
        let ended = tasks.join_next().await;
        anyhow::anyhow!("{what} ended: {ended:?}")
    });
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
