//! Loss: attempts on clusters that may be lost, and the way to close one with a proof.
//!
//! Invariant: an attempt is closed only in a transaction that holds the locks of its job, of its cluster's newest renewal
//! and of the attempt itself, so neither a renewal nor an acceptance can come between the judgement and its commit. Locks
//! are taken in this order everywhere: job, cluster, attempt.

use sqlx::{PgConnection, Row};
use squadron_core::{
    id::{AttemptId, ClusterId, Epoch},
    lease::{Live, Policy, ProofKind},
};

use crate::{
    Result, Store,
    attempt::{accepted_by, attempt_id},
    cluster::State,
    desired::next_generation,
    job::policy,
};

/// A live attempt and its job's word on silence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    pub live: Live,
    /// The job says that its cluster is silent.
    pub is_called_silent: bool,
}

/// Attempts that are read at a time.
const MOST: i64 = 5_000;

impl Store {
    /// Live attempts on these clusters, and those whose job calls its cluster silent.
    pub async fn held_by(&self, clusters: &[ClusterId]) -> Result<Vec<Held>> {
        let ids: Vec<_> = clusters.iter().map(|cluster| cluster.0).collect();
        let rows = sqlx::query(
            "select a.job_id, a.number as attempt, a.cluster_id, a.accepted_epoch, a.created_at is not null as created,
                    j.on_lost, j.reason = 'CLUSTER_SILENT' as is_called_silent
             from attempt a join job j on j.id = a.job_id
             where a.ended_at is null and (a.cluster_id = any ($1) or j.reason = 'CLUSTER_SILENT')
             order by a.job_id limit $2",
        )
        .bind(ids)
        .bind(MOST)
        .fetch_all(self.pool())
        .await?;
        let mut held = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(id) = attempt_id(row)? else { continue };
            let live = Live {
                id,
                cluster: ClusterId(row.try_get("cluster_id")?),
                policy: policy(row.try_get("on_lost")?)?,
                accepted: accepted_by(row)?.is_some() || row.try_get("created")?,
            };
            held.push(Held { live, is_called_silent: row.try_get("is_called_silent")? });
        }
        Ok(held)
    }

    /// The life `epoch` of the cluster's agent is ready to start these attempts: from now on they may run. True if that
    /// was news; the desired set says so then. An attempt that is closed, let go of or made already is left out, and so
    /// is everything that a life says that is not in charge.
    pub async fn accept(&self, cluster: ClusterId, epoch: Epoch, attempts: &[AttemptId]) -> Result<bool> {
        self.txn("attempt.accept", &(cluster, epoch, attempts), |db, (cluster, epoch, attempts)| {
            Box::pin(accept(db, *cluster, *epoch, attempts))
        })
        .await
    }
}

async fn accept(
    db: &mut PgConnection,
    cluster: ClusterId,
    epoch: Epoch,
    attempts: &[AttemptId],
) -> Result<bool> {
    let epoch = i64::try_from(epoch.0).unwrap_or(i64::MAX);
    let in_charge = sqlx::query(
        "select 1 from cluster where id = $1 and agent_epoch = $2 and state = $3 for no key update",
    )
    .bind(cluster.0)
    .bind(epoch)
    .bind(State::Active.word())
    .fetch_optional(&mut *db)
    .await?;
    if in_charge.is_none() {
        return Ok(false);
    }
    let jobs: Vec<_> = attempts.iter().map(|attempt| attempt.job.0).collect();
    let numbers: Vec<_> =
        attempts.iter().map(|attempt| i32::try_from(attempt.number).unwrap_or(i32::MAX)).collect();
    // The number is the next one: the cluster's row is locked, and it is counted only if something changes.
    let accepted = sqlx::query(
        "update attempt a set accepted_epoch = $2, changed_generation = c.desired_generation + 1
         from unnest($3::uuid[], $4::integer[]) as s (job, number), cluster c
         where c.id = $1 and a.job_id = s.job and a.number = s.number and a.cluster_id = $1 and a.desired
               and a.ended_at is null and a.created_at is null and a.accepted_epoch is distinct from $2",
    )
    .bind(cluster.0)
    .bind(epoch)
    .bind(jobs)
    .bind(numbers)
    .execute(&mut *db)
    .await?;
    if accepted.rows_affected() == 0 {
        return Ok(false);
    }
    next_generation(db, cluster).await?;
    Ok(true)
}

/// Whether the attempt is known to have been accepted; stays as it is until the transaction ends.
pub async fn lock_accepted(db: &mut PgConnection, attempt: AttemptId) -> Result<bool> {
    let row = sqlx::query(
        "select accepted_epoch, created_at is not null as created from attempt
         where job_id = $1 and number = $2 for update",
    )
    .bind(attempt.job.0)
    .bind(i32::try_from(attempt.number).unwrap_or(i32::MAX))
    .fetch_optional(db)
    .await?;
    match row {
        Some(row) => Ok(accepted_by(&row)?.is_some() || row.try_get("created")?),
        None => Ok(true),
    }
}

/// Notes with which proof an attempt was closed.
pub async fn note_proof(db: &mut PgConnection, attempt: AttemptId, kind: ProofKind) -> Result<()> {
    sqlx::query("update attempt set proof = $3 where job_id = $1 and number = $2")
        .bind(attempt.job.0)
        .bind(i32::try_from(attempt.number).unwrap_or(i32::MAX))
        .bind(kind.word())
        .execute(db)
        .await?;
    Ok(())
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
