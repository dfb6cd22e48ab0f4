//! What queues used lately, of attempts that have ended.
//!
//! Owns no rule: how use fades is of [`squadron_core::dispatch::lately`]. Invariant: an attempt is added in the transaction that
//! notes its end for the first time, so it counts once. What runs is counted by the dispatcher itself. Fails by forgetting an
//! end that nobody noted, which makes its queue look as if it had used less; repaired by time, which forgets all use.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{dispatch::lately::Lately, resources::Resources, time::Timestamp};

use crate::{Result, at, stamp};

/// What an attempt held and for how long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) queue: String,
    pub(crate) gang: Resources,
    /// What one of its GPUs counts as, in thousandths.
    pub(crate) weight: u32,
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

/// Every queue that used anything.
pub(crate) async fn read(db: &mut PgConnection) -> Result<BTreeMap<String, Lately>> {
    let rows = sqlx::query("select queue, gpu_seconds, at from queue_use").fetch_all(db).await?;
    rows.iter().map(of_row).collect()
}

/// Adds attempts that have ended by `now`.
pub(crate) async fn add(db: &mut PgConnection, ended: &[Held], now: Timestamp) -> Result<()> {
    if ended.is_empty() {
        return Ok(());
    }
    let mut uses = lock(db, ended, now).await?;
    for held in ended {
        let known = uses.entry(held.queue.clone()).or_insert(Lately::none(now));
        *known = known.seen(now).with(held.gang, held.weight, held.from, held.until.min(now));
    }
    sqlx::query(
        "insert into queue_use (queue, gpu_seconds, at) select queue, gpu_seconds, $3
         from unnest($1::text[], $2::float8[]) as s (queue, gpu_seconds)
         on conflict (queue) do update set gpu_seconds = excluded.gpu_seconds, at = excluded.at",
    )
    .bind(uses.keys().map(String::as_str).collect::<Vec<_>>())
    .bind(uses.values().map(|used| used.gpu_seconds).collect::<Vec<_>>())
    .bind(at(now))
    .execute(db)
    .await?;
    Ok(())
}

/// The rows of the queues, locked. One that is not there is made, because what does not exist cannot be locked, and of two first
/// uses at once one would be written over.
async fn lock(db: &mut PgConnection, ended: &[Held], now: Timestamp) -> Result<BTreeMap<String, Lately>> {
    let queues: BTreeSet<&str> = ended.iter().map(|held| held.queue.as_str()).collect();
    let rows = sqlx::query(
        "insert into queue_use as u (queue, gpu_seconds, at) select queue, 0, $2 from unnest($1::text[]) as s (queue)
         on conflict (queue) do update set at = u.at returning queue, gpu_seconds, at",
    )
    .bind(queues.into_iter().collect::<Vec<_>>())
    .bind(at(now))
    .fetch_all(db)
    .await?;
    rows.iter().map(of_row).collect()
}

