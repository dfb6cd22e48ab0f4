//! Pods as their newest facts show them, live and gone.
//!
//! Invariant: an older fact never overwrites a newer one, and a pod that is gone stays gone. A pod belongs to an attempt
//! only if the attempt runs on the pod's cluster; the caller has checked that. What a pod asked for before it was resized is
//! kept with its time, so that a bill does not change later.

mod kept;
mod pods;

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    fact::{ContainerFact, PodFact},
    id::{ClusterId, JobId},
    time::Timestamp,
};

pub use self::pods::Pods;
use crate::{
    Result, Store, at,
    attempt::attempt_id,
    cursor::Position,
    resources::{PLAIN, resources},
    stamp_opt,
};

/// Ends every pod that a complete list does not hold; when it ended is an estimate. Answers how many ended.
/// The list is of uids from the first of `within` on and, unless that is empty, below the second, in the order of their
/// bytes; two empty ones mean all.
pub async fn keep_only(
    db: &mut PgConnection,
    cluster: ClusterId,
    within: (&str, &str),
    uids: &[String],
    position: Position,
    seen: Timestamp,
) -> Result<u64> {
    let done = sqlx::query(
        "update pod set gone = true, end_estimated = finished_at is null, finished_at = coalesce(finished_at, $3),
                observed_at = $3, epoch = $4, seq = $5
         where cluster_id = $1 and not gone and uid <> all ($2) and (epoch, seq) < ($4, $5)
                and uid collate \"C\" >= $6 and ($7::text = '' or uid collate \"C\" < $7)",
    )
    .bind(cluster.0)
    .bind(uids)
    .bind(at(seen))
    .bind(position.epoch)
    .bind(position.seq)
    .bind(within.0)
    .bind(within.1)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Pods of an attempt, or of a job, that are looked at.
const MOST: usize = 5_000;

impl Store {
    /// Pods of all attempts of a job, live and gone, the oldest first.
    pub async fn pods_of_job(&self, job: JobId) -> Result<Vec<PodFact>> {
        let rows = sqlx::query(
            "select * from pod where job_id = $1 order by created_at nulls last, uid collate \"C\" limit $2",
        )
        .bind(job.0)
        .bind(i64::try_from(MOST).unwrap_or(i64::MAX))
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }
}

pub(crate) fn read(row: &PgRow) -> Result<PodFact> {
    Ok(PodFact {
        namespace: row.try_get("namespace")?,
        name: row.try_get("name")?,
        uid: row.try_get("uid")?,
        node: row.try_get("node")?,
        phase: row.try_get("phase")?,
        ready: row.try_get("ready")?,
        reason: row.try_get("reason")?,
        message: row.try_get("message")?,
        requests: resources(row, PLAIN)?,
        created_at: stamp_opt(row.try_get("created_at")?),
        bound_at: stamp_opt(row.try_get("bound_at")?),
        started_at: stamp_opt(row.try_get("started_at")?),
        finished_at: stamp_opt(row.try_get("finished_at")?),
        gone: row.try_get("gone")?,
        deleting: row.try_get("deleting")?,
        attempt: attempt_id(row)?,
        role: row.try_get("role")?,
        ray_cluster: row.try_get("ray_cluster")?,
        worker_group: row.try_get("worker_group")?,
        containers: row.try_get::<Json<Vec<ContainerFact>>, _>("containers")?.0,
    })
}
