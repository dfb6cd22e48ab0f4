//! Ray's API, asked as Ray's client asks.

#![allow(clippy::unwrap_used)]

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use serde_json::{Value, json};
use squadron_core::{
    attempt::object_name,
    fact::{AttemptFact, AttemptStep, Fact, RayJobFact},
    id::AttemptId,
};
use squadron_store::testing::fixture;
use tower::ServiceExt as _;

use crate::{clock, http::jobs::tests::Room};

/// A Ray client with the token of a role.
struct Client {
    room: Room,
    role: &'static str,
}

impl Client {
    async fn new() -> Client {
        let room = Room::new().await;
        room.app.store.ensure_queue(&"default".parse().unwrap(), clock::now()).await.unwrap();
        Client { room, role: "submitter" }
    }

    async fn send(&self, method: &str, path: &str, body: Body) -> (StatusCode, String) {
        let token = format!("Bearer sqd_{}", self.role);
        let request = Request::builder().method(method).uri(path).header("authorization", token);
        raw(&self.room, request.body(body).unwrap()).await
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        let (status, text) = self.send("GET", path, Body::empty()).await;
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn submit(&self, body: Value) -> (StatusCode, String) {
        self.send("POST", "/api/jobs/", Body::from(body.to_string())).await
    }
}

async fn raw(room: &Room, request: Request<Body>) -> (StatusCode, String) {
    let response = room.router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn a_submission_lives_as_on_a_ray_head() {
    let client = Client::new().await;
    let (status, version) = client.get("/api/version").await;
    assert_eq!(
        (status, &version["version"], &version["ray_version"]),
        (StatusCode::OK, &json!("4"), &json!("2.60.0"))
    );
    let asked = json!({"entrypoint": "python train.py", "submission_id": "Train_1", "metadata": {"queue": "research", "b": "1"},
        "runtime_env": {"env_vars": {"A": "1"}}});
    let (status, text) = client.submit(asked.clone()).await;
    assert_eq!(
        (status, text.as_str()),
        (StatusCode::OK, r#"{"job_id":"Train_1","submission_id":"Train_1"}"#)
    );
    let (_, job) = client.get("/api/jobs/Train_1").await;
    for (field, value) in [
        ("type", json!("SUBMISSION")),
        ("status", json!("PENDING")),
        ("entrypoint", json!("python train.py")),
        ("metadata", json!({"queue": "research", "b": "1"})),
        ("runtime_env", json!({"env_vars": {"A": "1"}})),
        ("driver_info", Value::Null),
        ("end_time", Value::Null),
    ] {
        assert_eq!(job[field], value, "{field}");
    }
    assert!(job["message"].as_str().unwrap().starts_with("queued in research"), "{job}");
    assert_eq!(client.get("/api/jobs/").await.1, json!([job]));
    assert_eq!(client.get("/api/jobs/Train_1/logs").await.1, json!({"logs": ""}));
    assert_eq!(client.room.get("/api/v1/jobs/Train_1").await["job"]["state"], "queued");
    let (status, text) = client.submit(asked.clone()).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(
        text,
        "ValueError: Job with submission_id Train_1 already exists. Please use a different submission_id."
    );
    let (status, text) = client.send("DELETE", "/api/jobs/Train_1", Body::empty()).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(
        text,
        "RuntimeError: Attempted to delete job 'Train_1', but it is in a non-terminal state PENDING."
    );
    assert_eq!(client.send("POST", "/api/jobs/Train_1/stop", Body::empty()).await.1, r#"{"stopped":true}"#);
    assert_eq!(client.send("POST", "/api/jobs/Train_1/stop", Body::empty()).await.1, r#"{"stopped":false}"#);
    let (_, job) = client.get("/api/jobs/Train_1").await;
    assert_eq!(job["status"], "STOPPED");
    assert!(job["end_time"].as_i64().unwrap() >= job["start_time"].as_i64().unwrap(), "{job}");
    assert_eq!(client.send("DELETE", "/api/jobs/Train_1", Body::empty()).await.1, r#"{"deleted":true}"#);
    let (status, text) = client.send("GET", "/api/jobs/Train_1", Body::empty()).await;
    assert_eq!((status, text.as_str()), (StatusCode::NOT_FOUND, "Job Train_1 does not exist"));
    assert_eq!(client.submit(asked).await.0, StatusCode::OK, "the id is free again");
    let jobs = client.room.get("/api/v1/jobs").await;
    assert_eq!(jobs["items"].as_array().unwrap().len(), 2, "the jobs themselves stay: {jobs}");
}

#[tokio::test]
async fn what_no_head_would_take_is_refused_and_nothing_is_left() {
    let client = Client::new().await;
    for (body, words) in [
        (json!({"entrypoint": 5}), "TypeError: entrypoint must be a string, got <class 'int'>"),
        (
            json!({"entrypoint": "x", "metadata": {"squadron.dev/wrokers": "1"}}),
            "did you mean squadron.dev/workers?",
        ),
        (json!({"entrypoint": "x", "metadata": {"queue": "reserach"}}), "did you mean \"research\"?"),
        (json!({"entrypoint": "x", "metadata": {"queue": "Not A Queue"}}), "there is no queue"),
        (json!({"entrypoint": ""}), "spec.entrypoint is missing"),
        (
            json!({"entrypoint": "x", "runtime_env": {"working_dir": "gcs://_ray_pkg_1.zip"}}),
            "gcs://_ray_pkg_1.zip does not exist",
        ),
        (json!({"entrypoint": "x", "submission_id": "a/b"}), "submission_id: must have 1 to 128"),
        (json!([]), "must be a dict, got <class 'list'>"),
    ] {
        let (status, text) = client.submit(body.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {text}");
        assert!(text.contains(words), "{body}: {text}");
    }
    let (status, _) = client.send("POST", "/api/jobs/", Body::from("{")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(client.get("/api/jobs/").await.1, json!([]));
    assert_eq!(client.room.get("/api/v1/jobs").await["items"], json!([]));
    for (method, path) in
        [("GET", "x"), ("DELETE", "x"), ("GET", "x/logs"), ("GET", "x/logs/tail"), ("POST", "x/stop")]
    {
        let (status, text) = client.send(method, &format!("/api/jobs/{path}"), Body::empty()).await;
        assert_eq!(
            (status, text.as_str()),
            (StatusCode::NOT_FOUND, "Job x does not exist"),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn metadata_says_where_a_submission_may_and_would_rather_run() {
    let client = Client::new().await;
    let asked = |metadata: Value| json!({"entrypoint": "x", "submission_id": "s", "metadata": metadata});
    for (metadata, words) in [
        (
            json!({"squadron.dev/prefer": "west", "squadron.dev/avoid": "west"}),
            "metadata[\"squadron.dev/avoid\"]: is west as well as preferred",
        ),
        (
            json!({"squadron.dev/max-price": "12"}),
            "\"12\" is no price for an hour; write for example 12.50 EUR",
        ),
        (json!({"squadron.dev/cluster": "nowhere"}), "there is no cluster nowhere"),
    ] {
        let (status, text) = client.submit(asked(metadata)).await;
        assert!(status.is_client_error() && text.contains(words), "{status}: {text}");
    }
    let store = &client.room.app.store;
    fixture::cluster(store, "east").await;
    let heard = "update cluster set last_heard_at = to_timestamp($1::float8 / 1000000)";
    fixture::execute(store, heard, clock::now().0).await;
    assert_eq!(client.submit(asked(json!({"squadron.dev/residency": "eu-west-1"}))).await.0, StatusCode::OK);
    client.room.settle().await;
    let why = client.room.get("/api/v1/jobs/s/why").await;
    assert_eq!(why["blockers"][0]["code"], "RESIDENCY", "{why}");
}

#[tokio::test]
async fn a_token_comes_by_every_way_of_ray_s_client() {
    let client = Client::new().await;
    let ask = async |header: Option<(&str, &str)>| {
        let mut request = Request::builder().uri("/api/jobs/");
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        raw(&client.room, request.body(Body::empty()).unwrap()).await
    };
    for header in [
        ("authorization", "Bearer sqd_viewer"),
        ("x-ray-authorization", "Bearer sqd_viewer"),
        ("authorization", "Basic YW5uOnNxZF92aWV3ZXI="),
        ("cookie", "ray-authentication-token=sqd_viewer"),
    ] {
        assert_eq!(ask(Some(header)).await.0, StatusCode::OK, "{header:?}");
    }
    let (status, text) = ask(None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(
        text.starts_with("Unauthorized: Missing authentication token. Set RAY_AUTH_MODE=token"),
        "{text}"
    );
    let (status, text) = ask(Some(("authorization", "Bearer sqd_stranger"))).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(text.starts_with("Forbidden: Invalid authentication token"), "{text}");
    let viewer = Client { role: "viewer", ..client };
    let (status, text) = viewer.submit(json!({"entrypoint": "x"})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        text.starts_with("viewer@example.com has the role viewer and may not submit jobs\nask"),
        "{text}"
    );
}

#[tokio::test]
async fn a_package_is_its_owner_s_and_never_changes() {
    let mut client = Client::new().await;
    let path = "/api/packages/gcs/_ray_pkg_1.zip";
    let (status, text) = client.send("GET", path, Body::empty()).await;
    assert_eq!(
        (status, text.as_str()),
        (StatusCode::NOT_FOUND, "Package gcs://_ray_pkg_1.zip does not exist")
    );
    let content = vec![7_u8; 2_500_000];
    assert_eq!(client.send("PUT", path, Body::from(content.clone())).await.0, StatusCode::OK);
    assert_eq!(client.send("PUT", path, Body::from("other zip of the same files")).await.0, StatusCode::OK);
    assert_eq!(client.send("GET", path, Body::empty()).await, (StatusCode::OK, String::new()));
    let store = client.room.app.store.clone();
    let package =
        store.package("submitter@example.com", "_ray_pkg_1.zip", clock::now()).await.unwrap().unwrap();
    let mut stored = Vec::new();
    for number in 0.. {
        let Some(chunk) = store.chunk(package.id, number).await.unwrap() else { break };
        stored.extend(chunk);
    }
    assert!(stored == content && package.bytes == 2_500_000);
    let wheel = "/api/packages/gcs/a-1.0-py3-none-any.whl";
    assert_eq!(client.send("PUT", wheel, Body::from("one")).await.0, StatusCode::OK);
    assert_eq!(client.send("PUT", wheel, Body::from("one")).await.0, StatusCode::OK);
    assert_eq!(client.send("PUT", wheel, Body::from("two")).await.0, StatusCode::CONFLICT);
    let (status, _) = client.send("PUT", "/api/packages/gcs/..%2Fa.zip", Body::from("x")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let asked = json!({"entrypoint": "x", "submission_id": "mine", "runtime_env": {"working_dir": "gcs://_ray_pkg_1.zip"}});
    client.role = "admin";
    assert_eq!(
        client.send("GET", path, Body::empty()).await.0,
        StatusCode::NOT_FOUND,
        "another's package is not there"
    );
    assert_eq!(client.submit(asked.clone()).await.0, StatusCode::BAD_REQUEST);
    client.role = "submitter";
    assert_eq!(client.submit(asked).await.0, StatusCode::OK);
    let manifest = client.room.get("/api/v1/jobs/mine").await["manifest"].as_str().unwrap().to_owned();
    assert!(manifest.contains(r#"{\"packages\":[\"_ray_pkg_1.zip\"]}"#), "{manifest}");
    let body = json!({"manifest": manifest, "queue": "default"});
    let (status, problem) =
        client.room.ask("submitter", axum::http::Method::POST, "/api/v1/jobs", body).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "nobody else's packages come by a manifest");
    assert!(problem["detail"].as_str().unwrap().contains("squadron.dev/ray-submission"), "{problem}");
}

#[tokio::test]
async fn a_package_that_is_too_large_is_refused_before_it_is_read() {
    let client = Client::new().await;
    let request = Request::builder()
        .method("PUT")
        .uri("/api/packages/gcs/_ray_pkg_2.zip")
        .header("authorization", "Bearer sqd_submitter")
        .header("content-length", "104857600");
    let (status, text) = raw(&client.room, request.body(Body::empty()).unwrap()).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "as by a head, which would refuse it from us too");
    assert!(text.starts_with("Maximum request body size 104857600 exceeded."), "{text}");
}

const TEMPLATE: &str = "
apiVersion: ray.io/v1
kind: RayJob
spec:
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: h, image: own/ray:1, resources: {requests: {cpu: 2}}}]}}
";

#[tokio::test]
async fn the_queue_s_template_shapes_the_job() {
    let client = Client::new().await;
    let set = async |role: &str, name: &str, template: &str| {
        let body = json!({ "name": name, "template": template });
        client.room.ask(role, axum::http::Method::PUT, "/api/v1/queues", body).await
    };
    assert_eq!(set("submitter", "research", TEMPLATE).await.0, StatusCode::FORBIDDEN);
    assert_eq!(set("operator", "nowhere", TEMPLATE).await.0, StatusCode::NOT_FOUND);
    let (status, problem) = set("operator", "research", "kind: Pod").await;
    assert_eq!((status, &problem["fields"][0]["path"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("kind")));
    assert_eq!(set("operator", "research", TEMPLATE).await.0, StatusCode::NO_CONTENT);
    let queues = client.room.get("/api/v1/queues").await;
    assert_eq!(queues["items"][1]["template"], TEMPLATE);
    for (queue, image) in [("research", "own/ray:1"), ("default", "rayproject/ray:2.60.0")] {
        let id = format!("in-{queue}");
        client.submit(json!({"entrypoint": "x", "submission_id": id, "metadata": {"queue": queue}})).await;
        let manifest =
            client.room.get(&format!("/api/v1/jobs/{id}")).await["manifest"].as_str().unwrap().to_owned();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let container =
            &manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], image);
    }
}

#[tokio::test]
async fn a_job_that_ran_tells_its_log_and_its_exit_code() {
    let client = Client::new().await;
    let store = &client.room.app.store;
    let east = fixture::cluster(store, "east").await;
    fixture::execute(
        store,
        "update cluster set last_heard_at = to_timestamp($1::float8 / 1000000)",
        clock::now().0,
    )
    .await;
    fixture::facts(store, east, vec![Fact::Node(fixture::node("n1"))]).await;
    client.room.settle().await;
    client.submit(json!({"entrypoint": "python x.py", "submission_id": "s"})).await;
    client.room.settle().await;
    let found = store.submission("s").await.unwrap().unwrap();
    assert_eq!(found.attempt, 1);
    let attempt = AttemptId { job: found.job, number: 1 };
    let fact = |deployment: &str, job: &str, reason: &str, message: &str| {
        Fact::RayJob(RayJobFact {
            namespace: "default".into(),
            name: object_name(&found.name, attempt.job, attempt.number),
            attempt: Some(attempt),
            deployment_status: deployment.into(),
            job_status: job.into(),
            reason: reason.into(),
            message: message.into(),
            ..RayJobFact::default()
        })
    };
    let created = AttemptFact { attempt, step: AttemptStep::Created, message: String::new() };
    fixture::facts(store, east, vec![Fact::Attempt(created), fact("Running", "RUNNING", "", "")]).await;
    client.room.settle().await;
    assert_eq!(client.get("/api/jobs/s").await.1["status"], "RUNNING");
    let words =
        "Job entrypoint command failed with exit code 3, last available logs (truncated to 20,000 chars):";
    fixture::facts(store, east, vec![fact("Failed", "FAILED", "AppFailed", words)]).await;
    client.room.settle().await;
    fixture::log(store, east, attempt, "zwölf\n\"done\"\n").await;
    let (_, job) = client.get("/api/jobs/s").await;
    assert_eq!((&job["status"], &job["driver_exit_code"]), (&json!("FAILED"), &json!(3)), "{job}");
    assert_eq!(job["error_type"], "JOB_ENTRYPOINT_COMMAND_ERROR");
    assert_eq!(job["message"], format!("{words}\nzwölf\n\"done\"\n"));
    let (_, listed) = client.get("/api/jobs/").await;
    assert_eq!(listed[0]["message"], job["message"]);
    assert_eq!(store.log_ends(&[attempt], "driver", 5).await.unwrap()[&found.job], b"one\"\n");
    assert_eq!(client.get("/api/jobs/s/logs").await.1, json!({"logs": "zwölf\n\"done\"\n"}));
}
