//! What jobs and queues may ask for, and what an operator's word does.

#![allow(clippy::unwrap_used)]

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use squadron_core::{
    id::{AttemptId, ClusterId},
    job::JobState,
};
use squadron_store::testing::{fixture, link::assigned};

use super::jobs::tests::{MANIFEST, Room};

async fn submitted(room: &Room, annotations: &str, on_lost: Option<&str>) -> (StatusCode, Value) {
    let metadata = format!("{{name: train, namespace: default, annotations: {{{annotations}}}}}");
    let manifest = MANIFEST.replace("{name: train, namespace: default}", &metadata);
    let mut asked = json!({"manifest": manifest, "queue": "research"});
    if let Some(on_lost) = on_lost {
        asked["on_lost"] = on_lost.into();
    }
    room.ask("submitter", Method::POST, "/api/v1/jobs", asked).await
}

async fn policy(room: &Room, annotations: &str, on_lost: Option<&str>) -> String {
    let (status, reply) = submitted(room, annotations, on_lost).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    reply["job"]["on_lost"].as_str().unwrap().to_owned()
}

async fn set_queue(room: &Room, role: &str, body: Value) -> StatusCode {
    room.ask(role, Method::PUT, "/api/v1/queues/loss", body).await.0
}

#[tokio::test]
async fn a_job_gets_the_policy_that_it_its_manifest_or_its_queue_asks_for() {
    let room = Room::new().await;
    assert_eq!(policy(&room, "", None).await, "wait");
    assert_eq!(policy(&room, "squadron.dev/resumes: 'true'", None).await, "fence");
    assert_eq!(policy(&room, "squadron.dev/on-lost: fence", None).await, "fence");
    assert_eq!(policy(&room, "squadron.dev/on-lost: fence", Some("wait")).await, "wait");
    let fence = json!({"name": "research", "on_lost": "fence"});
    assert_eq!(set_queue(&room, "operator", fence).await, StatusCode::NO_CONTENT);
    assert_eq!(policy(&room, "", None).await, "fence");
    let (status, problem) = submitted(&room, "", Some("often")).await;
    assert_eq!((status, problem["code"].as_str()), (StatusCode::BAD_REQUEST, Some("SQD-1000")), "{problem}");
}

#[tokio::test]
async fn two_copies_need_the_job_and_an_administrator() {
    let room = Room::new().await;
    assert_eq!(submitted(&room, "", Some("rerun")).await.0, StatusCode::BAD_REQUEST);
    let allow = json!({"name": "research", "allow_overlap": true});
    assert_eq!(set_queue(&room, "operator", allow.clone()).await, StatusCode::FORBIDDEN);
    assert_eq!(set_queue(&room, "admin", allow).await, StatusCode::NO_CONTENT);
    assert_eq!(policy(&room, "", Some("rerun")).await, "rerun");
    let default = json!({"name": "research", "on_lost": "rerun", "allow_overlap": true});
    assert_eq!(set_queue(&room, "admin", default).await, StatusCode::BAD_REQUEST, "nobody gets it unasked");
}

/// A job on a cluster that was heard long ago.
async fn on_a_silent_cluster(room: &Room) -> (ClusterId, AttemptId) {
    let east = fixture::cluster(&room.app.store, "east").await;
    (east, assigned(&room.app.store, east, "train").await)
}

#[tokio::test]
async fn a_word_frees_the_jobs_of_a_silent_cluster_and_is_kept() {
    let room = Room::new().await;
    let (_, attempt) = on_a_silent_cluster(&room).await;
    let path = "/api/v1/clusters/east/declare-dead";
    let word = json!({"reason": "the machines were returned"});
    assert_eq!(room.ask("submitter", Method::POST, path, word.clone()).await.0, StatusCode::FORBIDDEN);
    let unsaid = room.ask("operator", Method::POST, path, json!({"reason": " "})).await;
    assert_eq!(unsaid.0, StatusCode::BAD_REQUEST, "{}", unsaid.1);
    let (status, cluster) = room.ask("operator", Method::POST, path, word.clone()).await;
    assert_eq!(status, StatusCode::OK, "{cluster}");
    let row = room.app.store.job(&attempt.job.to_string()).await.unwrap().unwrap();
    assert_eq!((row.state, row.reason.as_str()), (JobState::Queued, "CLUSTER_LOST"));
    assert!(
        row.sentence.contains("operator@example.com says that nothing of it runs any more"),
        "{}",
        row.sentence
    );
    assert_eq!(room.app.store.attempts(attempt.job).await.unwrap()[0].proof, "operators_word");
    let (_, audit) = room.ask("admin", Method::GET, "/api/v1/audit", Value::Null).await;
    assert!(audit.to_string().contains("cluster.declare_dead"), "{audit}");
    assert_eq!(
        room.ask("operator", Method::POST, path, word).await.0,
        StatusCode::OK,
        "said twice is harmless"
    );
}

#[tokio::test]
async fn a_word_about_one_job_frees_that_job() {
    let room = Room::new().await;
    let (east, attempt) = on_a_silent_cluster(&room).await;
    let other = assigned(&room.app.store, east, "other").await;
    let path = format!("/api/v1/jobs/{}/vouch", attempt.job);
    let word = json!({"reason": "its node was wiped"});
    let (status, job) = room.ask("operator", Method::POST, &path, word.clone()).await;
    assert_eq!((status, job["state"].as_str()), (StatusCode::OK, Some("queued")), "{job}");
    let stays = room.app.store.job(&other.job.to_string()).await.unwrap().unwrap();
    assert_eq!(stays.state, JobState::Assigned);
    assert_eq!(room.ask("operator", Method::POST, &path, word).await.0, StatusCode::CONFLICT);
}

#[tokio::test]
async fn nobody_speaks_for_a_cluster_that_is_heard() {
    let room = Room::new().await;
    let (_, attempt) = on_a_silent_cluster(&room).await;
    let now = crate::clock::now().0;
    let update = "update cluster set last_heard_at = to_timestamp($1::float8 / 1000000)";
    fixture::execute(&room.app.store, update, now).await;
    let word = json!({"reason": "I think so"});
    for path in
        ["/api/v1/clusters/east/declare-dead".to_owned(), format!("/api/v1/jobs/{}/vouch", attempt.job)]
    {
        let (status, problem) = room.ask("admin", Method::POST, &path, word.clone()).await;
        assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    }
}
