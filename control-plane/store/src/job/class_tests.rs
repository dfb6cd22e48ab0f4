//! Classes and places of many waiting jobs, on a real database.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use squadron_core::{
    dispatch::{Blocked, Blocker, Cause, Place},
    id::JobId,
    silence::Judge,
};

use super::{
    Filter, NewJob,
    class::{self, ClassId},
    place::{EXACT, LineKey, recount},
    priority, waiting,
};
use crate::{
    Store,
    cursor::Position,
    decision::By,
    node,
    testing::{
        self,
        fixture::{self, NOW},
    },
};

async fn look(store: &Store) -> waiting::Snapshot {
    store
        .txn("test", &(), |db, ()| Box::pin(waiting::snapshot(db, Judge { now: NOW, after_ms: 1 })))
        .await
        .unwrap()
}

fn full(job: JobId, sentence: &str) -> Blocked {
    let blocker = Blocker {
        code: Cause::ClusterFull,
        cluster: "east".into(),
        sentence: sentence.into(),
        try_this: String::new(),
        with: Vec::new(),
    };
    let (sentence, note) = (String::new(), String::new());
    Blocked { job, position: 1, queue_length: 9, sentence, blockers: Arc::new(vec![blocker]), note }
}

async fn say(store: &Store, verdicts: &[(ClassId, &Blocked)], millis: i64) -> Vec<ClassId> {
    let mut db = store.pool().acquire().await.unwrap();
    class::save(&mut db, verdicts, By { term: 1, now: NOW.plus_millis(millis) }).await.unwrap()
}

/// So many jobs of a queue, each one second after the other, as an older version would have added them.
async fn flood(store: &Store, queue: &'static str, jobs: i64) {
    store.ensure_queue(&queue.parse().unwrap(), NOW).await.unwrap();
    let insert = match queue {
        "flood" => {
            "insert into job (id, name, namespace, queue, state, owner, manifest, gang, submitted_at)
             select gen_random_uuid(), 'f' || n, 'default', 'flood', 'queued', 'bob', '', '[]', to_timestamp(n)
             from generate_series(1, $1) n"
        }
        _ => {
            "insert into job (id, name, namespace, queue, state, owner, manifest, gang, submitted_at)
             select gen_random_uuid(), 'k' || n, 'default', 'kinds', 'queued', 'bob', '',
                    jsonb_build_array(jsonb_build_object('role', 'head', 'count', 1, 'cpu_milli', n, 'memory_bytes', 0,
                                                         'gpus', 0)), to_timestamp(n)
             from generate_series(1, $1) n"
        }
    };
    fixture::execute(store, insert, jobs).await;
}

async fn give_all(store: &Store) {
    let mut db = store.pool().acquire().await.unwrap();
    while class::give(&mut db).await.unwrap() > 0 {}
}

#[tokio::test]
async fn equal_jobs_share_a_class_whoever_adds_them() {
    let store = testing::store().await;
    let first = fixture::queued(&store, "a").await.id;
    let (second, pinned) = (fixture::new_job("b"), fixture::new_job("c"));
    let east = fixture::cluster(&store, "east").await;
    fixture::insert(&store, &second).await;
    fixture::insert(&store, &NewJob { pinned: Some(east), ..pinned.clone() }).await;
    fixture::execute(&store, "update job set class_id = null where name = 'b' and $1 > 0", 1).await;
    give_all(&store).await;
    let mut db = store.pool().acquire().await.unwrap();
    let urgent = fixture::queued(&store, "d").await.id;
    let high =
        squadron_core::quota::PriorityClass { name: "high".into(), value: 7, description: String::new() };
    priority::set(&mut db, urgent, &high).await.unwrap();
    let classes = look(&store).await.classes;
    assert_eq!(classes[&first], classes[&second.id]);
    let others = [classes[&pinned.id], classes[&urgent]];
    assert!(!others.contains(&classes[&first]) && others[0] != others[1], "{classes:?}");
    let input = look(&store).await.input;
    assert_eq!(input.waiting.iter().find(|job| job.job == urgent).unwrap().priority, 7);
}

#[tokio::test]
async fn what_a_class_waits_for_is_told_by_each_of_its_jobs() {
    let store = testing::store().await;
    let first = fixture::queued(&store, "a").await.id;
    let class = look(&store).await.classes[&first];
    let blocked = full(first, "east is full");
    assert_eq!(say(&store, &[(class, &blocked)], 0).await, [class]);
    assert!(say(&store, &[(class, &blocked)], 1_000).await.is_empty(), "the same is no news");
    let row = store.job("a").await.unwrap().unwrap();
    assert_eq!((row.reason.as_str(), row.decided_at), ("CLUSTER_FULL", Some(NOW)));
    assert_eq!(row.sentence, "queued in research: east is full");
    let late = NewJob { submitted_at: NOW.plus_millis(500), ..fixture::new_job("late") };
    fixture::insert(&store, &late).await;
    let row = store.job("late").await.unwrap().unwrap();
    assert_eq!(
        (row.blockers, row.decided_at),
        (blocked.blockers.to_vec(), Some(NOW)),
        "though it came later"
    );
    let line = store.line("research", None, 10).await.unwrap();
    let since: Vec<_> = line.iter().map(|job| (job.id, job.since)).collect();
    assert_eq!(since, [(first, Some(NOW)), (late.id, Some(NOW.plus_millis(500)))]);
    assert!(say(&store, &[(class, &blocked)], 10_000).await.is_empty());
    assert_eq!(
        store.job("a").await.unwrap().unwrap().decided_at,
        Some(NOW.plus_millis(10_000)),
        "kept fresh"
    );
    let noted = Blocked { note: "; it is kept for it".into(), ..blocked };
    assert_eq!(say(&store, &[(class, &noted)], 11_000).await, [class]);
    assert!(store.job("a").await.unwrap().unwrap().sentence.ends_with("; it is kept for it"));
    assert!(!store.job("late").await.unwrap().unwrap().sentence.contains("kept for it"));
    say(&store, &[], 12_000).await;
    let row = store.job("late").await.unwrap().unwrap();
    assert_eq!((row.sentence.as_str(), row.decided_at, row.blockers), ("queued in research", None, vec![]));
}

