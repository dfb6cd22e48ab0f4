//! Holdings: attempts that a cluster holds and the database forgot in a failover are taken back (R4, T10).
//!
//! Owns no rule: who is taken back is judged by [`squadron_core::attempt::take_back`]. Invariant: only what the cluster told under
//! the timeline that asks counts, and of a job only its newest attempt there. The last part ends the asking in the transaction that
//! took it. What is not taken back is left out of the next desired set, and its agent stops it.

use std::collections::BTreeMap;

use squadron_core::{
    attempt::{Step, TakenBack, take_back},
    fact::{Fact, HoldingsFact},
    id::{AttemptId, ClusterId, JobId},
    lease::ProofKind,
    time::Timestamp,
};
use squadron_store::{PgConnection, Result, attempt, failover, job::advance, loss};

use super::News;

/// The jobs that the fact speaks of, if it tells holdings.
pub(super) fn jobs(fact: &Fact) -> impl Iterator<Item = JobId> {
    let told = if let Fact::Holdings(told) = fact { Some(told) } else { None };
    told.into_iter().flat_map(|told| told.held.iter().chain(&told.accepted)).map(|attempt| attempt.job)
}

/// Takes back what is not known. The jobs are locked.
pub(super) async fn apply(
    db: &mut PgConnection,
    cluster: ClusterId,
    told: &HoldingsFact,
    now: Timestamp,
    news: &mut News,
) -> Result<()> {
    let Some(name) = failover::awaited(db, cluster, told.timeline).await? else { return Ok(()) };
    let found = newest(told);
    let known = advance::locked(db, &found.keys().copied().collect::<Vec<_>>()).await?;
    let (mut closed, mut adopted) = (Vec::new(), Vec::new());
    for (id, (number, exists)) in found {
        let attempt = AttemptId { job: id, number };
        let Some(job) = known.get(&id) else {
            tracing::warn!(%attempt, cluster = name, "a cluster holds an attempt of a job that the database lost");
            continue;
        };
        let TakenBack { closed: older, adopted: newest } =
            take_back(job, attempt, (cluster, &name), exists, now);
        closed.extend(older);
        adopted.extend(newest);
    }
    give_up(db, &closed, now).await?;
    let versions = advance::save_all(db, &adopted).await?;
    for step in &adopted {
        tracing::warn!(job = %step.job.id, cluster = name, "an attempt that the database had lost was taken back");
    }
    if !told.more {
        failover::settled(db, cluster).await?;
    }
    (news.desired, news.room) = (true, true);
    news.jobs.extend(versions);
    Ok(())
}

/// The newest attempt of each job, and whether something of it exists.
fn newest(told: &HoldingsFact) -> BTreeMap<JobId, (u32, bool)> {
    let mut newest = BTreeMap::new();
    let all = told.held.iter().map(|id| (id, true)).chain(told.accepted.iter().map(|id| (id, false)));
    for (id, exists) in all {
        let known = newest.entry(id.job).or_insert((id.number, exists));
        *known = (id.number, exists).max(*known);
    }
    newest
}

async fn give_up(db: &mut PgConnection, closed: &[Step], now: Timestamp) -> Result<()> {
    advance::save_all(db, closed).await?;
    let ended: Vec<AttemptId> = closed.iter().filter_map(|step| step.job.attempt_id()).collect();
    let proofs: Vec<_> = ended.iter().map(|attempt| (*attempt, ProofKind::Superseded)).collect();
    loss::note_proofs(db, &proofs, now).await?;
    attempt::note_ends(db, &ended, now).await
}
