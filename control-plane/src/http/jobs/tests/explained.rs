//! Where a job could run, what was decided, what is ahead and how long it may take, asked as people ask.

use squadron_core::{fact::Fact, fact::NodeFact, resources::Resources};

use super::*;

/// A cluster that is heard and has one node of so many cores.
async fn ready(room: &Room, name: &str, cores: i64) {
    sized(room, name, Resources { cpu_milli: cores * 1_000, memory_bytes: 64 << 30, gpus: 0 }).await;
}

async fn sized(room: &Room, name: &str, size: Resources) {
    let store = &room.app.store;
    let cluster = fixture::cluster(store, name).await;
    let now = clock::now().0;
    fixture::execute(store, "update cluster set last_heard_at = to_timestamp($1::float8 / 1000000)", now)
        .await;
    let node = NodeFact { capacity: size, allocatable: size, ..fixture::node(&format!("{name}-n1")) };
    fixture::facts(store, cluster, vec![Fact::Node(node)]).await;
    room.settle().await;
}

fn asking(cores: u32) -> String {
    MANIFEST.replace("{cpu: 1, memory: 1Gi}", &format!("{{cpu: {cores}, memory: 1Gi}}"))
}

async fn look(room: &Room, body: Value) -> (StatusCode, Value) {
    room.ask("submitter", Method::POST, "/api/v1/where", body).await
}

#[tokio::test]
async fn a_manifest_is_shown_its_candidates_with_every_term_and_nothing_changes() {
    let room = Room::new().await;
    ready(&room, "east", 4).await;
    ready(&room, "west", 32).await;
    ready(&room, "small", 1).await;
    let (status, found) = look(&room, json!({"manifest": asking(2), "queue": "research"})).await;
    assert_eq!((status, &found["cluster"]), (StatusCode::OK, &json!("east")), "{found}");
    assert_eq!(found["candidates"][1]["cluster"], "west");
    let names: Vec<&str> = found["candidates"][0]["terms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|term| term["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["borrowing", "idle_gpus", "node_size", "jobs_there", "fullness"]);
    assert_eq!(
        found["candidates"][0]["terms"][2]["decided"], true,
        "smaller nodes are kept busy first: {found}"
    );
    assert_eq!(
        (&found["refused"][0]["cluster"], &found["refused"][0]["code"]),
        (&json!("small"), &json!("CLUSTER_FULL"))
    );
    assert_eq!(found["refused"][0]["total"]["cpu_milli"], 1_000);
    assert_eq!(found["estimate"]["kind"], "now");
    assert_eq!(room.get("/api/v1/jobs").await["items"], json!([]), "nothing was submitted");
    let (_, submitted) = room.submit(&asking(2), "research").await;
    room.settle().await;
    let detail = room.get(&format!("/api/v1/jobs/{}", submitted["job"]["id"].as_str().unwrap())).await;
    assert_eq!(detail["attempts"][0]["chosen_because"], found["sentence"], "it is what a pass decides");
}

#[tokio::test]
async fn a_job_that_comes_behind_more_than_a_look_reads_is_not_told_a_place() {
    let room = Room::new().await;
    let size = Resources { cpu_milli: 20_000_000, memory_bytes: 20 << 40, gpus: 0 };
    sized(&room, "east", size).await;
    sized(&room, "west", size).await;
    room.submit(MANIFEST, "research").await;
    let copies =
        "insert into job select (jsonb_populate_record(j, jsonb_build_object('id', gen_random_uuid()))).*
                  from job j cross join generate_series(1, $1)";
    fixture::execute(&room.app.store, copies, 4_200).await;
    let (status, found) = look(&room, json!({"manifest": asking(2), "queue": "research"})).await;
    assert_eq!(
        (status, &found["cluster"], &found["position"]),
        (StatusCode::OK, &Value::Null, &json!(4_202))
    );
    let sentence = found["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("queued in research, 4202nd of 4202: more jobs that go before it"),
        "{found}"
    );
}

#[tokio::test]
async fn it_is_refused_as_a_submission_is() {
    let room = Room::new().await;
    let bad = [
        json!({"manifest": "kind: Pod", "queue": "research"}),
        json!({"manifest": MANIFEST, "queue": "reserach"}),
        json!({"manifest": MANIFEST, "queue": "research", "cluster": "north"}),
    ];
    for body in bad {
        let (status, problem) = look(&room, body.clone()).await;
        let submitted = room.ask("submitter", Method::POST, "/api/v1/jobs", body).await;
        assert_eq!(
            (status, &problem["code"], &problem["detail"]),
            (submitted.0, &submitted.1["code"], &submitted.1["detail"])
        );
    }
    let body = json!({"manifest": MANIFEST, "queue": "research"});
    let (status, _) = room.ask("viewer", Method::POST, "/api/v1/where", body.clone()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, found) = look(&room, body).await;
    assert_eq!((status, &found["cluster"]), (StatusCode::OK, &Value::Null), "no cluster yet");
    assert_eq!(found["blockers"][0]["code"], "NO_CLUSTER");
    assert!(
        found["estimate"]["sentence"].as_str().unwrap().starts_with("never as things are: no cluster"),
        "{found}"
    );
}

