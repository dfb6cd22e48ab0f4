//! Histories of jobs on a real database.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::{
    job::{
        class::ClassId,
        class_wait::KEPT,
        own_wait::{self, Own},
        verdict::{self, Verdict},
    },
    testing::{
        self,
        fixture::{self, NOW},
    },
};
use squadron_core::{
    dispatch::{Blocked, Bound, Cause, Ranked, Term, Usage},
    id::ClusterId,
    resources::Resources,
};

fn full(job: JobId, cluster: &str, says: &str) -> Blocked {
    let blocker = Blocker {
        code: Cause::ClusterFull,
        cluster: cluster.into(),
        sentence: says.into(),
        try_this: String::new(),
        with: Vec::new(),
    };
    Blocked { job, blockers: Arc::new(vec![blocker]), borrows: false, note: String::new() }
}

fn by(millis: i64) -> By {
    By { term: 7, now: NOW.plus_millis(millis) }
}

async fn note(store: &Store, class: ClassId, told: Option<&Blocked>, millis: i64) {
    let mut db = store.pool().acquire().await.unwrap();
    let verdict = Verdict { class, queue: "research", borrows: false, told };
    verdict::save(&mut db, &[verdict], by(millis)).await.unwrap();
}

async fn class_of(store: &Store, job: JobId) -> ClassId {
    let query = "select class_id from job where id = $1";
    sqlx::query_scalar(query).bind(job.0).fetch_one(store.pool()).await.unwrap()
}

async fn at_millis(store: &Store, name: &str, millis: i64) -> JobId {
    let job = crate::job::NewJob { submitted_at: NOW.plus_millis(millis), ..fixture::new_job(name) };
    fixture::insert(store, &job).await;
    job.id
}

#[tokio::test]
async fn jobs_share_what_their_class_waited_for_while_they_waited() {
    let store = testing::store().await;
    let first = fixture::queued(&store, "a").await.id;
    let class = class_of(&store, first).await;
    note(&store, class, Some(&full(first, "east", "three cores lack")), 1_000).await;
    note(&store, class, Some(&full(first, "east", "two cores lack")), 2_000).await;
    note(&store, class, Some(&full(first, "west", "one core lacks")), 3_000).await;
    let later = at_millis(&store, "later", 3_500).await;
    assert_eq!(class_of(&store, later).await, class, "equal jobs");
    let told = async |job| {
        let rows = store.decisions(job, None, 10).await.unwrap();
        rows.iter()
            .map(|row| (row.number, row.cause.clone(), row.first_at.millis_since(NOW), row.times))
            .collect::<Vec<_>>()
    };
    let (east, west) = ("CLUSTER_FULL east".to_owned(), "CLUSTER_FULL west".to_owned());
    assert_eq!(told(first).await, [(2, west.clone(), 3_000, 1), (1, east, 1_000, 2)]);
    assert_eq!(told(later).await, [(1, west.clone(), 3_500, 1)], "from its submission on");
    let page = store.decisions(first, Some(2), 1).await.unwrap();
    assert_eq!((page[0].number, page[0].sentence.as_str()), (1, "queued in research: two cores lack"));
    note(&store, class, None, 4_000).await;
    let after = at_millis(&store, "after", 5_000).await;
    assert_eq!(told(after).await, [], "what was over before is not its history");
    note(&store, class, Some(&full(first, "west", "one core lacks")), 6_000).await;
    assert_eq!(told(first).await.len(), 3, "the same causes again, after a time without any");
    assert_eq!(told(after).await, [(1, west, 6_000, 1)]);
}

