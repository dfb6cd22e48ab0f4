//! Newest: values by cluster that are read from the database again and again, once for all streams.
//!
//! Invariant: a stream is woken by a change of its own cluster's value only. While the database cannot be read the last values
//! stay, and the log says so once. If the reader ever ended, the whole control plane would end with it rather than go on with old
//! values.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::{BoxFuture, select};
use squadron_core::id::ClusterId;
use squadron_store::Result;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{state::AppState, wake::Topic};

/// How often the value is read while no hint comes.
const POLL: Duration = Duration::from_millis(500);

/// Which values are read, and when.
pub struct Of {
    /// Names the values in the log.
    pub what: &'static str,
    pub topics: [Topic; 2],
    /// At least so long after a read comes no other.
    pub pause: Duration,
}

/// The newest values of all clusters. Cheap to clone.
pub struct Newest<T>(Arc<Mutex<Book<T>>>);

struct Book<T> {
    /// Nothing was read yet.
    unread: bool,
    values: BTreeMap<ClusterId, Arc<T>>,
    followers: BTreeMap<ClusterId, watch::Sender<Option<Arc<T>>>>,
}

/// One cluster's value as last read; absent before the first read and for a cluster that has none.
pub type Follow<T> = watch::Receiver<Option<Arc<T>>>;

impl<T> Clone for Newest<T> {
    fn clone(&self) -> Self {
        Newest(self.0.clone())
    }
}

impl<T> Default for Newest<T> {
    fn default() -> Self {
        let book = Book { unread: true, values: BTreeMap::new(), followers: BTreeMap::new() };
        Newest(Arc::new(Mutex::new(book)))
    }
}

impl<T: PartialEq + Send + Sync + 'static> Newest<T> {
    /// Reads after every hint on one of the topics and twice a second.
    pub fn start<R>(app: AppState, stop: CancellationToken, of: Of, read: R) -> Newest<T>
    where
        R: for<'a> Fn(&'a AppState) -> BoxFuture<'a, Result<BTreeMap<ClusterId, T>>> + Send + Sync + 'static,
    {
        let newest = Newest::default();
        let kept = newest.clone();
        let all = stop.clone().drop_guard();
        tokio::spawn(async move {
            let _all = all;
            tokio::select! {
                () = stop.cancelled() => {}
                () = kept.forever(&app, of, read) => {}
            }
        });
        newest
    }

    async fn forever<R>(&self, app: &AppState, of: Of, read: R)
    where
        R: for<'a> Fn(&'a AppState) -> BoxFuture<'a, Result<BTreeMap<ClusterId, T>>>,
    {
        let [mut one, mut other] = of.topics.map(|topic| app.wake.listen(topic));
        let mut failing = false;
        loop {
            match read(app).await {
                Ok(newest) => {
                    failing = false;
                    self.keep(newest);
                }
                Err(_) if failing => {}
                Err(error) => {
                    failing = true;
                    tracing::warn!(%error, "{} could not be read; what was read last stays", of.what);
                }
            }
            // The first hint is followed at once; those of a burst become one.
            tokio::time::sleep(of.pause).await;
            select(pin!(one.next(POLL)), pin!(other.next(POLL))).await;
        }
    }

    fn book(&self) -> MutexGuard<'_, Book<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what was read, and wakes those whose value differs.
    pub(super) fn keep(&self, newest: BTreeMap<ClusterId, T>) {
        let mut book = self.book();
        let before = std::mem::take(&mut book.values);
        let kept = |(cluster, value): (ClusterId, T)| {
            let same = before.get(&cluster).filter(|known| ***known == value);
            (cluster, same.cloned().unwrap_or_else(|| Arc::new(value)))
        };
        book.values = newest.into_iter().map(kept).collect();
        book.unread = false;
        // Nobody follows a cluster whose streams have ended.
        book.followers.retain(|_, follower| follower.receiver_count() > 0);
        for (cluster, follower) in &book.followers {
            let value = book.values.get(cluster);
            follower.send_if_modified(|known| {
                let differs = known.as_ref().map(Arc::as_ptr) != value.map(Arc::as_ptr);
                *known = value.cloned();
                differs
            });
        }
    }

    /// Whether the cluster had a value when they were last read; every one has before the first read.
    pub fn knows(&self, cluster: ClusterId) -> bool {
        let book = self.book();
        book.unread || book.values.contains_key(&cluster)
    }

    /// The cluster's value from now on.
    pub fn follow(&self, cluster: ClusterId) -> Follow<T> {
        let mut book = self.book();
        let value = book.values.get(&cluster).cloned();
        book.followers.entry(cluster).or_insert_with(|| watch::channel(value).0).subscribe()
    }
}

/// Returns when the value changed.
pub async fn changed<T>(value: &mut Follow<T>) {
    if value.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn values(pairs: [(u128, u32); 2]) -> BTreeMap<ClusterId, u32> {
        pairs.into_iter().map(|(id, value)| (ClusterId(Uuid::from_u128(id)), value)).collect()
    }

    #[test]
    fn only_those_are_woken_whose_value_differs() {
        let newest = Newest::<u32>::default();
        let [east, west] = [1, 2].map(|id| ClusterId(Uuid::from_u128(id)));
        assert!(newest.knows(east), "nothing was read yet");
        let (mut at_east, mut at_west) = (newest.follow(east), newest.follow(west));
        newest.keep(values([(1, 7), (2, 7)]));
        assert!(at_east.has_changed().unwrap_or(false) && at_west.has_changed().unwrap_or(false));
        assert_eq!(at_east.borrow_and_update().as_deref(), Some(&7));
        at_west.mark_unchanged();
        newest.keep(values([(1, 8), (2, 7)]));
        assert!(at_east.has_changed().unwrap_or(false) && !at_west.has_changed().unwrap_or(true));
        newest.keep(BTreeMap::new());
        assert_eq!((at_west.borrow_and_update().as_deref(), newest.knows(west)), (None, false));
        assert_eq!(newest.follow(east).borrow().as_deref(), None);
    }
}
