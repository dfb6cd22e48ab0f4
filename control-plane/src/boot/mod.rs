//! Start-up, in order: data folder, database, schema, identity, certificates, listeners, tasks; and the way back down.
//!
//! Invariant: the same order after every kind of stop. A step that fails names itself and leaves nothing half done that
//! the next start could not finish. A part that ends while the others run, by a panic for example, stops all of them, so
//! that whoever supervises the process starts it anew.

mod data;
mod first;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use rustls::ServerConfig;
use squadron_core::id::ControlPlaneId;
use squadron_store::Store;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    clock,
    config::Serve,
    http, link,
    listen::{self, Doorman, Manners},
    pg::{self, Keeper},
    state::{AppState, Settings, Shared},
    tasks,
    tls::{self, Authority, Live, Source},
    wake::Wake,
};

/// HTTP/2 streams that one browser or program may have open.
const PEOPLE_STREAMS: u32 = 128;
/// Streams of one agent connection.
const AGENT_STREAMS: u32 = 16;

/// A running control plane.
pub struct Running {
    pub app: AppState,
    /// Where people reach it.
    pub people: SocketAddr,
    /// Where agents reach it.
    pub agents: SocketAddr,
    stop: CancellationToken,
    work: JoinSet<()>,
    postgres: Option<(Keeper, CancellationToken)>,
    _lock: data::Lock,
}

/// Starts everything. Returns when both listeners answer.
pub async fn start(options: Serve) -> anyhow::Result<Running> {
    Settings::terms(Duration::from_secs(options.heartbeat.into()), options.lease.into())
        .check()
        .context("--lease and --heartbeat do not go together")?;
    let lock = data::open(&options.data)?;
    let (store, postgres) = database(&options).await?;
    let started = on_database(&options, store.clone()).await;
    match started {
        Ok((app, people, agents, stop, work)) => {
            Ok(Running { app, people, agents, stop, work, postgres, _lock: lock })
        }
        Err(error) => {
            store.pool().close().await;
            stop_postgres(postgres).await;
            Err(error)
        }
    }
}

impl Running {
    /// Returns when some part has ended although nobody asked for it.
    pub async fn failed(&self) {
        self.stop.cancelled().await;
    }

    /// Stops taking work, lets connections finish for a moment, then stops the private Postgres.
    pub async fn stop(mut self) {
        tracing::info!("stopping");
        self.stop.cancel();
        while let Some(ended) = self.work.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a part of the control plane panicked");
            }
        }
        self.app.store.pool().close().await;
        stop_postgres(self.postgres).await;
    }
}

async fn stop_postgres(postgres: Option<(Keeper, CancellationToken)>) {
    if let Some((keeper, stop)) = postgres {
        stop.cancel();
        keeper.stopped().await;
    }
}

async fn database(options: &Serve) -> anyhow::Result<(Store, Option<(Keeper, CancellationToken)>)> {
    if let Some(url) = &options.database_url {
        let connect =
            url.parse().context("--database-url is no Postgres address (postgres://user@host/database)")?;
        let store = Store::new(connect);
        store.ping().await.context("cannot reach the database of --database-url")?;
        return Ok((store, None));
    }
    let stop = CancellationToken::new();
    let keeper = pg::start(&data::absolute(&options.data)?, stop.clone()).await?;
    Ok((Store::new(keeper.server().options(pg::DATABASE)), Some((keeper, stop))))
}

type Started = (AppState, SocketAddr, SocketAddr, CancellationToken, JoinSet<()>);

async fn on_database(options: &Serve, store: Store) -> anyhow::Result<Started> {
    store.migrate().await.context(
        "the database's schema cannot be brought up to date; it may be of a newer version, or not Squadron's own",
    )?;
    let identity = store.control_plane_id(ControlPlaneId(Uuid::now_v7()), clock::now()).await?;
    first::default_queue(&store).await?;
    first::admin_token(&store, &options.data).await?;
    let source = source(options)?;
    let live = Live::new(&source).context("there is no certificate to serve with")?;
    let people = bind(options.listen, "--listen").await?;
    let agents = bind(options.agent_listen, "--agent-listen").await?;
    let settings = settings(options, people.local_addr()?, source.bundle()?);
    let app = AppState::new(Shared { store, wake: Wake::default(), identity, settings });
    let (people_at, agents_at) = (people.local_addr()?, agents.local_addr()?);
    tracing::info!(people = %app.settings.public_url, agents = %agents_at, %identity, "the control plane is ready");
    let stop = CancellationToken::new();
    let work = work(&app, options, source, &live, people, agents, &stop)?;
    Ok((app, people_at, agents_at, stop, work))
}

