//! Estimates that were given, and what came true: the samples of the next ones, and the measure of how good they are.
//!
//! Invariant: a job at the head of its queue's line, or at a mark of a long one, has one row for each halving of its place; the
//! rows are closed in the transaction that places the job. A job that waits again, because its attempt was lost or had to make
//! room, begins a wait of its own: its rows are those that are not closed, and a closed one of the same place gives way. Jobs
//! that are never placed close nothing. Both times are by the control plane's clock, so no agent's clock makes an estimate
//! look better or worse.

use crate::{
    Result, Store, at,
    job::{gang, place::urgency},
    stamp,
};
use sqlx::{PgConnection, Row, types::Json};
use squadron_core::{
    dispatch::{
        Blocker, GangPart,
        estimate::{Coverage, Past, SizeClass},
        gang_total,
    },
    id::JobId,
    time::Timestamp,
};

/// Placed jobs of a queue that are looked at.
const HISTORY: i64 = 400;
/// Estimates of a queue that its coverage is measured by.
const MEASURED: i64 = 100;

/// A waiting job whose place has halved since the last estimate of this wait, or that has none of it yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Due {
    pub job: JobId,
    pub queue: String,
    pub class: SizeClass,
    pub position: u32,
    pub blockers: Vec<Blocker>,
}

/// What was said about a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    pub due: Due,
    /// p50 and p90 in milliseconds; `None` where there was no basis.
    pub quantiles: Option<(i64, i64)>,
}

/// Jobs at the head of a line that are looked at; of the others those that stand at a mark are.
const FIRST: i64 = 200;

/// Jobs that the dispatcher told why they wait and whose time should be estimated anew: of each queue those at the head of its
/// line at `now`, and behind them some.
pub async fn due(db: &mut PgConnection, now: Timestamp) -> Result<Vec<Due>> {
    let rows = sqlx::query(concat!(
        "with found as (
             select h.id, h.place from queue q cross join lateral (
                 select line.id, row_number() over (order by line.borrows, line.negated, line.urgency, line.submitted_at, line.id) as place
                 from (select l.id, l.submitted_at, c.borrows, -(c.priority::bigint) as negated,
                              ",
        urgency!("c.size", "l.submitted_at", "$2"),
        " as urgency
                       from job_class c cross join lateral (
                           select id, submitted_at from job
                           where queue = q.name and class_id = c.id and (state = 'queued') is true order by submitted_at, id limit $1) l
                       where c.queue = q.name and c.borrows is not null) line
                 order by line.borrows, line.negated, line.urgency, line.submitted_at, line.id limit $1) h
             union all
             select m.job_id, case when c.borrows then l.lengths[1] + m.before[2] else m.before[1] end + 1
             from line_mark m join line l on l.queue = m.queue join job j on j.id = m.job_id
             join job_class c on c.id = j.class_id and c.borrows is not null
         ), placed as (
             select distinct on (id) id, place from found order by id, place
         ), due as materialized (
             select id, place from placed p
             where not exists (select 1 from estimate e
                               where e.job_id = p.id and e.placed_at is null and e.position < 2 * p.place)
         )
         select j.id, j.queue, j.gang, d.place, coalesce(o.blockers, c.blockers) as blockers
         from due d cross join lateral (
             select id, queue, gang, class_id from job where id = d.id and state = 'queued' limit 1) j
         join job_class c on c.id = j.class_id left join own_wait o on o.job_id = j.id
         where c.decided_at is not null or o.job_id is not null
         order by j.queue, d.place",
    ))
    .bind(FIRST)
    .bind(at(now))
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Due {
                job: JobId(row.try_get("id")?),
                queue: row.try_get("queue")?,
                class: class(&gang(row)?),
                position: u32::try_from(row.try_get::<i64, _>("place")?).unwrap_or(u32::MAX),
                blockers: row.try_get::<Json<Vec<Blocker>>, _>("blockers")?.0,
            })
        })
        .collect()
}

fn class(gang: &[GangPart]) -> SizeClass {
    SizeClass::of(gang_total(gang))
}

/// The newest jobs of the queue that waited and have been placed, the newest placement first.
pub async fn history(db: &mut PgConnection, queue: &str) -> Result<Vec<Past>> {
    let rows = sqlx::query(
        "select size_class, position, (extract(epoch from placed_at - at) * 1000)::bigint as waited_ms
         from estimate where queue = $1 and placed_at is not null order by placed_at desc limit $2",
    )
    .bind(queue)
    .bind(HISTORY)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(Past {
                class: SizeClass(row.try_get("size_class")?),
                position: u32::try_from(row.try_get::<i32, _>("position")?).unwrap_or(1),
                waited_ms: row.try_get("waited_ms")?,
            })
        })
        .collect()
}

