//! Changes: what the control streams of all clusters want to know of desired sets, read together.
//!
//! Invariant: what a stream gets was read after it asked, so a renewal that it knew to be committed then was committed before the
//! read. Many asks become one statement. Whole sets have a reader of their own, so that clusters that come back delay no change.
//! A read that fails is told by the answer that never comes; the stream asks again. What of a row cannot be read is logged once.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use squadron_core::{
    desired::Ask,
    id::{AttemptId, ClusterId},
};
use squadron_store::desired::Read;

use crate::{state::AppState, together::Together};

/// Asks in one statement; each answers at most about 1 MiB and one manifest.
const AT_ONCE: usize = 32;
/// Attempts of which the log says that they cannot be read; when there are more, something else is wrong.
const SAID: usize = 1_000;

/// Takes asks. Cheap to clone.
#[derive(Clone)]
pub struct Changes {
    app: AppState,
    changes: Arc<Desk>,
    whole: Arc<Desk>,
    said: Said,
}

type Desk = Together<(ClusterId, Ask), Option<Read>>;

/// Attempts of which the log said that they cannot be read.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<BTreeSet<AttemptId>>>);

/// The database could not be read.
pub struct Unread;

impl Changes {
    pub fn new(app: &AppState) -> Changes {
        let desk = || Arc::new(Desk::new(AT_ONCE));
        Changes { app: app.clone(), changes: desk(), whole: desk(), said: Said::default() }
    }

    /// Reads what `ask` asks for; nothing for a cluster that is gone.
    pub async fn read(&self, cluster: ClusterId, ask: Ask) -> Result<Option<Read>, Unread> {
        let desk = if ask.base.is_some() { &self.changes } else { &self.whole };
        let (app, said) = (self.app.clone(), self.said.clone());
        let work = move |asks: Vec<(ClusterId, Ask)>| {
            let (app, said) = (app.clone(), said.clone());
            async move { read(&app, &said, &asks).await }
        };
        desk.ask((cluster, ask), work).await.ok_or(Unread)
    }
}

async fn read(app: &AppState, said: &Said, asks: &[(ClusterId, Ask)]) -> Option<Vec<Option<Read>>> {
    let reads = app.store.desired_changes(asks).await;
    let reads = reads
        .inspect_err(|error| tracing::warn!(%error, "desired states could not be read; trying again"))
        .ok()?;
    for ((cluster, _), read) in asks.iter().zip(&reads) {
        for (attempt, problem) in read.iter().flat_map(|read| &read.unread) {
            if said.is_news(*attempt) {
                tracing::error!(%cluster, %attempt, problem, "a job is taken to wait for its cluster");
            }
        }
    }
    Some(reads)
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
