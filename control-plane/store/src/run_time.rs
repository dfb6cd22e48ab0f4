//! Run times: how long the last attempts ran that ended by themselves, by what makes jobs alike, and how far off their median was.
//!
//! Owns no rule: windows and their median are of [`squadron_core::dispatch::predict`]. Invariant: written by the projector alone,
//! in the transaction that notes an end for the first time, so each end counts once; an attempt that was stopped teaches nothing.
//! Fails by knowing too little, and then jobs wait in the order of their age. Repaired by the next attempts that end.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{
        Waiting, gang_total,
        predict::{Errors, Window, about, outlasting},
    },
    id::JobId,
    time::Timestamp,
};

use crate::{Result, at};

/// What nothing taught for so long is forgotten, in milliseconds.
const KEPT_MS: i64 = 180 * 24 * 3_600_000;
/// Rows that are forgotten at a time.
const FORGOTTEN: i64 = 1_000;
/// Stands for every number of GPUs.
const ANY_SIZE: i64 = -1;

/// An attempt that ended by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ran {
    pub(crate) queue: String,
    pub(crate) gpus: i64,
    pub(crate) program: String,
    pub(crate) millis: u64,
}

/// Queue, GPUs and program.
pub(crate) type Kind = (String, i64, String);

/// What is believed first, second and last of such a job.
fn kinds(queue: &str, gpus: i64, program: &str) -> [Kind; 3] {
    let any = |queue: &str| (queue.to_owned(), ANY_SIZE, String::new());
    [(queue.to_owned(), gpus, program.to_owned()), any(queue), any("")]
}

/// Learns from attempts that ended, in this order.
pub(crate) async fn learn(db: &mut PgConnection, ended: &[Ran], now: Timestamp) -> Result<()> {
    if ended.is_empty() {
        return Ok(());
    }
    let of = |ran: &Ran| kinds(&ran.queue, ran.gpus, &ran.program);
    let mut windows = read(db, &ended.iter().flat_map(of).collect()).await?;
    for ran in ended {
        for kind in of(ran) {
            windows.entry(kind).or_default().learn(ran.millis);
        }
    }
    write(db, &windows, now).await
}

/// Says of waiting jobs how long they will run, as far as anything ended that is like them.
pub async fn expect(db: &mut PgConnection, waiting: &mut [Waiting]) -> Result<()> {
    if waiting.is_empty() {
        return Ok(());
    }
    let of = |job: &Waiting| (job.queue.clone(), gang_total(&job.gang).gpus, job.program.clone());
    let foretold = expected(db, &waiting.iter().map(of).collect::<Vec<_>>()).await?;
    waiting.iter_mut().zip(foretold).for_each(|(job, millis)| job.expected_ms = millis);
    Ok(())
}

/// How long jobs of these queues, GPUs and programs run, in milliseconds, as far as anything ended that is like them.
pub(crate) async fn expected(db: &mut PgConnection, jobs: &[Kind]) -> Result<Vec<Option<u64>>> {
    let of = |(queue, gpus, program): &Kind| kinds(queue, *gpus, program);
    let windows = read(db, &jobs.iter().flat_map(of).collect()).await?;
    let found = |job| of(job).iter().find_map(|kind| windows.get(kind)?.expected());
    Ok(jobs.iter().map(found).collect())
}

