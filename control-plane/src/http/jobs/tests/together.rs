//! Submissions that come again, and those that come at the same time.

use futures::future::join_all;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn those_of_one_key_become_one_job_and_one_that_fails_harms_none_beside_it() {
    let room = Room::new().await;
    fixture::break_writes(&room.app.store, "job", "new.name = 'bad'", "22023").await;
    let submit = |n: usize| {
        let (room, key) = (&room, format!("key-{}", n % 30));
        let manifest = if n % 30 == 7 { MANIFEST.replace("train", "bad") } else { MANIFEST.to_owned() };
        async move {
            let body = json!({"manifest": manifest, "queue": "research"});
            let headers = [("idempotency-key", key.as_str())];
            room.ask_with("submitter", Method::POST, "/api/v1/jobs", body, &headers).await
        }
    };
    let answers = join_all((0..90).map(submit)).await;
    let failed = answers.iter().filter(|(status, _)| *status == StatusCode::INTERNAL_SERVER_ERROR).count();
    let mut jobs: Vec<&str> = answers.iter().filter_map(|(_, body)| body["job"]["id"].as_str()).collect();
    assert_eq!((failed, jobs.len()), (3, 87), "thirty keys, each three times, one of them with a bad job");
    jobs.sort_unstable();
    jobs.dedup();
    let stored = room.get("/api/v1/jobs?limit=500").await["items"].as_array().unwrap().len();
    let told = room.app.store.audit_page(None, 500).await.unwrap();
    let told = told.iter().filter(|entry| entry.action == "job.submit").count();
    assert_eq!((jobs.len(), stored, told), (29, 29, 29));
}

#[tokio::test]
async fn a_key_makes_a_repeat_harmless() {
    let room = Room::new().await;
    let send = async |queue: &str| {
        let body = json!({"manifest": MANIFEST, "queue": queue});
        let key = [("idempotency-key", "k-1")];
        room.ask_with("submitter", Method::POST, "/api/v1/jobs", body, &key).await
    };
    let ((_, first), (_, second)) = tokio::join!(send("research"), send("research"));
    assert_eq!(first["job"]["id"], second["job"]["id"], "{first} {second}");
    assert_eq!(room.get("/api/v1/jobs").await["items"].as_array().unwrap().len(), 1);
    room.app.store.ensure_queue(&"other".parse().unwrap(), NOW).await.unwrap();
    let (status, problem) = send("other").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("SQD-1204")));
}
