//! The way of a decided step into the database.
//!
//! Invariant: job, attempt and the cluster's generation change in one transaction, under a lock on the job's row. The
//! index `attempt_live` refuses a second live attempt whatever a caller does. Many steps cost as many statements as one.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    attempt::{Attempt, AttemptState, Job, Step},
    dispatch::{Bound, Usage},
    id::{ClusterId, JobId},
};

use crate::{
    Result, StoreError, at, at_opt,
    desired::{Generations, next_generations},
    job::state,
    stamp, stamp_opt,
};

/// The constraint that refuses a second live attempt of a job.
pub const SECOND_LIVE_ATTEMPT: &str = "attempt_live";

/// The job with its newest attempt, locked until the transaction ends.
pub async fn lock(db: &mut PgConnection, job: JobId) -> Result<Option<Job>> {
    Ok(lock_all(db, &[job]).await?.remove(&job))
}

/// These jobs, locked in the order of their ids. They are read by a statement of their own, because the one that waits for a
/// lock sees the row that it waited for anew, and everything else as it was before.
pub async fn lock_all(db: &mut PgConnection, jobs: &[JobId]) -> Result<BTreeMap<JobId, Job>> {
    hold_all(db, jobs).await?;
    locked(db, jobs).await
}

/// Locks these jobs in the order of their ids, until the transaction ends.
pub async fn hold_all(db: &mut PgConnection, jobs: &[JobId]) -> Result<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    sqlx::query("select 1 from job where id = any ($1) order by id for update")
        .bind(jobs.iter().map(|job| job.0).collect::<Vec<_>>())
        .execute(db)
        .await?;
    Ok(())
}

/// These jobs, which the transaction has locked.
pub async fn locked(db: &mut PgConnection, jobs: &[JobId]) -> Result<BTreeMap<JobId, Job>> {
    if jobs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = sqlx::query(
        "select j.id, j.name, j.namespace, j.state, j.reason, j.sentence, j.started_at, j.ended_at,
                j.cancel_requested_at, j.cancelled_by, j.cancel_reason,
                a.number, a.cluster_id, c.name as cluster, a.object_name, a.chosen_because, a.state as attempt_state,
                a.ended_because, a.assigned_at, a.created_at, a.running_at, a.ended_at as attempt_ended_at, a.desired,
                a.removed_at, a.checkpointed_at
         from job j
         left join lateral (select * from attempt where job_id = j.id order by number desc limit 1) a on true
         left join cluster c on c.id = a.cluster_id
         where j.id = any ($1)",
    )
    .bind(jobs.iter().map(|job| job.0).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    rows.iter().map(read).map(|job| job.map(|job| (job.id, job))).collect()
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
        checkpointed_at: stamp_opt(row.try_get("checkpointed_at")?),
        ended_at: stamp_opt(row.try_get("attempt_ended_at")?),
        desired: row.try_get("desired")?,
        removed_at: stamp_opt(row.try_get("removed_at")?),
    })
}

