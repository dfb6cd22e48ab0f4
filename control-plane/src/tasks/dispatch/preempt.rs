//! Preemption carried out: attempts are asked to stop or to shrink, and the room that they leave is promised, in one transaction.
//!
//! Invariant: all of a plan happens or nothing of it. If the beneficiary waits no more, has a claim already, or one of those
//! who should stop changed since the snapshot, nobody is asked, and the next pass decides anew. Locks are taken as for
//! assignments: jobs in the order of their ids, then the cluster.

use std::collections::BTreeSet;

use squadron_core::{
    attempt::{Attempt, AttemptState, Event, Job, Step, advance as decide},
    dispatch::{
        Plan,
        preempt::{Kind, Lift, Making, Shrink, Stop},
    },
    id::{AttemptId, JobId},
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
pub(super) async fn carry_out(app: &AppState, term: &Term, plan: &Plan) -> Result<()> {
    let Plan { making, dropped, lifts, .. } = plan;
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
    for one in lifts {
        let told = app
            .store
            .txn("dispatch.lift", &(term, one), |db, (term, one)| {
                Box::pin(async move {
                    term::check(db, term).await?;
                    lift(db, one, By { term: term.number, now: clock::now() }).await
                })
            })
            .await?;
        if let Some(version) = told {
            app.wake.changed("job", one.attempt.job, version);
            app.wake.notify(Topic::Desired);
        }
    }
    Ok(())
}

/// The attempt's worker groups may grow again, if it still is there.
async fn lift(db: &mut PgConnection, one: &Lift, by: By) -> Result<Option<i64>> {
    let job = advance::lock(db, one.attempt.job).await?;
    if job.as_ref().is_none_or(|job| !goes_on(job, one.attempt)) {
        return Ok(None);
    }
    let place = (one.attempt, one.cluster);
    let version = preempt::cap(db, place, (&one.caps, &one.because), None, by.now).await?;
    let note = Note { outcome: "lifted", cause: "", sentence: &one.because, cluster: one.cluster };
    decision::note(db, one.attempt.job, Some(one.attempt.number), note, by).await?;
    Ok(Some(version))
}

/// Whether the job runs by this attempt, or is about to, and nobody has asked it to stop.
fn goes_on(job: &Job, attempt: AttemptId) -> bool {
    let live = |one: &Attempt| {
        matches!(one.state, AttemptState::Assigned | AttemptState::Starting | AttemptState::Running)
    };
    job.attempt_id() == Some(attempt) && job.attempt.as_ref().is_some_and(live)
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
    let shrunk = making.shrinks.iter().map(|shrink| shrink.attempt.job);
    let ids: Vec<_> = victims.chain(shrunk).chain([making.job]).collect();
    let jobs = advance::lock_all(db, &ids).await?;
    let job = |id: &JobId| jobs.get(id);
    let Some(waits) = job(&making.job).filter(|job| job.state == JobState::Queued) else {
        return Ok(Vec::new());
    };
    let steps: Option<Vec<Step>> =
        making.stops.iter().map(|stop| step(job(&stop.attempt.job)?, stop, by)).collect();
    let Some(steps) = steps else { return Ok(Vec::new()) };
    let grew = |shrink: &Shrink| job(&shrink.attempt.job).is_some_and(|job| goes_on(job, shrink.attempt));
    if !making.shrinks.iter().all(grew) {
        return Ok(Vec::new());
    }
    let after = waits.attempt.as_ref().map_or(0, |attempt| attempt.number);
    let taking = advance::taking_jobs(db, &BTreeSet::from([making.cluster])).await?;
    if taking.is_empty() || !preempt::claim(db, making, after, by.now).await? {
        return Ok(Vec::new());
    }
    let mut told = Vec::with_capacity(steps.len() + making.shrinks.len());
    for (stop, step) in making.stops.iter().zip(&steps) {
        told.push((stop.attempt.job, save(db, making, stop, step, by).await?));
    }
    for shrink in &making.shrinks {
        told.push((shrink.attempt.job, save_shrink(db, making, shrink, by).await?));
    }
    let kind = making.stops.first().map_or(Kind::Shrink, |stop| stop.kind).word();
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

async fn save_shrink(db: &mut PgConnection, making: &Making, shrink: &Shrink, by: By) -> Result<i64> {
    let (attempt, room_for) = (shrink.attempt, Some(making.job));
    let caps = (&shrink.caps, shrink.because.as_str());
    let version = preempt::cap(db, (attempt, making.cluster), caps, room_for, by.now).await?;
    let note = Note {
        outcome: "shrunk",
        cause: Kind::Shrink.word(),
        sentence: &shrink.because,
        cluster: making.cluster,
    };
    decision::note(db, attempt.job, Some(attempt.number), note, by).await?;
    Ok(version)
}