#[tokio::test]
async fn a_wait_and_a_placement_are_kept_with_their_reasons() {
    let room = Room::new().await;
    ready(&room, "east", 5).await;
    let first = room.submit(&asking(4), "research").await.1["job"]["id"].as_str().unwrap().to_owned();
    room.settle().await;
    let second = room.submit(&asking(4), "research").await.1["job"]["id"].as_str().unwrap().to_owned();
    let third = room.submit(&asking(3), "research").await.1["job"]["id"].as_str().unwrap().to_owned();
    room.settle().await;
    let why = room.get(&format!("/api/v1/jobs/{third}/why")).await;
    assert_eq!(
        (&why["ahead"]["count"], &why["ahead"]["jobs"][0]["id"]),
        (&json!(1), &json!(second)),
        "{why}"
    );
    assert_eq!(why["ahead"]["jobs"][0]["requests"]["cpu_milli"], 4_500, "with its submitter");
    assert_eq!(
        why["estimate"]["sentence"],
        "unknown: fewer than 10 jobs of this queue have got a place after waiting"
    );
    let line = room.get("/api/v1/queues/waiting?queue=research&limit=1").await;
    assert_eq!(
        (&line["items"][0]["id"], &line["items"][0]["code"]),
        (&json!(second), &json!("CLUSTER_FULL"))
    );
    let next = format!(
        "/api/v1/queues/waiting?queue=research&page_token={}",
        line["next_page_token"].as_str().unwrap()
    );
    assert_eq!(room.get(&next).await["items"][0]["id"], third);
    let found = room.get(&format!("/api/v1/jobs/{second}/where")).await;
    assert_eq!((&found["cluster"], &found["position"]), (&Value::Null, &json!(1)), "{found}");
    let (status, problem) =
        room.ask("viewer", Method::GET, &format!("/api/v1/jobs/{first}/where"), Value::Null).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(
        problem["next_step"].as_str().unwrap().ends_with(&format!("squadron why {first} --history")),
        "{problem}"
    );

    // An operator grows the cluster: the second and the third are placed.
    ready(&room, "west", 16).await;
    let history = room.get(&format!("/api/v1/jobs/{second}/decisions")).await;
    let short: Vec<(&Value, &Value)> =
        history["items"].as_array().unwrap().iter().map(|one| (&one["outcome"], &one["number"])).collect();
    assert_eq!(short, [(&json!("assigned"), &json!(2)), (&json!("blocked"), &json!(1))], "{history}");
    let placed = &history["items"][0];
    assert_eq!((&placed["attempt"], &placed["cluster"]), (&json!(1), &json!("west")));
    assert_eq!(placed["candidates"][0]["terms"].as_array().unwrap().len(), 5);
    assert_eq!(placed["refused"][0]["cluster"], "east");
    assert_eq!(history["items"][1]["cause"], "CLUSTER_FULL east");
    let page = room.get(&format!("/api/v1/jobs/{second}/decisions?limit=1")).await;
    let token = page["next_page_token"].as_str().unwrap();
    let rest = room.get(&format!("/api/v1/jobs/{second}/decisions?page_token={token}")).await;
    assert_eq!((&rest["items"][0]["number"], &rest["next_page_token"]), (&json!(1), &Value::Null));
}

#[tokio::test]
async fn what_earlier_jobs_waited_becomes_the_next_estimate() {
    let room = Room::new().await;
    ready(&room, "east", 5).await;
    room.submit(&asking(4), "research").await;
    room.settle().await;
    for _ in 0..11 {
        room.submit(&asking(4), "research").await;
    }
    room.settle().await;
    // All eleven get a place, and the twelfth none.
    ready(&room, "west", 50).await;
    let earlier = "update estimate set at = at - make_interval(secs => $1) where placed_at is not null";
    fixture::execute(&room.app.store, earlier, 3_600).await;
    let late = room.submit(&asking(4), "research").await.1["job"]["id"].as_str().unwrap().to_owned();
    room.settle().await;
    let estimate = room.get(&format!("/api/v1/jobs/{late}/why")).await["estimate"].clone();
    assert_eq!((&estimate["kind"], &estimate["samples"]), (&json!("known"), &json!(11)), "{estimate}");
    assert!(estimate["p50_ms"].as_i64().unwrap() <= estimate["p90_ms"].as_i64().unwrap(), "{estimate}");
    assert!(
        estimate["sentence"]
            .as_str()
            .unwrap()
            .ends_with("(no earlier estimate of this queue could be checked yet)")
    );
    // The next one is placed, and what was said about it can be checked.
    ready(&room, "north", 5).await;
    let coverage = room.app.store.wait_coverage("research").await.unwrap();
    assert_eq!(coverage.judged, 1);
}

