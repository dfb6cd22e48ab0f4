//! What queues used lately, of attempts that have ended.
//!
//! Owns no rule: how use fades is of [`squadron_core::dispatch::lately`]. Invariant: an attempt is added in the transaction that
//! notes its end for the first time, so it counts once. What runs is counted by the dispatcher itself. Fails by forgetting an
//! end that nobody noted, which makes its queue look as if it had used less; repaired by time, which forgets all use.

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{dispatch::lately::Lately, resources::Resources, time::Timestamp};

use crate::{Result, at, stamp};

/// What an attempt held and for how long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub(crate) queue: String,
    pub(crate) gang: Resources,
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
    let mut uses = lock(db, ended).await?;
    for held in ended {
        let known = uses.entry(held.queue.clone()).or_insert(Lately::none(now));
        *known = known.seen(now).with(held.gang, held.from, held.until.min(now));
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

async fn lock(db: &mut PgConnection, ended: &[Held]) -> Result<BTreeMap<String, Lately>> {
    let rows = sqlx::query(
        "select queue, gpu_seconds, at from queue_use where queue = any ($1) order by queue for update",
    )
    .bind(ended.iter().map(|held| held.queue.as_str()).collect::<Vec<_>>())
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
    use squadron_core::{dispatch::lately::HALF_LIFE_MS, silence::Judge};

    use super::*;
    use crate::{
        job::waiting,
        testing::{self, fixture::NOW},
    };

    const HOUR: i64 = 3_600_000;

    #[tokio::test]
    async fn use_adds_up_and_fades_and_passes_see_it() {
        let store = testing::store().await;
        for queue in ["research", "vision"] {
            store.ensure_queue(&queue.parse().unwrap(), NOW).await.unwrap();
        }
        let hour = |queue: &str, gpus| Held {
            queue: queue.to_owned(),
            gang: Resources { gpus, ..Resources::default() },
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
}
