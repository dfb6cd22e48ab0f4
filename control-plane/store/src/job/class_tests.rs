//! Classes and places of many waiting jobs, on a real database.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use squadron_core::{
    dispatch::{Blocked, Blocker, Cause, Place, Waiting},
    id::JobId,
    silence::Judge,
};

use super::{
    NewJob,
    class::{self, ClassId},
    place::{EXACT, LineKey, Part, recount},
    verdict::{self, Verdict},
    waiting,
};
use crate::{
    Store,
    cursor::Position,
    decision::By,
    preempt,
    testing::{
        self,
        fixture::{self, NOW},
    },
};

pub(super) async fn look(store: &Store) -> waiting::Snapshot {
    store
        .txn("test", &(), |db, ()| Box::pin(waiting::snapshot(db, Judge { now: NOW, after_ms: 1 })))
        .await
        .unwrap()
}

pub(super) fn full(job: JobId, sentence: &str) -> Blocked {
    let blocker = Blocker {
        code: Cause::ClusterFull,
        cluster: "east".into(),
        sentence: sentence.into(),
        try_this: String::new(),
        with: Vec::new(),
    };
    Blocked { job, blockers: Arc::new(vec![blocker]), borrows: false, note: String::new() }
}

pub(super) async fn class_of(store: &Store, job: JobId) -> ClassId {
    let query = "select class_id from job where id = $1";
    sqlx::query_scalar(query).bind(job.0).fetch_one(store.pool()).await.unwrap()
}

pub(super) async fn say(store: &Store, verdicts: &[(ClassId, &Blocked)], millis: i64) -> Vec<ClassId> {
    let all: Vec<_> =
        verdicts.iter().map(|(class, told)| (*class, told.borrows, Some((*told).clone()))).collect();
    judge(store, &all, millis).await
}

async fn judge(store: &Store, verdicts: &[(ClassId, bool, Option<Blocked>)], millis: i64) -> Vec<ClassId> {
    let verdicts: Vec<_> = verdicts
        .iter()
        .map(|(class, borrows, told)| Verdict {
            class: *class,
            queue: "research",
            borrows: *borrows,
            told: told.as_ref(),
        })
        .collect();
    let mut db = store.pool().acquire().await.unwrap();
    let by = By { term: 1, now: NOW.plus_millis(millis) };
    verdict::save(&mut db, &verdicts, by).await.unwrap().into_iter().collect()
}

/// A job of the queue research that is so urgent and so many milliseconds old.
pub(super) async fn urgent(store: &Store, name: &str, value: i32, millis: i64) -> JobId {
    let priority = Some(fixture::priority("x", value));
    let job = NewJob { submitted_at: NOW.plus_millis(millis), priority, ..fixture::new_job(name) };
    store.ensure_queue(&job.queue.parse().unwrap(), NOW).await.unwrap();
    fixture::insert(store, &job).await;
    job.id
}

async fn page_by_page(store: &Store, queue: &str) -> Vec<JobId> {
    let (mut seen, mut after) = (Vec::new(), None);
    while let Some(job) = store.line(queue, after, 1, NOW).await.unwrap().pop() {
        after = Some(job.key);
        seen.push(job.id);
    }
    seen
}

