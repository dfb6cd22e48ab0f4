//! Places: where a job stands in the line of its queue, counted when somebody asks.
//!
//! Owns the order of a line: those that stay within a guarantee, as the dispatcher judged their class, then those that borrow, then
//! those that it has not looked at; within each part those of higher priority first, then by [`Urgency`], then the older. A job that
//! was not looked at has no size, so only its age is compared, and its place is said to be about where the others have one. Lines of
//! up to [`EXACT`] jobs are counted one by one. Of a longer one [`recount`] marks some jobs, whatever their part, with how many of
//! each part stood before: every [`STEP`]th where age makes the order, so that a place is what its mark says and what stands
//! between; closer where sizes do, and then a place is that of the mark before. Both are said to be about.
//! Fails by being old: who was placed, cancelled or came since the count is missed. Repaired by the next count.

use sqlx::{PgConnection, Row};
use squadron_core::{
    dispatch::{PATIENCE_MS, Place, Urgency},
    id::JobId,
    time::Timestamp,
};

use crate::{Result, Store, at};

/// How patience grows with the wait, in SQL; its waits are [`PATIENCE_MS`], and one more than have passed.
macro_rules! patience {
    ($waits:expr) => {
        concat!("greatest(sqrt(", $waits, "), ", $waits, " / 8)")
    };
}

/// What [`Urgency::value`] is of a job of this size at a moment, in SQL.
macro_rules! urgency {
    ($size:literal, $submitted:literal, $now:literal) => {
        concat!(
            "(case when ",
            $size,
            " > 0 then ",
            $size,
            " / ",
            $crate::job::place::patience!(concat!(
                "(1::float8 + greatest(trunc(extract(epoch from ",
                $now,
                " - ",
                $submitted,
                ") * 1000), 0)::float8 / 7200000::float8)"
            )),
            " else 0 end)"
        )
    };
}
pub(crate) use {patience, urgency};
const _: () = assert!(PATIENCE_MS == 7_200_000, "the milliseconds in the macro above");

/// Jobs of a line that are counted one by one.
pub const EXACT: i64 = 10_000;
/// Jobs from one mark to the next.
const STEP: i64 = 5_000;
/// Later jobs of each state, the newest first, that are looked at when those are counted that went first.
pub(super) const LOOKED_AT: i64 = 10_000;

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

/// What a job's place in the line depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LineKey {
    pub part: Part,
    /// The negated value of its priority.
    pub negated: i64,
    /// GPU seconds that it is expected to take; 0 while nothing is known, and of jobs that were not looked at.
    pub size: f64,
    pub submitted_at: Timestamp,
    pub job: JobId,
}

impl LineKey {
    pub fn new(part: Part, priority: i32, size: f64, submitted_at: Timestamp, job: JobId) -> LineKey {
        let size = if part == Part::Unlooked { 0.0 } else { size };
        LineKey { part, negated: -i64::from(priority), size, submitted_at, job }
    }

    /// The lesser goes first at `now`.
    pub(super) fn order(&self, now: Timestamp) -> (Part, i64, Urgency, Timestamp, JobId) {
        (self.part, self.negated, self.urgency(now), self.submitted_at, self.job)
    }

    pub(super) fn urgency(&self, now: Timestamp) -> Urgency {
        Urgency::of(self.size, now.millis_since(self.submitted_at))
    }
}

/// Which jobs stand before one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    InLine,
    /// Those of higher priority, and of the same the older, whatever their part and size.
    ByAge,
}

impl Store {
    /// Where a job with this key stands or would stand at `now` in the line of the queue.
    pub async fn place(&self, queue: &str, key: LineKey, now: Timestamp) -> Result<Place> {
        self.count(queue, key, Before::InLine, now).await
    }

    /// Where a job stands that the dispatcher has not looked at: as if nobody's guarantee mattered, nor anybody's size.
    pub async fn place_of_new(&self, queue: &str, key: LineKey, now: Timestamp) -> Result<Place> {
        self.count(queue, key, Before::ByAge, now).await
    }

