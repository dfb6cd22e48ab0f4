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

/// The first of a cluster's objects on which something is to be told.
async fn to_tell(store: &Store, cluster: ClusterId, limit: u32) -> Vec<ToldRow> {
    let page = Page { cluster, after: None, limit };
    store.arrivals_to_tell(&[page]).await.unwrap().remove(0)
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
    let told = to_tell(&store, east, 10).await;
    let words: Vec<_> = told.iter().map(|row| (row.uid.as_str(), row.sentence.as_str())).collect();
    assert_eq!(words, [("u", "queued in research"), ("r", "may not")]);
    assert_eq!(told[0].job.as_ref().unwrap().state, JobState::Queued);
    let settled = ArrivalFact { settled: true, ..fact("u") };
    stays(&mut db, east, &settled, true, NOW).await.unwrap();
    let told = to_tell(&store, east, 10).await;
    assert_eq!((told.len(), told[0].edited), (2, true), "the job goes on, whatever the object says");
    sqlx::query("update job set ended_at = submitted_at").execute(&mut *db).await.unwrap();
    stays(&mut db, east, &settled, false, NOW).await.unwrap();
    assert_eq!(to_tell(&store, east, 10).await.len(), 1);
    stays(&mut db, east, &fact("u"), false, NOW).await.unwrap();
    assert_eq!(to_tell(&store, east, 10).await.len(), 2, "somebody wrote over the end");
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
    let mut pages = [east, west].map(|cluster| Page { cluster, after: None, limit: 2 });
    let told = store.arrivals_to_tell(&pages).await.unwrap();
    let uids = |rows: &[ToldRow]| rows.iter().map(|row| row.uid.clone()).collect::<Vec<_>>();
    assert_eq!((uids(&told[0]), uids(&told[1])), (vec!["u".into(), "a".into()], vec!["w".into()]));
    pages[0].after = told[0].last().map(|row| row.place.clone());
    pages[1].after = told[1].last().map(|row| row.place.clone());
    let told = store.arrivals_to_tell(&pages).await.unwrap();
    assert_eq!((uids(&told[0]), told[1].len()), (vec!["b".into(), "c".into()], 0));
}

#[tokio::test]
async fn what_became_of_single_jobs_is_read_by_their_ids() {
    let (store, east, job, mut db) = begun().await;
    imported(&mut db, east, &fact("u"), job, NOW).await.unwrap();
    let read = async || store.arrivals_of(&[job, JobId(east.0)]).await.unwrap();
    let [(row, stands)] = read().await.try_into().unwrap();
    assert_eq!((row.uid.as_str(), row.job.unwrap().id, stands), ("u", job, true));
    gone(&mut db, east, "u", NOW).await.unwrap();
    assert!(!read().await[0].1);
}

#[tokio::test]
async fn a_job_that_cannot_be_read_keeps_no_other_from_being_told() {
    let (store, east, job, mut db) = begun().await;
    imported(&mut db, east, &fact("u"), job, NOW).await.unwrap();
    refused(&mut db, east, &fact("r"), &not_allowed(), NOW).await.unwrap();
    fixture::execute(&store, "update job set state = repeat('x', $1::integer)", 3).await;
    let told = to_tell(&store, east, 10).await;
    assert_eq!((told.len(), told[0].refusal.as_str(), &told[0].job), (2, UNREADABLE, &None));
    assert!(told[0].sentence.ends_with("\"xxx\" is no state"), "{}", told[0].sentence);
}

#[tokio::test]
async fn an_object_goes_once_and_stays_known() {
    let (store, east, job, mut db) = begun().await;
    imported(&mut db, east, &fact("u"), job, NOW).await.unwrap();
    assert_eq!(gone(&mut db, east, "stranger", NOW).await.unwrap(), None);
    assert_eq!(gone(&mut db, east, "u", NOW).await.unwrap(), Some(job));
    assert_eq!(gone(&mut db, east, "u", NOW).await.unwrap(), None, "told twice is told once");
    assert_eq!(to_tell(&store, east, 10).await, []);
    assert!(matches!(lock(&mut db, east, "u").await.unwrap(), Known::Imported { .. }));
    assert_eq!(store.source_of_job(job).await.unwrap().unwrap().gone_at, Some(NOW));
}