#[tokio::test]
async fn what_a_cancelled_job_waited_for_after_its_last_attempt_stays_in_its_history() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "a").await.id;
    let class = class_of(&store, job).await;
    note(&store, class, Some(&full(job, "east", "full")), 1_000).await;
    fixture::attempt(&store, job, east, NOW.plus_millis(2_000)).await;
    let end = |sql: &'static str, millis: i64| {
        let store = &store;
        async move { fixture::execute(store, sql, NOW.plus_millis(millis).0).await }
    };
    end("update attempt set state = 'lost', ended_at = to_timestamp($1::float8 / 1000000)", 6_000).await;
    note(&store, class, Some(&full(job, "west", "full")), 6_000).await;
    let causes = async || {
        let rows = store.decisions(job, None, 10).await.unwrap();
        rows.into_iter().map(|row| (row.cause, row.first_at.millis_since(NOW))).collect::<Vec<_>>()
    };
    let both = [("CLUSTER_FULL west".to_owned(), 6_000), ("CLUSTER_FULL east".to_owned(), 1_000)];
    assert_eq!(causes().await, both, "while it waits");
    end("update job set state = 'cancelled', ended_at = to_timestamp($1::float8 / 1000000)", 8_000).await;
    assert_eq!(causes().await, both, "and after its owner cancelled it");
    end("update attempt set ended_at = to_timestamp($1::float8 / 1000000)", 8_000).await;
    assert_eq!(causes().await, both[1..], "it ran until it was cancelled");
}

#[tokio::test]
async fn what_one_job_hears_alone_stands_in_its_own_history() {
    let store = testing::store().await;
    let (a, b) = (fixture::queued(&store, "a").await.id, fixture::queued(&store, "b").await.id);
    let class = class_of(&store, a).await;
    note(&store, class, Some(&full(a, "east", "three cores lack")), 1_000).await;
    let hears = |says: &str, note: &str| Blocked { note: note.into(), ..full(a, "west", says) };
    let mut db = store.pool().acquire().await.unwrap();
    for (millis, says, expected) in [(2_000, "stops", 1), (2_500, "stops", 0), (3_000, "stops soon", 1)] {
        let told = hears(says, "; kept for it");
        let own = [Own { queue: "research", told: &told }];
        assert_eq!(own_wait::save(&mut db, &own, by(millis)).await.unwrap().len(), expected, "at {millis}");
    }
    let rows = store.decisions(a, None, 10).await.unwrap();
    let short: Vec<_> = rows.iter().map(|row| (row.number, row.cause.as_str(), row.times)).collect();
    assert_eq!(short, [(2, "CLUSTER_FULL west", 2), (1, "CLUSTER_FULL east", 1)]);
    assert_eq!(rows[0].sentence, "queued in research: stops soon; kept for it");
    assert_eq!(store.job("a").await.unwrap().unwrap().sentence, rows[0].sentence);
    assert_eq!(store.decisions(b, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.job("b").await.unwrap().unwrap().sentence, "queued in research: three cores lack");
    assert_eq!(
        own_wait::save(&mut db, &[], by(4_000)).await.unwrap(),
        [a].into(),
        "it hears what the others hear"
    );
    assert_eq!(store.job("a").await.unwrap().unwrap().sentence, "queued in research: three cores lack");
}

#[tokio::test]
async fn a_placement_keeps_every_term_and_old_waits_are_forgotten() {
    let store = testing::store().await;
    let job = fixture::queued(&store, "a").await.id;
    let class = class_of(&store, job).await;
    let term = Term {
        name: "jobs_there".into(),
        value: 2,
        unit: "jobs".into(),
        clause: "it runs 2 jobs".into(),
        decided: true,
    };
    let size = Resources { cpu_milli: 4_000, memory_bytes: 1 << 30, gpus: 0 };
    let best = Ranked { cluster: "east".into(), free: size, total: size, terms: vec![term] };
    let assign = Assign {
        job,
        cluster: ClusterId(Uuid::nil()),
        because: "east has room".into(),
        usage: Usage::new(),
        bound: Bound::new(),
        choice: Choice::new(vec![best], vec![], 1),
    };
    let mut db = store.pool().acquire().await.unwrap();
    note_assigned(&mut db, &[(&assign, AttemptId { job, number: 1 })], by(0)).await.unwrap();
    for n in 0..KEPT + 20 {
        note(&store, class, Some(&full(job, &format!("c{}", n % 2), "full")), i64::from(n) + 1).await;
    }
    let rows = store.decisions(job, None, 500).await.unwrap();
    assert_eq!(rows.len(), usize::try_from(KEPT).unwrap() + 1);
    let placed = rows.last().unwrap();
    assert_eq!((placed.number, placed.attempt, placed.cause.as_str()), (1, Some(1), "jobs_there"));
    assert_eq!((placed.cluster.as_str(), &placed.choice), ("east", &assign.choice));
    assert_eq!(placed.term, 7);
}