    async fn count(&self, queue: &str, key: LineKey, before: Before, now: Timestamp) -> Result<Place> {
        if let Some(place) = self.about(queue, key, before).await? {
            return Ok(place);
        }
        let (length, place) = self.exactly(queue, key, (before, now), EXACT + 1).await?;
        if length <= EXACT {
            return Ok(place);
        }
        // It is long, and its first count is about to come.
        Ok(self.exactly(queue, key, (before, now), i64::MAX).await?.1)
    }

    async fn exactly(
        &self,
        queue: &str,
        key: LineKey,
        (before, now): (Before, Timestamp),
        most: i64,
    ) -> Result<(i64, Place)> {
        let row = sqlx::query(concat!(
            "select count(*) as length, coalesce(bool_or(size > 0), false) as by_size,
                    count(*) filter (where case when $6 then (negated, submitted_at, id) < ($3, $4, $5)
                                           else (part, negated, ", urgency!("size", "submitted_at", "$8"), ", submitted_at, id)
                                                < ($2, $3, $9, $4, $5) end) as before
             from (select coalesce(c.borrows::integer, 2) as part, coalesce(c.size, 0) as size, j.*
                   from (select -(priority::bigint) as negated, submitted_at, id, class_id from job
                         where queue = $1 and state = 'queued' order by -(priority::bigint), submitted_at, id limit $7) j
                   left join job_class c on c.id = j.class_id and c.queue = $1 and c.borrows is not null) line",
        ))
        .bind(queue)
        .bind(key.part.number())
        .bind(key.negated)
        .bind(at(key.submitted_at))
        .bind(key.job.0)
        .bind(before == Before::ByAge)
        .bind(most)
        .bind(at(now))
        .bind(key.urgency(now).value())
        .fetch_one(self.pool())
        .await?;
        let (length, count): (i64, i64) = (row.try_get("length")?, row.try_get("before")?);
        let about = before == Before::ByAge && row.try_get("by_size")?;
        Ok((length, place((count, about), (length, false))))
    }

