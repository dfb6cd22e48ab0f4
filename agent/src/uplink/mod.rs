//! Link: the agent's end of the two connections to the control plane.
//!
//! Owns dialling, the proof of who we are, heartbeats, desired states and packages down and records up. Invariant: nothing is deleted
//! from the spool before the control plane acknowledged it, and no desired state is applied that is older than one we
//! had. A connection that ends, for whatever reason, is dialled anew with growing random pauses; being refused because
//! another life of the agent is in charge ends the process.

mod backoff;
mod control;
mod desired;
mod enrol;
mod home;
mod ingest;
mod key;
mod package;
mod peer;
mod token;

pub use control::Applied;
pub use home::Home;
pub use key::AgentKey;
pub use package::Incoming;
pub use peer::{Peer, PeerSettings};
pub use token::TokenFile;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use squadron_core::{id::AttemptId, lease::Standing};
use tokio::{sync::watch, task::JoinSet};

use self::backoff::Backoff;
use crate::{arrivals::Pictures, clock, lease::Lease, plan::Desired, spool::Spool};

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("cannot {step}: {cause}")]
    Failed { step: &'static str, cause: String },
    #[error("{0}")]
    Refused(String),
    /// Another life of the agent acts for this cluster; the next life must take an epoch above this.
    #[error("{message}")]
    Replaced { message: String, epoch_above: u64 },
    #[error("the control plane asks to come again in {0:?}")]
    ComeAgain(Duration),
    #[error("the control plane was silent for too long")]
    Silent,
    #[error("the connection ended")]
    Ended,
}

impl LinkError {
    pub(crate) fn at<E: std::fmt::Display>(step: &'static str) -> impl FnOnce(E) -> LinkError {
        move |cause| LinkError::Failed { step, cause: cause.to_string() }
    }
}

/// What the link works with.
pub struct Ends {
    pub spool: Spool,
    /// Newest desired state; starts with the one kept on disk.
    pub desired: watch::Sender<Option<Desired>>,
    pub applied: Applied,
    /// What is to be told on RayJobs that arrived here.
    pub pictures: watch::Sender<Pictures>,
    pub lease: Lease,
    /// Attempts that could start as soon as the control plane has committed that we accept them.
    pub accepts: watch::Receiver<BTreeSet<AttemptId>>,
    /// Beat interval that overrules the control plane's, if set.
    pub heartbeat: Option<Duration>,
}

/// Enrols if needed, then keeps both connections. Returns only when this life of the agent must end.
pub async fn run(peer: Arc<Peer>, ends: Ends) -> LinkError {
    let code = peer.code().map(str::to_owned);
    if let Some(code) = code {
        enrol::until_accepted(&peer, &code).await;
    }
    // Each connection is a task of its own: a disk that is slow for records must not delay heartbeats.
    let ends = Arc::new(ends);
    let mut connections = JoinSet::new();
    let (with, at) = (peer.clone(), ends.clone());
    connections
        .spawn(async move { keep("control", || control::converse(&with, &at), || at.longest_pause()).await });
    connections.spawn(async move { keep("ingest", || ingest::send(&peer, &ends), || Duration::MAX).await });
    match connections.join_next().await {
        Some(Ok(end)) => end,
        Some(Err(error)) => LinkError::Failed { step: "keep the connections", cause: error.to_string() },
        None => LinkError::Ended,
    }
}

impl Ends {
    /// The longest pause before dialling anew. While attempts are held that stop when the lease ends, pauses shrink with
    /// what is left of it, so that a cut that ends before the lease stops nothing.
    fn longest_pause(&self) -> Duration {
        let stops = |desired: &Desired| desired.attempts.values().any(|held| held.on_lost().stops_itself());
        if !self.desired.borrow().as_ref().is_some_and(stops) {
            return Duration::MAX;
        }
        let now = clock::tick();
        match self.lease.standing(now).0 {
            Standing::Held { until } => backoff::hurry(Duration::from_millis(until.since(now))),
            Standing::Unknown | Standing::Ended { .. } => Duration::MAX,
        }
    }
}

/// Dials again and again. Each call of `once` is one connection from dialling to its end; no pause is longer than `longest`,
/// unless the control plane asks for it.
async fn keep<F>(name: &'static str, once: impl Fn() -> F, longest: impl Fn() -> Duration) -> LinkError
where
    F: Future<Output = LinkError>,
{
    let mut backoff = Backoff::default();
    loop {
        let began = tokio::time::Instant::now();
        let end = once().await;
        let at_least = match &end {
            LinkError::Replaced { .. } => return end,
            LinkError::ComeAgain(pause) => *pause,
            _ => Duration::ZERO,
        };
        let pause = backoff.next(began.elapsed(), rand::random::<f64>()).min(longest()).max(at_least);
        tracing::warn!(connection = name, reason = %end, pause_ms = pause.as_millis(), "connection to the control plane ended");
        tokio::time::sleep(pause).await;
    }
}
