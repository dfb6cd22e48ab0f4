//! Wake: tells tasks and streams that there may be work, and browsers that something changed.
//!
//! Invariant: a wake-up is a hint. Whoever waits here also looks after its own interval, so a lost hint costs time and
//! nothing else. A listener never misses a hint that came while it was working, and many hints become one.

use std::{sync::Arc, time::Duration};

use squadron_api::Change;
use tokio::sync::{broadcast, watch};

/// What there may be work on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Facts were committed; the projectors read them.
    Facts,
    /// A job, a cluster or the room in a cluster changed; the dispatcher looks.
    Dispatch,
    /// The attempts that some cluster should hold changed; control streams look.
    Desired,
    /// A cluster's standing changed (accepted, revoked, superseded); link streams look.
    Clusters,
    /// Log chunks were committed; those who follow a log look.
    Logs,
}

const TOPICS: usize = 5;
/// Changes that a slow browser may lag behind before it is told to fetch everything again.
const BACKLOG: usize = 1024;

/// The hub. Cheap to clone.
#[derive(Clone)]
pub struct Wake(Arc<Hub>);

struct Hub {
    topics: [watch::Sender<()>; TOPICS],
    changes: broadcast::Sender<Change>,
}

impl Default for Wake {
    fn default() -> Self {
        let topics = std::array::from_fn(|_| watch::channel(()).0);
        Wake(Arc::new(Hub { topics, changes: broadcast::channel(BACKLOG).0 }))
    }
}

impl Wake {
    /// There may be work on `topic`.
    pub fn notify(&self, topic: Topic) {
        self.0.topics[topic as usize].send_replace(());
    }

    /// From now on, hints on `topic`.
    pub fn listen(&self, topic: Topic) -> Listener {
        Listener(self.0.topics[topic as usize].subscribe())
    }

    /// Something that people look at changed; browsers fetch it again.
    #[allow(clippy::needless_pass_by_value, reason = "ids and texts alike, as they come")]
    pub fn changed(&self, kind: &str, id: impl ToString, version: i64) {
        // An error says that nobody listens.
        let _nobody = self.0.changes.send(Change { kind: kind.to_owned(), id: id.to_string(), version });
    }

    /// From now on, every change.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.changes.subscribe()
    }
}

/// Waits for hints on one topic.
pub struct Listener(watch::Receiver<()>);

impl Listener {
    /// Returns at the next hint (at once, if one came since the last call), or after `at_most`.
    pub async fn next(&mut self, at_most: Duration) {
        // The hub outlives its listeners; if it ever went first, waiting out the interval is right.
        if let Ok(Err(_closed)) = tokio::time::timeout(at_most, self.0.changed()).await {
            tokio::time::sleep(at_most).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_hint_that_came_during_work_is_not_lost() {
        let wake = Wake::default();
        let mut listener = wake.listen(Topic::Facts);
        wake.notify(Topic::Facts);
        wake.notify(Topic::Facts);
        let started = tokio::time::Instant::now();
        listener.next(LONG).await;
        assert_eq!(started.elapsed(), Duration::ZERO);
        listener.next(LONG).await;
        assert_eq!(started.elapsed(), LONG, "two hints became one, and other waits end by themselves");
    }

    #[tokio::test(start_paused = true)]
    async fn topics_do_not_wake_each_other() {
        let wake = Wake::default();
        let mut listener = wake.listen(Topic::Desired);
        wake.notify(Topic::Facts);
        let started = tokio::time::Instant::now();
        listener.next(LONG).await;
        assert_eq!(started.elapsed(), LONG);
    }
}
