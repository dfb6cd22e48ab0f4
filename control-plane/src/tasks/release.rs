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

/// Steps between two times at which the duty is kept.
const AT_ONCE: usize = 50;

/// Lets go of everything that is due.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "release", holder).await? else { return Ok(Left::NotOurs) };
    let kept = i64::try_from(app.settings.finished_retention.as_millis()).unwrap_or(i64::MAX);
    let mut troubles = Troubles::default();
    let over = app.store.retention_over(clock::now().plus_millis(-kept)).await?;
    steps(app, &term, &over, Event::RetentionOver, &mut troubles).await?;
    let never = app.store.never_created().await?;
    steps(app, &term, &never, Event::NeverCreated, &mut troubles).await?;
    troubles.end(Left::Nothing)
}

async fn steps(
    app: &AppState,
    term: &Term,
    jobs: &[JobId],
    event: Event<'_>,
    troubles: &mut Troubles,
) -> Result<()> {
    for lot in jobs.chunks(AT_ONCE) {
        duty::still_ours(app, term).await?;
        for job in lot {
            troubles.bear(step(app, term, *job, event).await)?;
        }
    }
    Ok(())
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
