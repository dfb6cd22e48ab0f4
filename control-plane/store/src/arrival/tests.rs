//! Arrivals on a real database.

#![allow(clippy::unwrap_used)]

use squadron_core::{arrival::refusal, job::JobState};

use super::*;
use crate::{
    Store,
    testing::{
        self,
        fixture::{self, NOW},
    },
};

fn fact(uid: &str) -> ArrivalFact {
    ArrivalFact {
        namespace: "ml".into(),
        name: "train".into(),
        uid: uid.into(),
        queue: "research".into(),
        generation: 1,
        manifest: "{}".into(),
        ..ArrivalFact::default()
    }
}

fn not_allowed() -> Refusal {
    Refusal { reason: refusal::NOT_ALLOWED, sentence: "may not".into() }
}

fn rule() -> Rule {
    Rule { namespace: "ml".into(), queue: "research".into(), created_at: NOW, created_by: "ann".into() }
}

/// A store with a cluster, a job, and a connection.
async fn begun() -> (Store, ClusterId, JobId, sqlx::pool::PoolConnection<sqlx::Postgres>) {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    let db = store.pool().acquire().await.unwrap();
    (store, east, job.id, db)
}

#[tokio::test]
async fn an_object_is_known_by_cluster_and_uid_and_one_job_has_one_object() {
    let (store, east, job, mut db) = begun().await;
    let west = fixture::cluster(&store, "west").await;
    assert_eq!(lock(&mut db, east, "u").await.unwrap(), Known::Nothing);
    imported(&mut db, east, &fact("u"), job, NOW).await.unwrap();
    let known = Known::Imported { job, generation: 1, queue: "research".into() };
    assert_eq!(lock(&mut db, east, "u").await.unwrap(), known);
    assert_eq!(lock(&mut db, west, "u").await.unwrap(), Known::Nothing, "uids of another cluster are others");
    let twice = imported(&mut db, east, &fact("copy"), job, NOW).await.unwrap_err();
    assert!(twice.violates("arrival_of_job"), "{twice}");
    let source = store.source_of_job(job).await.unwrap().unwrap();
    assert_eq!((source.cluster.as_str(), source.namespace.as_str(), source.gone_at), ("east", "ml", None));
}

#[tokio::test]
async fn a_refused_object_is_found_again_once_a_rule_lets_it_in() {
    let (store, east, job, mut db) = begun().await;
    refused(&mut db, east, &fact("u"), &not_allowed(), NOW).await.unwrap();
    assert_eq!(lock(&mut db, east, "u").await.unwrap(), Known::Refused);
    assert_eq!(allowed_since(&mut db, &[]).await.unwrap(), None);
    assert!(!store.any_allowed_since().await.unwrap());
    allow(&mut db, east, &rule()).await.unwrap();
    allow(&mut db, east, &Rule { created_by: "bob".into(), ..rule() }).await.unwrap();
    assert_eq!(store.arrival_rules(east).await.unwrap(), [rule()]);
    assert_eq!(allowed_since(&mut db, &[]).await.unwrap(), Some((east, fact("u"))));
    assert_eq!(allowed_since(&mut db, &[(east, "u".into())]).await.unwrap(), None, "it was tried");
    let elsewhere = [(ClusterId(job.0), "u".into()), (east, "v".into())];
    assert!(allowed_since(&mut db, &elsewhere).await.unwrap().is_some(), "others were tried");
    assert!(store.any_allowed_since().await.unwrap());
    imported(&mut db, east, &fact("u"), job, NOW).await.unwrap();
    assert_eq!(allowed_since(&mut db, &[]).await.unwrap(), None);
    assert!(is_allowed(&mut db, east, "ml", "research").await.unwrap());
    assert!(!is_allowed(&mut db, east, "other", "research").await.unwrap());
    assert!(disallow(&mut db, east, "ml", "research").await.unwrap());
    assert!(!disallow(&mut db, east, "ml", "research").await.unwrap());
}

#[tokio::test]
async fn a_rule_for_a_queue_that_does_not_exist_is_refused() {
    let (_store, east, _job, mut db) = begun().await;
    let nowhere = Rule { queue: "nowhere".into(), ..rule() };
    assert!(allow(&mut db, east, &nowhere).await.unwrap_err().violates(NO_SUCH_QUEUE));
}

#[tokio::test]
async fn an_object_is_told_of_until_it_tells_the_end_itself() {
    let (store, east, job, mut db) = begun().await;
    refused(&mut db, east, &fact("r"), &not_allowed(), NOW).await.unwrap();
    imported(&mut db, east, &fact("u"), job, NOW).await.unwrap();
    let told = store.arrivals_to_tell(10).await.unwrap();
    let words: Vec<_> = told.iter().map(|row| (row.uid.as_str(), row.sentence.as_str())).collect();
    assert_eq!(words, [("r", "may not"), ("u", "queued in research")]);
    assert_eq!(told[1].job.as_ref().unwrap().state, JobState::Queued);
    let settled = ArrivalFact { settled: true, ..fact("u") };
    stays(&mut db, east, &settled, true, NOW).await.unwrap();
    let told = store.arrivals_to_tell(10).await.unwrap();
    assert_eq!((told.len(), told[1].edited), (2, true), "the job goes on, whatever the object says");
    sqlx::query("update job set ended_at = submitted_at").execute(&mut *db).await.unwrap();
    stays(&mut db, east, &settled, false, NOW).await.unwrap();
    assert_eq!(store.arrivals_to_tell(10).await.unwrap().len(), 1);
    stays(&mut db, east, &fact("u"), false, NOW).await.unwrap();
    assert_eq!(store.arrivals_to_tell(10).await.unwrap().len(), 2, "somebody wrote over the end");
}

#[tokio::test]
async fn refused_objects_hide_neither_jobs_nor_other_clusters() {
    let (store, east, job, mut db) = begun().await;
    let west = fixture::cluster(&store, "west").await;
    for uid in ["a", "b", "c"] {
        refused(&mut db, east, &fact(uid), &not_allowed(), NOW).await.unwrap();
    }
    imported(&mut db, east, &fact("u"), job, NOW).await.unwrap();
    refused(&mut db, west, &fact("w"), &not_allowed(), NOW).await.unwrap();
    let told = store.arrivals_to_tell(2).await.unwrap();
    let mut uids: Vec<_> = told.iter().map(|row| row.uid.as_str()).collect();
    uids.sort_unstable();
    assert_eq!(uids, ["a", "u", "w"]);
}

#[tokio::test]
async fn an_object_goes_once_and_stays_known() {
    let (store, east, job, mut db) = begun().await;
    imported(&mut db, east, &fact("u"), job, NOW).await.unwrap();
    assert_eq!(gone(&mut db, east, "stranger", NOW).await.unwrap(), None);
    assert_eq!(gone(&mut db, east, "u", NOW).await.unwrap(), Some(job));
    assert_eq!(gone(&mut db, east, "u", NOW).await.unwrap(), None, "told twice is told once");
    assert_eq!(store.arrivals_to_tell(10).await.unwrap(), []);
    assert!(matches!(lock(&mut db, east, "u").await.unwrap(), Known::Imported { .. }));
    assert_eq!(store.source_of_job(job).await.unwrap().unwrap().gone_at, Some(NOW));
}
