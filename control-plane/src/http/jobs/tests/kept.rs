//! What the database cannot keep.

use super::*;

#[tokio::test]
async fn what_cannot_be_kept_is_the_request_s_fault_and_changes_nothing() {
    let room = Room::new().await;
    let id = fixture::queued(&room.app.store, "train").await.id;
    let cancel = format!("/api/v1/jobs/{id}/cancel");
    let submitted = json!({"manifest": MANIFEST, "queue": "re\0search"});
    for (method, path, body) in [
        (Method::GET, "/api/v1/jobs?queue=%00", Value::Null),
        (Method::GET, "/api/v1/jobs/%00/why", Value::Null),
        (Method::GET, "/api/v1/queues/waiting?queue=%00", Value::Null),
        (Method::POST, "/api/v1/jobs", submitted),
        (Method::POST, &cancel, json!({"reason": "a\0b"})),
        (Method::POST, &cancel, json!({"reason": "so ".repeat(1_000)})),
    ] {
        let (status, problem) = room.ask("operator", method, path, body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {problem}");
        assert_ne!(problem["next_step"], "");
    }
    assert_eq!(room.get(&format!("/api/v1/jobs/{id}")).await["job"]["state"], "queued");
}
