//! What a changed policy would do, asked as people ask it.

#![allow(clippy::unwrap_used)]

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use squadron_core::id::ClusterId;
use squadron_store::{cursor::Position, testing::fixture};

use crate::http::{jobs::tests::Room, looks};

/// Every node has it.
const FLAVOR: &str = "apiVersion: squadron.dev/v1\nkind: Flavor\nmetadata: {name: any}\n";

/// Every node has the flavor `any`; research has so many of its cores.
fn policy(cores: u32) -> String {
    format!(
        "{FLAVOR}---\napiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {{name: research}}\nspec:\n  flavors:\n  - name: any\n    resources:\n    \
         - {{name: cpu, nominalQuota: {cores}}}\n    - {{name: memory, nominalQuota: 1Ti}}\n"
    )
}

/// A cluster with a node that is heard.
async fn east(room: &Room) -> ClusterId {
    let east = fixture::cluster(&room.app.store, "east").await;
    let mut db = room.app.store.pool().acquire().await.unwrap();
    let now = crate::clock::now();
    fixture::show_node(&mut db, east, &fixture::node("n1"), Position { epoch: 1, seq: 1 }, now)
        .await
        .unwrap();
    let heard = "update cluster set last_heard_at = to_timestamp($1::bigint / 1000000.0)";
    fixture::execute(&room.app.store, heard, now.0).await;
    east
}

impl Room {
    async fn told(&self, role: &str, path: &str, body: Value) -> (StatusCode, Value) {
        self.ask(role, Method::POST, path, body).await
    }
}

#[tokio::test]
async fn a_text_is_told_what_it_would_start_and_starts_nothing() {
    let room = Room::new().await;
    east(&room).await;
    let (status, _) = room.ask("admin", Method::PUT, "/api/v1/policy", Value::String(policy(0))).await;
    assert_eq!(status, StatusCode::OK);
    let job = fixture::queued(&room.app.store, "train").await;
    let path = "/api/v1/policy/what-if";
    let (status, told) = room.told("admin", path, Value::String(policy(4))).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    assert_eq!(told["sentence"], "1 waiting job would start now");
    assert_eq!(
        (&told["starts"][0]["id"], &told["starts"][0]["cluster"], &told["starts_total"]),
        (&json!(job.id.to_string()), &json!("east"), &json!(1))
    );
    let gained = &told["queues"][0];
    let cpu = |side: &str| {
        (gained[side]["quotas"][0]["nominal"].clone(), gained[side]["quotas"][0]["used"].clone())
    };
    assert_eq!((cpu("before"), cpu("after").0), ((json!(0), json!(0)), json!(4_000)));
    assert!(cpu("after").1.as_i64().unwrap() > 0, "{gained}");
    assert!(told["yaml"].as_str().unwrap().contains("nominalQuota: 4"), "{told}");
    let (_, same) = room.told("admin", path, Value::String(policy(0))).await;
    assert_eq!(
        (&same["changes"], &same["same"], &same["queues"]),
        (&json!([]), &json!(1), &json!([])),
        "{same}"
    );
    let row = room.app.store.job(&job.id.to_string()).await.unwrap().unwrap();
    assert_eq!(row.state, squadron_core::job::JobState::Queued);
    assert!(!room.get("/api/v1/policy").await.as_str().unwrap().contains("nominalQuota: 4"));
}

