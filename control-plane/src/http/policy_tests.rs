//! The routes of policy and queues, and priority at submission, asked as people ask them.

#![allow(clippy::unwrap_used)]

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use squadron_core::{id::AttemptId, resources::Resources};
use squadron_store::testing::fixture;

use super::jobs::tests::{MANIFEST, Room};

const POLICY: &str = "
apiVersion: squadron.dev/v1
kind: Flavor
metadata: {name: any}
---
apiVersion: squadron.dev/v1
kind: Queue
metadata: {name: acme}
spec:
  flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  cohortName: acme
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 2, borrowingLimit: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {namespace: team, name: train}
spec: {clusterQueue: vision}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000
";

impl Room {
    async fn put(&self, query: &str, text: &str) -> (StatusCode, Value) {
        let path = format!("/api/v1/policy{query}");
        self.ask("admin", Method::PUT, &path, Value::String(text.to_owned())).await
    }

    async fn policy(&self) -> String {
        self.get("/api/v1/policy").await.as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_policy_is_tried_applied_and_read_back() {
    let room = Room::new().await;
    let before = room.policy().await;
    let (status, tried) = room.put("?dry_run=true", POLICY).await;
    assert_eq!((status, &tried["applied"]), (StatusCode::OK, &json!(false)), "{tried}");
    assert_eq!(room.policy().await, before, "a dry run changes nothing");
    let (status, done) = room.put("", POLICY).await;
    assert_eq!((status, &done["applied"], &done["version"]), (StatusCode::OK, &json!(true), &json!(1)));
    assert_eq!(done["changes"], tried["changes"]);
    let queue = &done["changes"][3];
    assert_eq!((&queue["name"], &queue["change"]), (&json!("vision"), &json!("added")));
    let field = json!({"field": "any cpu borrowing limit", "before": "", "after": "1"});
    assert!(queue["fields"].as_array().unwrap().contains(&field), "{queue}");
    let text = room.policy().await;
    let (_, again) = room.put("?prune=true", &text).await;
    assert_eq!(
        (&again["changes"], &again["version"]),
        (&json!([]), &json!(1)),
        "what is read back changes nothing"
    );
    let (_, audit) = room.ask("auditor", Method::GET, "/api/v1/audit", Value::Null).await;
    let entries: Vec<&Value> =
        audit["items"].as_array().unwrap().iter().filter(|entry| entry["action"] == "policy.put").collect();
    assert_eq!(entries.len(), 1, "only what changed something is told: {audit}");
    assert!(
        entries[0]["detail"].as_str().unwrap().starts_with("5 added, 0 changed, 0 removed: flavor any added")
    );
}

#[tokio::test]
async fn a_refused_text_changes_nothing_and_says_where() {
    let room = Room::new().await;
    let before = room.policy().await;
    for (text, path, problem) in [
        (
            POLICY.replace("cohortName: acme", "cohortName: vision"),
            "line 16 (document 3): queue vision, parent",
            "is the queue itself",
        ),
        (
            POLICY.replace("nominalQuota: 4", "nominalQuota: -4"),
            "line 10 (document 2): queue acme, quotas.any.cpu.nominalQuota",
            "is -4, which is negative",
        ),
        (
            POLICY.replace("spec: {clusterQueue: vision}", "spec: {clusterQueue: vison}"),
            "line 24 (document 4): queue team/train, parent",
            "did you mean \"vision\"?",
        ),
        (
            POLICY.replace("  cohortName", "  stopPolicy: Hold\n  cohortName"),
            "line 16 (document 3): ClusterQueue vision, spec.stopPolicy",
            "cannot be honoured",
        ),
        (format!("{POLICY}---\na: &a b\nc: *a\n"), "line 32 (document 6)", "aliases"),
    ] {
        let (status, refused) = room.put("", &text).await;
        assert_eq!(
            (status, &refused["code"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!("SQD-1302")),
            "{refused}"
        );
        let field = &refused["fields"][0];
        assert_eq!(field["path"], path, "{refused}");
        assert!(field["problem"].as_str().unwrap().contains(problem), "{refused}");
        assert_eq!(room.policy().await, before);
    }
}

#[tokio::test]
async fn only_administrators_declare_policy() {
    let room = Room::new().await;
    for role in ["viewer", "submitter", "operator", "finance", "auditor"] {
        let text = Value::String(POLICY.to_owned());
        let (status, _) = room.ask(role, Method::PUT, "/api/v1/policy", text).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{role}");
    }
    let (status, _) = room.put("?prun=true", POLICY).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_text_that_says_nothing_prunes_nothing() {
    let room = Room::new().await;
    room.put("", POLICY).await;
    let before = room.policy().await;
    for text in ["", "# nothing\n", "null\n", "kind: List\napiVersion: v1\nitems: []\n"] {
        let (status, refused) = room.put("?prune=true", text).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{text:?}: {refused}");
        assert!(refused["detail"].as_str().unwrap().contains("everything would be removed"), "{refused}");
        assert_eq!(room.put("", text).await.0, StatusCode::OK, "without prune it changes nothing");
    }
    assert_eq!(room.policy().await, before);
}

#[tokio::test]
async fn pruning_removes_what_is_not_named_and_never_a_queue_with_jobs() {
    let room = Room::new().await;
    room.put("", POLICY).await;
    fixture::queued(&room.app.store, "train").await;
    let (status, refused) = room.put("?prune=true", POLICY).await;
    assert_eq!((status, &refused["code"]), (StatusCode::CONFLICT, &json!("SQD-1004")), "{refused}");
    assert_eq!(
        refused["fields"][0],
        json!({"path": "queue research",
            "problem": "cannot be removed: it has 1 job, of which 1 have not ended; keep it in the text, without quotas if need be"})
    );
    let kept = "apiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {name: research}\n";
    let (status, done) = room.put("?prune=true", kept).await;
    assert_eq!(status, StatusCode::OK, "{done}");
    let removed: Vec<&str> =
        done["changes"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(removed, ["any", "acme", "team/train", "vision", "high"]);
    assert_eq!(
        room.policy().await,
        "apiVersion: squadron.dev/v1\nkind: Queue\nmetadata:\n  name: research\n"
    );
}

#[tokio::test]
async fn queues_show_the_tree_and_what_is_used_of_it() {
    let room = Room::new().await;
    room.put("", POLICY).await;
    let east = fixture::cluster(&room.app.store, "east").await;
    let mut job = fixture::new_job("train");
    job.queue = "team/train".to_owned();
    job.gang[0].count = 3;
    fixture::insert(&room.app.store, &job).await;
    fixture::attempt(&room.app.store, job.id, east, fixture::NOW).await;
    let charge = [("any".to_owned(), Resources { cpu_milli: 3_000, ..Resources::default() })].into();
    fixture::charge(&room.app.store, AttemptId { job: job.id, number: 1 }, &charge).await;
    let dear = "apiVersion: squadron.dev/v1\nkind: Flavor\nmetadata: {name: any}\nspec: {weight: 2.5}\n";
    let (_, weighed) = room.put("", dear).await;
    let fields = json!([{"field": "weight", "before": "1", "after": "2.5"}]);
    let change = json!([{"kind": "flavor", "name": "any", "change": "changed", "fields": fields}]);
    assert_eq!(weighed["changes"], change);
    let page = room.get("/api/v1/queues").await;
    let tree: Vec<(&str, u64)> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|queue| (queue["name"].as_str().unwrap(), queue["depth"].as_u64().unwrap()))
        .collect();
    assert_eq!(tree, [("acme", 0), ("vision", 1), ("team/train", 2), ("research", 0)]);
    let vision = &page["items"][1]["quotas"][0];
    assert_eq!(
        (&vision["flavor_weight"], &vision["total"], &vision["used"], &vision["borrowed"]),
        (&json!(2_500), &json!(2_000), &json!(3_000), &json!(1_000))
    );
    let acme = &page["items"][0]["quotas"][0];
    assert_eq!(
        (&acme["nominal"], &acme["total"], &acme["used"]),
        (&json!(4_000), &json!(6_000), &json!(3_000))
    );
    assert_eq!(page["items"][1]["share"], json!(1_000 / 6));
    assert_eq!(page["items"][3]["quotas"], json!([]), "a queue without quotas is not limited");
}

#[tokio::test]
async fn a_submission_names_its_priority_class() {
    let room = Room::new().await;
    room.put("", POLICY).await;
    let submit = async |manifest: &str, class: Option<&str>| {
        let mut body = json!({"manifest": manifest, "queue": "research"});
        if let Some(class) = class {
            body["priority_class"] = json!(class);
        }
        room.ask("submitter", Method::POST, "/api/v1/jobs", body).await
    };
    let labelled =
        MANIFEST.replace("name: train,", "name: train, labels: {kueue.x-k8s.io/priority-class: hihg},");
    for (status, refused) in [submit(MANIFEST, Some("hihg")).await, submit(&labelled, None).await] {
        assert_eq!((status, &refused["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("SQD-1205")));
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("did you mean \"high\"? (classes, the most urgent first: high)"), "{detail}");
    }
    for (manifest, class, expected) in [
        (MANIFEST.to_owned(), Some("high"), json!(["high", 1_000])),
        (labelled.replace("hihg", "high"), None, json!(["high", 1_000])),
        (MANIFEST.to_owned(), None, json!([null, 0])),
    ] {
        let (status, reply) = submit(&manifest, class).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let job = &reply["job"];
        assert_eq!(json!([job["priority_class"], job["priority"]]), expected);
    }
}

#[tokio::test]
async fn jobs_wait_in_leaves() {
    let room = Room::new().await;
    room.put("", POLICY).await;
    let body = json!({"manifest": MANIFEST, "queue": "vision"});
    let (status, refused) = room.ask("submitter", Method::POST, "/api/v1/jobs", body).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(refused["detail"], "queue vision holds other queues, and jobs wait in those: team/train");
}
