//! The way of a decided step into the database.
//!
//! Invariant: job, attempt and the cluster's generation change in one transaction, under a lock on the job's row. The
//! index `attempt_live` refuses a second live attempt whatever a caller does.

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{
    attempt::{Attempt, AttemptState, Job, Step},
    id::{ClusterId, JobId},
};

use crate::{Result, StoreError, at, at_opt, desired::next_generation, job::state, stamp, stamp_opt};

/// The constraint that refuses a second live attempt of a job.
pub const SECOND_LIVE_ATTEMPT: &str = "attempt_live";

/// The job with its newest attempt, locked until the transaction ends.
pub async fn lock(db: &mut PgConnection, job: JobId) -> Result<Option<Job>> {
    let row = sqlx::query(
        "select j.id, j.name, j.namespace, j.state, j.reason, j.sentence, j.started_at, j.ended_at,
                j.cancel_requested_at, j.cancelled_by, j.cancel_reason,
                a.number, a.cluster_id, c.name as cluster, a.object_name, a.chosen_because, a.state as attempt_state,
                a.ended_because, a.assigned_at, a.created_at, a.running_at, a.ended_at as attempt_ended_at, a.desired,
                a.removed_at
         from job j
         left join lateral (select * from attempt where job_id = j.id order by number desc limit 1) a on true
         left join cluster c on c.id = a.cluster_id
         where j.id = $1 for update of j",
    )
    .bind(job.0)
    .fetch_optional(db)
    .await?;
    row.as_ref().map(read).transpose()
}

fn read(row: &PgRow) -> Result<Job> {
    Ok(Job {
        id: JobId(row.try_get("id")?),
        name: row.try_get("name")?,
        namespace: row.try_get("namespace")?,
        state: state(row.try_get("state")?)?,
        reason: row.try_get("reason")?,
        sentence: row.try_get("sentence")?,
        started_at: stamp_opt(row.try_get("started_at")?),
        ended_at: stamp_opt(row.try_get("ended_at")?),
        cancel_requested_at: stamp_opt(row.try_get("cancel_requested_at")?),
        cancelled_by: row.try_get("cancelled_by")?,
        cancel_reason: row.try_get("cancel_reason")?,
        attempt: row
            .try_get::<Option<i32>, _>("number")?
            .map(|number| read_attempt(row, number))
            .transpose()?,
    })
}

fn read_attempt(row: &PgRow, number: i32) -> Result<Attempt> {
    let word: &str = row.try_get("attempt_state")?;
    let corrupt = |problem: String| StoreError::corrupt("attempt", problem);
    Ok(Attempt {
        number: u32::try_from(number).map_err(|_| corrupt(format!("{number} is no attempt number")))?,
        cluster: ClusterId(row.try_get("cluster_id")?),
        cluster_name: row.try_get("cluster")?,
        object_name: row.try_get("object_name")?,
        chosen_because: row.try_get("chosen_because")?,
        state: AttemptState::from_word(word).ok_or_else(|| corrupt(format!("{word:?} is no state")))?,
        ended_because: row.try_get("ended_because")?,
        assigned_at: stamp(row.try_get("assigned_at")?),
        created_at: stamp_opt(row.try_get("created_at")?),
        running_at: stamp_opt(row.try_get("running_at")?),
        ended_at: stamp_opt(row.try_get("attempt_ended_at")?),
        desired: row.try_get("desired")?,
        removed_at: stamp_opt(row.try_get("removed_at")?),
    })
}

/// Whether the cluster is accepted at this moment and stays so until the transaction ends.
pub async fn takes_jobs(db: &mut PgConnection, cluster: ClusterId) -> Result<bool> {
    let row = sqlx::query("select 1 from cluster where id = $1 and state = 'active' for no key update")
        .bind(cluster.0)
        .fetch_optional(db)
        .await?;
    Ok(row.is_some())
}

/// Writes a step. Answers the job's new version.
pub async fn save(db: &mut PgConnection, step: &Step) -> Result<i64> {
    let changed = match step.desired_changed {
        Some(cluster) => Some(next_generation(db, cluster).await?),
        None => None,
    };
    if let Some(attempt) = &step.job.attempt {
        save_attempt(db, step.job.id, attempt, changed).await?;
    }
    save_job(db, &step.job).await
}

async fn save_job(db: &mut PgConnection, job: &Job) -> Result<i64> {
    Ok(sqlx::query_scalar(
        "update job set state = $2, reason = $3, sentence = $4, started_at = $5, ended_at = $6,
                cancel_requested_at = $7, cancelled_by = $8, cancel_reason = $9,
                blockers = case when $2 = 'queued' then blockers else '[]' end,
                queue_position = case when $2 = 'queued' then queue_position end,
                queue_length = case when $2 = 'queued' then queue_length end,
                version = version + 1
         where id = $1 returning version",
    )
    .bind(job.id.0)
    .bind(job.state.word())
    .bind(&job.reason)
    .bind(&job.sentence)
    .bind(at_opt(job.started_at))
    .bind(at_opt(job.ended_at))
    .bind(at_opt(job.cancel_requested_at))
    .bind(&job.cancelled_by)
    .bind(&job.cancel_reason)
    .fetch_one(db)
    .await?)
}

async fn save_attempt(
    db: &mut PgConnection,
    job: JobId,
    attempt: &Attempt,
    changed: Option<i64>,
) -> Result<()> {
    sqlx::query(
        "insert into attempt (job_id, number, cluster_id, state, object_name, chosen_because, ended_because, assigned_at,
                              created_at, running_at, ended_at, desired, removed_at, changed_generation, first_generation)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, coalesce($14, 0), coalesce($14, 0))
         on conflict (job_id, number) do update
         set state = $4, ended_because = $7, created_at = $9, running_at = $10, ended_at = $11, desired = $12,
             removed_at = $13, changed_generation = coalesce($14, attempt.changed_generation),
             released_generation = case when $12 then null else coalesce($14, attempt.released_generation) end",
    )
    .bind(job.0)
    .bind(i32::try_from(attempt.number).unwrap_or(i32::MAX))
    .bind(attempt.cluster.0)
    .bind(attempt.state.word())
    .bind(&attempt.object_name)
    .bind(&attempt.chosen_because)
    .bind(&attempt.ended_because)
    .bind(at(attempt.assigned_at))
    .bind(at_opt(attempt.created_at))
    .bind(at_opt(attempt.running_at))
    .bind(at_opt(attempt.ended_at))
    .bind(attempt.desired)
    .bind(at_opt(attempt.removed_at))
    .bind(changed)
    .execute(db)
    .await?;
    Ok(())
}