    /// By the last count; `None` of a line that was short then.
    async fn about(&self, queue: &str, key: LineKey, before: Before) -> Result<Option<Place>> {
        let row = sqlx::query(concat!(
            "with counted as (
                 select *, case when by_size then ", urgency!("$6::float8", "$3", "counted_at"), " else 0 end as urgency
                 from line where queue = $1
             ), mark as (
                 select m.* from line_mark m, counted l
                 where m.queue = $1 and (m.negated, m.urgency, m.submitted_at, m.job_id) <= ($2, l.urgency, $3, $4)
                 order by m.negated desc, m.urgency desc, m.submitted_at desc, m.job_id desc limit 1
             ), between as (
                 select coalesce(c.borrows::integer, 2) as part
                 from (select class_id from job where queue = $1 and state = 'queued' and not (select by_size from counted)
                       and (-(priority::bigint), submitted_at, id) < ($2, $3, $4)
                       and (-(priority::bigint), submitted_at, id)
                           >= (coalesce((select negated from mark), '-9223372036854775808'::bigint),
                               coalesce((select submitted_at from mark), '-infinity'),
                               coalesce((select job_id from mark), '00000000-0000-0000-0000-000000000000'))
                       order by -(priority::bigint), submitted_at, id limit 2 * $5) j
                 left join job_class c on c.id = j.class_id and c.queue = $1 and c.borrows is not null
             )
             select l.lengths, l.by_size, m.before,
                    (select array[count(*) filter (where part = 0), count(*) filter (where part = 1),
                                  count(*) filter (where part = 2)] from between) as between
             from counted l left join mark m on true",
        ))
        .bind(queue)
        .bind(key.negated)
        .bind(at(key.submitted_at))
        .bind(key.job.0)
        .bind(EXACT)
        .bind(if before == Before::ByAge { f64::INFINITY } else { key.size })
        .fetch_optional(self.pool())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let (lengths, between): (Vec<i64>, Vec<i64>) = (row.try_get("lengths")?, row.try_get("between")?);
        let marked: Option<Vec<i64>> = row.try_get("before")?;
        let (mut count, mut old) = (0, marked.is_some() || row.try_get("by_size")?);
        let marked = marked.unwrap_or_else(|| vec![0; Part::ALL.len()]);
        for (((part, length), at_mark), between) in Part::ALL.iter().zip(&lengths).zip(&marked).zip(&between)
        {
            if before == Before::ByAge || *part == key.part {
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
                                    and (submitted_at, id) > ($2, $3) order by submitted_at desc, id desc limit $5) j
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

/// Counts one line.
async fn count(db: &mut PgConnection, queue: &str, now: Timestamp) -> Result<()> {
    let by_size: bool = sqlx::query_scalar(
        "insert into line (queue, lengths, counted_at, by_size)
         select $1, array[count(*) filter (where part = 0), count(*) filter (where part = 1),
                          count(*) filter (where part = 2)], $2, coalesce(bool_or(size > 0), false)
         from (select coalesce(c.borrows::integer, 2) as part, c.size from job j
               left join job_class c on c.id = j.class_id and c.queue = $1 and c.borrows is not null
               where j.queue = $1 and j.state = 'queued') line
         on conflict (queue) do update
             set lengths = excluded.lengths, counted_at = $2, by_size = excluded.by_size
         returning by_size",
    )
    .bind(queue)
    .bind(at(now))
    .fetch_one(&mut *db)
    .await?;
    sqlx::query("delete from line_mark where queue = $1").bind(queue).execute(&mut *db).await?;
    if by_size { mark_by_size(db, queue, now).await } else { mark_by_age(db, queue).await }
}

/// The order of the line, with how many of each part stand before each job and itself.
macro_rules! marked {
    ($urgency:expr, $order:literal, $which:literal) => {
        concat!(
            "insert into line_mark (queue, negated, urgency, submitted_at, job_id, before)
             select $1, negated, urgency, submitted_at, id,
                    array[within - (part = 0)::integer, borrowing - (part = 1)::integer, unlooked - (part = 2)::integer]
             from (select line.*, row_number() over ahead - 1 as before, lead(negated) over ahead as next,
                          count(*) filter (where part = 0) over ahead as within,
                          count(*) filter (where part = 1) over ahead as borrowing,
                          count(*) filter (where part = 2) over ahead as unlooked
                   from (select -(j.priority::bigint) as negated, j.submitted_at, j.id, coalesce(c.borrows::integer, 2) as part, ",
            $urgency,
            " as urgency
                         from job j left join job_class c on c.id = j.class_id and c.queue = $1 and c.borrows is not null
                         where j.queue = $1 and j.state = 'queued') line
                   window ahead as (order by ",
            $order,
            " rows unbounded preceding)) counted where ",
            $which
        )
    };
}

/// The head needs no marks, because it is counted in the index.
async fn mark_by_age(db: &mut PgConnection, queue: &str) -> Result<()> {
    let query = marked!("0::float8", "negated, submitted_at, id", "before >= $2 and before % $3 = 0");
    sqlx::query(query).bind(queue).bind(EXACT).bind(STEP).execute(db).await?;
    Ok(())
}

/// All of the first 128 are marked, of the others so many that a mark is at most a 64th of its place away, and the last of each
/// priority. The line is sorted, which takes memory and time; nobody waits for it.
async fn mark_by_size(db: &mut PgConnection, queue: &str, now: Timestamp) -> Result<()> {
    sqlx::query("set local work_mem = '64MB'").execute(&mut *db).await?;
    sqlx::query("set local statement_timeout = '60s'").execute(&mut *db).await?;
    sqlx::query(marked!(
        concat!(
            "coalesce(c.size / ",
            patience!("(1 + greatest(date_part('epoch', $2 - j.submitted_at), 0) / 7200)"),
            ", 0)"
        ),
        "negated, urgency, submitted_at, id",
        "before < 128 or before % (1 << floor(log(2, greatest(before / 64, 1)))::integer) = 0 or next is distinct from negated"
    ))
    .bind(queue)
    .bind(at(now))
    .execute(db)
    .await?;
    Ok(())
}
