//! Assignments on their way into the database, many in one transaction and in a fixed number of statements.
//!
//! Invariant: each is committed only if its job still waits, else it is left out and the others go on, and only if all clusters
//! of the batch still take jobs. Jobs are locked first and clusters after them, each in the order of their ids, so whoever does
//! likewise never waits in a circle; clusters as late as may be, because heartbeats, leases and acceptances wait for their rows.
//! A batch that fails as a whole is decided anew by the next pass.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    attempt::{Event, Job, Step, advance as decide},
    dispatch::{Assign, Cluster, Input},
    id::{ClusterId, JobId},
};
use squadron_store::{
    PgConnection, Result, StoreError,
    decision::{self, By},
    estimate,
    job::advance,
    term::{self, Term},
};

use crate::{clock, state::AppState};

/// Commits a batch; answers the new versions of the jobs that were assigned. Others changed after the snapshot.
pub(super) async fn commit(
    app: &AppState,
    term: &Term,
    input: &Input,
    batch: &[Assign],
) -> Result<BTreeMap<JobId, i64>> {
    app.store
        .txn("dispatch.assign", &(term, input, batch), |db, (term, input, batch)| {
            Box::pin(async move {
                term::check(db, term).await?;
                assign_all(db, input, batch, By { term: term.number, now: clock::now() }).await
            })
        })
        .await
}

async fn assign_all(
    db: &mut PgConnection,
    input: &Input,
    batch: &[Assign],
    by: By,
) -> Result<BTreeMap<JobId, i64>> {
    let ids: Vec<JobId> = batch.iter().map(|assign| assign.job).collect();
    let jobs = advance::lock_all(db, &ids).await?;
    let clusters: BTreeMap<ClusterId, &Cluster> =
        input.clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
    let (mut steps, mut placed) = (Vec::new(), Vec::new());
    for assign in batch {
        let name = clusters.get(&assign.cluster).map_or("", |cluster| cluster.name.as_str());
        let step = jobs.get(&assign.job).and_then(|job| step(job, assign, name, by));
        if let Some(step) = step
            && let Some(attempt) = step.job.attempt_id()
        {
            placed.push((assign, attempt));
            steps.push(step);
        }
    }
    if steps.is_empty() {
        return Ok(BTreeMap::new());
    }
    decision::note_assigned(db, &placed, by).await?;
    let jobs: Vec<JobId> = placed.iter().map(|(assign, _)| assign.job).collect();
    estimate::close(db, &jobs, by.now).await?;
    let charges = placed.iter().map(|(assign, _)| (assign.job, (&assign.usage, &assign.bound))).collect();
    let versions = advance::save_charged(db, &steps, &charges).await?;
    still_open(db, placed.iter().map(|(assign, _)| assign.cluster).collect()).await?;
    Ok(versions)
}

async fn still_open(db: &mut PgConnection, clusters: BTreeSet<ClusterId>) -> Result<()> {
    let open = advance::taking_jobs(db, &clusters).await?;
    if open == clusters { Ok(()) } else { Err(StoreError::Changed { what: "a cluster" }) }
}

fn step(job: &Job, assign: &Assign, cluster_name: &str, by: By) -> Option<Step> {
    let event = Event::Assigned { cluster: assign.cluster, cluster_name, because: &assign.because };
    let decided = decide(job, event, by.now);
    decided.inspect_err(|refused| tracing::debug!(job = %assign.job, %refused, "it changed meanwhile")).ok()
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
        let input = snapshot(&app).await.unwrap().input;
        let planned = plan(&input).assign;
        assert_eq!(planned.len(), 3, "{planned:?}");
        fixture::execute(&app.store, "update job set state = 'cancelled' where name = 'b' and $1 > 0", 1)
            .await;
        let term = duty::hold(&app, "dispatch", holder).await.unwrap().unwrap();
        commit(&app, &term, &input, &planned).await.unwrap();
        let states = [state(&app, jobs[0]).await, state(&app, jobs[1]).await, state(&app, jobs[2]).await];
        assert_eq!(states, [JobState::Assigned, JobState::Cancelled, JobState::Assigned]);
    }

    #[tokio::test]
    async fn a_batch_for_a_cluster_that_takes_no_jobs_any_more_leaves_nothing() {
        let app = tests::app_with(squadron_core::lease::Terms::default()).await;
        let holder = Uuid::now_v7();
        tests::ready(&app, "east").await;
        tests::settle(&app, holder).await;
        let job = fixture::queued(&app.store, "a").await.id;
        let input = snapshot(&app).await.unwrap().input;
        let planned = plan(&input).assign;
        fixture::execute(
            &app.store,
            "update cluster set state = 'revoked' where name = 'east' and $1 > 0",
            1,
        )
        .await;
        let term = duty::hold(&app, "dispatch", holder).await.unwrap().unwrap();
        let refused = commit(&app, &term, &input, &planned).await.unwrap_err();
        assert!(matches!(refused, StoreError::Changed { .. }), "{refused}");
        assert_eq!(state(&app, job).await, JobState::Queued);
        assert_eq!(app.store.standings().await.unwrap().values().next().unwrap().desired_generation, 0);
    }
}
