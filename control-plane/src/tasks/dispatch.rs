//! The dispatcher's loop: one snapshot, one plan, one transaction per assignment and one for all that keep waiting.
//!
//! Invariant: an assignment is committed only if the job still waits and the cluster is still accepted; whatever the
//! plan did not foresee is seen by the next pass.

use squadron_core::{
    attempt::{Event, advance as decide},
    dispatch::{Assign, Blocked, Input, plan},
    id::JobId,
};
use squadron_store::{
    PgConnection, Result,
    job::{advance, waiting},
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, duty};
use crate::{clock, state::AppState, wake::Topic};

/// Looks at every waiting job once.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "dispatch", holder).await? else { return Ok(Left::NotOurs) };
    if !app.store.any_waiting().await? {
        return Ok(Left::Nothing);
    }
    let input = snapshot(app).await?;
    let plan = plan(&input);
    for assign in &plan.assign {
        if let Some(version) = commit(app, &term, &input, assign).await? {
            tracing::info!(job = %assign.job, cluster = %assign.cluster, because = assign.because, "assigned");
            app.wake.changed("job", assign.job, version);
            app.wake.notify(Topic::Desired);
        }
    }
    for (job, version) in explain(app, &term, &plan.blocked).await? {
        app.wake.changed("job", job, version);
    }
    Ok(Left::Nothing)
}

async fn snapshot(app: &AppState) -> Result<Input> {
    let silence = app.settings.silence(clock::now());
    app.store
        .txn("dispatch.snapshot", &silence, |db, silence| Box::pin(waiting::snapshot(db, *silence)))
        .await
}

/// Commits one assignment, if it still holds. Answers the job's new version.
async fn commit(app: &AppState, term: &Term, input: &Input, assign: &Assign) -> Result<Option<i64>> {
    let name =
        input.clusters.iter().find(|cluster| cluster.id == assign.cluster).map_or("", |found| &found.name);
    app.store
        .txn("dispatch.assign", &(term, assign, name), |db, (term, assign, name)| {
            Box::pin(async move {
                term::check(db, term).await?;
                assign_one(db, assign, name).await
            })
        })
        .await
}

async fn assign_one(db: &mut PgConnection, assign: &Assign, cluster_name: &str) -> Result<Option<i64>> {
    let Some(job) = advance::lock(db, assign.job).await? else { return Ok(None) };
    if !advance::takes_jobs(db, assign.cluster).await? {
        return Ok(None);
    }
    let event = Event::Assigned { cluster: assign.cluster, cluster_name, because: &assign.because };
    match decide(&job, event, clock::now()) {
        Ok(step) => advance::save(db, &step).await.map(Some),
        Err(refused) => {
            tracing::debug!(job = %assign.job, %refused, "the job changed after the snapshot");
            Ok(None)
        }
    }
}

/// Writes what every waiting job waits for. Answers the jobs about which people see something new.
async fn explain(app: &AppState, term: &Term, blocked: &[Blocked]) -> Result<Vec<(JobId, i64)>> {
    app.store
        .txn("dispatch.explain", &(term, blocked), |db, (term, blocked)| {
            Box::pin(async move {
                term::check(db, term).await?;
                let (mut news, now) = (Vec::new(), clock::now());
                for each in *blocked {
                    if let Some(version) = waiting::save_blocked(db, each, now).await? {
                        news.push((each.job, version));
                    }
                }
                Ok(news)
            })
        })
        .await
}