fn source(options: &Serve) -> anyhow::Result<Source> {
    let given = (&options.tls_cert, &options.tls_key, &options.tls_ca);
    if let (Some(certificate), Some(key), Some(bundle)) = given {
        return Ok(Source::Given {
            certificate: certificate.clone(),
            key: key.clone(),
            bundle: bundle.clone(),
        });
    }
    Ok(Source::Own(Authority::open(&options.data, options.names())?))
}

async fn bind(address: SocketAddr, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another address with {flag}"))
}

fn settings(options: &Serve, people: SocketAddr, ca_bundle: String) -> Settings {
    let public_url = options.public_url.clone().unwrap_or_else(|| own_url(people));
    let heartbeat = Duration::from_secs(options.heartbeat.into());
    Settings {
        public_url: public_url.trim_end_matches('/').to_owned(),
        agent_address: options.agent_address.clone(),
        ca_bundle,
        heartbeat,
        lease: Settings::terms(heartbeat, options.lease.into()),
        finished_retention: Duration::from_secs(options.finished_retention.into()),
        protected_run: Duration::from_secs(options.protected_run.into()),
    }
}

/// An address that this machine's own browser reaches.
fn own_url(people: SocketAddr) -> String {
    if people.ip().is_unspecified() || people.ip().is_loopback() {
        format!("https://localhost:{}", people.port())
    } else {
        format!("https://{people}")
    }
}

fn work(
    app: &AppState,
    options: &Serve,
    source: Source,
    live: &Arc<Live>,
    people: TcpListener,
    agents: TcpListener,
    stop: &CancellationToken,
) -> anyhow::Result<JoinSet<()>> {
    let mut work = JoinSet::new();
    let https: Arc<ServerConfig> = tls::config(live, &[b"h2", b"http/1.1"])?;
    let grpc: Arc<ServerConfig> = tls::config(live, &[b"h2"])?;
    let (router, _table) = http::router(app, stop.clone());
    let manners = Manners { name: "people", doorman: None, streams: PEOPLE_STREAMS };
    spawn_part(&mut work, stop, listen::serve(people, https, router, manners, stop.clone()));
    let doorman = Doorman::new(options.strangers_per_address);
    let manners = Manners { name: "agents", doorman: Some(doorman), streams: AGENT_STREAMS };
    let serve = listen::serve(agents, grpc, link::router(app, stop.clone()), manners, stop.clone());
    spawn_part(&mut work, stop, serve);
    spawn_part(&mut work, stop, tasks::run_until(stop.clone(), app.clone()));
    spawn_until(&mut work, stop, tls::renew_forever(source, live.clone()));
    Ok(work)
}

/// Runs a part that ends after `stop`, and that stops everything if it ends before.
fn spawn_part(
    work: &mut JoinSet<()>,
    stop: &CancellationToken,
    part: impl Future<Output = ()> + Send + 'static,
) {
    let all = stop.clone().drop_guard();
    work.spawn(async move {
        let _all = all;
        part.await;
    });
}

/// The same for a part that is dropped at `stop`.
fn spawn_until(
    work: &mut JoinSet<()>,
    stop: &CancellationToken,
    task: impl Future<Output = ()> + Send + 'static,
) {
    let stopped = stop.clone();
    spawn_part(work, stop, async move {
        tokio::select! {
            () = stopped.cancelled() => {}
            () = task => {}
        }
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_part_that_panics_stops_all_parts() {
        let (mut work, stop) = (JoinSet::new(), CancellationToken::new());
        spawn_until(&mut work, &stop, std::future::pending());
        spawn_until(&mut work, &stop, async { panic!("a pass met what it did not expect") });
        let failed = tokio::time::timeout(Duration::from_secs(10), stop.cancelled()).await;
        assert!(failed.is_ok(), "whoever waits for a failure hears of it");
        let mut panics = 0;
        while let Some(ended) = work.join_next().await {
            panics += u32::from(ended.is_err());
        }
        assert_eq!(panics, 1, "the other part ended in peace");
    }
}
