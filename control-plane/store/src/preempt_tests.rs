//! Claims and stakes on a real Postgres.

#![allow(clippy::unwrap_used)]

use squadron_core::silence::Judge;

use super::*;
use crate::{
    Store,
    job::waiting,
    testing::{
        self,
        fixture::{self, NOW},
    },
};

async fn input(store: &Store) -> squadron_core::dispatch::Input {
    let silence = Judge { now: NOW, after_ms: 60_000 };
    store.txn("test", &silence, |db, silence| Box::pin(waiting::snapshot(db, *silence))).await.unwrap().input
}

#[tokio::test]
async fn a_claim_holds_until_its_job_has_a_newer_attempt_and_is_made_once() {
    let store = testing::store().await;
    let cluster = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "eval").await.id;
    let making = Making { job, cluster, because: String::new(), stops: Vec::new(), shrinks: Vec::new() };
    let mut db = store.pool().acquire().await.unwrap();
    assert!(claim(&mut db, &making, 0, NOW).await.unwrap());
    assert!(!claim(&mut db, &making, 0, NOW.plus_millis(1)).await.unwrap(), "it stands");
    assert_eq!(input(&store).await.claims, [Claim { job, cluster, since: NOW }]);
    fixture::attempt(&store, job, cluster, NOW).await;
    assert_eq!(input(&store).await.claims, [], "it started, and is owed nothing more");
    fixture::execute(&store, "update attempt set state = 'lost', ended_at = now() where number = $1", 1)
        .await;
    assert_eq!(input(&store).await.claims, [], "nor when it waits again");
    forget(&mut db, &[]).await.unwrap();
    assert!(claim(&mut db, &making, 1, NOW).await.unwrap());
    forget(&mut db, &[job]).await.unwrap();
    assert_eq!(claims(&mut db).await.unwrap(), []);
}

#[tokio::test]
async fn stakes_tell_what_a_stop_would_cost_and_for_whom_an_attempt_leaves() {
    let store = testing::store().await;
    let cluster = fixture::cluster(&store, "east").await;
    let resumes = r#"{"metadata":{"annotations":{"squadron.dev/resumes":"true"}}}"#.to_owned();
    let new = crate::job::NewJob { rayjob: resumes, ..fixture::new_job("train") };
    store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
    fixture::insert(&store, &new).await;
    fixture::attempt(&store, new.id, cluster, NOW).await;
    let running = "update attempt set running_at = assigned_at + interval '1 second' where number = $1";
    fixture::execute(&store, running, 1).await;
    fixture::execute(&store, "update job set state = 'running', priority = $1", 7).await;
    let plain = input(&store).await.clusters[0].attempts[0].stake.clone();
    assert_eq!(plain, Stake::default(), "nothing may be stopped, so nobody asks what it would cost");
    let waiting = fixture::queued(&store, "eval").await.id;
    let mut db = store.pool().acquire().await.unwrap();
    let making =
        Making { job: waiting, cluster, because: String::new(), stops: Vec::new(), shrinks: Vec::new() };
    assert!(claim(&mut db, &making, 0, NOW).await.unwrap());
    let stake = input(&store).await.clusters[0].attempts[0].stake.clone();
    assert_eq!((stake.name.as_str(), stake.priority, stake.resumes, stake.stops), ("train", 7, true, 0));
    assert_eq!((stake.began, stake.saved, stake.asked), (Some(NOW.plus_millis(1_000)), None, None));
    let id = AttemptId { job: new.id, number: 1 };
    ask(&mut db, id, waiting, NOW.plus_millis(5_000)).await.unwrap();
    let asked = input(&store).await.clusters[0].attempts[0].stake.asked;
    assert_eq!(asked, Some(Asked { at: NOW.plus_millis(5_000), makes_room_for: Some(waiting) }));
}

#[tokio::test]
async fn an_accepted_attempt_that_makes_room_is_not_taken_for_one_that_was_never_made() {
    let store = testing::store().await;
    let cluster = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await.id;
    fixture::attempt(&store, job, cluster, NOW).await;
    fixture::execute(&store, "update cluster set applied_generation = $1", 9).await;
    let stops =
        "update attempt set state = 'stopping', desired = false, released_generation = 9, created_at = null,
                        accepted_epoch = nullif($1, 0)";
    fixture::execute(&store, stops, 1).await;
    assert_eq!(store.never_created().await.unwrap(), [], "that it was made may be on its way");
    fixture::execute(&store, stops, 0).await;
    assert_eq!(store.never_created().await.unwrap(), [job]);
}

#[tokio::test]
async fn a_manifest_with_nul_is_stored_and_upgraded() {
    let store = testing::store().await;
    store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
    let manifest =
        |more| format!(r#"{{"metadata":{{"annotations":{{"squadron.dev/resumes":"true"{more}}}}}}}"#);
    for (name, rayjob) in [("plain", manifest("")), ("nul", manifest(r#","a":"\u0000""#))] {
        fixture::insert(&store, &crate::job::NewJob { rayjob, ..fixture::new_job(name) }).await;
    }
    let resume = async || -> Vec<String> {
        let query = "select name from job where resumes order by name";
        sqlx::query_scalar(query).fetch_all(store.pool()).await.unwrap()
    };
    assert_eq!(resume().await, ["nul", "plain"]);
    fixture::execute(&store, "update job set resumes = false where $1 > 0", 1).await;
    let migration = include_str!("../../../migrations/0017_preemption.sql");
    let update = &migration[migration.find("update job").unwrap()..];
    let update = &update[..=update.find(';').unwrap()];
    sqlx::query(update).execute(store.pool()).await.unwrap();
    assert_eq!(resume().await, ["plain"]);
}
