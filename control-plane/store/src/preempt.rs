//! Preemption: what stopping a live attempt would cost, who was asked to stop or to shrink for whom, and the claims that follow.
//!
//! Invariant: a claim is made in the transaction that asks its victims to stop, and holds while its job waits and has no
//! newer attempt than it had then, so a job that started is owed nothing more. Rows of claims that hold no longer are
//! passed over and removed by the next pass.

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{
        Claim, Cluster, Stake, gang_total,
        preempt::{Asked, Making},
        soft::Caps,
    },
    id::{AttemptId, ClusterId, JobId},
    time::Timestamp,
};

use crate::{Result, at, attempt::attempt_id, desired::next_generations, run_time, stamp, stamp_opt};

/// Fills in the stakes of all attempts that hold something.
pub async fn add_stakes(db: &mut PgConnection, clusters: &mut [Cluster]) -> Result<()> {
    let rows = sqlx::query(
        "select a.job_id, a.number as attempt, a.running_at, a.checkpointed_at, a.assigned_at, a.state = 'stopping' as stopping, a.stop_asked_at,
                a.makes_room_for, j.name, j.priority, j.program, j.submitted_at, j.resumes, j.cancel_requested_at,
                (select count(*) from attempt b where b.job_id = a.job_id and b.state = 'preempted') as stops
         from attempt a join job j on j.id = a.job_id
         where a.ended_at is null or a.makes_room_for in (select job_id from claim)",
    )
    .fetch_all(&mut *db)
    .await?;
    let mut stakes = BTreeMap::new();
    for row in &rows {
        if let Some(id) = attempt_id(row)? {
            stakes.insert(id, (stake(row)?, row.try_get::<String, _>("program")?));
        }
    }
    let held = clusters.iter_mut().flat_map(|one| one.attempts.iter_mut().chain(&mut one.leaving));
    let (mut staked, mut kinds) = (Vec::new(), Vec::new());
    for held in held {
        if let Some((stake, program)) = stakes.remove(&held.id) {
            held.stake = Stake { ended: held.stake.ended, ..stake };
            kinds.push((held.queue.clone(), gang_total(&held.gang).gpus, program));
            staked.push(held);
        }
    }
    let expected = run_time::expected(db, &kinds).await?;
    staked.into_iter().zip(expected).for_each(|(held, millis)| held.stake.expected_ms = millis);
    Ok(())
}

fn stake(row: &PgRow) -> Result<Stake> {
    let stops: i64 = row.try_get("stops")?;
    Ok(Stake {
        name: row.try_get("name")?,
        priority: row.try_get("priority")?,
        submitted_at: stamp(row.try_get("submitted_at")?),
        began: stamp_opt(row.try_get("running_at")?),
        expected_ms: None,
        resumes: row.try_get("resumes")?,
        saved: stamp_opt(row.try_get("checkpointed_at")?),
        stops: u32::try_from(stops).unwrap_or(u32::MAX),
        asked: asked(row)?,
        ended: None,
    })
}

/// Nobody's room, if a person asked for the end.
fn asked(row: &PgRow) -> Result<Option<Asked>> {
    let makes_room_for = row.try_get::<Option<_>, _>("makes_room_for")?.map(JobId);
    if let Some(at) = stamp_opt(row.try_get("stop_asked_at")?) {
        return Ok(Some(Asked { at, makes_room_for }));
    }
    let cancelled = stamp_opt(row.try_get("cancel_requested_at")?);
    let at = cancelled.unwrap_or(stamp(row.try_get("assigned_at")?));
    Ok(row.try_get::<bool, _>("stopping")?.then_some(Asked { at, makes_room_for: None }))
}

/// Claims that hold, the oldest first.
pub async fn claims(db: &mut PgConnection) -> Result<Vec<Claim>> {
    let rows = sqlx::query(
        "select c.job_id, c.cluster_id, c.made_at from claim c join job j on j.id = c.job_id
         where j.state = 'queued'
           and c.after_attempt = coalesce((select max(number) from attempt where job_id = c.job_id), 0)
         order by c.made_at, c.job_id",
    )
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Claim {
                job: JobId(row.try_get("job_id")?),
                cluster: ClusterId(row.try_get("cluster_id")?),
                since: stamp(row.try_get("made_at")?),
            })
        })
        .collect()
}

/// Makes a claim for a job whose newest attempt is `after`, 0 if it has none. False if it has one that holds.
pub async fn claim(db: &mut PgConnection, making: &Making, after: u32, now: Timestamp) -> Result<bool> {
    let done = sqlx::query(
        "insert into claim (job_id, cluster_id, after_attempt, made_at) values ($1, $2, $3, $4)
         on conflict (job_id) do update
         set cluster_id = excluded.cluster_id, after_attempt = excluded.after_attempt, made_at = excluded.made_at
         where claim.after_attempt <> excluded.after_attempt",
    )
    .bind(making.job.0)
    .bind(making.cluster.0)
    .bind(i32::try_from(after).unwrap_or(i32::MAX))
    .bind(at(now))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes for whom the attempt was asked to stop.
pub async fn ask(
    db: &mut PgConnection,
    attempt: AttemptId,
    makes_room_for: JobId,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "update attempt set stop_asked_at = $3, makes_room_for = $4 where job_id = $1 and number = $2",
    )
    .bind(attempt.job.0)
    .bind(i32::try_from(attempt.number).unwrap_or(i32::MAX))
    .bind(at(now))
    .bind(makes_room_for.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Sets the caps of a live attempt, which the caller has locked by its job: they are part of the desired set of its cluster.
/// Answers the job's new version.
pub async fn cap(
    db: &mut PgConnection,
    (attempt, cluster): (AttemptId, ClusterId),
    (caps, because): (&Caps, &str),
    makes_room_for: Option<JobId>,
    now: Timestamp,
) -> Result<i64> {
    let generations = next_generations(db, [cluster].into_iter()).await?;
    sqlx::query(
        "update attempt set caps = $3, capped_for = coalesce($4, capped_for), capped_because = $5, capped_at = $6,
                changed_generation = greatest(changed_generation, $7)
         where job_id = $1 and number = $2",
    )
    .bind(attempt.job.0)
    .bind(i32::try_from(attempt.number).unwrap_or(i32::MAX))
    .bind(Json(caps))
    .bind(makes_room_for.map(|job| job.0))
    .bind(if caps.is_empty() { "" } else { because })
    .bind(at(now))
    .bind(generations.get(&cluster).copied().unwrap_or(0))
    .execute(&mut *db)
    .await?;
    let version = sqlx::query_scalar("update job set version = version + 1 where id = $1 returning version");
    Ok(version.bind(attempt.job.0).fetch_one(db).await?)
}

/// Removes the claims of these jobs, and all that hold no longer.
pub async fn forget(db: &mut PgConnection, dropped: &[JobId]) -> Result<()> {
    let dropped: Vec<_> = dropped.iter().map(|job| job.0).collect();
    sqlx::query(
        "delete from claim where job_id = any ($1)
            or after_attempt < (select max(number) from attempt where attempt.job_id = claim.job_id)
            or job_id in (select id from job where id = claim.job_id and state in ('succeeded', 'failed', 'cancelled'))",
    )
    .bind(&dropped)
    .execute(db)
    .await?;
    Ok(())
}

#[cfg(test)]
#[path = "preempt_tests.rs"]
mod tests;