/// So many jobs of a queue, each one second after the other, as an older version would have added them.
pub(super) async fn flood(store: &Store, queue: &'static str, jobs: i64) {
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

pub(super) async fn give_all(store: &Store) {
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
    let urgent = urgent(&store, "d", 7, 0).await;
    let equal = class_of(&store, first).await;
    assert_eq!(class_of(&store, second.id).await, equal);
    let others = [class_of(&store, pinned.id).await, class_of(&store, urgent).await];
    assert!(!others.contains(&equal) && others[0] != others[1], "{others:?}");
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
    let line = store.line("research", None, 10, NOW).await.unwrap();
    let since: Vec<_> = line.iter().map(|job| (job.id, job.since)).collect();
    assert_eq!(since, [(first, Some(NOW)), (late.id, Some(NOW.plus_millis(500)))]);
    assert!(say(&store, &[(class, &blocked)], 10_000).await.is_empty());
    assert_eq!(
        store.job("a").await.unwrap().unwrap().decided_at,
        Some(NOW.plus_millis(10_000)),
        "kept fresh"
    );
    say(&store, &[], 12_000).await;
    assert!(store.job("late").await.unwrap().unwrap().decided_at.is_some(), "it was not this one's turn");
    fixture::execute(&store, "update job set state = 'cancelled' where $1 > 0", 1).await;
    say(&store, &[], 14_000).await;
    fixture::queued(&store, "last").await;
    let row = store.job("last").await.unwrap().unwrap();
    assert_eq!((row.sentence.as_str(), row.decided_at, row.blockers), ("queued in research", None, vec![]));
}

#[tokio::test]
async fn a_pass_reads_as_many_of_a_class_as_could_start_and_one_more() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    fixture::show_node(&mut db, east, &fixture::node("n1"), Position { epoch: 1, seq: 1 }, NOW)
        .await
        .unwrap();
    for n in 0..9 {
        let job = NewJob { submitted_at: NOW.plus_millis(n), ..fixture::new_job(&format!("j{n}")) };
        store.ensure_queue(&job.queue.parse().unwrap(), NOW).await.unwrap();
        fixture::insert(&store, &job).await;
    }
    let read = look(&store).await.input.waiting;
    let short: Vec<_> = read.iter().map(|job| (job.name.as_str(), job.behind)).collect();
    assert_eq!(short, [("j0", 0), ("j1", 0), ("j2", 0), ("j3", 1)], "four cores are free");
    let mut counted = look(&store).await;
    waiting::count_behind(&mut db, &mut counted).await.unwrap();
    assert_eq!(counted.input.waiting[3].behind, 5);
    let last = store.job("j8").await.unwrap().unwrap().id;
    let making = squadron_core::dispatch::Making {
        job: last,
        cluster: east,
        because: String::new(),
        stops: vec![],
        shrinks: vec![],
    };
    assert!(preempt::claim(&mut db, &making, 0, NOW).await.unwrap());
    let read = look(&store).await.input.waiting;
    let short: Vec<_> = read.iter().map(|job| (job.name.as_str(), job.behind)).collect();
    let expected = [("j0", 0), ("j1", 0), ("j2", 0), ("j3", 0), ("j4", 1), ("j8", 0)];
    assert_eq!(
        short, expected,
        "one with a claim is read wherever it stands, and leaves the others their number"
    );
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
    assert_eq!(of("flood"), 1);
    assert!((500..=1_000).contains(&of("kinds")), "{} of too many classes", of("kinds"));
    let first = |job: &&Waiting| job.queue == "kinds" && job.gang[0].requests.cpu_milli <= 500;
    assert_eq!(input.waiting.iter().filter(first).count(), 500, "those at the head of the line");
}

#[tokio::test]
async fn places_are_exact_at_the_head_and_about_right_behind() {
    let store = testing::store().await;
    flood(&store, "flood", EXACT + 5_010).await;
    let place = async |n: i64| {
        let row = store.job(&format!("f{n}")).await.unwrap().unwrap();
        store.place("flood", row.key(), NOW).await.unwrap()
    };
    let number = |n: i64| u32::try_from(n).unwrap();
    let length = number(EXACT + 5_010);
    let exact =
        |position, length| Place { position: number(position), length, about: false, of_about: false };
    assert_eq!(place(3).await, exact(3, length), "counted whole until the first count");
    let mut db = store.pool().acquire().await.unwrap();
    assert_eq!(recount(&mut db, NOW).await.unwrap(), 1);
    // Nobody was looked at, so all stand in the last part, behind none of the others.
    let head = Place { of_about: true, ..exact(3, length) };
    assert_eq!(place(3).await, head, "its length is counted from time to time");
    let behind = Place { about: true, of_about: true, ..exact(EXACT + 5_003, length) };
    assert_eq!(place(EXACT + 5_003).await, behind);
    let ends =
        "update job set state = 'cancelled' where queue = 'flood' and submitted_at <= to_timestamp($1)";
    fixture::execute(&store, ends, 5_009).await;
    assert_eq!(place(EXACT + 5_003).await, behind, "as of the last count");
    fixture::execute(&store, ends, 5_010).await;
    assert_eq!(recount(&mut db, NOW).await.unwrap(), 0);
    assert_eq!(place(EXACT + 5_003).await, exact(EXACT - 7, number(EXACT)));
    let queues = store.queues().await.unwrap();
    assert_eq!(queues.iter().find(|queue| queue.name == "flood").unwrap().queued, number(EXACT));
}

/// Two classes of the flood that were looked at: `md5('0')` stays within a guarantee, `md5('1')` borrows.
async fn two_classes(store: &Store) {
    let classes = "insert into job_class (id, queue, priority, shape, borrows, decided_at)
                   select md5(n::text)::uuid, 'flood', 0, '{}', n = 1, now() from generate_series(0, $1) n";
    fixture::execute(store, classes, 1).await;
}

