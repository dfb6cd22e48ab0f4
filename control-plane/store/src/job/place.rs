//! Places: where a job stands in the line of its queue, counted when somebody asks.
//!
//! Owns the order of a line: those that stay within a guarantee, as the dispatcher judged their class, then those that borrow, then
//! those that it has not looked at; within each part the more urgent first, then the older. Lines of up to [`EXACT`] jobs are
//! counted in the index. Of a longer one [`recount`] marks every [`STEP`]th job, whatever its part, with how many of each part
//! stood before it; a place is then what its mark says and what stands between, and is said to be about. Fails by being old: who
//! was placed, cancelled or came with more urgency since the count is missed. Repaired by the next count.

use sqlx::{PgConnection, Row};
use squadron_core::{dispatch::Place, id::JobId, time::Timestamp};

use crate::{Result, Store, at};

/// Jobs of a line that are counted one by one.
pub const EXACT: i64 = 10_000;
/// Jobs from one mark to the next.
const STEP: i64 = 5_000;
/// Later jobs of each state that are looked at when those are counted that went first.
const LOOKED_AT: i64 = 10_000;

/// Which part of a line a job stands in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    Guaranteed,
    Borrowing,
    /// The dispatcher has not looked at jobs like it.
    Unlooked,
}

impl Part {
    pub const ALL: [Part; 3] = [Part::Guaranteed, Part::Borrowing, Part::Unlooked];

    /// Of a job whose class was judged so.
    pub fn of(borrows: Option<bool>) -> Part {
        borrows.map_or(Part::Unlooked, |borrows| if borrows { Part::Borrowing } else { Part::Guaranteed })
    }

    /// Counts from 0, in the order of the line.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// A job's key in the line: the lesser goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineKey {
    pub part: Part,
    /// The negated value of its priority.
    pub negated: i64,
    pub submitted_at: Timestamp,
    pub job: JobId,
}

impl LineKey {
    pub fn new(part: Part, priority: i32, submitted_at: Timestamp, job: JobId) -> LineKey {
        LineKey { part, negated: -i64::from(priority), submitted_at, job }
    }
}

/// Which jobs stand before one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    InLine,
    /// Those that are more urgent, or as urgent and older, whatever their part.
    ByUrgency,
}

impl Store {
    /// Where a job with this key stands or would stand in the line of the queue.
    pub async fn place(&self, queue: &str, key: LineKey) -> Result<Place> {
        self.count(queue, key, Before::InLine).await
    }

    /// Where a job stands that the dispatcher has not looked at: as if nobody's guarantee mattered.
    pub async fn place_of_new(&self, queue: &str, key: LineKey) -> Result<Place> {
        self.count(queue, key, Before::ByUrgency).await
    }

    async fn count(&self, queue: &str, key: LineKey, before: Before) -> Result<Place> {
        if let Some(place) = self.about(queue, key, before).await? {
            return Ok(place);
        }
        let (length, place) = self.exactly(queue, key, before, EXACT + 1).await?;
        if length <= EXACT {
            return Ok(place);
        }
        // It is long, and its first count is about to come.
        Ok(self.exactly(queue, key, before, i64::MAX).await?.1)
    }

    async fn exactly(&self, queue: &str, key: LineKey, before: Before, most: i64) -> Result<(i64, Place)> {
        let row = sqlx::query(
            "select count(*) as length,
                    count(*) filter (where case when $6 then (negated, submitted_at, id) < ($3, $4, $5)
                                           else (part, negated, submitted_at, id) < ($2, $3, $4, $5) end) as before
             from (select coalesce(c.borrows::integer, 2) as part, j.*
                   from (select -(priority::bigint) as negated, submitted_at, id, class_id from job
                         where queue = $1 and state = 'queued' order by -(priority::bigint), submitted_at, id limit $7) j
                   left join job_class c on c.id = j.class_id and c.queue = $1 and c.borrows is not null) line",
        )
        .bind(queue)
        .bind(key.part.number())
        .bind(key.negated)
        .bind(at(key.submitted_at))
        .bind(key.job.0)
        .bind(before == Before::ByUrgency)
        .bind(most)
        .fetch_one(self.pool())
        .await?;
        let (length, before): (i64, i64) = (row.try_get("length")?, row.try_get("before")?);
        Ok((length, place((before, false), (length, false))))
    }

