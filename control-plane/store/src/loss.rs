//! Loss: attempts on clusters that may be lost, and the way to close one with a proof.
//!
//! Invariant: an attempt is closed only in a transaction that holds the locks of its job, of its cluster's newest renewal
//! and of the attempt itself, so neither a renewal nor an acceptance can come between the judgement and its commit. Locks
//! are taken in this order everywhere: job, cluster, attempt.

use std::collections::BTreeSet;

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{
    id::{AttemptId, ClusterId, JobId},
    lease::{Live, Policy, ProofKind, Renewal},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    Result, Store, at,
    attempt::{accepted_by, attempt_id},
    cluster::lease::lock_renewal,
    job::policy,
    stamp_opt,
};

/// A live attempt and its job's word on silence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    pub live: Live,
    /// The job says that its cluster is silent.
    pub is_called_silent: bool,
}

/// Attempts that are read at a time.
pub const PAGE: usize = 500;

/// When a cluster was last heard, as far as is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastWord {
    pub renewal: Renewal,
    pub heard_at: Option<Timestamp>,
}

impl Store {
    /// Live attempts on these clusters, and those whose job calls its cluster silent.
    pub async fn held_by(&self, clusters: &[ClusterId]) -> Result<Vec<Held>> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.page(clusters, true, after).await?;
            after = page.last().map(|held| held.live.id.job);
            let full = page.len() == PAGE;
            all.extend(page);
            if !full {
                return Ok(all);
            }
        }
    }

    /// One page of the live attempts on a cluster, behind the job `after`; the last page is not full.
    pub async fn held_on(&self, cluster: ClusterId, after: Option<JobId>) -> Result<Vec<Held>> {
        self.page(&[cluster], false, after).await
    }

    async fn page(&self, clusters: &[ClusterId], silent: bool, after: Option<JobId>) -> Result<Vec<Held>> {
        let rows = sqlx::query(
            "select a.job_id, a.number as attempt, a.cluster_id, a.accepted_epoch, j.on_lost,
                    a.created_at is not null or c.untold_since is not null as created,
                    j.reason = 'CLUSTER_SILENT' as is_called_silent
             from attempt a join job j on j.id = a.job_id join cluster c on c.id = a.cluster_id
             where a.ended_at is null and a.job_id in (
                 (select job_id from attempt where ended_at is null and cluster_id = any ($1) and job_id > $2
                  order by job_id limit $3)
                 union
                 (select id from job s where $4 and s.reason = 'CLUSTER_SILENT' and s.id > $2
                      and exists (select 1 from attempt where job_id = s.id and ended_at is null)
                  order by id limit $3))
             order by a.job_id limit $3",
        )
        .bind(clusters.iter().map(|cluster| cluster.0).collect::<Vec<_>>())
        .bind(after.map_or(Uuid::nil(), |job| job.0))
        .bind(i64::try_from(PAGE).unwrap_or(i64::MAX))
        .bind(silent)
        .fetch_all(self.pool())
        .await?;
        rows.iter().filter_map(|row| held(row).transpose()).collect()
    }

    /// When the cluster was last heard.
    pub async fn last_word(&self, cluster: ClusterId) -> Result<LastWord> {
        self.txn("cluster.last_word", &cluster, |db, cluster| Box::pin(lock_last_word(db, *cluster))).await
    }
}

fn held(row: &PgRow) -> Result<Option<Held>> {
    let Some(id) = attempt_id(row)? else { return Ok(None) };
    let live = Live {
        id,
        cluster: ClusterId(row.try_get("cluster_id")?),
        policy: policy(row.try_get("on_lost")?).0,
        accepted: accepted_by(row)?.is_some() || row.try_get("created")?,
    };
    Ok(Some(Held { live, is_called_silent: row.try_get("is_called_silent")? }))
}

/// When the cluster was last heard; it is not heard again until the transaction ends.
pub async fn lock_last_word(db: &mut PgConnection, cluster: ClusterId) -> Result<LastWord> {
    let renewal = lock_renewal(db, cluster).await?;
    let heard_at = sqlx::query_scalar("select last_heard_at from cluster where id = $1")
        .bind(cluster.0)
        .fetch_one(db)
        .await?;
    Ok(LastWord { renewal, heard_at: stamp_opt(heard_at) })
}

/// Those of the attempts of which nothing can have been started, because no acceptance of them is known or was forgotten; none is
/// accepted until the transaction ends.
pub async fn lock_unaccepted(db: &mut PgConnection, attempts: &[AttemptId]) -> Result<BTreeSet<AttemptId>> {
    let (jobs, numbers) = columns(attempts);
    let rows = sqlx::query(
        "select a.job_id, a.number as attempt, a.accepted_epoch,
                a.created_at is not null or c.untold_since is not null as created
         from attempt a join unnest($1::uuid[], $2::integer[]) as s (job, number)
              on a.job_id = s.job and a.number = s.number join cluster c on c.id = a.cluster_id
         order by a.job_id for update of a",
    )
    .bind(jobs)
    .bind(numbers)
    .fetch_all(db)
    .await?;
    let mut unaccepted = BTreeSet::new();
    for row in &rows {
        if accepted_by(row)?.is_none() && !row.try_get::<bool, _>("created")? {
            unaccepted.extend(attempt_id(row)?);
        }
    }
    Ok(unaccepted)
}

/// Notes with which proofs attempts were closed, and that we learnt of their ends at `now`.
pub async fn note_proofs(
    db: &mut PgConnection,
    proofs: &[(AttemptId, ProofKind)],
    now: Timestamp,
) -> Result<()> {
    let (jobs, numbers) = columns(&proofs.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>());
    sqlx::query(
        "update attempt a
         set proof = s.proof,
             end_learnt_at = case when a.ended_at is null then a.end_learnt_at else coalesce(a.end_learnt_at, $4) end
         from unnest($1::uuid[], $2::integer[], $3::text[]) as s (job, number, proof)
         where a.job_id = s.job and a.number = s.number",
    )
    .bind(jobs)
    .bind(numbers)
    .bind(proofs.iter().map(|(_, kind)| kind.word()).collect::<Vec<_>>())
    .bind(at(now))
    .execute(db)
    .await?;
    Ok(())
}

pub(crate) fn columns(attempts: &[AttemptId]) -> (Vec<Uuid>, Vec<i32>) {
    let number = |attempt: &AttemptId| i32::try_from(attempt.number).unwrap_or(i32::MAX);
    attempts.iter().map(|attempt| (attempt.job.0, number(attempt))).unzip()
}

/// What a queue says about its jobs whose cluster is lost. False when there is no such queue.
pub async fn set_queue(
    db: &mut PgConnection,
    queue: &str,
    default: Option<Policy>,
    allows_overlap: bool,
) -> Result<bool> {
    let done = sqlx::query("update queue set on_lost = $2, allows_overlap = $3 where name = $1")
        .bind(queue)
        .bind(default.map_or("", Policy::word))
        .bind(allows_overlap)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}
