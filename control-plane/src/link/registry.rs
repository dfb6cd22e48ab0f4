//! Standings: what streams need to know of their cluster, read for all of them at once.
//!
//! Invariant: a stream sees a change within one poll, sooner with a hint. While the database is away the last standings
//! stay, and no stream ends.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use squadron_core::id::ClusterId;
use squadron_store::cluster::agent::Standing;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{state::AppState, wake::Topic};

const POLL: Duration = Duration::from_millis(500);

type Standings = Arc<BTreeMap<ClusterId, Standing>>;

/// The newest standings. Cheap to clone.
#[derive(Clone)]
pub struct Registry(watch::Receiver<Standings>);

impl Registry {
    pub fn start(app: AppState, stop: CancellationToken) -> Registry {
        let (sender, receiver) = watch::channel(Standings::default());
        // Whatever way this ends, the rest of the control plane must not go on without it.
        let all = stop.clone().drop_guard();
        tokio::spawn(async move {
            let _all = all;
            tokio::select! {
                () = stop.cancelled() => {}
                () = poll_forever(&app, &sender) => {}
            }
        });
        Registry(receiver)
    }

    /// Whether the cluster existed when standings were last read; every one does before the first read.
    pub fn knows(&self, cluster: ClusterId) -> bool {
        let standings = self.0.borrow();
        standings.is_empty() || standings.contains_key(&cluster)
    }

    /// The cluster's standing from now on.
    pub fn follow(&self, cluster: ClusterId) -> Follow {
        Follow { cluster, standings: self.0.clone() }
    }
}

async fn poll_forever(app: &AppState, sender: &watch::Sender<Standings>) {
    let (mut desired, mut clusters) = (app.wake.listen(Topic::Desired), app.wake.listen(Topic::Clusters));
    let mut failing = false;
    loop {
        match app.store.standings().await {
            Ok(newest) => {
                failing = false;
                sender.send_if_modified(|known| {
                    let differs = **known != newest;
                    *known = Arc::new(newest);
                    differs
                });
            }
            Err(_) if failing => {}
            Err(error) => {
                failing = true;
                tracing::warn!(%error, "the clusters' standings could not be read; the last ones stay");
            }
        }
        tokio::select! {
            () = desired.next(POLL) => {}
            () = clusters.next(POLL) => {}
        }
    }
}

/// One cluster's standing.
pub struct Follow {
    cluster: ClusterId,
    standings: watch::Receiver<Standings>,
}

impl Follow {
    /// As last read; absent before the first read and for clusters that are gone.
    pub fn now(&mut self) -> Option<Standing> {
        self.standings.borrow_and_update().get(&self.cluster).cloned()
    }

    /// Returns when some standing changed.
    pub async fn changed(&mut self) {
        if self.standings.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