/// Those of these clusters that are accepted at this moment; they stay so until the transaction ends.
pub async fn taking_jobs(
    db: &mut PgConnection,
    clusters: &BTreeSet<ClusterId>,
) -> Result<BTreeSet<ClusterId>> {
    let open = sqlx::query_scalar(
        "select id from cluster where id = any ($1) and state = 'active' order by id for no key update",
    )
    .bind(clusters.iter().map(|cluster| cluster.0).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    Ok(open.into_iter().map(ClusterId).collect())
}

/// Writes a step. Answers the job's new version.
pub async fn save(db: &mut PgConnection, step: &Step) -> Result<i64> {
    let versions = save_all(db, std::slice::from_ref(step)).await?;
    versions.get(&step.job.id).copied().ok_or_else(|| sqlx::Error::RowNotFound.into())
}

/// Writes steps of different jobs. Answers the jobs' new versions.
pub async fn save_all(db: &mut PgConnection, steps: &[Step]) -> Result<BTreeMap<JobId, i64>> {
    save_charged(db, steps, &Charges::new()).await
}

/// What the queues of new attempts are charged, and what their pods are bound to.
pub type Charges<'a> = BTreeMap<JobId, (&'a Usage, &'a Bound)>;

/// The same for steps that assign.
pub async fn save_charged(
    db: &mut PgConnection,
    steps: &[Step],
    charges: &Charges<'_>,
) -> Result<BTreeMap<JobId, i64>> {
    if steps.is_empty() {
        return Ok(BTreeMap::new());
    }
    // Clusters come after jobs and as late as may be: their heartbeats, leases and acceptances wait for whoever holds them.
    let versions = save_jobs(db, steps).await?;
    let generations = next_generations(db, steps.iter().filter_map(|step| step.desired_changed)).await?;
    save_attempts(db, steps, &generations, charges).await?;
    Ok(versions)
}

async fn save_jobs(db: &mut PgConnection, steps: &[Step]) -> Result<BTreeMap<JobId, i64>> {
    let jobs: Vec<&Job> = steps.iter().map(|step| &step.job).collect();
    let rows = sqlx::query(
        "update job set state = s.state, reason = s.reason, sentence = s.sentence, started_at = s.started_at,
                ended_at = s.ended_at, cancel_requested_at = s.cancel_requested_at, cancelled_by = s.cancelled_by,
                cancel_reason = s.cancel_reason,
                version = version + 1
         from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[],
                     $7::timestamptz[], $8::text[], $9::text[])
             as s (id, state, reason, sentence, started_at, ended_at, cancel_requested_at, cancelled_by, cancel_reason)
         where job.id = s.id returning job.id, job.version",
    )
    .bind(jobs.iter().map(|job| job.id.0).collect::<Vec<_>>())
    .bind(jobs.iter().map(|job| job.state.word()).collect::<Vec<_>>())
    .bind(jobs.iter().map(|job| job.reason.as_str()).collect::<Vec<_>>())
    .bind(jobs.iter().map(|job| job.sentence.as_str()).collect::<Vec<_>>())
    .bind(jobs.iter().map(|job| at_opt(job.started_at)).collect::<Vec<_>>())
    .bind(jobs.iter().map(|job| at_opt(job.ended_at)).collect::<Vec<_>>())
    .bind(jobs.iter().map(|job| at_opt(job.cancel_requested_at)).collect::<Vec<_>>())
    .bind(jobs.iter().map(|job| job.cancelled_by.as_str()).collect::<Vec<_>>())
    .bind(jobs.iter().map(|job| job.cancel_reason.as_str()).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok((JobId(row.try_get("id")?), row.try_get("version")?))).collect()
}

async fn save_attempts(
    db: &mut PgConnection,
    steps: &[Step],
    generations: &Generations,
    charges: &Charges<'_>,
) -> Result<()> {
    let rows: Vec<(&Step, &Attempt)> =
        steps.iter().filter_map(|step| Some((step, step.job.attempt.as_ref()?))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let changed = |step: &Step| step.desired_changed.and_then(|cluster| generations.get(&cluster)).copied();
    let charge = |step: &Step| charges.get(&step.job.id);
    sqlx::query(
        "insert into attempt (job_id, number, cluster_id, state, object_name, chosen_because, ended_because, assigned_at,
                              created_at, running_at, ended_at, desired, removed_at, released_generation,
                              changed_generation, first_generation, checkpointed_at, manifest_bytes, usage, bound)
         select s.job_id, s.number, s.cluster_id, s.state, s.object_name, s.chosen_because, s.ended_because, s.assigned_at,
                s.created_at, s.running_at, s.ended_at, s.desired, s.removed_at, case when not s.desired then s.changed end,
                coalesce(s.changed, 0), coalesce(s.changed, 0), s.checkpointed_at,
                (select octet_length(rayjob) from job where id = s.job_id), coalesce(s.usage, '{}'), coalesce(s.bound, '{}')
         from unnest($1::uuid[], $2::integer[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[],
                     $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::boolean[],
                     $13::timestamptz[], $14::bigint[], $15::timestamptz[], $16::jsonb[], $17::jsonb[])
             as s (job_id, number, cluster_id, state, object_name, chosen_because, ended_because, assigned_at, created_at,
                   running_at, ended_at, desired, removed_at, changed, checkpointed_at, usage, bound)
         on conflict (job_id, number) do update
         set state = excluded.state, ended_because = excluded.ended_because, created_at = excluded.created_at,
             running_at = excluded.running_at, ended_at = excluded.ended_at, desired = excluded.desired,
             removed_at = excluded.removed_at, checkpointed_at = excluded.checkpointed_at,
             changed_generation = greatest(attempt.changed_generation, excluded.changed_generation),
             released_generation = case when not excluded.desired
                                        then coalesce(excluded.released_generation, attempt.released_generation) end",
    )
    .bind(rows.iter().map(|(step, _)| step.job.id.0).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| i32::try_from(one.number).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| one.cluster.0).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| one.state.word()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| one.object_name.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| one.chosen_because.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| one.ended_because.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| at(one.assigned_at)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| at_opt(one.created_at)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| at_opt(one.running_at)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| at_opt(one.ended_at)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| one.desired).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| at_opt(one.removed_at)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(step, _)| changed(step)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, one)| at_opt(one.checkpointed_at)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(step, _)| charge(step).map(|(usage, _)| Json(*usage))).collect::<Vec<_>>())
    .bind(rows.iter().map(|(step, _)| charge(step).map(|(_, bound)| Json(*bound))).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}
