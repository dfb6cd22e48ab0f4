//! Standings: what streams need to know of their cluster, read for all of them at once.
//!
//! Invariant: a stream sees a change within one poll, sooner with a hint. While the database is away the last standings
//! stay, and no stream ends.

use std::collections::BTreeMap;

use futures::{FutureExt as _, future::BoxFuture};
use squadron_core::id::ClusterId;
use squadron_store::{Result, cluster::agent::Standing};
use tokio_util::sync::CancellationToken;

use super::newest::{self, Newest};
use crate::{state::AppState, wake::Topic};

type Standings = BTreeMap<ClusterId, Standing>;

/// The newest standings. Cheap to clone.
#[derive(Clone)]
pub struct Registry(Newest<Standings>);

impl Registry {
    pub fn start(app: AppState, stop: CancellationToken) -> Registry {
        let topics = [Topic::Desired, Topic::Clusters];
        Registry(newest::start(app, stop, topics, "the clusters' standings", read))
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

fn read(app: &AppState) -> BoxFuture<'_, Result<Standings>> {
    app.store.standings().boxed()
}

/// One cluster's standing.
pub struct Follow {
    cluster: ClusterId,
    standings: Newest<Standings>,
}

impl Follow {
    /// As last read; absent before the first read and for clusters that are gone.
    pub fn now(&mut self) -> Option<Standing> {
        self.standings.borrow_and_update().get(&self.cluster).cloned()
    }

    /// Returns when some standing changed.
    pub async fn changed(&mut self) {
        newest::changed(&mut self.standings).await;
    }
}