#[tokio::test]
async fn a_pass_reads_as_many_of_a_class_as_could_start_and_one_more() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    node::show(&mut db, east, &fixture::node("n1"), Position { epoch: 1, seq: 1 }, NOW).await.unwrap();
    for n in 0..9 {
        let job = NewJob { submitted_at: NOW.plus_millis(n), ..fixture::new_job(&format!("j{n}")) };
        store.ensure_queue(&job.queue.parse().unwrap(), NOW).await.unwrap();
        fixture::insert(&store, &job).await;
    }
    let read = look(&store).await.input.waiting;
    let short: Vec<_> = read.iter().map(|job| (job.name.as_str(), job.more)).collect();
    assert_eq!(short, [("j0", false), ("j1", false), ("j2", false), ("j3", true)], "four cores are free");
}

#[tokio::test]
async fn floods_of_jobs_and_of_classes_hide_no_other_queue() {
    let store = testing::store().await;
    let waits = fixture::queued(&store, "waits").await.id;
    flood(&store, "flood", 3_000).await;
    flood(&store, "kinds", 11_000).await;
    give_all(&store).await;
    let input = look(&store).await.input;
    assert!(input.waiting.iter().any(|job| job.job == waits));
    let of = |queue: &str| input.waiting.iter().filter(|job| job.queue == queue).count();
    assert_eq!((of("flood"), of("kinds")), (1, 10_000), "of too many classes, those at the head of the line");
    assert!(
        input
            .waiting
            .iter()
            .filter(|job| job.queue == "kinds")
            .all(|job| job.gang[0].requests.cpu_milli <= 10_000)
    );
}

#[tokio::test]
async fn places_are_exact_at_the_head_and_about_right_behind() {
    let store = testing::store().await;
    flood(&store, "flood", EXACT + 5_010).await;
    let place = async |n: i64| {
        let filter = Filter { queue: Some("flood".into()), limit: 1, ..Filter::default() };
        let name = format!("f{n}");
        let row = store.job(&name).await.unwrap().unwrap();
        assert_eq!(store.jobs(&filter).await.unwrap().len(), 1);
        store.place("flood", LineKey::new(row.priority, row.submitted_at, row.id)).await.unwrap()
    };
    let number = |n: i64| u32::try_from(n).unwrap();
    assert_eq!(place(3).await.position, 3);
    let mut db = store.pool().acquire().await.unwrap();
    assert_eq!(recount(&mut db, NOW).await.unwrap(), 1);
    let length = number(EXACT + 5_010);
    assert_eq!(
        place(3).await,
        Place { position: 3, length, about: true },
        "its length is counted from time to time"
    );
    assert_eq!(place(EXACT + 5_003).await, Place { position: number(EXACT + 5_003), length, about: true });
    let ends =
        "update job set state = 'cancelled' where queue = 'flood' and submitted_at <= to_timestamp($1)";
    fixture::execute(&store, ends, 5_009).await;
    let stale = place(EXACT + 5_003).await;
    assert_eq!((stale.position, stale.about), (number(EXACT + 5_003), true), "as of the last count");
    fixture::execute(&store, ends, 5_010).await;
    assert_eq!(recount(&mut db, NOW).await.unwrap(), 0);
    assert_eq!(
        place(EXACT + 5_003).await,
        Place { position: number(EXACT - 7), length: number(EXACT), about: false }
    );
    let queues = store.queues().await.unwrap();
    assert_eq!(queues.iter().find(|queue| queue.name == "flood").unwrap().queued, number(EXACT));
}

#[tokio::test]
async fn the_line_is_in_the_order_of_priority_and_age_and_paged() {
    let store = testing::store().await;
    let mut jobs = Vec::new();
    for (n, value) in [(0, 0), (1, 5), (2, 0), (3, i32::MIN)] {
        let job = NewJob { submitted_at: NOW.plus_millis(10 - n), ..fixture::new_job(&format!("j{n}")) };
        store.ensure_queue(&job.queue.parse().unwrap(), NOW).await.unwrap();
        fixture::insert(&store, &job).await;
        let mut db = store.pool().acquire().await.unwrap();
        let class =
            squadron_core::quota::PriorityClass { name: "x".into(), value, description: String::new() };
        priority::set(&mut db, job.id, &class).await.unwrap();
        jobs.push(job.id);
    }
    let order = [jobs[1], jobs[2], jobs[0], jobs[3]];
    let whole = store.line("research", None, 10).await.unwrap();
    assert_eq!(whole.iter().map(|job| job.id).collect::<Vec<_>>(), order);
    let (mut seen, mut after) = (Vec::new(), None);
    while let Some(job) = store.line("research", after, 1).await.unwrap().pop() {
        after = Some(job.key);
        seen.push(job.id);
    }
    assert_eq!(seen, order, "page by page");
    for (place, job) in (1..).zip(&whole) {
        let found = store.place("research", job.key).await.unwrap();
        assert_eq!(found, Place { position: place, length: 4, about: false });
    }
    let ahead = store.ahead("research", whole[2].key, 5).await.unwrap();
    assert_eq!(ahead.iter().map(|job| job.id).collect::<Vec<_>>(), order[..2]);
}
