//! Standings: what streams need to know of their cluster, read for all of them at once.
//!
//! Invariant: a stream sees a change within one poll, sooner with a hint. While the database is away the last standings
//! stay, and no stream ends.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use squadron_core::id::ClusterId;
use squadron_store::{Result, cluster::agent::Standing};
use tokio_util::sync::CancellationToken;

use super::newest::{self, Newest, Of};
use crate::{state::AppState, wake::Topic};

/// The newest standings. Cheap to clone.
#[derive(Clone)]
pub struct Registry(Newest<Standing>);

impl Registry {
    pub fn start(app: AppState, stop: CancellationToken) -> Registry {
        let topics = [Topic::Desired, Topic::Clusters];
        let of = Of { what: "the clusters' standings", topics, pause: Duration::from_millis(25) };
        Registry(Newest::start(app, stop, of, read))
    }

    /// Whether the cluster existed when standings were last read; every one does before the first read.
    pub fn knows(&self, cluster: ClusterId) -> bool {
        self.0.knows(cluster)
    }

    /// The cluster's standing from now on.
    pub fn follow(&self, cluster: ClusterId) -> Follow {
        Follow(self.0.follow(cluster))
    }
}

fn read(app: &AppState) -> BoxFuture<'_, Result<BTreeMap<ClusterId, Standing>>> {
    app.store.standings().boxed()
}

/// One cluster's standing.
pub struct Follow(newest::Follow<Standing>);

impl Follow {
    /// As last read; absent before the first read and for clusters that are gone.
    pub fn now(&mut self) -> Option<Arc<Standing>> {
        self.0.borrow_and_update().clone()
    }

    /// Returns when it changed.
    pub async fn changed(&mut self) {
        newest::changed(&mut self.0).await;
    }
}
