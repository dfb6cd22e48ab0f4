//! The dispatcher's loop: one snapshot, one plan, one transaction per batch of assignments and one for all that keep waiting.
//!
//! Jobs that wait are read and told by classes of equal ones, so a pass costs the number of classes and of placements. Of a queue
//! with very many classes a pass looks at a part, and the next ones at the others in turn.
//! Invariant: an assignment is committed only if the job still waits and the cluster is still accepted; whatever the
//! plan did not foresee is seen by the next pass.

mod assign;
#[cfg(test)]
mod classes_tests;
mod explain;
mod preempt;

use std::collections::BTreeMap;

use squadron_core::dispatch::{Input, Plan, plan, preempt::Owed};
use squadron_store::{
    Result, StoreError,
    job::{
        class,
        heads::Lost,
        waiting::{self, Snapshot},
    },
    queue_owed,
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, duty};
use crate::{clock, state::AppState, wake::Topic};

/// Assignments in one transaction, at most.
const BATCH: usize = 250;
/// What a class waited for is known so long after the last of its jobs waited, in milliseconds: thirty days.
const HISTORY_MS: i64 = 30 * 24 * 3_600_000;

/// Looks at every class of waiting jobs once.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "dispatch", holder).await? else { return Ok(Left::NotOurs) };
    if let Some(timeline) = app.store.meet_history(&term, clock::now()).await? {
        let message = "the database failed over and may have lost its newest commits; clusters are asked what they hold";
        tracing::warn!(timeline, message);
    }
    if app.store.end_failover(&term, clock::now()).await? {
        tracing::info!("every cluster has told what it holds; what was placed before the failover may start");
        app.wake.notify(Topic::Desired);
    }
    if !app.store.any_waiting().await? {
        return Ok(Left::Nothing);
    }
    let stragglers = give_classes(app, &term).await?;
    let Snapshot { input, classes, lost, turns } = snapshot(app).await?;
    let anew = restore_classes(app, &term, &lost).await? || stragglers;
    let (input, plan) = decide(input).await;
    let mut whole = true;
    for batch in plan.assign.chunks(BATCH) {
        let versions = match assign::commit(app, &term, &input, batch).await {
            Err(StoreError::Changed { .. }) => return Ok(Left::More),
            done => done?,
        };
        whole &= versions.len() == batch.len();
        for assign in batch {
            if let Some(version) = versions.get(&assign.job) {
                tracing::info!(job = %assign.job, cluster = %assign.cluster, because = assign.because, "assigned");
                app.wake.changed("job", assign.job, *version);
            }
        }
        app.wake.notify(Topic::Desired);
    }
    keep_accounts(app, &term, &queue_owed::changed(&input.owed, &plan.owed)).await?;
    // What was to stop was chosen for the fleet with all of these placed.
    if whole {
        preempt::carry_out(app, &term, &plan).await?;
    }
    if plan.cut {
        return Ok(Left::More);
    }
    explain::explain(app, &term, (&input.waiting, &plan.blocked), &classes, &turns).await?;
    Ok(if anew { Left::More } else { Left::Nothing })
}

/// Removes some classes of which no job has waited for long.
pub async fn sweep(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "dispatch", holder).await? else { return Ok(Left::NotOurs) };
    let now = clock::now();
    let (looked, gone) = app
        .store
        .txn("dispatch.retire", &term, |db, term| {
            Box::pin(async move {
                term::check(db, term).await?;
                class::retire(db, now.plus_millis(-HISTORY_MS), now).await
            })
        })
        .await?;
    tracing::debug!(looked, gone, "classes of which no job waits");
    Ok(Left::Nothing)
}

/// Notes how far queues are below what they are guaranteed from now on.
async fn keep_accounts(app: &AppState, term: &Term, accounts: &BTreeMap<String, Owed>) -> Result<()> {
    if accounts.is_empty() {
        return Ok(());
    }
    app.store
        .txn("dispatch.owed", &(term, accounts), |db, (term, accounts)| {
            Box::pin(async move {
                term::check(db, term).await?;
                queue_owed::write(db, accounts).await
            })
        })
        .await
}

/// Gives classes to jobs without one. Answers whether there were any.
async fn give_classes(app: &AppState, term: &Term) -> Result<bool> {
    app.store
        .txn("dispatch.classes", term, |db, term| {
            Box::pin(async move {
                term::check(db, term).await?;
                Ok(class::give(db).await? > 0)
            })
        })
        .await
}

/// Makes classes anew that are lost. Answers whether there were any.
async fn restore_classes(app: &AppState, term: &Term, lost: &[Lost]) -> Result<bool> {
    if lost.is_empty() {
        return Ok(false);
    }
    app.store
        .txn("dispatch.restore", &(term, lost), |db, (term, lost)| {
            Box::pin(async move {
                term::check(db, term).await?;
                Ok(class::restore(db, lost).await? > 0)
            })
        })
        .await
}

/// The plan of a snapshot, made on a thread of its own, because it looks at everything that waits.
async fn decide(input: Input) -> (Input, Plan) {
    let work = tokio::task::spawn_blocking(move || {
        let plan = plan(&input);
        (input, plan)
    });
    work.await.unwrap_or_else(|ended| std::panic::resume_unwind(ended.into_panic()))
}

async fn snapshot(app: &AppState) -> Result<Snapshot> {
    let silence = app.settings.silence(clock::now());
    let Snapshot { input, classes, lost, turns } = app
        .store
        .txn("dispatch.snapshot", &silence, |db, silence| Box::pin(waiting::snapshot(db, *silence)))
        .await?;
    Ok(Snapshot { input: Input { terms: app.settings.preemption(), ..input }, classes, lost, turns })
}
