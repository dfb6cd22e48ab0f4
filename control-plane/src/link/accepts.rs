//! Accepts: what the agents of all clusters are ready to start, committed together.
//!
//! Invariant: nothing is lost by a turn that fails: what it held is committed alone. What the database cannot take then is said
//! again by its agent, with a heartbeat.

use std::sync::Arc;

use squadron_store::{Result, accept::Acceptance};

use crate::{state::AppState, together::Together, wake::Topic};

/// Acceptances in one transaction.
const AT_ONCE: usize = 100;

/// Takes acceptances. Cheap to clone.
#[derive(Clone)]
pub struct Accepts {
    app: AppState,
    desk: Arc<Together<Acceptance, ()>>,
}

impl Accepts {
    pub fn new(app: &AppState) -> Accepts {
        Accepts { app: app.clone(), desk: Arc::new(Together::new(AT_ONCE)) }
    }

    /// Returns when it is committed, or could not be.
    pub async fn take(&self, said: Acceptance) {
        let app = self.app.clone();
        let work = move |all: Vec<Acceptance>| {
            let app = app.clone();
            async move { commit(&app, &all).await.ok().map(|()| vec![(); all.len()]) }
        };
        if self.desk.ask(said.clone(), work).await.is_none()
            && let Err(error) = commit(&self.app, &[said]).await
        {
            tracing::warn!(%error, "accepted attempts wait for the database");
        }
    }
}

/// The desired state tells the agents.
async fn commit(app: &AppState, said: &[Acceptance]) -> Result<()> {
    if !app.store.accept(said).await?.is_empty() {
        app.wake.notify(Topic::Desired);
    }
    Ok(())
}
