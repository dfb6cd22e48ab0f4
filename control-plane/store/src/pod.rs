//! Pods as their newest facts show them, live and gone.
//!
//! Invariant: an older fact never overwrites a newer one, and a pod that is gone stays gone. A pod belongs to an attempt
//! only if the attempt runs on the pod's cluster; the caller has checked that. What a pod asked for before it was resized is
//! kept with its time, so that a bill does not change later.

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    fact::{ContainerFact, PodFact},
    id::{AttemptId, ClusterId, JobId},
    meter,
    time::Timestamp,
};

use crate::{
    Result, Store, at, at_opt,
    attempt::attempt_id,
    cursor::Position,
    resources::{PLAIN, resources},
    stamp_opt,
};

/// Shows the fact, observed at `seen`. Answers whether it was news.
pub async fn show(
    db: &mut PgConnection,
    cluster: ClusterId,
    pod: &PodFact,
    position: Position,
    seen: Timestamp,
) -> Result<bool> {
    let (bound, ended) = meter::held(pod, seen);
    keep_past(db, cluster, pod, position, seen).await?;
    let done = sqlx::query(
        "insert into pod as p (cluster_id, uid, namespace, name, node, phase, ready, reason, message, cpu_milli,
                memory_bytes, gpus, created_at, bound_at, started_at, finished_at, gone, job_id, attempt, role,
                ray_cluster, worker_group, containers, observed_at, epoch, seq, deleting)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                 $23, $24, $25, $26, $27)
         on conflict (cluster_id, uid) do update
         set namespace = $3, name = $4, node = $5, phase = $6, ready = $7, reason = $8, message = $9, cpu_milli = $10,
             memory_bytes = $11, gpus = $12, created_at = $13, bound_at = coalesce(p.bound_at, $14), started_at = $15,
             finished_at = coalesce(case when p.end_estimated then $16 end, p.finished_at, $16),
             end_estimated = p.end_estimated and $16::timestamptz is null,
             gone = p.gone or $17, job_id = $18, attempt = $19, role = $20, ray_cluster = $21, worker_group = $22,
             containers = $23, observed_at = $24, epoch = $25, seq = $26, deleting = $27,
             requests_since = case when p.bound_at is null
                                        or (p.cpu_milli, p.memory_bytes, p.gpus) = ($10, $11, $12) then p.requests_since
                                   else greatest($24, coalesce(p.requests_since, p.bound_at)) end
         where (p.epoch, p.seq) < ($25, $26)",
    )
    .bind(cluster.0)
    .bind(&pod.uid)
    .bind(&pod.namespace)
    .bind(&pod.name)
    .bind(&pod.node)
    .bind(&pod.phase)
    .bind(pod.ready)
    .bind(&pod.reason)
    .bind(&pod.message)
    .bind(pod.requests.cpu_milli)
    .bind(pod.requests.memory_bytes)
    .bind(pod.requests.gpus)
    .bind(at_opt(pod.created_at))
    .bind(at_opt(bound))
    .bind(at_opt(pod.started_at))
    .bind(at_opt(ended))
    .bind(pod.gone)
    .bind(pod.attempt.map(|attempt| attempt.job.0))
    .bind(pod.attempt.and_then(|attempt| i32::try_from(attempt.number).ok()))
    .bind(&pod.role)
    .bind(&pod.ray_cluster)
    .bind(&pod.worker_group)
    .bind(Json(&pod.containers))
    .bind(at(seen))
    .bind(position.epoch)
    .bind(position.seq)
    .bind(pod.deleting)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps what the pod asked for until `seen`, if the fact is newer and asks for something else.
async fn keep_past(
    db: &mut PgConnection,
    cluster: ClusterId,
    pod: &PodFact,
    position: Position,
    seen: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into pod_past (cluster_id, uid, from_at, to_at, cpu_milli, memory_bytes, gpus)
         select cluster_id, uid, coalesce(requests_since, bound_at), $3, cpu_milli, memory_bytes, gpus from pod
         where cluster_id = $1 and uid = $2 and finished_at is null and (epoch, seq) < ($4, $5)
           and coalesce(requests_since, bound_at) < $3 and (cpu_milli, memory_bytes, gpus) <> ($6, $7, $8)
         on conflict (cluster_id, uid, from_at) do nothing",
    )
    .bind(cluster.0)
    .bind(&pod.uid)
    .bind(at(seen))
    .bind(position.epoch)
    .bind(position.seq)
    .bind(pod.requests.cpu_milli)
    .bind(pod.requests.memory_bytes)
    .bind(pod.requests.gpus)
    .execute(db)
    .await?;
    Ok(())
}

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

const OF_JOB: &str = "select * from pod where job_id = $1 and ($2::integer is null or attempt = $2)
                      order by created_at nulls last, uid limit 5000";

/// Pods of an attempt, live and gone, the oldest first.
pub async fn of_attempt(db: &mut PgConnection, attempt: AttemptId) -> Result<Vec<PodFact>> {
    let rows = sqlx::query(OF_JOB)
        .bind(attempt.job.0)
        .bind(i32::try_from(attempt.number).ok())
        .fetch_all(db)
        .await?;
    rows.iter().map(read).collect()
}

impl Store {
    /// Pods of all attempts of a job, live and gone, the oldest first.
    pub async fn pods_of_job(&self, job: JobId) -> Result<Vec<PodFact>> {
        let rows = sqlx::query(OF_JOB).bind(job.0).bind(None::<i32>).fetch_all(self.pool()).await?;
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
