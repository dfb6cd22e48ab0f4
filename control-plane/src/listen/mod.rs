//! Listeners: accept, handshake, serve, for people and for agents alike.
//!
//! Invariant: whoever has not said who they are holds little and not for long. A handshake takes one of the common places
//! only once the other side has spoken, an address may shake so many hands at once, and both have deadlines; on the agent listener an address may hold a limited number of strangers, and a stranger is cut off after the
//! time for handshake and hello. Running out of file descriptors slows the accepting down instead of spinning.

mod visit;

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Extension, Router};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use rustls::{ServerConfig, server::Acceptor};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::visit::{Doorman, Visit};

const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);
/// From the end of the handshake to the first word of who it is.
const HELLO_DEADLINE: Duration = Duration::from_secs(5);
/// From the other side's first message to the end of the handshake.
const ANSWER_DEADLINE: Duration = Duration::from_secs(3);
const HANDSHAKES_AT_ONCE: usize = 64;
/// Connections of one address that have not finished their handshake.
const HANDSHAKES_PER_ADDRESS: usize = 32;
/// Pause after an accept that failed for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections may finish what they do when we stop.
const DRAIN: Duration = Duration::from_secs(5);
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_DEADLINE: Duration = Duration::from_secs(10);
const HEADER_LIMIT: u32 = 16 * 1024;

/// How a listener treats its guests.
#[derive(Clone)]
pub struct Manners {
    /// Word for the log.
    pub name: &'static str,
    /// Cuts off connections that have not authenticated in time, and limits them per address.
    pub doorman: Option<Doorman>,
    /// HTTP/2 streams per connection.
    pub streams: u32,
}

/// Serves until `stop` is cancelled, then lets connections finish for a moment.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    service: Router,
    manners: Manners,
    stop: CancellationToken,
) {
    let house = House {
        tls,
        porter: Doorman::new(HANDSHAKES_PER_ADDRESS),
        handshakes: Arc::new(Semaphore::new(HANDSHAKES_AT_ONCE)),
        service,
        manners,
        stop: stop.clone(),
    };
    let guests = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => house.receive(&guests, stream, from),
            Err(error) => pause(house.manners.name, &error).await,
        }
    }
    drop(listener);
    guests.close();
    if tokio::time::timeout(DRAIN, guests.wait()).await.is_err() {
        tracing::info!(
            listener = house.manners.name,
            open = guests.len(),
            "cutting off connections that still run"
        );
    }
}

/// A connection that ended before it was accepted is no reason to wait; everything else is.
async fn pause(name: &str, error: &io::Error) {
    if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        return;
    }
    tracing::warn!(listener = name, %error, "a connection could not be accepted; waiting a moment");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}

#[derive(Clone)]
struct House {
    tls: Arc<ServerConfig>,
    /// Counts handshakes by address.
    porter: Doorman,
    handshakes: Arc<Semaphore>,
    service: Router,
    manners: Manners,
    stop: CancellationToken,
}

impl House {
    fn receive(&self, guests: &TaskTracker, stream: TcpStream, from: SocketAddr) {
        let Some(shaking) = self.porter.admit(from.ip()) else {
            tracing::debug!(listener = self.manners.name, %from, "too many handshakes of this address");
            return;
        };
        let visit = match &self.manners.doorman {
            None => Visit::unwatched(from.ip()),
            Some(doorman) => match doorman.admit(from.ip()) {
                Some(visit) => visit,
                None => {
                    tracing::warn!(%from, "too many connections of this address have not said who they are");
                    return;
                }
            },
        };
        let house = self.clone();
        guests.spawn(async move {
            let shaken = house.handshake(stream, from).await;
            drop(shaking);
            if let Some(stream) = shaken {
                house.host(stream, visit).await;
            }
        });
    }

    async fn handshake(&self, stream: TcpStream, from: SocketAddr) -> Option<TlsStream<TcpStream>> {
        let done = tokio::time::timeout(HANDSHAKE_DEADLINE, async {
            let _quick = stream.set_nodelay(true);
            let started = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
            let _turn = self.handshakes.acquire().await;
            tokio::time::timeout(ANSWER_DEADLINE, started.into_stream(self.tls.clone())).await?
        });
        match done.await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(listener = self.manners.name, %from, %error, "a TLS handshake failed");
                None
            }
            Err(_late) => {
                tracing::debug!(listener = self.manners.name, %from, "a TLS handshake took too long");
                None
            }
        }
    }

    async fn host(&self, stream: TlsStream<TcpStream>, visit: Visit) {
        let service = TowerToHyperService::new(self.service.clone().layer(Extension(visit.clone())));
        let builder = self.builder();
        let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let mut watched = self.manners.doorman.is_some();
        let mut deadline = pin!(tokio::time::sleep(HELLO_DEADLINE));
        let mut stopping = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(listener = self.manners.name, %error, "a connection ended");
                    }
                    return;
                }
                () = self.stop.cancelled(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = deadline.as_mut(), if watched => {
                    watched = false;
                    if !visit.is_known() {
                        tracing::debug!(listener = self.manners.name, "cut off: it did not say who it is");
                        return;
                    }
                }
            }
        }
    }

    fn builder(&self) -> Builder<TokioExecutor> {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE_DEADLINE);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_DEADLINE)
            .max_concurrent_streams(self.manners.streams)
            .max_header_list_size(HEADER_LIMIT)
            .initial_stream_window_size(256 * 1024)
            .initial_connection_window_size(1024 * 1024)
            .adaptive_window(false)
            .max_pending_accept_reset_streams(20)
            .max_local_error_reset_streams(64);
        builder
    }
}
