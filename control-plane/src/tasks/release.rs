//! Letting go: finished RayJobs after their retention, and stopped attempts that no agent ever made.

use squadron_core::{
    attempt::{Event, advance as decide},
    id::JobId,
};
use squadron_store::{
    Result,
    job::advance,
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, duty, troubles::Troubles};
use crate::{clock, state::AppState, wake::Topic};

/// Lets go of everything that is due.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "release", holder).await? else { return Ok(Left::NotOurs) };
    let kept = i64::try_from(app.settings.finished_retention.as_millis()).unwrap_or(i64::MAX);
    let mut troubles = Troubles::default();
    for job in app.store.retention_over(clock::now().plus_millis(-kept)).await? {
        troubles.bear(step(app, &term, job, Event::RetentionOver).await)?;
    }
    for job in app.store.never_created().await? {
        troubles.bear(step(app, &term, job, Event::NeverCreated).await)?;
    }
    troubles.end(Left::Nothing)
}

async fn step(app: &AppState, term: &Term, job: JobId, event: Event<'_>) -> Result<()> {
    let version = app
        .store
        .txn("release", &(term, job, event), |db, (term, job, event)| {
            Box::pin(async move {
                term::check(db, term).await?;
                let Some(before) = advance::lock(db, *job).await? else { return Ok(None) };
                match decide(&before, *event, clock::now()) {
                    Ok(step) => advance::save(db, &step).await.map(Some),
                    Err(_changed_meanwhile) => Ok(None),
                }
            })
        })
        .await?;
    if let Some(version) = version {
        app.wake.changed("job", job, version);
        app.wake.notify(Topic::Desired);
        app.wake.notify(Topic::Dispatch);
    }
    Ok(())
}