/// Writes what was said at `now` of those that still wait; who was placed meanwhile has its estimates closed.
pub async fn give(db: &mut PgConnection, given: &[Given], now: Timestamp) -> Result<()> {
    let column = |of: fn(&Given) -> Option<i64>| given.iter().map(of).collect::<Vec<_>>();
    sqlx::query(
        "with waits as (select id from job where id = any ($1) and state = 'queued' order by id for share)
         insert into estimate (job_id, position, queue, size_class, at, p50_ms, p90_ms)
         select s.job_id, s.position, s.queue, s.size_class, $5, s.p50_ms, s.p90_ms
         from unnest($1::uuid[], $2::integer[], $3::text[], $4::smallint[], $6::bigint[], $7::bigint[])
             as s (job_id, position, queue, size_class, p50_ms, p90_ms) join waits w on w.id = s.job_id
         on conflict (job_id, position) do update
             set queue = excluded.queue, size_class = excluded.size_class, at = excluded.at, p50_ms = excluded.p50_ms,
                 p90_ms = excluded.p90_ms, placed_at = null
             where estimate.placed_at is not null",
    )
    .bind(given.iter().map(|one| one.due.job.0).collect::<Vec<_>>())
    .bind(given.iter().map(|one| i32::try_from(one.due.position).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .bind(given.iter().map(|one| one.due.queue.as_str()).collect::<Vec<_>>())
    .bind(given.iter().map(|one| one.due.class.0).collect::<Vec<_>>())
    .bind(at(now))
    .bind(column(|one| one.quantiles.map(|(p50, _)| p50)))
    .bind(column(|one| one.quantiles.map(|(_, p90)| p90)))
    .execute(db)
    .await?;
    Ok(())
}

/// Closes what was said about jobs that are placed at `now`.
pub async fn close(db: &mut PgConnection, jobs: &[JobId], now: Timestamp) -> Result<()> {
    sqlx::query("update estimate set placed_at = $2 where job_id = any ($1) and placed_at is null")
        .bind(jobs.iter().map(|job| job.0).collect::<Vec<_>>())
        .bind(at(now))
        .execute(db)
        .await?;
    Ok(())
}

impl Store {
    /// See [`history`].
    pub async fn wait_history(&self, queue: &str) -> Result<Vec<Past>> {
        history(&mut *self.pool().acquire().await?, queue).await
    }

    /// How the newest estimates of the queue came true.
    pub async fn wait_coverage(&self, queue: &str) -> Result<Coverage> {
        let row = sqlx::query(
            "select count(*) as judged,
                    count(*) filter (where placed_at <= at + p50_ms * interval '1 millisecond') as by_p50,
                    count(*) filter (where placed_at <= at + p90_ms * interval '1 millisecond') as by_p90
             from (select * from estimate where queue = $1 and placed_at is not null and p90_ms is not null
                   order by placed_at desc limit $2) newest",
        )
        .bind(queue)
        .bind(MEASURED)
        .fetch_one(self.pool())
        .await?;
        let number = |name| Ok::<_, sqlx::Error>(u32::try_from(row.try_get::<i64, _>(name)?).unwrap_or(0));
        Ok(Coverage { judged: number("judged")?, by_p50: number("by_p50")?, by_p90: number("by_p90")? })
    }

    /// Since when a waiting job has had about the place that it has now, with that place: from the newest estimate of this
    /// wait.
    pub async fn in_place_since(&self, job: JobId) -> Result<Option<(u32, Timestamp)>> {
        let row = sqlx::query(
            "select position, at from estimate where job_id = $1 and placed_at is null order by position limit 1",
        )
        .bind(job.0)
        .fetch_optional(self.pool())
        .await?;
        let read = |row: sqlx::postgres::PgRow| {
            let position = u32::try_from(row.try_get::<i32, _>("position")?).unwrap_or(1);
            Ok((position, stamp(row.try_get("at")?)))
        };
        row.map(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use squadron_core::dispatch::{Blocked, Cause};

    use super::*;
    use crate::{
        decision::By,
        job::{
            NewJob,
            verdict::{self, Verdict},
        },
        testing::{
            self,
            fixture::{self, NOW},
        },
    };

    /// The dispatcher says why jobs like this one wait.
    async fn told(store: &Store, job: JobId) {
        let blocker = Blocker {
            code: Cause::ClusterFull,
            cluster: "east".into(),
            sentence: String::new(),
            try_this: String::new(),
            with: Vec::new(),
        };
        let blocked = Blocked { job, blockers: Arc::new(vec![blocker]), borrows: false, note: String::new() };
        let query = "select class_id from job where id = $1";
        let class = sqlx::query_scalar(query).bind(job.0).fetch_one(store.pool()).await.unwrap();
        let mut db = store.pool().acquire().await.unwrap();
        let verdict = Verdict { class, queue: "research", borrows: false, told: Some(&blocked) };
        verdict::save(&mut db, &[verdict], By { term: 1, now: NOW }).await.unwrap();
    }

    /// So many jobs, each a little later than the one before.
    async fn waiting(store: &Store, count: i64) -> Vec<JobId> {
        store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
        let mut jobs = Vec::new();
        for n in 0..count {
            let job = NewJob { submitted_at: NOW.plus_millis(n), ..fixture::new_job(&format!("j{n}")) };
            fixture::insert(store, &job).await;
            jobs.push(job.id);
        }
        jobs
    }

    /// The oldest leave, until so many wait.
    async fn leave(store: &Store, left: i64) {
        let leave = "update job set state = 'cancelled'
                     where id in (select id from job where state = 'queued' order by submitted_at desc offset $1)";
        fixture::execute(store, leave, left).await;
    }

    async fn give_due(store: &Store, quantiles: Option<(i64, i64)>, now: Timestamp) -> Vec<(JobId, u32)> {
        let mut db = store.pool().acquire().await.unwrap();
        let due = due(&mut db, NOW).await.unwrap();
        let given: Vec<Given> = due.into_iter().map(|due| Given { due, quantiles }).collect();
        give(&mut db, &given, now).await.unwrap();
        given.iter().map(|one| (one.due.job, one.due.position)).collect()
    }

    #[tokio::test]
    async fn a_place_that_halves_is_estimated_anew() {
        let store = testing::store().await;
        let jobs = waiting(&store, 9).await;
        assert_eq!(give_due(&store, None, NOW).await, [], "the dispatcher has not looked yet");
        told(&store, jobs[0]).await;
        assert_eq!(give_due(&store, None, NOW).await.len(), 9);
        let last = jobs[8];
        for (left, expected) in [(8, None), (5, None), (4, Some(4)), (3, None), (2, Some(2)), (1, Some(1))] {
            leave(&store, left).await;
            let given = give_due(&store, None, NOW.plus_millis(10 - left)).await;
            let of_last = given.iter().find(|(job, _)| *job == last).map(|(_, place)| *place);
            assert_eq!(of_last, expected, "at place {left}");
        }
        assert_eq!(store.in_place_since(last).await.unwrap(), Some((1, NOW.plus_millis(9))));
    }

    #[tokio::test]
    async fn a_job_that_was_placed_meanwhile_gets_no_estimate() {
        let store = testing::store().await;
        let job = waiting(&store, 1).await[0];
        told(&store, job).await;
        let mut db = store.pool().acquire().await.unwrap();
        let due = due(&mut db, NOW).await.unwrap();
        let given: Vec<Given> = due.into_iter().map(|due| Given { due, quantiles: Some((1, 2)) }).collect();
        assert_eq!(given.len(), 1);
        close(&mut db, &[job], NOW).await.unwrap();
        fixture::execute(&store, "update job set state = 'assigned' where $1 > 0", 1).await;
        give(&mut db, &given, NOW).await.unwrap();
        assert_eq!(store.in_place_since(job).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_second_wait_counts_from_its_own_beginning() {
        let store = testing::store().await;
        let job = waiting(&store, 4).await[3];
        told(&store, job).await;
        for position in [4, 1] {
            leave(&store, i64::from(position)).await;
            let given = give_due(&store, Some((1_000, 2_000)), NOW).await;
            assert!(given.contains(&(job, position)), "{given:?}");
        }
        let mut db = store.pool().acquire().await.unwrap();
        close(&mut db, &[job], NOW.plus_millis(5_000)).await.unwrap();
        assert_eq!(store.in_place_since(job).await.unwrap(), None, "the first wait is over");
        let again = NOW.plus_millis(3_600_000);
        assert_eq!(give_due(&store, None, again).await, [(job, 1)], "the second wait is estimated as well");
        assert_eq!(store.in_place_since(job).await.unwrap(), Some((1, again)));
        close(&mut db, &[job], again.plus_millis(7_000)).await.unwrap();
        let waits: Vec<i64> =
            store.wait_history("research").await.unwrap().iter().map(|past| past.waited_ms).collect();
        assert_eq!(waits, [7_000, 5_000], "the wait at the same place gave way");
        assert_eq!(store.wait_coverage("research").await.unwrap().judged, 1);
    }

    #[tokio::test]
    async fn what_came_true_is_history_and_coverage() {
        let store = testing::store().await;
        for (n, placed_after) in [1_000_i64, 5_000, 20_000].into_iter().enumerate() {
            let job = fixture::queued(&store, &format!("j{n}")).await.id;
            told(&store, job).await;
            give_due(&store, Some((2_000, 10_000)), NOW).await;
            let mut db = store.pool().acquire().await.unwrap();
            close(&mut db, &[job], NOW.plus_millis(placed_after)).await.unwrap();
            fixture::execute(&store, "update job set state = 'cancelled' where $1 > 0", 1).await;
        }
        let coverage = store.wait_coverage("research").await.unwrap();
        assert_eq!(coverage, Coverage { judged: 3, by_p50: 1, by_p90: 2 });
        let waits: Vec<i64> =
            store.wait_history("research").await.unwrap().iter().map(|past| past.waited_ms).collect();
        assert_eq!(waits, [20_000, 5_000, 1_000], "the newest placement first");
        assert_eq!(store.wait_coverage("other").await.unwrap(), Coverage::default());
    }
}
