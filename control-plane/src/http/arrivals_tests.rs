//! Permissions of arrivals, asked as people ask them.

#![allow(clippy::unwrap_used)]

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use squadron_store::testing::fixture;

use crate::http::jobs::tests::Room;

const PATH: &str = "/api/v1/clusters/east/queues";

fn ask() -> Value {
    json!({"namespace": "ml", "queue": "research"})
}

#[tokio::test]
async fn only_an_administrator_lets_a_namespace_in_and_out_and_both_are_audited() {
    let room = Room::new().await;
    fixture::cluster(&room.app.store, "east").await;
    for role in ["viewer", "submitter", "operator", "finance", "auditor"] {
        assert_eq!(room.ask(role, Method::POST, PATH, ask()).await.0, StatusCode::FORBIDDEN, "{role}");
    }
    assert_eq!(room.ask("admin", Method::POST, PATH, ask()).await.0, StatusCode::OK);
    assert_eq!(room.ask("admin", Method::POST, PATH, ask()).await.0, StatusCode::OK, "twice is harmless");
    let (_, listed) = room.ask("viewer", Method::GET, PATH, Value::Null).await;
    let items = listed["items"].as_array().unwrap();
    assert_eq!(
        (items.len(), &items[0]["namespace"], &items[0]["allowed_by"]),
        (1, &json!("ml"), &json!("admin@example.com"))
    );
    let gone = format!("{PATH}?namespace=ml&queue=research");
    assert_eq!(room.ask("viewer", Method::DELETE, &gone, Value::Null).await.0, StatusCode::FORBIDDEN);
    assert_eq!(room.ask("admin", Method::DELETE, &gone, Value::Null).await.0, StatusCode::NO_CONTENT);
    let (status, problem) = room.ask("admin", Method::DELETE, &gone, Value::Null).await;
    assert_eq!(
        (status, &problem["next_step"]),
        (StatusCode::NOT_FOUND, &json!("list them with `squadron cluster queues east`"))
    );
    let (_, audit) = room.ask("auditor", Method::GET, "/api/v1/audit", Value::Null).await;
    let actions: Vec<&str> =
        audit["items"].as_array().unwrap().iter().filter_map(|row| row["action"].as_str()).collect();
    assert_eq!(actions.iter().filter(|action| action.ends_with("_queue")).count(), 3, "{actions:?}");
}

#[tokio::test]
async fn what_does_not_exist_or_is_no_name_is_refused_with_the_next_step() {
    let room = Room::new().await;
    fixture::cluster(&room.app.store, "east").await;
    let nowhere = json!({"namespace": "ml", "queue": "nowhere"});
    let (status, problem) = room.ask("admin", Method::POST, PATH, nowhere).await;
    assert_eq!(
        (status, &problem["code"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("SQD-1203")),
        "{problem}"
    );
    let bad = json!({"namespace": "a b", "queue": "research"});
    assert_eq!(room.ask("admin", Method::POST, PATH, bad).await.0, StatusCode::BAD_REQUEST);
    let elsewhere = "/api/v1/clusters/north/queues";
    assert_eq!(room.ask("admin", Method::POST, elsewhere, ask()).await.0, StatusCode::NOT_FOUND);
}
