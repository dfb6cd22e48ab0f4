//! The dispatcher's loop: one snapshot, one plan, one transaction per batch of assignments and one for all that keep waiting.
//!
//! Invariant: an assignment is committed only if the job still waits and the cluster is still accepted; whatever the
//! plan did not foresee is seen by the next pass.

mod assign;
mod preempt;

use squadron_core::{
    dispatch::{Blocked, Input, Plan, plan},
    id::JobId,
};
use squadron_store::{
    Result,
    decision::{self, By},
    job::waiting,
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, duty, estimates};
use crate::{clock, state::AppState, wake::Topic};

/// Assignments in one transaction, at most.
const BATCH: usize = 100;

/// Looks at every waiting job once.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "dispatch", holder).await? else { return Ok(Left::NotOurs) };
    if !app.store.any_waiting().await? {
        return Ok(Left::Nothing);
    }
    let (input, plan) = decide(snapshot(app).await?).await;
    let mut whole = true;
    for batch in plan.assign.chunks(BATCH) {
        let versions = assign::commit(app, &term, &input, batch).await?;
        whole &= versions.len() == batch.len();
        for assign in batch {
            if let Some(version) = versions.get(&assign.job) {
                tracing::info!(job = %assign.job, cluster = %assign.cluster, because = assign.because, "assigned");
                app.wake.changed("job", assign.job, *version);
            }
        }
        app.wake.notify(Topic::Desired);
    }
    // What was to stop was chosen for the fleet with all of these placed.
    if whole {
        preempt::carry_out(app, &term, &plan.making, &plan.dropped).await?;
    }
    for (job, version) in explain(app, &term, &plan.blocked).await? {
        app.wake.changed("job", job, version);
    }
    Ok(Left::Nothing)
}

/// The plan of a snapshot, made on a thread of its own, because it looks at everything that waits.
async fn decide(input: Input) -> (Input, Plan) {
    let work = tokio::task::spawn_blocking(move || {
        let plan = plan(&input);
        (input, plan)
    });
    work.await.unwrap_or_else(|ended| std::panic::resume_unwind(ended.into_panic()))
}

async fn snapshot(app: &AppState) -> Result<Input> {
    let silence = app.settings.silence(clock::now());
    let input = app
        .store
        .txn("dispatch.snapshot", &silence, |db, silence| Box::pin(waiting::snapshot(db, *silence)))
        .await?;
    Ok(Input { terms: app.settings.preemption(), ..input })
}

/// Writes what every waiting job waits for. Answers the jobs about which people see something new.
async fn explain(app: &AppState, term: &Term, blocked: &[Blocked]) -> Result<Vec<(JobId, i64)>> {
    app.store
        .txn("dispatch.explain", &(term, blocked), |db, (term, blocked)| {
            Box::pin(async move {
                term::check(db, term).await?;
                let (mut news, mut told, now) = (Vec::new(), Vec::new(), clock::now());
                for each in *blocked {
                    if let Some(version) = waiting::save_blocked(db, each, now).await? {
                        news.push((each.job, version));
                        told.push(each);
                    }
                }
                decision::note_blocked(db, &told, By { term: term.number, now }).await?;
                estimates::give(db, &told, now).await?;
                Ok(news)
            })
        })
        .await
}
