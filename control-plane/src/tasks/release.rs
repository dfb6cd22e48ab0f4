//! Letting go: finished RayJobs after their retention, and stopped attempts that no agent ever made.
//!
//! Invariant: many are let go in one transaction and in a fixed number of statements; a job that changed meanwhile is left
//! out. A row that cannot be read or written keeps no other one: where a transaction fails, each job is tried alone.

use std::{collections::BTreeMap, slice};

use squadron_core::{
    attempt::{Event, Step, advance as decide},
    id::JobId,
};
use squadron_store::{
    Result,
    attempt::DUE,
    job::advance,
    term::{self, Term},
};
use uuid::Uuid;

use super::{
    Left, duty,
    troubles::{Troubles, concerns_all},
};
use crate::{clock, state::AppState, wake::Topic};

/// Lets go of everything that is due.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "release", holder).await? else { return Ok(Left::NotOurs) };
    let kept = i64::try_from(app.settings.finished_retention.as_millis()).unwrap_or(i64::MAX);
    let mut troubles = Troubles::default();
    let finished = app.store.retention_over(clock::now().plus_millis(-kept)).await?;
    let mut gone = let_go(app, &term, &finished, Event::RetentionOver, &mut troubles).await?;
    let stopped = app.store.never_created().await?;
    gone += let_go(app, &term, &stopped, Event::NeverCreated, &mut troubles).await?;
    troubles.end(if gone >= DUE { Left::More } else { Left::Nothing })
}

/// Takes the event to these jobs; answers how many it changed.
async fn let_go(
    app: &AppState,
    term: &Term,
    jobs: &[JobId],
    event: Event<'_>,
    troubles: &mut Troubles,
) -> Result<usize> {
    if jobs.is_empty() {
        return Ok(0);
    }
    match commit(app, term, jobs, event).await {
        Ok(count) => Ok(count),
        Err(error) if concerns_all(&error) => Err(error),
        Err(_) => {
            let mut count = 0;
            for job in jobs {
                duty::still_ours(app, term).await?;
                let alone = commit(app, term, slice::from_ref(job), event).await;
                troubles.bear(alone.map(|one| count += one))?;
            }
            Ok(count)
        }
    }
}

async fn commit(app: &AppState, term: &Term, jobs: &[JobId], event: Event<'_>) -> Result<usize> {
    let versions: BTreeMap<JobId, i64> = app
        .store
        .txn("release", &(term, jobs, event), |db, (term, jobs, event)| {
            Box::pin(async move {
                term::check(db, term).await?;
                let before = advance::lock_all(db, jobs).await?;
                let step = |job| decide(job, *event, clock::now()).ok();
                advance::save_all(db, &before.values().filter_map(step).collect::<Vec<Step>>()).await
            })
        })
        .await?;
    for (job, version) in &versions {
        app.wake.changed("job", job, *version);
    }
    if !versions.is_empty() {
        app.wake.notify(Topic::Desired);
        app.wake.notify(Topic::Dispatch);
    }
    Ok(versions.len())
}