    /// By the last count; `None` of a line that was short then.
    async fn about(&self, queue: &str, key: LineKey, before: Before) -> Result<Option<Place>> {
        let row = sqlx::query(
            "with mark as (
                 select * from line_mark
                 where queue = $1 and (negated, submitted_at, job_id) <= ($2, $3, $4)
                 order by negated desc, submitted_at desc, job_id desc limit 1
             ), between as (
                 select coalesce(c.borrows::integer, 2) as part
                 from (select class_id from job where queue = $1 and state = 'queued'
                       and (-(priority::bigint), submitted_at, id) < ($2, $3, $4)
                       and (-(priority::bigint), submitted_at, id)
                           >= (coalesce((select negated from mark), '-9223372036854775808'::bigint),
                               coalesce((select submitted_at from mark), '-infinity'),
                               coalesce((select job_id from mark), '00000000-0000-0000-0000-000000000000'))
                       order by -(priority::bigint), submitted_at, id limit 2 * $5) j
                 left join job_class c on c.id = j.class_id and c.queue = $1 and c.borrows is not null
             )
             select l.lengths, m.before,
                    (select array[count(*) filter (where part = 0), count(*) filter (where part = 1),
                                  count(*) filter (where part = 2)] from between) as between
             from line l left join mark m on true where l.queue = $1",
        )
        .bind(queue)
        .bind(key.negated)
        .bind(at(key.submitted_at))
        .bind(key.job.0)
        .bind(EXACT)
        .fetch_optional(self.pool())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let (lengths, between): (Vec<i64>, Vec<i64>) = (row.try_get("lengths")?, row.try_get("between")?);
        let marked: Option<Vec<i64>> = row.try_get("before")?;
        let (mut count, mut old) = (0, marked.is_some());
        let marked = marked.unwrap_or_else(|| vec![0; Part::ALL.len()]);
        for (((part, length), at_mark), between) in Part::ALL.iter().zip(&lengths).zip(&marked).zip(&between)
        {
            if before == Before::ByUrgency || *part == key.part {
                count += at_mark + between;
            } else if *part < key.part {
                count += length;
                old |= *length > 0;
            }
        }
        Ok(Some(place((count, old), (lengths.iter().sum(), true))))
    }

    /// Jobs of the queue that came after this one and have been placed, counted up to `limit`.
    pub async fn overtakers(&self, queue: &str, key: LineKey, limit: i64) -> Result<usize> {
        let count: i64 = sqlx::query_scalar(
            "select count(*) from (
                 select 1 from unnest(array['assigned', 'starting', 'running', 'stopping', 'succeeded', 'failed', 'cancelled'])
                     as s (state)
                 cross join lateral (
                     select 1 from (select id from job where queue = $1 and state = s.state
                                    and (submitted_at, id) > ($2, $3) limit $5) j
                     where exists (select 1 from attempt where job_id = j.id) limit $4) one
                 limit $4) placed",
        )
        .bind(queue)
        .bind(at(key.submitted_at))
        .bind(key.job.0)
        .bind(limit)
        .bind(LOOKED_AT)
        .fetch_one(self.pool())
        .await?;
        Ok(usize::try_from(count).unwrap_or(0))
    }
}

fn place((before, about): (i64, bool), (length, of_about): (i64, bool)) -> Place {
    let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
    Place { position: number(before + 1), length: number(length.max(before + 1)), about, of_about }
}

/// Counts the lines that are longer than [`EXACT`] anew, and forgets the counts of all others. Answers how many it counted.
pub async fn recount(db: &mut PgConnection, now: Timestamp) -> Result<usize> {
    let long: Vec<String> = sqlx::query_scalar(
        "select name from queue q where exists (
             select 1 from job where queue = q.name and state = 'queued'
             order by -(priority::bigint), submitted_at, id offset $1 limit 1) order by name",
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
        "insert into line (queue, lengths, counted_at)
         select $1, array[count(*) filter (where part = 0), count(*) filter (where part = 1),
                          count(*) filter (where part = 2)], $2
         from (select coalesce(c.borrows::integer, 2) as part from job j
               left join job_class c on c.id = j.class_id and c.queue = $1 and c.borrows is not null
               where j.queue = $1 and j.state = 'queued') line
         on conflict (queue) do update set lengths = excluded.lengths, counted_at = $2",
    )
    .bind(queue)
    .bind(at(now))
    .execute(&mut *db)
    .await?;
    sqlx::query("delete from line_mark where queue = $1").bind(queue).execute(&mut *db).await?;
    sqlx::query(
        "insert into line_mark (queue, negated, submitted_at, job_id, before)
         select $1, negated, submitted_at, id,
                array[within - (part = 0)::integer, borrowing - (part = 1)::integer, unlooked - (part = 2)::integer]
         from (select line.*, row_number() over urgency - 1 as before,
                      count(*) filter (where part = 0) over urgency as within,
                      count(*) filter (where part = 1) over urgency as borrowing,
                      count(*) filter (where part = 2) over urgency as unlooked
               from (select -(j.priority::bigint) as negated, j.submitted_at, j.id, coalesce(c.borrows::integer, 2) as part
                     from job j left join job_class c on c.id = j.class_id and c.queue = $1 and c.borrows is not null
                     where j.queue = $1 and j.state = 'queued') line
               window urgency as (order by negated, submitted_at, id rows unbounded preceding)) counted
         where before >= $2 and before % $3 = 0",
    )
    .bind(queue)
    .bind(EXACT)
    .bind(STEP)
    .execute(db)
    .await?;
    Ok(())
}