#[tokio::test]
async fn places_of_a_long_line_count_each_part_by_itself() {
    let store = testing::store().await;
    flood(&store, "flood", EXACT + 6_000).await;
    // Every third job borrows.
    two_classes(&store).await;
    let kinds = "update job set class_id = md5((substr(name, 2)::integer % 3 = 0)::integer::text)::uuid
                 where queue = 'flood' and $1 > 0";
    fixture::execute(&store, kinds, 1).await;
    let mut db = store.pool().acquire().await.unwrap();
    let places = async |n: i64| {
        let row = store.job(&format!("f{n}")).await.unwrap().unwrap();
        let place = store.place("flood", row.key(), NOW).await.unwrap().position;
        (i64::from(place), i64::from(store.place_of_new("flood", row.key(), NOW).await.unwrap().position))
    };
    let within = EXACT + 6_000 - (EXACT + 6_000) / 3;
    let expected = |n: i64| if n % 3 == 0 { within + n / 3 } else { n - n / 3 };
    for counted in [false, true] {
        if counted {
            recount(&mut db, NOW).await.unwrap();
        }
        for n in [1, 3, 9_999, 10_000, 10_001, 15_001, 15_003, EXACT + 5_999] {
            assert_eq!(places(n).await, (expected(n), n), "the {n}th by urgency; counted before: {counted}");
        }
    }
}

#[tokio::test]
async fn a_job_at_a_mark_that_is_also_at_the_head_of_its_line_is_estimated_once() {
    let store = testing::store().await;
    flood(&store, "flood", EXACT + 10).await;
    two_classes(&store).await;
    let marked = "update job set class_id = md5((substr(name, 2)::integer <> $1)::integer::text)::uuid where queue = 'flood'";
    fixture::execute(&store, marked, EXACT + 1).await;
    let mut db = store.pool().acquire().await.unwrap();
    assert_eq!(recount(&mut db, NOW).await.unwrap(), 1);
    let due = crate::estimate::due(&mut db, NOW).await.unwrap();
    let first: Vec<u32> = due.iter().map(|one| one.position).take(3).collect();
    assert_eq!((first, due.len()), (vec![1, 2, 3], 200), "the marked one is the first, and so among the 200");
    let given: Vec<_> = due.into_iter().map(|due| crate::estimate::Given { due, quantiles: None }).collect();
    crate::estimate::give(&mut db, &given, NOW).await.unwrap();
}

#[tokio::test]
async fn the_line_is_in_the_order_of_borrowing_priority_and_age_and_paged() {
    let store = testing::store().await;
    let mut jobs = Vec::new();
    for (n, value) in [(0, 0), (1, 5), (2, 0), (3, i32::MIN), (4, 7), (5, 7)] {
        jobs.push(urgent(&store, &format!("j{n}"), value, 10 - n).await);
    }
    let mut classes = Vec::new();
    for job in &jobs {
        classes.push(class_of(&store, *job).await);
    }
    let class = |n: usize| classes[n];
    assert_eq!(
        page_by_page(&store, "research").await,
        [5, 4, 1, 2, 0, 3].map(|n: usize| jobs[n]),
        "not looked at"
    );
    // Of the most urgent nobody was looked at; the next borrows.
    let told =
        |n: usize, borrows| (class(n), borrows, Some(Blocked { borrows, ..full(jobs[n], "east is full") }));
    judge(&store, &[told(0, false), told(1, true), told(3, false)], 0).await;
    let order = [2, 0, 3, 1, 5, 4].map(|n: usize| jobs[n]);
    assert_eq!(page_by_page(&store, "research").await, order, "page by page");
    let whole = store.line("research", None, 10, NOW).await.unwrap();
    assert_eq!(whole.iter().map(|job| job.id).collect::<Vec<_>>(), order);
    for (place, job) in (1..).zip(&whole) {
        let found = store.place("research", job.key, NOW).await.unwrap();
        let expected = Place { position: place, length: 6, about: false, of_about: false };
        assert_eq!(found, expected, "{}", job.name);
        assert_eq!(store.job(&job.name).await.unwrap().unwrap().key(), job.key);
    }
    let ahead = store.ahead("research", whole[3].key, 5, NOW).await.unwrap();
    assert_eq!(ahead.iter().map(|job| job.id).collect::<Vec<_>>(), order[..3]);
    let new = LineKey::new(Part::Unlooked, 6, 0.0, NOW, JobId(uuid::Uuid::max()));
    assert_eq!(
        store.place_of_new("research", new, NOW).await.unwrap().position,
        3,
        "behind the two that are more urgent"
    );
    // Everyone of a class hears something of their own: it keeps its place, and says nothing of others.
    judge(&store, &[(class(0), true, None)], 1_000).await;
    let row = store.job("j0").await.unwrap().unwrap();
    assert_eq!(
        (row.borrows, row.decided_at, row.sentence.as_str()),
        (Some(true), None, "queued in research")
    );
}
