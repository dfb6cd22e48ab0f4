//! The dispatcher's loop: one snapshot, one plan, one transaction per assignment and one for all that keep waiting.
//!
//! Invariant: an assignment is committed only if the job still waits and the cluster is still accepted; whatever the
//! plan did not foresee is seen by the next pass.

use squadron_core::{
    attempt::{Event, advance as decide},
    desired,
    dispatch::{Assign, Blocked, Input, plan},
    id::JobId,
};
use squadron_proto::DESIRED_LIMIT;
use squadron_store::{
    PgConnection, Result, attempt,
    decision::{self, By},
    estimate,
    job::{advance, waiting},
    term::{self, Term},
};
use uuid::Uuid;

use super::{Left, duty, estimates};
use crate::{clock, state::AppState, wake::Topic};

/// Looks at every waiting job once.
pub async fn pass(app: &AppState, holder: Uuid) -> Result<Left> {
    let Some(term) = duty::hold(app, "dispatch", holder).await? else { return Ok(Left::NotOurs) };
    if !app.store.any_waiting().await? {
        return Ok(Left::Nothing);
    }
    let input = snapshot(app).await?;
    let plan = plan(&input);
    let mut blocked = plan.blocked;
    for assign in &plan.assign {
        match commit(app, &term, &input, assign).await? {
            Done::Assigned(version) => {
                tracing::info!(job = %assign.job, cluster = %assign.cluster, because = assign.because, "assigned");
                app.wake.changed("job", assign.job, version);
                app.wake.notify(Topic::Desired);
            }
            Done::TooLong => blocked.extend(held_back(&input, assign, &blocked)),
            Done::Changed => {}
        }
    }
    for (job, version) in explain(app, &term, &blocked).await? {
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

/// What became of an assignment.
enum Done {
    /// The job's new version.
    Assigned(i64),
    /// Job or cluster changed after the snapshot.
    Changed,
    /// The cluster's desired set would not fit into one message.
    TooLong,
}

fn name_of<'a>(input: &'a Input, assign: &Assign) -> &'a str {
    input.clusters.iter().find(|cluster| cluster.id == assign.cluster).map_or("", |found| &found.name)
}

fn held_back(input: &Input, assign: &Assign, blocked: &[Blocked]) -> Option<Blocked> {
    let job = input.waiting.iter().find(|job| job.job == assign.job)?;
    let in_queue =
        |other: &JobId| input.waiting.iter().any(|one| one.job == *other && one.queue == job.queue);
    let others = blocked.iter().filter(|other| in_queue(&other.job)).count();
    let ahead = blocked.iter().filter(|other| in_queue(&other.job) && other.job < job.job).count();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
    Some(desired::held_back(job, name_of(input, assign), number(ahead), number(others)))
}

/// Commits one assignment, if it still holds.
async fn commit(app: &AppState, term: &Term, input: &Input, assign: &Assign) -> Result<Done> {
    let name = name_of(input, assign);
    app.store
        .txn("dispatch.assign", &(term, assign, name), |db, (term, assign, name)| {
            Box::pin(async move {
                term::check(db, term).await?;
                assign_one(db, assign, name, By { term: term.number, now: clock::now() }).await
            })
        })
        .await
}

async fn assign_one(db: &mut PgConnection, assign: &Assign, cluster_name: &str, by: By) -> Result<Done> {
    let Some(job) = advance::lock(db, assign.job).await? else { return Ok(Done::Changed) };
    if !advance::takes_jobs(db, assign.cluster).await? {
        return Ok(Done::Changed);
    }
    let (attempts, held) = attempt::desired_size(db, assign.cluster).await?;
    let manifest = attempt::manifest_size(db, assign.job).await?;
    if !desired::fits(held, attempts, manifest, DESIRED_LIMIT as u64) {
        return Ok(Done::TooLong);
    }
    let event = Event::Assigned { cluster: assign.cluster, cluster_name, because: &assign.because };
    match decide(&job, event, by.now) {
        Ok(step) => {
            let version = advance::save(db, &step).await?;
            if let Some(attempt) = step.job.attempt_id() {
                attempt::charge(db, attempt, &assign.usage).await?;
                decision::note_assigned(db, assign, attempt, by).await?;
                estimate::close(db, assign.job, by.now).await?;
            }
            Ok(Done::Assigned(version))
        }
        Err(refused) => {
            tracing::debug!(job = %assign.job, %refused, "the job changed after the snapshot");
            Ok(Done::Changed)
        }
    }
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
