//! Changes: what the control streams of all clusters want to know of desired sets, read together.
//!
//! Invariant: what a stream gets was read after it asked, so a renewal that it knew to be committed then was committed before the
//! read. Many asks become one statement. Whole sets have a reader of their own, so that clusters that come back delay no change.
//! A read that fails is told by the answer that never comes; the stream asks again. What of a row cannot be read is logged once.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use squadron_core::{
    desired::Ask,
    id::{AttemptId, ClusterId},
};
use squadron_store::desired::Read;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::state::AppState;

/// Asks in one statement; each answers at most about 1 MiB and one manifest.
const AT_ONCE: usize = 32;
/// Attempts of which the log says that they cannot be read; when there are more, something else is wrong.
const SAID: usize = 1_000;

/// Takes asks. Cheap to clone.
#[derive(Clone)]
pub struct Changes {
    changes: Arc<Desk>,
    whole: Arc<Desk>,
}

#[derive(Default)]
struct Desk {
    waiting: Mutex<Vec<Waiting>>,
    asked: Notify,
}

/// Attempts of which the log said that they cannot be read.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<BTreeSet<AttemptId>>>);

struct Waiting {
    cluster: ClusterId,
    ask: Ask,
    answer: oneshot::Sender<Option<Read>>,
}

/// The database could not be read.
pub struct Unread;

impl Changes {
    pub fn start(app: &AppState, stop: &CancellationToken) -> Changes {
        let said = Said::default();
        let desk = || {
            let desk = Arc::new(Desk::default());
            let (reader, app, stop, said) = (desk.clone(), app.clone(), stop.clone(), said.clone());
            // Whatever way this ends, the rest of the control plane must not go on without it.
            let all = stop.clone().drop_guard();
            tokio::spawn(async move {
                let _all = all;
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = reader.read_forever(&app, &said) => {}
                }
            });
            desk
        };
        Changes { changes: desk(), whole: desk() }
    }

    /// Reads what `ask` asks for; nothing for a cluster that is gone.
    pub async fn read(&self, cluster: ClusterId, ask: Ask) -> Result<Option<Read>, Unread> {
        let desk = if ask.base.is_some() { &self.changes } else { &self.whole };
        let (answer, answered) = oneshot::channel();
        desk.waiting().push(Waiting { cluster, ask, answer });
        desk.asked.notify_one();
        answered.await.map_err(|_never| Unread)
    }
}

impl Desk {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read_forever(&self, app: &AppState, said: &Said) {
        loop {
            self.asked.notified().await;
            loop {
                let next = self.next();
                if next.is_empty() {
                    break;
                }
                read(app, said, next).await;
            }
        }
    }

    /// The asks that waited longest.
    fn next(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting();
        let count = waiting.len().min(AT_ONCE);
        waiting.drain(..count).collect()
    }
}

async fn read(app: &AppState, said: &Said, waiting: Vec<Waiting>) {
    let asks: Vec<_> = waiting.iter().map(|one| (one.cluster, one.ask)).collect();
    match app.store.desired_changes(&asks).await {
        Ok(reads) => {
            for (one, read) in waiting.into_iter().zip(reads) {
                for (attempt, problem) in read.iter().flat_map(|read| &read.unread) {
                    if said.is_news(*attempt) {
                        tracing::error!(cluster = %one.cluster, %attempt, problem, "a job is taken to wait for its cluster");
                    }
                }
                // A stream that ended meanwhile needs no answer.
                let _ended = one.answer.send(read);
            }
        }
        Err(error) => tracing::warn!(%error, "desired states could not be read; trying again"),
    }
}

impl Said {
    fn is_news(&self, attempt: AttemptId) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.len() < SAID && said.insert(attempt)
    }
}

#[cfg(test)]
mod tests {
    use squadron_core::id::JobId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_cannot_be_read_is_said_once_of_each_and_not_without_end() {
        let (said, attempt) = (Said::default(), |number| AttemptId { job: JobId(Uuid::nil()), number });
        assert!(said.is_news(attempt(1)) && !said.clone().is_news(attempt(1)) && said.is_news(attempt(2)));
        assert_eq!((3..5_000).filter(|number| said.is_news(attempt(*number))).count(), SAID - 2);
    }
}