#[tokio::test]
async fn lists_of_what_does_not_exist_say_so() {
    let room = Room::new().await;
    for (path, status) in [
        ("/api/v1/queues/waiting?queue=nothing", StatusCode::NOT_FOUND),
        ("/api/v1/queues/waiting", StatusCode::BAD_REQUEST),
        ("/api/v1/queues/waiting?queue=research&page_token=x", StatusCode::BAD_REQUEST),
        ("/api/v1/jobs/nothing/decisions", StatusCode::NOT_FOUND),
        ("/api/v1/jobs/nothing/decisions?page_token=x", StatusCode::BAD_REQUEST),
        ("/api/v1/jobs/nothing/where", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(room.ask("viewer", Method::GET, path, Value::Null).await.0, status, "{path}");
    }
    assert_eq!(room.get("/api/v1/queues/waiting?queue=research").await["items"], json!([]));
}

#[tokio::test]
async fn a_residency_waits_until_an_operator_says_where_a_cluster_is() {
    let room = Room::new().await;
    ready(&room, "east", 4).await;
    let body =
        |preferences: Value| json!({"manifest": asking(2), "queue": "research", "preferences": preferences});
    let (status, refused) = look(&room, body(json!({"spot": "no", "max_price": "12"}))).await;
    assert_eq!(
        (status, &refused["fields"][0]["path"]),
        (StatusCode::BAD_REQUEST, &json!("preferences.max_price")),
        "{refused}"
    );
    let home = body(json!({"residency": "eu-west-1", "prefer": "west"}));
    let (_, submitted) = room.ask("submitter", Method::POST, "/api/v1/jobs", home).await;
    let id = submitted["job"]["id"].as_str().unwrap().to_owned();
    room.settle().await;
    let why = room.get(&format!("/api/v1/jobs/{id}/why")).await;
    assert_eq!(why["blockers"][0]["code"], "RESIDENCY", "{why}");
    let label = async |labels: Value| {
        room.ask("admin", Method::POST, "/api/v1/clusters/east/labels", json!({"labels": labels})).await
    };
    assert_eq!(label(json!({"Region!": "x"})).await.0, StatusCode::BAD_REQUEST);
    let (status, east) = label(json!({"region": "eu-west-1", "old": null})).await;
    assert_eq!((status, &east["labels"]), (StatusCode::OK, &json!({"region": "eu-west-1"})), "{east}");
    room.settle().await;
    let detail = room.get(&format!("/api/v1/jobs/{id}")).await;
    assert_eq!(detail["attempts"][0]["cluster"], "east", "{detail}");
    let history = room.get(&format!("/api/v1/jobs/{id}/decisions")).await;
    let terms = history["items"][0]["candidates"][0]["terms"].as_array().unwrap();
    assert_eq!(
        (&terms[1]["name"], &terms[1]["value"], &terms[1]["unit"]),
        (&json!("preference"), &json!(1), &json!("rank"))
    );
}

#[tokio::test]
async fn an_annotation_pins_a_submitted_job_and_the_request_goes_over_it() {
    let room = Room::new().await;
    ready(&room, "east", 8).await;
    ready(&room, "west", 8).await;
    let pinned = |name: &str| {
        let annotated = format!("name: train, annotations: {{squadron.dev/cluster: {name}}},");
        asking(2).replace("name: train,", &annotated)
    };
    let submit = async |manifest: String, cluster: Value| {
        let body = json!({"manifest": manifest, "queue": "research", "cluster": cluster});
        room.ask("submitter", Method::POST, "/api/v1/jobs", body).await
    };
    for (manifest, cluster, expected) in [
        (pinned("west"), Value::Null, "west"),
        (pinned("west"), json!("east"), "east"),
        (pinned("\"\""), json!("west"), "west"),
    ] {
        let (status, submitted) = submit(manifest, cluster).await;
        assert_eq!(status, StatusCode::OK, "{submitted}");
        room.settle().await;
        let id = submitted["job"]["id"].as_str().unwrap();
        let detail = room.get(&format!("/api/v1/jobs/{id}")).await;
        assert_eq!(detail["attempts"][0]["cluster"], expected, "{detail}");
        let because = detail["attempts"][0]["chosen_because"].as_str().unwrap_or_default();
        assert!(because.starts_with(&format!("the job is pinned to {expected}")), "{detail}");
    }
    let (status, refused) = submit(pinned("wset"), Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(
        refused["detail"],
        "the manifest is pinned by its annotation squadron.dev/cluster, and there is no cluster wset"
    );
}
