//! Places and pages of lines in which history foretells how large jobs are, on a real Postgres.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use squadron_core::{id::JobId, time::Timestamp};

use super::place::{EXACT, LineKey, Part, recount};
use crate::{
    Store, at,
    testing::{self, fixture::NOW},
};

/// GPU seconds of the classes of the line; of the last nothing is known.
const SIZES: [f64; 4] = [600.0, 3_600.0, 2_500.0, 0.0];

/// When the `n`th job was submitted: within the day before now, in no order.
fn submitted(n: i64) -> Timestamp {
    NOW.plus_millis(-1_000 * (n * 79_190 % 864_000))
}

/// So many jobs of four classes in the queue research, of which the second borrows.
async fn line_of(store: &Store, jobs: i64) {
    store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
    sqlx::query(
        "insert into job_class (id, queue, priority, shape, borrows, decided_at, size)
         select md5(n::text)::uuid, 'research', 0, '{}', n = 2, now(), size
         from unnest($1::float8[]) with ordinality as s (size, n)",
    )
    .bind(SIZES.to_vec())
    .execute(store.pool())
    .await
    .unwrap();
    sqlx::query(
        "insert into job (id, name, namespace, queue, state, owner, manifest, gang, class_id, submitted_at)
         select md5('j' || n)::uuid, 'j' || n, 'default', 'research', 'queued', 'bob', '', '[]', md5((n % 4 + 1)::text)::uuid,
                $2 - make_interval(secs => n * 79190 % 864000)
         from generate_series(1, $1) n",
    )
    .bind(jobs)
    .bind(at(NOW))
    .execute(store.pool())
    .await
    .unwrap();
}

/// The line as the dispatcher orders it at this moment.
async fn ordered(store: &Store, jobs: i64, now: Timestamp) -> Vec<LineKey> {
    let rows: Vec<(String, uuid::Uuid)> =
        sqlx::query_as("select name, id from job").fetch_all(store.pool()).await.unwrap();
    let ids: BTreeMap<String, uuid::Uuid> = rows.into_iter().collect();
    let id = |n: i64| JobId(ids[&format!("j{n}")]);
    let key = |n: i64| {
        let part = if n % 4 == 1 { Part::Borrowing } else { Part::Guaranteed };
        LineKey::new(part, 0, SIZES[usize::try_from(n % 4).unwrap()], submitted(n), id(n))
    };
    let mut keys: Vec<LineKey> = (1..=jobs).map(key).collect();
    keys.sort_by_key(|key| key.order(now));
    keys
}

#[tokio::test]
async fn the_pages_and_places_of_a_line_are_those_of_the_dispatcher_at_every_moment() {
    let store = testing::store().await;
    line_of(&store, 120).await;
    for now in [NOW, NOW.plus_millis(40 * 3_600_000)] {
        let expected = ordered(&store, 120, now).await;
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = store.line("research", after, 7, now).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.key);
            seen.extend(page.iter().map(|job| job.key));
        }
        assert_eq!(seen, expected);
        for (place, key) in (1..).zip(&expected) {
            let found = store.place("research", *key, now).await.unwrap();
            assert_eq!((found.position, found.length, found.about), (place, 120, false));
        }
        let ahead = store.ahead("research", expected[4], 10, now).await.unwrap();
        assert_eq!(ahead.iter().map(|job| job.key).collect::<Vec<_>>(), expected[..4]);
    }
    assert_ne!(ordered(&store, 120, NOW).await, ordered(&store, 120, NOW.plus_millis(40 * 3_600_000)).await);
    let new = LineKey::new(Part::Unlooked, 0, 0.0, NOW.plus_millis(1), JobId(uuid::Uuid::max()));
    let place = store.place_of_new("research", new, NOW).await.unwrap();
    assert_eq!((place.position, place.about), (121, true), "how large it is decides later");
}

#[tokio::test]
async fn places_of_a_long_line_are_about_right_in_the_order_of_sizes() {
    let store = testing::store().await;
    let jobs = EXACT + 2_000;
    line_of(&store, jobs).await;
    let mut db = store.pool().acquire().await.unwrap();
    let later = NOW.plus_millis(600_000);
    assert_eq!(recount(&mut db, later).await.unwrap(), 1);
    let expected = ordered(&store, jobs, later).await;
    for at in [0, 5, 127, 1_000, 4_321, 8_999, 9_001, 11_999] {
        let found = store.place("research", expected[at], later).await.unwrap();
        let off = i64::from(found.position) - 1 - i64::try_from(at).unwrap();
        assert!(off <= 0 && off >= -1 - i64::try_from(at / 32).unwrap(), "{at}: {found:?}");
        assert!(found.about && found.of_about);
        assert_eq!(i64::from(found.length), jobs);
    }
    let new = LineKey::new(Part::Unlooked, 0, 0.0, later, JobId(uuid::Uuid::max()));
    let found = store.place_of_new("research", new, later).await.unwrap();
    assert!(found.about && i64::from(found.position) >= jobs, "{found:?}");
}
