//! The routes of jobs, queues, incidents, usage and prices, asked as people ask them.

#![allow(clippy::unwrap_used)]

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
};
use serde_json::{Value, json};
use squadron_core::{
    fact::{AttemptFact, AttemptStep, Fact, KernelFact, KernelSignal, RayJobFact},
    id::{AttemptId, ControlPlaneId},
};
use squadron_store::{
    testing::{
        self,
        fixture::{self, NOW},
    },
    token,
};
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::{
    clock,
    http::{auth, router},
    state::{AppState, Settings, Shared},
    tasks::{correlate, dispatch, line, project},
    wake::Wake,
};

mod callers;
mod explained;
mod kept;
mod many;
mod together;

/// The least that is a RayJob.
pub const MANIFEST: &str = "
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: train, namespace: default}
spec:
  entrypoint: python train.py
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - {name: ray-head, image: 'rayproject/ray:2.60.0', resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}
";

/// A control plane without listeners.
pub struct Room {
    pub app: AppState,
    pub router: Router,
}

impl Room {
    pub async fn new() -> Room {
        let app = AppState::new(Shared {
            store: testing::store().await,
            wake: Wake::default(),
            identity: ControlPlaneId(Uuid::nil()),
            settings: Settings {
                public_url: "https://localhost:8443".into(),
                agent_address: String::new(),
                ca_bundle: String::new(),
                heartbeat: std::time::Duration::from_secs(10),
                lease: squadron_core::lease::Terms::default(),
                finished_retention: std::time::Duration::from_secs(300),
                protected_run: std::time::Duration::from_secs(600),
            },
        });
        let mut db = app.store.pool().acquire().await.unwrap();
        for (n, role) in ["viewer", "submitter", "operator", "finance", "auditor", "admin"].iter().enumerate()
        {
            let row = token::Token {
                id: Uuid::now_v7(),
                subject: format!("{role}@example.com"),
                role: (*role).to_owned(),
                created_at: NOW.plus_millis(i64::try_from(n).unwrap()),
                expires_at: None,
                last_used_at: None,
            };
            token::insert(&mut db, &row, &auth::digest(&format!("sqd_{role}"))).await.unwrap();
        }
        app.store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
        let (router, _) = router(&app, tokio_util::sync::CancellationToken::new());
        Room { app, router }
    }

    pub async fn ask(&self, role: &str, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        self.ask_with(role, method, path, body, &[]).await
    }

