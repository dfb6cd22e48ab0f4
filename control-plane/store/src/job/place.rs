//! Places: where a job stands in the line of its queue, counted when somebody asks.
//!
//! Owns how far the count is exact. Up to [`EXACT`] jobs are counted in the index. Of a longer line [`recount`] marks every
//! [`STEP`]th job with how many stood before it; a place behind a mark is that number and what stands between, and is said to be
//! about. Fails by being old: who was placed, cancelled or came with more urgency since the count is missed. Repaired by the next
//! count.

use sqlx::{PgConnection, Row};
use squadron_core::{dispatch::Place, id::JobId, time::Timestamp};

use crate::{Result, Store, at};

/// Jobs that are counted one by one.
pub const EXACT: i64 = 10_000;
/// Jobs from one mark to the next.
const STEP: i64 = 5_000;

/// A job's key in the line: the lesser goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineKey {
    /// The negated value of its priority.
    pub negated: i64,
    pub submitted_at: Timestamp,
    pub job: JobId,
}

impl LineKey {
    pub fn new(priority: i32, submitted_at: Timestamp, job: JobId) -> LineKey {
        LineKey { negated: -i64::from(priority), submitted_at, job }
    }
}

impl Store {
    /// Where a job with this key stands or would stand in the line of the queue.
    pub async fn place(&self, queue: &str, key: LineKey) -> Result<Place> {
        let row = sqlx::query(
            "with mark as (
                 select * from line_mark
                 where queue = $1 and (negated, submitted_at, job_id) <= ($2, $3, $4)
                 order by negated desc, submitted_at desc, job_id desc limit 1
             )
             select (select before from mark) as before, (select length from line where queue = $1) as counted,
                    (select count(*) from (
                         select 1 from job where queue = $1 and state = 'queued'
                         and (-(priority::bigint), submitted_at, id) < ($2, $3, $4)
                         and (-(priority::bigint), submitted_at, id)
                             >= (coalesce((select negated from mark), -9223372036854775808),
                                 coalesce((select submitted_at from mark), '-infinity'),
                                 coalesce((select job_id from mark), '00000000-0000-0000-0000-000000000000'))
                         limit 2 * $5) between) as behind_mark,
                    case when not exists (select 1 from line where queue = $1) then
                        (select count(*) from (
                             select 1 from job where queue = $1 and state = 'queued' limit $5 + 1) first) end as length",
        )
        .bind(queue)
        .bind(key.negated)
        .bind(at(key.submitted_at))
        .bind(key.job.0)
        .bind(EXACT)
        .fetch_one(self.pool())
        .await?;
        let (before, counted): (Option<i64>, Option<i64>) = (row.try_get("before")?, row.try_get("counted")?);
        let (behind, exact): (i64, Option<i64>) = (row.try_get("behind_mark")?, row.try_get("length")?);
        let position = before.unwrap_or(0) + behind + 1;
        let length = exact.or(counted).unwrap_or(0);
        let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Place {
            position: number(position),
            length: number(length.max(position)),
            about: exact.is_none_or(|length| length > EXACT),
        })
    }

    /// Jobs of the queue that came after this one and have been placed, counted up to `limit`.
    pub async fn overtakers(&self, queue: &str, key: LineKey, limit: i64) -> Result<usize> {
        let count: i64 = sqlx::query_scalar(
            "select count(*) from (
                 select 1 from unnest(array['assigned', 'starting', 'running', 'stopping', 'succeeded', 'failed', 'cancelled'])
                     as s (state)
                 cross join lateral (
                     select 1 from job j where queue = $1 and j.state = s.state and (submitted_at, id) > ($2, $3)
                     and exists (select 1 from attempt where job_id = j.id) limit $4) one
                 limit $4) placed",
        )
        .bind(queue)
        .bind(at(key.submitted_at))
        .bind(key.job.0)
        .bind(limit)
        .fetch_one(self.pool())
        .await?;
        Ok(usize::try_from(count).unwrap_or(0))
    }
}

/// Counts the lines that are longer than [`EXACT`] anew, and forgets the counts of all others. Answers how many it counted.
pub async fn recount(db: &mut PgConnection, now: Timestamp) -> Result<usize> {
    let long: Vec<String> = sqlx::query_scalar(
        "select name from queue q where exists (
             select 1 from job where queue = q.name and state = 'queued' offset $1 limit 1) order by name",
    )
    .bind(EXACT)
    .fetch_all(&mut *db)
    .await?;
    sqlx::query("delete from line where queue <> all ($1)").bind(&long).execute(&mut *db).await?;
    for queue in &long {
        count(db, queue, now).await?;
    }
    Ok(long.len())
}

async fn count(db: &mut PgConnection, queue: &str, now: Timestamp) -> Result<()> {
    sqlx::query(
        "insert into line (queue, length, counted_at)
         select $1, count(*), $2 from job where queue = $1 and state = 'queued'
         on conflict (queue) do update set length = excluded.length, counted_at = $2",
    )
    .bind(queue)
    .bind(at(now))
    .execute(&mut *db)
    .await?;
    sqlx::query("delete from line_mark where queue = $1").bind(queue).execute(&mut *db).await?;
    sqlx::query(
        "insert into line_mark (queue, negated, submitted_at, job_id, before)
         select $1, negated, submitted_at, id, before from (
             select -(priority::bigint) as negated, submitted_at, id,
                    row_number() over (order by -(priority::bigint), submitted_at, id) - 1 as before
             from job where queue = $1 and state = 'queued') counted
         where before >= $2 and before % $3 = 0",
    )
    .bind(queue)
    .bind(EXACT)
    .bind(STEP)
    .execute(db)
    .await?;
    Ok(())
}
