//! Leases: renewals of all streams, committed together; each stream then tells its agent what was promised.
//!
//! Invariant: a lease is told only after its renewal was committed, so whoever gives up an attempt under the lock of the
//! renewal knows of it. While the database is away nothing is promised, and agents count down. Repaired by the next
//! heartbeat.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use squadron_core::{
    id::{AttemptId, ClusterId, Epoch},
    lease::{Renewal, is_news},
};
use squadron_proto::link::{Accept, Heartbeat, Lease};
use squadron_store::cluster::lease::{Asked, Promise};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::stream::Session;
use crate::state::AppState;

/// Renewals that come within this time are committed together.
const GATHER: Duration = Duration::from_millis(25);
const TRY_AGAIN: Duration = Duration::from_millis(250);
/// Attempts that are accepted at a time.
const MOST_ACCEPTED: usize = 500;

/// Takes renewals. Cheap to clone.
#[derive(Clone, Default)]
pub struct Renewals(Arc<Hub>);

#[derive(Default)]
struct Hub {
    book: Mutex<Book>,
    asked: Notify,
}

#[derive(Default)]
struct Book {
    waiting: BTreeMap<ClusterId, Asked>,
    promised: BTreeMap<ClusterId, watch::Sender<Option<Promise>>>,
}

impl Renewals {
    pub fn start(app: AppState, stop: CancellationToken) -> Renewals {
        let renewals = Renewals::default();
        let writer = renewals.clone();
        // Whatever way this ends, the rest of the control plane must not go on without it.
        let all = stop.clone().drop_guard();
        tokio::spawn(async move {
            let _all = all;
            tokio::select! {
                () = stop.cancelled() => {}
                () = writer.commit_forever(&app) => {}
            }
        });
        renewals
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn commit_forever(&self, app: &AppState) {
        loop {
            self.0.asked.notified().await;
            tokio::time::sleep(GATHER).await;
            let waiting = std::mem::take(&mut self.book().waiting);
            let asked: Vec<(ClusterId, Asked)> = waiting.into_iter().collect();
            match app.store.renew(&asked).await {
                Ok(promises) => self.tell(&promises),
                Err(error) => {
                    tracing::warn!(%error, "renewals of leases could not be committed; trying again");
                    tokio::time::sleep(TRY_AGAIN).await;
                    self.put_back(asked);
                }
            }
        }
    }

    fn tell(&self, promises: &BTreeMap<ClusterId, Promise>) {
        let mut book = self.book();
        for (cluster, promise) in promises {
            if let Some(follower) = book.promised.get(cluster) {
                follower.send_replace(Some(*promise));
            }
        }
        // Nobody follows a cluster whose streams have ended.
        book.promised.retain(|_, follower| follower.receiver_count() > 0);
    }

    /// Renewals that could not be committed wait for the next round, unless a newer one came.
    fn put_back(&self, renewals: Vec<(ClusterId, Asked)>) {
        let mut book = self.book();
        for (cluster, asked) in renewals {
            book.waiting.entry(cluster).or_insert(asked);
        }
        self.0.asked.notify_one();
    }
}

/// The renewals of one stream.
pub struct Leases {
    renewals: Renewals,
    cluster: ClusterId,
    epoch: Epoch,
    /// Length of a lease in milliseconds.
    ttl: u64,
    promised: watch::Receiver<Option<Promise>>,
}

impl Leases {
    pub fn follow(session: &Session) -> Leases {
        let (renewals, cluster) = (session.service.renewals.clone(), session.guest.cluster);
        let promised = {
            let mut book = renewals.book();
            book.promised.entry(cluster).or_insert_with(|| watch::channel(None).0).subscribe()
        };
        let ttl = session.service.app.settings.lease.ttl;
        Leases { renewals, cluster, epoch: session.epoch, ttl, promised }
    }

    /// Asks for the renewal that a heartbeat is.
    pub fn ask(&self, beat: &Heartbeat) {
        let renewal = Renewal { epoch: self.epoch, number: beat.number, ttl: self.ttl };
        let asked = Asked { renewal, noted: beat.renewals };
        let mut book = self.renewals.book();
        let newest = book.waiting.entry(self.cluster).or_insert(asked);
        if is_news(&newest.renewal, renewal.epoch, renewal.number) {
            *newest = asked;
        }
        self.renewals.0.asked.notify_one();
    }

    /// Number of the newest renewal of this life that is known to be committed; 0 before the first.
    pub fn committed(&self) -> u64 {
        let promised = *self.promised.borrow();
        promised
            .filter(|promise| promise.renewal.epoch == self.epoch)
            .map_or(0, |promise| promise.renewal.number)
    }

    /// The next promise to this life.
    async fn next(&mut self) -> Lease {
        loop {
            if self.promised.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let promised = *self.promised.borrow_and_update();
            if let Some(promise) = promised.filter(|promise| promise.renewal.epoch == self.epoch) {
                return Lease {
                    number: promise.renewal.number,
                    lease_ms: promise.renewal.ttl,
                    generation: promise.generation,
                    timeline: promise.timeline,
                    renewals: promise.renewals,
                    wants_holdings: promise.wants_holdings,
                };
            }
        }
    }
}

/// The next promise to an agent that holds leases; never for another.
pub async fn next(leases: &mut Option<Leases>) -> Lease {
    match leases {
        Some(leases) => leases.next().await,
        None => std::future::pending().await,
    }
}

/// The attempts that an agent accepts; what cannot be read is left out.
pub fn accepted(accept: &Accept) -> Vec<AttemptId> {
    let read = accept.attempts.iter().take(MOST_ACCEPTED);
    read.filter_map(|attempt| Some(AttemptId { job: attempt.job_id.parse().ok()?, number: attempt.number }))
        .collect()
}
