//! The dispatcher's loop: one snapshot, one plan, one transaction per batch of assignments and one for all that keep waiting.
//!
//! Jobs that wait are read and told by classes of equal ones, so a pass costs the number of classes and of placements.
//! Invariant: an assignment is committed only if the job still waits and the cluster is still accepted; whatever the
//! plan did not foresee is seen by the next pass.

mod assign;

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    dispatch::{Blocked, Input, Plan, plan},
    id::JobId,
};
use squadron_store::{
    Result,
    decision::By,
    job::{
        class::{self, ClassId},
        waiting::{self, Snapshot},
    },
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, duty};
use crate::{clock, state::AppState, wake::Topic};

/// Assignments in one transaction, at most.
const BATCH: usize = 100;

/// Looks at every class of waiting jobs once.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "dispatch", holder).await? else { return Ok(Left::NotOurs) };
    if !app.store.any_waiting().await? {
        return Ok(Left::Nothing);
    }
    let stragglers = give_classes(app, &term).await?;
    let Snapshot { input, classes } = snapshot(app).await?;
    let (input, plan) = decide(input).await;
    for batch in plan.assign.chunks(BATCH) {
        let versions = assign::commit(app, &term, &input, batch).await?;
        for assign in batch {
            if let Some(version) = versions.get(&assign.job) {
                tracing::info!(job = %assign.job, cluster = %assign.cluster, because = assign.because, "assigned");
                app.wake.changed("job", assign.job, *version);
            }
        }
        app.wake.notify(Topic::Desired);
    }
    if plan.cut {
        return Ok(Left::More);
    }
    explain(app, &term, &plan.blocked, &classes).await?;
    Ok(if stragglers { Left::More } else { Left::Nothing })
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
    app.store
        .txn("dispatch.snapshot", &silence, |db, silence| Box::pin(waiting::snapshot(db, *silence)))
        .await
}

type Classes = BTreeMap<JobId, ClassId>;

/// Writes what every class waits for, as its oldest job was told, and tells browsers about jobs that hear something new. Those
/// that were not read hear it when they are looked at again.
async fn explain(app: &AppState, term: &Term, blocked: &[Blocked], classes: &Classes) -> Result<()> {
    let mut verdicts = BTreeMap::<ClassId, &Blocked>::new();
    for (class, one) in blocked.iter().filter_map(|one| Some((*classes.get(&one.job)?, one))) {
        let known = verdicts.entry(class).or_insert(one);
        if one.position < known.position {
            *known = one;
        }
    }
    let verdicts: Vec<_> = verdicts.into_iter().collect();
    let news = app
        .store
        .txn("dispatch.explain", &(term, verdicts), |db, (term, verdicts)| {
            Box::pin(async move {
                term::check(db, term).await?;
                class::save(db, verdicts, By { term: term.number, now: clock::now() }).await
            })
        })
        .await?;
    let news: BTreeSet<ClassId> = news.into_iter().collect();
    for one in blocked.iter().filter(|one| classes.get(&one.job).is_some_and(|class| news.contains(class))) {
        app.wake.changed("job", one.job, 0);
    }
    Ok(())
}