#[tokio::test]
async fn an_edited_quota_is_told_the_same_with_the_text_that_applies_it() {
    let room = Room::new().await;
    east(&room).await;
    room.ask("admin", Method::PUT, "/api/v1/policy", Value::String(policy(0))).await;
    fixture::queued(&room.app.store, "train").await;
    let edit = |queue: &str, resource: &str, nominal: &str| json!({"edits": [{"queue": queue, "flavor": "any", "resource": resource, "nominal": nominal}]});
    let path = "/api/v1/queues/what-if";
    let (status, told) = room.told("admin", path, edit("research", "cpu", "4")).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let (_, by_text) = room
        .told("admin", "/api/v1/policy/what-if", Value::String(told["yaml"].as_str().unwrap().to_owned()))
        .await;
    for part in ["sentence", "starts", "waits", "queues", "changes"] {
        assert_eq!(told[part], by_text[part], "{part}");
    }
    for (queue, resource, nominal, expected) in [
        ("research", "gpu", "4", "is not declared"),
        ("nobody", "cpu", "4", "is not declared"),
        ("research", "cpu", "-4", "negative"),
        ("research", "cpu", "four", "\"four\""),
    ] {
        let (status, refused) = room.told("admin", path, edit(queue, resource, nominal)).await;
        assert_eq!(
            (status, &refused["code"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!("SQD-1302")),
            "{refused}"
        );
        let problem = refused["fields"][0]["problem"].as_str().unwrap();
        assert!(problem.contains(expected), "{refused}");
    }
}

#[tokio::test]
async fn only_who_may_declare_policy_asks_and_a_bad_text_is_refused_as_by_applying_it() {
    let room = Room::new().await;
    for role in ["viewer", "submitter", "operator", "finance", "auditor"] {
        for (path, body) in [
            ("/api/v1/policy/what-if", Value::String(policy(4))),
            ("/api/v1/queues/what-if", json!({"edits": []})),
        ] {
            let (status, _) = room.told(role, path, body).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{role} {path}");
        }
    }
    let bad = Value::String(policy(4).replace("nominalQuota: 4", "nominalQuota: -4"));
    let (status, told) = room.told("admin", "/api/v1/policy/what-if", bad.clone()).await;
    let (same, put) = room.ask("admin", Method::PUT, "/api/v1/policy", bad).await;
    assert_eq!((status, &told["fields"]), (same, &put["fields"]));
    fixture::queued(&room.app.store, "train").await;
    let only_flavor = Value::String(FLAVOR.into());
    let (status, kept) = room.told("admin", "/api/v1/policy/what-if?prune=true", only_flavor).await;
    assert_eq!((status, &kept["code"]), (StatusCode::CONFLICT, &json!("SQD-1004")), "{kept}");
}

#[tokio::test]
async fn the_fleet_is_read_when_it_is_the_looks_turn() {
    let room = Room::new().await;
    east(&room).await;
    room.ask("admin", Method::PUT, "/api/v1/policy", Value::String(policy(0))).await;
    let seats = [looks::seat().await.ok().unwrap(), looks::seat().await.ok().unwrap()];
    let asked = room.told("admin", "/api/v1/policy/what-if", Value::String(policy(4)));
    let meanwhile = async {
        // Time enough to read it too early.
        for _ in 0..50 {
            room.get("/api/v1/queues").await;
        }
        fixture::queued(&room.app.store, "train").await;
        drop(seats);
    };
    let ((status, told), ()) = tokio::join!(asked, meanwhile);
    assert_eq!((status, &told["starts_total"]), (StatusCode::OK, &json!(1)), "{told}");
}

#[tokio::test]
async fn queues_are_cut_and_what_is_left_out_is_counted() {
    let room = Room::new().await;
    let many = |cores: u32| {
        let queue = |number: u32| {
            format!(
                "---\napiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {{name: q{number:03}}}\n\
                 spec: {{flavors: [{{name: any, resources: [{{name: cpu, nominalQuota: {cores}}}]}}]}}\n"
            )
        };
        Value::String(format!("{FLAVOR}{}", (0..120).map(queue).collect::<String>()))
    };
    room.ask("admin", Method::PUT, "/api/v1/policy", many(1)).await;
    let (status, told) = room.told("admin", "/api/v1/policy/what-if", many(2)).await;
    assert_eq!((status, &told["queues_total"]), (StatusCode::OK, &json!(120)), "{status}");
    let queues = told["queues"].as_array().unwrap();
    assert_eq!((queues.len(), &queues[99]["name"]), (100, &json!("q099")));
    assert_eq!(told["changes"].as_array().unwrap().len(), 120, "what would be applied is whole");
}
