//! What a caller means, may still read, and may send.

use std::time::Duration;

use squadron_core::authz::{Action, Actor, Role};

use super::*;

#[tokio::test]
async fn a_manifest_that_anchors_make_long_is_refused() {
    let room = Room::new().await;
    let text = "x".repeat(30_000);
    let values: String = (0..12).map(|n| format!("\n      V{n}: *text")).collect();
    let env = format!("  runtimeEnvYAML: 'a: 1'\n  metadata:\n    text: &text \"{text}\"");
    let manifest = MANIFEST.replace(
        "spec:\n  entrypoint",
        &format!("spec:\n{env}{}\n  entrypoint", values.replace("      V", "    V")),
    );
    let asked = json!({ "manifest": manifest, "queue": "research" });
    let (status, problem) = room.ask("submitter", Method::POST, "/api/v1/jobs", asked).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("with its anchors written out"), "{problem}");
    assert!(manifest.len() < 64_000, "the text itself is short");
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked() {
    let room = Room::new().await;
    let tokens = room.app.store.tokens().await.unwrap();
    let of = |role: Role| {
        let token = tokens.iter().find(|token| token.role == role.word()).unwrap();
        let actor = Actor { subject: token.subject.clone(), role };
        auth::Caller { actor, token_id: token.id, session: None }
    };
    let watch = |caller: auth::Caller| {
        let looks = auth::until_revoked(room.app.clone(), caller, Action::ReadLogs, Duration::from_millis(1));
        tokio::time::timeout(Duration::from_millis(500), looks)
    };
    assert!(watch(of(Role::Submitter)).await.is_err(), "it goes on");
    let id = of(Role::Submitter).token_id.to_string();
    let path = format!("/api/v1/tokens/{id}");
    let (status, _) = room.ask("admin", Method::DELETE, &path, Value::Null).await;
    assert!(status.is_success(), "{status}");
    assert!(watch(of(Role::Submitter)).await.is_ok(), "it ended");
    let signed_out = auth::Caller { session: Some([1; 32]), ..of(Role::Admin) };
    assert!(watch(signed_out).await.is_ok(), "a session that is gone");
}

#[tokio::test]
async fn a_name_means_the_callers_own_job_and_never_one_of_several_others() {
    let room = Room::new().await;
    let of = |owner: &str, millis: i64| squadron_store::job::NewJob {
        owner: owner.into(),
        submitted_at: NOW.plus_millis(millis),
        ..fixture::new_job("train")
    };
    let (mine, older) = (of("operator@example.com", 2), of("operator@example.com", 1));
    let (anns, bobs) = (of("ann", 3), of("bob", 4));
    for job in [&older, &mine, &anns] {
        fixture::insert(&room.app.store, job).await;
    }
    let look = async |role: &str| room.ask(role, Method::GET, "/api/v1/jobs/train", Value::Null).await;
    assert_eq!(look("operator").await.1["job"]["id"], mine.id.to_string());
    let (status, problem) = look("viewer").await;
    assert_eq!(status, StatusCode::CONFLICT, "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(&mine.id.to_string()) && detail.contains(&anns.id.to_string()), "{detail}");
    fixture::insert(&room.app.store, &bobs).await;
    let cancel = json!({ "reason": "" });
    let (status, _) = room.ask("operator", Method::POST, "/api/v1/jobs/train/cancel", cancel.clone()).await;
    assert_eq!(status, StatusCode::OK);
    let state = async |id: &str| {
        room.ask("viewer", Method::GET, &format!("/api/v1/jobs/{id}"), Value::Null).await.1["job"]["state"]
            .clone()
    };
    assert_eq!(state(&mine.id.to_string()).await, "cancelled");
    assert_eq!(state(&bobs.id.to_string()).await, "queued", "the newest of that name is another's");
    let (status, _) = room.ask("admin", Method::POST, "/api/v1/jobs/train/cancel", cancel).await;
    assert_eq!(status, StatusCode::CONFLICT);
}