    async fn ask_with(
        &self,
        role: &str,
        method: Method,
        path: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> (StatusCode, Value) {
        let mut request =
            Request::builder().method(method).uri(path).header("authorization", format!("Bearer sqd_{role}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Value::Null => Body::empty(),
            Value::String(text) => Body::from(text),
            json => {
                request = request.header("content-type", "application/json");
                Body::from(json.to_string())
            }
        };
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 1 << 22).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn submit(&self, manifest: &str, queue: &str) -> (StatusCode, Value) {
        let body = json!({"manifest": manifest, "queue": queue});
        self.ask("submitter", Method::POST, "/api/v1/jobs", body).await
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("viewer", Method::GET, path, Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body
    }

    pub async fn settle(&self) {
        let holder = Uuid::nil();
        for _ in 0..4 {
            project::pass(&self.app, holder).await.unwrap();
            correlate::pass(&self.app, holder).await.unwrap();
            dispatch::pass(&self.app, holder).await.unwrap();
            line::pass(&self.app, holder).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_manifest_becomes_a_job_that_is_described_and_cancelled() {
    let room = Room::new().await;
    let (status, reply) = room.submit(MANIFEST, "research").await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let id = reply["job"]["id"].as_str().unwrap();
    assert_eq!((&reply["position"], &reply["job"]["state"]), (&json!(1), &json!("queued")));
    assert_eq!(reply["link"], format!("https://localhost:8443/jobs/{id}"));
    assert!(reply["warnings"][0].as_str().unwrap().contains("no cluster is accepted"), "{reply}");
    room.settle().await;
    let why = room.get("/api/v1/jobs/train/why").await;
    assert_eq!((&why["position"], &why["queue_length"]), (&json!(1), &json!(1)));
    assert_eq!(why["blockers"][0]["code"], "NO_CLUSTER");
    let detail = room.get(&format!("/api/v1/jobs/{id}")).await;
    assert_eq!(detail["manifest"], MANIFEST);
    assert_eq!(detail["timeline"][0]["sentence"], "submitted to queue research by submitter@example.com");
    assert_eq!((&detail["why"], &detail["cost"]), (&why, &Value::Null));
    assert_eq!(room.get("/api/v1/jobs?status=queued&queue=research").await["items"][0]["id"], id);
    let cancel = format!("/api/v1/jobs/{id}/cancel");
    let (status, job) = room.ask("submitter", Method::POST, &cancel, json!({"reason": "wrong data"})).await;
    assert_eq!((status, &job["state"]), (StatusCode::OK, &json!("cancelled")));
    let (status, again) = room.ask("submitter", Method::POST, &cancel, json!({})).await;
    assert_eq!((status, &again["code"]), (StatusCode::CONFLICT, &json!("SQD-1004")));
    let audited = room.app.store.audit_page(None, 10).await.unwrap();
    assert_eq!(
        audited.iter().map(|entry| entry.action.as_str()).collect::<Vec<_>>(),
        ["job.cancel", "job.submit"]
    );
}

#[tokio::test]
async fn a_dry_run_checks_everything_and_changes_nothing() {
    let room = Room::new().await;
    let body = json!({"manifest": MANIFEST, "queue": "research", "dry_run": true});
    let (status, reply) = room.ask("submitter", Method::POST, "/api/v1/jobs", body).await;
    assert_eq!((status, &reply["job"], &reply["position"]), (StatusCode::OK, &Value::Null, &json!(1)));
    assert_eq!(room.get("/api/v1/jobs").await["items"], json!([]));
}

#[tokio::test]
async fn bad_submissions_are_told_what_to_do() {
    let room = Room::new().await;
    let (status, problem) = room.submit(&MANIFEST.replace("entrypoint", "entrypont"), "research").await;
    assert_eq!((status, &problem["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("SQD-1201")));
    assert!(problem["fields"][0]["path"].as_str().unwrap().contains("spec"), "{problem}");
    let (_, problem) = room.submit(MANIFEST, "reserach").await;
    assert_eq!(problem["code"], "SQD-1203");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("did you mean \"research\"?") && detail.contains("Queues: "), "{detail}");
    let body = json!({"manifest": MANIFEST, "queue": "research", "cluster": "north"});
    let (status, problem) = room.ask("submitter", Method::POST, "/api/v1/jobs", body).await;
    assert_eq!((status, &problem["detail"]), (StatusCode::NOT_FOUND, &json!("there is no cluster north")));
    let (status, _) =
        room.ask("viewer", Method::POST, "/api/v1/jobs", json!({"manifest": "", "queue": ""})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let many = MANIFEST.to_owned()
        + "    workerGroupSpecs:\n    - {groupName: w, replicas: 9000, minReplicas: 9000, maxReplicas: 9000, rayStartParams: {}, template: {spec: {containers: [{name: c, image: i}]}}}\n";
    let (_, problem) = room.submit(&many, "research").await;
    assert!(problem["detail"].as_str().unwrap().contains("at most 5000"), "{problem}");
    assert_eq!(room.get("/api/v1/jobs").await["items"], json!([]), "nothing was changed");
}

#[tokio::test]
async fn only_owners_and_operators_cancel() {
    let room = Room::new().await;
    let other = fixture::queued(&room.app.store, "other").await;
    let path = format!("/api/v1/jobs/{}/cancel", other.id);
    let (status, problem) = room.ask("submitter", Method::POST, &path, json!({})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(problem["detail"].as_str().unwrap().contains("may not cancel this job of ann"), "{problem}");
    let (status, _) = room.ask("operator", Method::POST, &path, json!({})).await;
    assert_eq!(status, StatusCode::OK);
    let (status, problem) = room.ask("operator", Method::GET, "/api/v1/jobs/nothing", Value::Null).await;
    assert_eq!((status, &problem["detail"]), (StatusCode::NOT_FOUND, &json!("there is no job nothing")));
}

#[tokio::test]
async fn lists_are_paged_and_say_when_a_cluster_is_silent() {
    let room = Room::new().await;
    for n in 0..3 {
        fixture::queued(&room.app.store, &format!("job-{n}")).await;
    }
    fixture::cluster(&room.app.store, "east").await;
    let first = room.get("/api/v1/jobs?limit=2").await;
    assert!(first["partial"].as_str().unwrap().starts_with("east is silent since 2026-"), "{first}");
    let rest = room
        .get(&format!("/api/v1/jobs?limit=2&page_token={}", first["next_page_token"].as_str().unwrap()))
        .await;
    assert_eq!((first["items"].as_array().unwrap().len(), rest["items"].as_array().unwrap().len()), (2, 1));
    assert_eq!(rest["next_page_token"], Value::Null);
    for (path, words) in [
        ("/api/v1/jobs?status=sleeping", "no state of a job"),
        ("/api/v1/jobs?colour=red", "colour"),
        ("/api/v1/jobs?page_token=x", "page_token"),
        ("/api/v1/incidents?state=closed", "no state of an incident"),
        ("/api/v1/usage?by=colour", "cannot be grouped"),
        ("/api/v1/usage?from=2027-01-01T00:00:00Z&to=2026-01-01T00:00:00Z", "later than"),
    ] {
        let (status, problem) = room.ask("viewer", Method::GET, path, Value::Null).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
}

#[tokio::test]
async fn queues_are_added_by_operators_once() {
    let room = Room::new().await;
    let add = async |role: &str, name: &str| {
        room.ask(role, Method::POST, "/api/v1/queues", json!({"name": name})).await
    };
    assert_eq!(add("submitter", "vision").await.0, StatusCode::FORBIDDEN);
    assert_eq!(add("operator", "vision").await.0, StatusCode::OK);
    let (status, problem) = add("operator", "vision").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("SQD-1401")));
    assert_eq!(add("operator", "Vision").await.0, StatusCode::BAD_REQUEST);
    let queues = room.get("/api/v1/queues").await;
    let names: Vec<&Value> = queues["items"].as_array().unwrap().iter().map(|queue| &queue["name"]).collect();
    assert!(names.contains(&&json!("research")) && names.contains(&&json!("vision")), "{queues}");
}

#[tokio::test]
async fn a_job_that_ran_is_explained_and_paid_for() {
    let room = Room::new().await;
    let store = &room.app.store;
    let east = fixture::cluster(store, "east").await;
    let now = clock::now();
    fixture::execute(store, "update cluster set last_heard_at = to_timestamp($1::float8 / 1000000)", now.0)
        .await;
    fixture::facts(store, east, vec![Fact::Node(fixture::node("n1"))]).await;
    room.settle().await;
    let (_, reply) = room.submit(MANIFEST, "research").await;
    room.settle().await;
    let job = reply["job"]["id"].as_str().unwrap().parse().unwrap();
    let id = AttemptId { job, number: 1 };
    let step = AttemptFact { attempt: id, step: AttemptStep::Created, message: String::new() };
    let running = RayJobFact {
        namespace: "default".into(),
        name: squadron_core::attempt::object_name("train", id.job, id.number),
        attempt: Some(id),
        deployment_status: "Running".into(),
        job_status: "RUNNING".into(),
        ..RayJobFact::default()
    };
    let pod = fixture::pod("head", Some(id));
    let facts = vec![Fact::Attempt(step), Fact::Pod(Box::new(pod)), Fact::RayJob(running)];
    fixture::facts(store, east, facts).await;
    room.settle().await;
    let detail = room.get("/api/v1/jobs/train").await;
    assert_eq!((&detail["job"]["state"], &detail["job"]["cluster"]), (&json!("running"), &json!("east")));
    assert!(detail["attempts"][0]["chosen_because"].as_str().unwrap().contains("has room"));
    assert_eq!(detail["pods"][0]["role"], "head");
    let told: Vec<&str> =
        detail["timeline"].as_array().unwrap().iter().map(|e| e["sentence"].as_str().unwrap()).collect();
    assert!(told.contains(&"RayJob Running, driver RUNNING"), "{told:?}");
    assert!(told.contains(&"head pod head is ready on node n1"), "{told:?}");
    usage_conserves(&room).await;
}

async fn usage_conserves(room: &Room) {
    let sheet = "name: default\ncurrency: EUR\nprices:\n- {cluster: '*', from: 2026-01-01, cpu_hour: 1, memory_gib_hour: 0, gpu_hour: 0}\n";
    let put = async |role: &str, text: &str| {
        room.ask(role, Method::PUT, "/api/v1/price-sheets", Value::String(text.into())).await
    };
    assert_eq!(put("submitter", sheet).await.0, StatusCode::FORBIDDEN);
    let (status, reply) = put("finance", sheet).await;
    assert_eq!(
        (status, &reply["version"], &reply["intervals"]),
        (StatusCode::OK, &json!(1), &json!(1)),
        "{reply}"
    );
    let (status, problem) = put("finance", &sheet.replace("2026-01-01", "soon")).await;
    assert_eq!((status, &problem["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("SQD-1301")));
    assert_eq!(problem["fields"][0]["path"], "prices[0].from");
    assert_eq!(room.get("/api/v1/price-sheets").await, json!(sheet));
    let from = NOW.plus_millis(3_600_000);
    let to = NOW.plus_millis(2 * 3_600_000);
    let usage = room.get(&format!("/api/v1/usage?by=team,job&from={from}&to={to}")).await;
    let rows: Vec<String> = usage["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!("{} {} {} {}", row["kind"], row["team"], row["job"], row["amount"]).replace('"', "")
        })
        .collect();
    assert_eq!(rows, ["team research train 1.00", "idle   3.00"]);
    assert_eq!((&usage["total"]["amount"], &usage["capacity_amount"]), (&json!("4.00"), &json!("4.00")));
    assert!(usage["reconciliation"].as_str().unwrap().ends_with("exactly"));
    assert!(usage["notes"][0].as_str().unwrap().contains("1 pod still held"), "{usage}");
}

#[tokio::test]
async fn operators_end_an_incident_once_and_the_reason_is_told() {
    let room = Room::new().await;
    let east = fixture::cluster(&room.app.store, "east").await;
    let signal = KernelSignal::Xid { code: 79, pci: "PCI:0000:3b:00".into(), pods: vec![] };
    let line = KernelFact { node: "n1".into(), line: "NVRM: Xid 79".into(), signal };
    fixture::facts(&room.app.store, east, vec![Fact::Node(fixture::node("n1")), Fact::Kernel(line)]).await;
    room.settle().await;
    let open = room.get("/api/v1/incidents?state=open").await;
    let id = open["items"][0]["id"].as_str().unwrap();
    assert_eq!(open["items"][0]["resolved"], Value::Null);
    let resolve = async |role: &str, reason: &str| {
        let path = format!("/api/v1/incidents/{id}/resolve");
        room.ask(role, Method::POST, &path, json!({"reason": reason})).await
    };
    assert_eq!(resolve("submitter", "I want it gone").await.0, StatusCode::FORBIDDEN);
    assert_eq!(resolve("operator", " ").await.0, StatusCode::BAD_REQUEST);
    assert_eq!(room.get("/api/v1/incidents?state=open").await["items"], open["items"]);
    let (status, ended) = resolve("operator", "the GPU was replaced").await;
    assert_eq!((status, &ended["state"]), (StatusCode::OK, &json!("resolved")), "{ended}");
    assert_eq!(ended["resolved"]["by"], "operator@example.com");
    assert_eq!(ended["resolved"]["because"], "the GPU was replaced");
    let (status, problem) = resolve("admin", "me too").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("SQD-1004")));
    assert!(problem["detail"].as_str().unwrap().ends_with("by operator@example.com: the GPU was replaced"));
    assert_ne!(problem["next_step"], "");
    assert_eq!(room.get("/api/v1/incidents?state=open").await["items"], json!([]));
    let (_, audit) = room.ask("auditor", Method::GET, "/api/v1/audit", Value::Null).await;
    let row = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["action"] == "incident.resolve" && row["allowed"] == true);
    assert_eq!(row.unwrap()["detail"], "the GPU was replaced", "{audit}");
}

#[tokio::test]
async fn incidents_are_listed_and_found() {
    let room = Room::new().await;
    assert_eq!(room.get("/api/v1/incidents?state=open").await["items"], json!([]));
    let (status, problem) = room.ask("viewer", Method::GET, "/api/v1/incidents/x", Value::Null).await;
    assert_eq!((status, &problem["code"]), (StatusCode::NOT_FOUND, &json!("SQD-1003")));
    let (status, problem) = room.ask("viewer", Method::GET, "/api/v1/price-sheets", Value::Null).await;
    assert_eq!((status, &problem["detail"]), (StatusCode::NOT_FOUND, &json!("no price sheet is in force")));
    assert!(
        room.get("/api/v1/usage").await["notes"][0].as_str().unwrap().contains("no price sheet is in force")
    );
}
