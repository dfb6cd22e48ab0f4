//! Assignments on their way into the database, many in one transaction.
//!
//! Invariant: each is committed only if its job still waits and its cluster is still accepted; one that does not hold any
//! more is left out and the others go on. Jobs are locked first and clusters after them, each in the order of their ids, so
//! whoever does likewise never waits in a circle. A batch that fails as a whole is decided anew by the next pass.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    attempt::{Event, Job, advance as decide},
    desired,
    dispatch::{Assign, Input},
    id::ClusterId,
};
use squadron_store::{
    PgConnection, Result, attempt,
    decision::{self, By},
    estimate,
    job::advance,
    term::{self, Term},
};

use super::name_of;
use crate::{clock, state::AppState};

/// What became of an assignment.
#[derive(Clone, Copy)]
pub(super) enum Done {
    /// The job's new version.
    Assigned(i64),
    /// Job or cluster changed after the snapshot.
    Changed,
    /// The cluster's desired set would be larger than one agent may hold.
    TooLong,
}

/// Commits a batch; answers what became of each, in the same order.
pub(super) async fn commit(
    app: &AppState,
    term: &Term,
    input: &Input,
    batch: &[Assign],
) -> Result<Vec<Done>> {
    app.store
        .txn("dispatch.assign", &(term, input, batch), |db, (term, input, batch)| {
            Box::pin(async move {
                term::check(db, term).await?;
                assign_all(db, input, batch, By { term: term.number, now: clock::now() }).await
            })
        })
        .await
}

async fn assign_all(db: &mut PgConnection, input: &Input, batch: &[Assign], by: By) -> Result<Vec<Done>> {
    let mut jobs = BTreeMap::new();
    for id in batch.iter().map(|assign| assign.job).collect::<BTreeSet<_>>() {
        jobs.insert(id, advance::lock(db, id).await?);
    }
    let mut open = BTreeSet::new();
    for cluster in batch.iter().map(|assign| assign.cluster).collect::<BTreeSet<_>>() {
        if advance::takes_jobs(db, cluster).await? {
            open.insert(cluster);
        }
    }
    let mut done = Vec::with_capacity(batch.len());
    let mut sets = Sets::default();
    for assign in batch {
        done.push(match jobs.remove(&assign.job).flatten().filter(|_| open.contains(&assign.cluster)) {
            Some(job) => assign_one(db, &job, assign, name_of(input, assign), &mut sets, by).await?,
            None => Done::Changed,
        });
    }
    Ok(done)
}

/// Manifests that each cluster holds, with those of this batch: how many, and their bytes.
#[derive(Default)]
struct Sets(BTreeMap<ClusterId, (u64, u64)>);

impl Sets {
    /// Whether one more manifest of so many bytes fits; if so, it is counted.
    async fn take(&mut self, db: &mut PgConnection, cluster: ClusterId, manifest: u64) -> Result<bool> {
        let (attempts, held) = match self.0.get(&cluster) {
            Some(known) => *known,
            None => attempt::desired_size(db, cluster).await?,
        };
        let fits = desired::fits(held, attempts, manifest, desired::LIMIT);
        let now = if fits { (attempts + 1, held + manifest) } else { (attempts, held) };
        self.0.insert(cluster, now);
        Ok(fits)
    }
}

async fn assign_one(
    db: &mut PgConnection,
    job: &Job,
    assign: &Assign,
    cluster_name: &str,
    sets: &mut Sets,
    by: By,
) -> Result<Done> {
    let event = Event::Assigned { cluster: assign.cluster, cluster_name, because: &assign.because };
    let step = match decide(job, event, by.now) {
        Ok(step) => step,
        Err(refused) => {
            tracing::debug!(job = %assign.job, %refused, "the job changed after the snapshot");
            return Ok(Done::Changed);
        }
    };
    let manifest = attempt::manifest_size(db, assign.job).await?;
    if !sets.take(db, assign.cluster, manifest).await? {
        return Ok(Done::TooLong);
    }
    let version = advance::save(db, &step).await?;
    if let Some(attempt) = step.job.attempt_id() {
        attempt::charge(db, attempt, &assign.usage).await?;
        decision::note_assigned(db, assign, attempt, by).await?;
        estimate::close(db, assign.job, by.now).await?;
    }
    Ok(Done::Assigned(version))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_core::{dispatch::plan, id::JobId, job::JobState};
    use squadron_store::testing::fixture;
    use uuid::Uuid;

    use super::{super::snapshot, *};
    use crate::tasks::{duty, tests};

    async fn state(app: &AppState, job: JobId) -> JobState {
        app.store.job(&job.to_string()).await.unwrap().unwrap().state
    }

    #[tokio::test]
    async fn a_batch_goes_on_without_a_job_that_was_cancelled_meanwhile() {
        let app = tests::app_with(squadron_core::lease::Terms::default()).await;
        let holder = Uuid::now_v7();
        tests::ready(&app, "east").await;
        tests::settle(&app, holder).await;
        let mut jobs = Vec::new();
        for name in ["a", "b", "c"] {
            jobs.push(fixture::queued(&app.store, name).await.id);
        }
        let input = snapshot(&app).await.unwrap();
        let planned = plan(&input).assign;
        assert_eq!(planned.len(), 3, "{planned:?}");
        fixture::execute(&app.store, "update job set state = 'cancelled' where name = 'b' and $1 > 0", 1)
            .await;
        let term = duty::hold(&app, "dispatch", holder).await.unwrap().unwrap();
        commit(&app, &term, &input, &planned).await.unwrap();
        let states = [state(&app, jobs[0]).await, state(&app, jobs[1]).await, state(&app, jobs[2]).await];
        assert_eq!(states, [JobState::Assigned, JobState::Cancelled, JobState::Assigned]);
    }
}
