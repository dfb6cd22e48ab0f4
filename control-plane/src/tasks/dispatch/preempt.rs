//! Preemption carried out: attempts are asked to stop, and the room that they leave is promised, in one transaction.
//!
//! Invariant: all of a plan happens or nothing of it. If the beneficiary waits no more, has a claim already, or one of those
//! who should stop changed since the snapshot, nobody is asked, and the next pass decides anew. Locks are taken as for
//! assignments: jobs in the order of their ids, then the cluster.

use std::collections::BTreeSet;

use squadron_core::{
    attempt::{Event, Job, Step, advance as decide},
    dispatch::preempt::{Making, Stop},
    id::JobId,
    job::JobState,
};
use squadron_store::{
    PgConnection, Result,
    decision::{self, By, Note},
    job::advance,
    preempt,
    term::{self, Term},
};

use crate::{clock, state::AppState, wake::Topic};

/// Asks for all that the plan asks for, and forgets claims that hold no longer.
pub(super) async fn carry_out(
    app: &AppState,
    term: &Term,
    making: &[Making],
    dropped: &[JobId],
) -> Result<()> {
    if !dropped.is_empty() || !making.is_empty() {
        forget(app, term, dropped).await?;
    }
    for one in making {
        let told = app
            .store
            .txn("dispatch.preempt", &(term, one), |db, (term, one)| {
                Box::pin(async move {
                    term::check(db, term).await?;
                    make(db, one, By { term: term.number, now: clock::now() }).await
                })
            })
            .await?;
        if !told.is_empty() {
            tracing::info!(job = %one.job, cluster = %one.cluster, because = one.because, "room is being made");
        }
        for (job, version) in told {
            app.wake.changed("job", job, version);
            app.wake.notify(Topic::Desired);
        }
    }
    Ok(())
}

async fn forget(app: &AppState, term: &Term, dropped: &[JobId]) -> Result<()> {
    app.store
        .txn("dispatch.forget", &(term, dropped), |db, (term, dropped)| {
            Box::pin(async move {
                term::check(db, term).await?;
                preempt::forget(db, dropped).await
            })
        })
        .await
}

/// Jobs that were asked to stop, with their new versions; none if something changed.
async fn make(db: &mut PgConnection, making: &Making, by: By) -> Result<Vec<(JobId, i64)>> {
    let victims = making.stops.iter().map(|stop| stop.attempt.job);
    let ids: Vec<_> = victims.chain([making.job]).collect();
    let jobs = advance::lock_all(db, &ids).await?;
    let job = |id: &JobId| jobs.get(id);
    let Some(waits) = job(&making.job).filter(|job| job.state == JobState::Queued) else {
        return Ok(Vec::new());
    };
    let steps: Option<Vec<Step>> =
        making.stops.iter().map(|stop| step(job(&stop.attempt.job)?, stop, by)).collect();
    let Some(steps) = steps else { return Ok(Vec::new()) };
    let after = waits.attempt.as_ref().map_or(0, |attempt| attempt.number);
    let taking = advance::taking_jobs(db, &BTreeSet::from([making.cluster])).await?;
    if taking.is_empty() || !preempt::claim(db, making, after, by.now).await? {
        return Ok(Vec::new());
    }
    let mut told = Vec::with_capacity(steps.len());
    for (stop, step) in making.stops.iter().zip(&steps) {
        told.push((stop.attempt.job, save(db, making, stop, step, by).await?));
    }
    let kind = making.stops.first().map_or("", |stop| stop.kind.word());
    let note =
        Note { outcome: "makes_room", cause: kind, sentence: &making.because, cluster: making.cluster };
    decision::note(db, making.job, None, note, by).await?;
    Ok(told)
}

/// The victim's step, if it still is what the plan took it for.
fn step(job: &Job, stop: &Stop, by: By) -> Option<Step> {
    if job.attempt_id() != Some(stop.attempt) {
        return None;
    }
    decide(job, Event::Preempted { because: &stop.because }, by.now).ok()
}

async fn save(db: &mut PgConnection, making: &Making, stop: &Stop, step: &Step, by: By) -> Result<i64> {
    let version = advance::save(db, step).await?;
    preempt::ask(db, stop.attempt, making.job, by.now).await?;
    let note = Note {
        outcome: "stopped",
        cause: stop.kind.word(),
        sentence: &stop.because,
        cluster: making.cluster,
    };
    decision::note(db, stop.attempt.job, Some(stop.attempt.number), note, by).await?;
    Ok(version)
}
