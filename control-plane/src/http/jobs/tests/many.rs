//! Many submissions in one request.

use super::*;

async fn send(room: &Room, jobs: Vec<Value>, key: &str) -> (StatusCode, Value) {
    let headers = [("idempotency-key", key)];
    room.ask_with("submitter", Method::POST, "/api/v1/submissions", json!({ "jobs": jobs }), &headers).await
}

fn sweep(count: usize) -> Vec<Value> {
    let named = |n| MANIFEST.replace("name: train", &format!("name: train-{n}"));
    (0..count).map(|n| json!({"manifest": named(n), "queue": "research"})).collect()
}

async fn stored(room: &Room) -> Vec<Value> {
    room.get("/api/v1/jobs?limit=500").await["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn all_become_jobs_in_their_order_each_with_its_audit_row_and_a_repeat_finds_them() {
    let room = Room::new().await;
    let (status, first) = send(&room, sweep(120), "sweep-1").await;
    assert_eq!(status, StatusCode::OK, "{first}");
    let jobs = first["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[7]["name"]), (120, &json!("train-7")));
    assert_eq!((&jobs[7]["queue"], &jobs[7]["repeated"]), (&json!("research"), &json!(false)));
    assert!(jobs[7]["warnings"][0].as_str().unwrap().contains("no cluster is accepted"), "{}", jobs[7]);
    let (status, again) = send(&room, sweep(120), "sweep-1").await;
    assert_eq!((status, &again["jobs"][7]["repeated"]), (StatusCode::OK, &json!(true)));
    let id = |reply: &Value, n: usize| reply["jobs"][n]["id"].clone();
    assert_eq!((id(&first, 0), id(&first, 119)), (id(&again, 0), id(&again, 119)));
    let audited = room.app.store.audit_page(None, 500).await.unwrap();
    assert_eq!((stored(&room).await.len(), audited.len()), (120, 120));
    room.settle().await;
    let line = room.get("/api/v1/queues/waiting?queue=research&limit=200").await;
    let names: Vec<&str> =
        line["items"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap()).collect();
    let order: Vec<String> = (0..120).map(|n| format!("train-{n}")).collect();
    assert_eq!(names, order, "the order of the list is the order of the line");
}

#[tokio::test]
async fn one_that_cannot_be_stored_keeps_all_out_and_each_wrong_one_is_told() {
    let room = Room::new().await;
    let mut jobs = sweep(5);
    jobs[1]["queue"] = json!("reserach");
    jobs[3]["manifest"] = json!(MANIFEST.replace("entrypoint", "entrypont"));
    let (status, problem) = send(&room, jobs, "k").await;
    assert_eq!((status, &problem["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("SQD-1203")));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("2 of 5 jobs cannot be submitted; the first: jobs[1]: "), "{detail}");
    assert_eq!(problem["fields"][0]["path"], "jobs[1]");
    assert!(problem["fields"][1]["path"].as_str().unwrap().starts_with("jobs[3].spec"), "{problem}");
    assert!(stored(&room).await.is_empty());
    assert_eq!(send(&room, sweep(2), "k").await.0, StatusCode::OK);
    let mut other = sweep(3);
    other.swap(0, 2);
    let (status, problem) = send(&room, other, "k").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("SQD-1204")), "{problem}");
    assert_eq!(stored(&room).await.len(), 2, "nothing of a list is stored beside a key of another job");
}

#[tokio::test]
async fn a_list_is_bounded_and_dry_run_is_said_once() {
    let room = Room::new().await;
    for (count, words) in [(0, "is empty"), (501, "501 jobs came")] {
        let (status, problem) = send(&room, sweep(count), "k").await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
    let mut jobs = sweep(2);
    let body = json!({"jobs": jobs, "dry_run": true});
    let (status, reply) = room.ask("submitter", Method::POST, "/api/v1/submissions", body).await;
    assert_eq!((status, &reply["jobs"][1]["id"]), (StatusCode::OK, &Value::Null), "{reply}");
    jobs[1]["dry_run"] = json!(true);
    let (status, problem) = send(&room, jobs, "k").await;
    assert_eq!((status, &problem["fields"][0]["path"]), (StatusCode::BAD_REQUEST, &json!("jobs[1]")));
    assert!(stored(&room).await.is_empty());
    let long = format!("{MANIFEST}# {}\n", "x".repeat(200 << 10));
    let many: Vec<Value> = (0..20).map(|_| json!({"manifest": long, "queue": "research"})).collect();
    assert_eq!(send(&room, many, "long").await.0, StatusCode::OK, "a list may be longer than one manifest");
    let many: Vec<Value> = (0..45).map(|_| json!({"manifest": long, "queue": "research"})).collect();
    assert_eq!(send(&room, many, "longer").await.0, StatusCode::PAYLOAD_TOO_LARGE);
}