fn of_row(row: &PgRow) -> Result<(String, Lately)> {
    let used = Lately { gpu_seconds: row.try_get("gpu_seconds")?, at: stamp(row.try_get("at")?) };
    Ok((row.try_get("queue")?, used))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_core::{
        dispatch::lately::HALF_LIFE_MS,
        id::{AttemptId, ClusterId},
        silence::Judge,
    };

    use super::*;
    use crate::{
        Store, attempt,
        job::waiting,
        testing::{
            self,
            fixture::{self, NOW},
        },
    };

    const HOUR: i64 = 3_600_000;
    const GPU: Resources = Resources { cpu_milli: 0, memory_bytes: 0, gpus: 1 };

    #[tokio::test]
    async fn use_adds_up_and_fades_and_passes_see_it() {
        let store = testing::store().await;
        for queue in ["research", "vision"] {
            store.ensure_queue(&queue.parse().unwrap(), NOW).await.unwrap();
        }
        let hour = |queue: &str, gpus| Held {
            queue: queue.to_owned(),
            gang: Resources { gpus, ..Resources::default() },
            weight: 1_000,
            from: NOW,
            until: NOW.plus_millis(HOUR),
        };
        let mut db = store.pool().acquire().await.unwrap();
        let now = NOW.plus_millis(HOUR);
        add(&mut db, &[hour("research", 1), hour("vision", 2), hour("research", 1)], now).await.unwrap();
        add(&mut db, &[], now).await.unwrap();
        let later = NOW.plus_millis(HOUR + HALF_LIFE_MS);
        let silence = Judge { now: later, after_ms: 60_000 };
        let input =
            store.txn("test", &silence, |db, silence| Box::pin(waiting::held(db, *silence))).await.unwrap();
        assert_eq!(input.lately["research"], input.lately["vision"]);
        let seen = input.lately["vision"].seen(later).gpu_seconds;
        assert!((seen / 3_900.0 - 1.0).abs() < 0.01, "two hours and two starts, a half-life ago: {seen}");
        add(&mut db, &[hour("vision", 1)], later).await.unwrap();
        let again = read(&mut db).await.unwrap();
        let seen = again["vision"].gpu_seconds;
        assert!((seen / 5_850.0 - 1.0).abs() < 0.01 && again["vision"].at == later, "{seen}");
    }

    /// What research used, once an attempt more has ended that held a GPU of the flavor for an hour.
    async fn ended(store: &Store, cluster: ClusterId, flavor: &str) -> f64 {
        let (mut new, until) = (fixture::new_job("train"), NOW.plus_millis(HOUR));
        new.gang[0].requests = GPU;
        fixture::insert(store, &new).await;
        fixture::attempt(store, new.id, cluster, NOW).await;
        let mut db = store.pool().acquire().await.unwrap();
        let (one, usage) = (AttemptId { job: new.id, number: 1 }, [(flavor.to_owned(), GPU)].into());
        fixture::charge(store, one, &usage).await;
        let ends = "update attempt set state = 'failed', ended_at = $2 where job_id = $1";
        sqlx::query(ends).bind(new.id.0).bind(at(until)).execute(&mut *db).await.unwrap();
        attempt::note_ends(&mut db, &[one], until).await.unwrap();
        read(&mut db).await.unwrap()["research"].gpu_seconds
    }

    #[tokio::test]
    async fn use_is_noted_by_what_the_flavor_weighs_when_it_ends() {
        let store = testing::store().await;
        store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
        let east = fixture::cluster(&store, "east").await;
        let weigh = async |weight: i64| {
            let query = "insert into flavor (name, weight_milli) values ('dear', $1)
                         on conflict (name) do update set weight_milli = excluded.weight_milli";
            sqlx::query(query).bind(weight).execute(store.pool()).await.unwrap();
        };
        let hour = ended(&store, east, "gone").await;
        assert!((hour / 3_900.0 - 1.0).abs() < 0.01, "a flavor that is not there counts one: {hour}");
        weigh(4_000).await;
        assert_eq!((ended(&store, east, "dear").await / hour).round(), 5.0, "one and four");
        weigh(1_000).await;
        assert_eq!((ended(&store, east, "dear").await / hour).round(), 6.0, "what was noted stays");
    }

    #[tokio::test]
    async fn of_two_first_uses_at_once_none_is_lost() {
        let store = testing::store().await;
        store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
        let now = NOW.plus_millis(HOUR);
        let hour = || Held { queue: "research".to_owned(), gang: GPU, weight: 1_000, from: NOW, until: now };
        let mut first = store.pool().begin().await.unwrap();
        add(&mut first, &[hour()], now).await.unwrap();
        let (other, held) = (store.clone(), hour());
        let second = tokio::spawn(async move {
            let mut second = other.pool().begin().await.unwrap();
            add(&mut second, &[held], now).await.unwrap();
            second.commit().await.unwrap();
        });
        let waits = "select exists (select 1 from pg_stat_activity
                     where datname = current_database() and wait_event_type = 'Lock' and query like '%queue_use%')";
        while !sqlx::query_scalar::<_, bool>(waits).fetch_one(store.pool()).await.unwrap() {
            assert!(!second.is_finished(), "it did not wait for the first");
            tokio::task::yield_now().await;
        }
        first.commit().await.unwrap();
        second.await.unwrap();
        let mut db = store.pool().acquire().await.unwrap();
        let used = read(&mut db).await.unwrap()["research"].gpu_seconds;
        assert!((used / 7_800.0 - 1.0).abs() < 0.01, "{used}");
    }
}
