//! Passes over a queue with hundreds and thousands of classes, on a real database.

#![allow(clippy::unwrap_used)]

use squadron_core::{fact::Fact, fact::NodeFact, lease::Terms, resources::Resources};
use squadron_store::{
    job::{Filter, JobRow},
    testing::fixture::{self, NOW},
};

use super::*;
use crate::tasks::{project, statements::Statements, tests};

/// So many jobs of research, each of its own class and one second after the other.
async fn flood(app: &AppState, jobs: i64) {
    app.store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
    let insert = "
        insert into job (id, name, namespace, queue, state, owner, manifest, gang, submitted_at)
        select gen_random_uuid(), 'k' || n, 'default', 'research', 'queued', 'bob', '',
               jsonb_build_array(jsonb_build_object('role', 'head', 'count', 1, 'cpu_milli', n, 'memory_bytes', 0, 'gpus', 1)),
               to_timestamp(n)
        from generate_series(1, $1) n";
    fixture::execute(&app.store, insert, jobs).await;
    let mut db = app.store.pool().acquire().await.unwrap();
    while class::give(&mut db).await.unwrap() > 0 {}
}

/// A cluster with so many GPUs.
async fn east(app: &AppState, holder: Uuid, gpus: i64) {
    let east = fixture::cluster(&app.store, "east").await;
    tests::heard(&app.store).await;
    let size = Resources { cpu_milli: 1 << 40, memory_bytes: 1 << 40, gpus };
    let node = NodeFact { capacity: size, allocatable: size, ..fixture::node("n1") };
    fixture::facts(&app.store, east, vec![Fact::Node(node)]).await;
    project::pass(app, holder).await.unwrap();
}

async fn jobs(app: &AppState, state: &str) -> Vec<JobRow> {
    let filter = Filter { states: vec![state.to_owned()], limit: 10_000, ..Filter::default() };
    app.store.jobs(&filter).await.unwrap()
}

#[tokio::test]
async fn a_pass_over_many_classes_places_whole_batches_and_everybody_hears_why_they_wait() {
    let (statements, _counts) = Statements::counted();
    for (classes, passes) in [(300, 1), (3_000, 6)] {
        let (app, holder) = (tests::app_with(Terms::default()).await, Uuid::now_v7());
        east(&app, holder, 150).await;
        flood(&app, classes).await;
        for number in 1..=passes {
            tests::heard(&app.store).await;
            statements.count();
            assert_eq!(pass(&app, holder).await.unwrap(), Left::Nothing);
            let (count, rows) = statements.count_with_rows();
            eprintln!("pass {number} over {classes} classes: {count} statements, {rows} rows");
            assert!(count < 80 && rows < 8_000, "{count} statements, {rows} rows");
            let placed = jobs(&app, "assigned").await;
            assert_eq!(placed.len(), 150, "in the first pass");
            assert!(placed.iter().all(|job| job.submitted_at.0 <= 150_000_000), "the oldest");
        }
        let silent = jobs(&app, "queued").await.into_iter().filter(|job| job.decided_at.is_none());
        assert_eq!(silent.map(|job| job.name).collect::<Vec<_>>(), [""; 0]);
    }
}