/// Jobs that were stopped to make room for others have shown that they run longer than those like them. Where nothing is known of
/// those, age alone decides, and goes on to.
pub async fn outlast(db: &mut PgConnection, waiting: &mut [Waiting]) -> Result<()> {
    let rows = sqlx::query(
        "select job_id, max((extract(epoch from ended_at - running_at) * 1000)::bigint) as ran_ms
         from attempt where job_id = any ($1) and state = 'preempted' and running_at is not null group by job_id",
    )
    .bind(waiting.iter().map(|job| job.job.0).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    let ran = |row: &PgRow| Ok((JobId(row.try_get("job_id")?), row.try_get("ran_ms")?));
    let ran = rows.iter().map(ran).collect::<Result<BTreeMap<JobId, Option<i64>>>>()?;
    for job in waiting {
        let least = ran.get(&job.job).copied().flatten().map_or(0, lasting);
        job.expected_ms = job.expected_ms.map(|known| known.max(least));
    }
    Ok(())
}

fn lasting(ran_ms: i64) -> u64 {
    outlasting(about(u64::try_from(ran_ms).unwrap_or(0)))
}

async fn read(db: &mut PgConnection, kinds: &BTreeSet<Kind>) -> Result<BTreeMap<Kind, Window>> {
    let rows = sqlx::query(
        "select queue, gpus, program, ran_ms, judged, within_twice, by_late
         from unnest($1::text[], $2::bigint[], $3::text[]) as k (queue, gpus, program) join run_time using (queue, gpus, program)",
    )
    .bind(kinds.iter().map(|(queue, ..)| queue.as_str()).collect::<Vec<_>>())
    .bind(kinds.iter().map(|(_, gpus, _)| *gpus).collect::<Vec<_>>())
    .bind(kinds.iter().map(|(.., program)| program.as_str()).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    let mut windows = BTreeMap::new();
    for row in &rows {
        let count = |column| Ok::<_, sqlx::Error>(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0));
        let (judged, within_twice, by_late) = (count("judged")?, count("within_twice")?, count("by_late")?);
        let ran = row.try_get::<Json<Vec<u64>>, _>("ran_ms")?.0;
        let kind = (row.try_get("queue")?, row.try_get("gpus")?, row.try_get("program")?);
        windows.insert(kind, Window::of(ran, Errors { judged, within_twice, by_late }));
    }
    Ok(windows)
}

async fn write(db: &mut PgConnection, windows: &BTreeMap<Kind, Window>, now: Timestamp) -> Result<()> {
    let counts = |of: fn(Errors) -> u64| {
        windows
            .values()
            .map(|window| i64::try_from(of(window.errors)).unwrap_or(i64::MAX))
            .collect::<Vec<_>>()
    };
    sqlx::query(
        "insert into run_time (queue, gpus, program, ran_ms, judged, within_twice, by_late, learnt_at)
         select s.*, $8 from unnest($1::text[], $2::bigint[], $3::text[], $4::jsonb[], $5::bigint[], $6::bigint[], $7::bigint[]) s
         on conflict (queue, gpus, program) do update
             set ran_ms = excluded.ran_ms, judged = excluded.judged, within_twice = excluded.within_twice,
                 by_late = excluded.by_late, learnt_at = excluded.learnt_at",
    )
    .bind(windows.keys().map(|(queue, ..)| queue.as_str()).collect::<Vec<_>>())
    .bind(windows.keys().map(|(_, gpus, _)| *gpus).collect::<Vec<_>>())
    .bind(windows.keys().map(|(.., program)| program.as_str()).collect::<Vec<_>>())
    .bind(windows.values().map(|window| Json(window.last().collect::<Vec<_>>())).collect::<Vec<_>>())
    .bind(counts(|errors| errors.judged))
    .bind(counts(|errors| errors.within_twice))
    .bind(counts(|errors| errors.by_late))
    .bind(at(now))
    .execute(db)
    .await?;
    Ok(())
}

/// Forgets what nothing taught for long.
pub async fn forget(db: &mut PgConnection, now: Timestamp) -> Result<()> {
    sqlx::query(
        "delete from run_time where (queue, gpus, program) in (
             select queue, gpus, program from run_time where learnt_at < $1 order by learnt_at limit $2)",
    )
    .bind(at(now.plus_millis(-KEPT_MS)))
    .bind(FORGOTTEN)
    .execute(db)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_core::{
        id::{AttemptId, ClusterId},
        preference::Preferences,
        silence::Judge,
    };

    use super::*;
    use crate::{
        Store, attempt,
        job::{NewJob, waiting},
        testing::{
            self,
            fixture::{self, NOW},
        },
    };

    const SECOND: i64 = 1_000;

    fn job(name: &str, queue: &str, entrypoint: &str) -> NewJob {
        let rayjob = format!(r#"{{"spec":{{"entrypoint":"{entrypoint}"}}}}"#);
        NewJob { rayjob, queue: queue.to_owned(), ..fixture::new_job(name) }
    }

    /// A job whose attempt ran so many seconds and is in this state now; its end is noted.
    async fn ended(store: &Store, cluster: ClusterId, new: &NewJob, seconds: i64, state: &str) {
        fixture::insert(store, new).await;
        fixture::attempt(store, new.id, cluster, NOW).await;
        sqlx::query("update attempt set state = $2, running_at = $3, ended_at = $4 where job_id = $1")
            .bind(new.id.0)
            .bind(state)
            .bind(at(NOW))
            .bind(at(NOW.plus_millis(seconds * SECOND)))
            .execute(store.pool())
            .await
            .unwrap();
        sqlx::query("update job set state = 'succeeded' where id = $1")
            .bind(new.id.0)
            .execute(store.pool())
            .await
            .unwrap();
        let mut db = store.pool().acquire().await.unwrap();
        let one = [AttemptId { job: new.id, number: 1 }];
        attempt::note_ends(&mut db, &one, NOW).await.unwrap();
        attempt::note_ends(&mut db, &one, NOW).await.unwrap();
    }

    /// What a pass expects of the jobs that wait, in seconds.
    async fn expected(store: &Store) -> BTreeMap<String, Option<u64>> {
        let silence = Judge { now: NOW, after_ms: 60_000 };
        let snapshot = store
            .txn("test", &silence, |db, silence| Box::pin(waiting::snapshot(db, *silence)))
            .await
            .unwrap();
        let jobs = snapshot.input.waiting.into_iter();
        jobs.map(|job| (job.name, job.expected_ms.map(|millis| millis / 1_000))).collect()
    }

    async fn two_queues() -> (Store, ClusterId) {
        let store = testing::store().await;
        for queue in ["research", "vision"] {
            store.ensure_queue(&queue.parse().unwrap(), NOW).await.unwrap();
        }
        let cluster = fixture::cluster(&store, "east").await;
        (store, cluster)
    }

    #[tokio::test]
    async fn a_job_is_expected_to_run_as_long_as_those_like_it_then_as_its_queue_then_as_all() {
        let (store, cluster) = two_queues().await;
        fixture::insert(&store, &job("like", "research", "python train.py --n 9")).await;
        fixture::insert(&store, &job("unlike", "research", "python eval.py")).await;
        fixture::insert(&store, &job("elsewhere", "vision", "python train.py")).await;
        for (n, seconds) in [10, 50, 30].into_iter().enumerate() {
            assert_eq!(expected(&store).await["like"], None, "nothing is known after {n}");
            let train = format!("python train.py --n {n}");
            ended(&store, cluster, &job(&format!("t{n}"), "research", &train), seconds, "succeeded").await;
        }
        for n in 0..4 {
            let eval = job(&format!("e{n}"), "research", "python other.py");
            ended(&store, cluster, &eval, 100, "failed").await;
        }
        let found = expected(&store).await;
        assert_eq!((found["like"], found["unlike"], found["elsewhere"]), (Some(30), Some(100), Some(100)));
    }

    #[tokio::test]
    async fn a_job_that_was_stopped_is_expected_to_outlast_its_like_where_those_are_known() {
        let (store, cluster) = two_queues().await;
        let stopped = job("stopped", "research", "python train.py");
        ended(&store, cluster, &stopped, 60, "preempted").await;
        let id = stopped.id;
        let again = |store: Store| async move {
            let mut waiting = [Waiting {
                job: id,
                name: String::new(),
                queue: "research".to_owned(),
                submitted_at: NOW,
                gang: Vec::new(),
                pinned: None,
                preferences: Preferences::default(),
                priority: 0,
                program: String::new(),
                expected_ms: None,
                manifest: 0,
                behind: 0,
            }];
            let mut db = store.pool().acquire().await.unwrap();
            expect(&mut db, &mut waiting).await.unwrap();
            outlast(&mut db, &mut waiting).await.unwrap();
            waiting[0].expected_ms
        };
        assert_eq!(again(store.clone()).await, None, "nothing is known of its like, so its age decides");
        for n in 0..3 {
            let like = job(&format!("t{n}"), "research", "python train.py");
            ended(&store, cluster, &like, 5, "succeeded").await;
        }
        assert_eq!(again(store).await, Some(8 * 65_536), "a minute and a little, eight times");
    }

    #[tokio::test]
    async fn what_was_stopped_teaches_nothing_and_an_end_counts_once() {
        let (store, cluster) = two_queues().await;
        for (n, state) in ["cancelled", "preempted", "lost", "succeeded"].into_iter().enumerate() {
            ended(&store, cluster, &job(&format!("j{n}"), "research", "python a.py"), 7, state).await;
        }
        let rows: Vec<(String, i64, String)> =
            sqlx::query_as("select queue, gpus, ran_ms::text from run_time order by queue, gpus")
                .fetch_all(store.pool())
                .await
                .unwrap();
        let once = |queue: &str, gpus| (queue.to_owned(), gpus, "[7000]".to_owned());
        assert_eq!(rows, [once("", -1), once("research", -1), once("research", 0)]);
    }

    #[tokio::test]
    async fn the_error_of_the_median_is_kept_and_what_is_old_is_forgotten() {
        let (store, cluster) = two_queues().await;
        for (n, seconds) in [10, 10, 10, 12, 90].into_iter().enumerate() {
            ended(&store, cluster, &job(&format!("j{n}"), "research", "python a.py"), seconds, "succeeded")
                .await;
        }
        let errors: (i64, i64, i64) =
            sqlx::query_as("select judged, within_twice, by_late from run_time where gpus = 0")
                .fetch_one(store.pool())
                .await
                .unwrap();
        assert_eq!(errors, (2, 1, 0));
        let mut db = store.pool().acquire().await.unwrap();
        let count = "select count(*) from run_time";
        forget(&mut db, NOW.plus_millis(KEPT_MS)).await.unwrap();
        assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(store.pool()).await.unwrap(), 3);
        forget(&mut db, NOW.plus_millis(KEPT_MS + 1)).await.unwrap();
        assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(store.pool()).await.unwrap(), 0);
    }
}
