//! Arrivals over the link: told up as facts, told down as states, from refusal to cancellation.

use serde_json::{Value, json};
use squadron_proto::link::{ArrivalState, control_down};

use crate::{
    agent::Control,
    plane::{Plane, eventually},
};

const MANIFEST: &str = r#"{"apiVersion": "ray.io/v1", "kind": "RayJob",
  "metadata": {"name": "train", "namespace": "ml"},
  "spec": {"entrypoint": "python train.py", "rayClusterSpec": {"headGroupSpec": {"rayStartParams": {}, "template":
    {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.60.0",
      "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}}}}}"#;

fn fact(change: &Value) -> String {
    let mut fact = json!({"kind": "arrival", "namespace": "ml", "name": "train", "uid": "u", "queue": "default",
        "created_at": "2026-11-30T01:00:00Z", "generation": 1, "manifest": MANIFEST});
    for (field, value) in change.as_object().into_iter().flatten() {
        fact[field] = value.clone();
    }
    fact.to_string()
}

/// The next word on the object that fits.
async fn told(control: &mut Control, fits: impl Fn(&ArrivalState) -> bool) -> ArrivalState {
    loop {
        if let control_down::Message::Arrivals(said) = control.next().await.unwrap()
            && let Some(state) = said.states.into_iter().find(&fits)
        {
            return state;
        }
    }
}

#[tokio::test]
async fn an_arrival_is_refused_let_in_told_to_a_new_stream_and_cancelled_with_its_object() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut control = agent.control(&plane, 1).await.unwrap();
    let mut ingest = agent.ingest(&plane, 1).await.unwrap();
    ingest.send(1, 1, &[fact(&json!({}))]).await;
    let refused = told(&mut control, |state| state.job_id.is_empty()).await;
    assert_eq!((refused.uid.as_str(), refused.reason.as_str()), ("u", "NOT_ALLOWED"));
    assert!(refused.message.ends_with("squadron cluster allow-queue east ml default"), "{}", refused.message);

    let rule = json!({"namespace": "ml", "queue": "default"});
    let (status, _) = plane.post("/api/v1/clusters/east/queues", &rule).await;
    assert_eq!(status, 200);
    let queued = told(&mut control, |state| state.state == "queued").await;
    let path = format!("/api/v1/jobs/{}", queued.job_id);
    let job = plane.get(&path).await;
    assert_eq!(
        (&job["source"]["uid"], &job["job"]["owner"]),
        (&json!("u"), &json!("cluster:east/ml")),
        "{job}"
    );

    drop(control);
    let mut control = agent.control(&plane, 1).await.unwrap();
    let again = told(&mut control, |state| state.state == "queued").await;
    assert_eq!(again.job_id, queued.job_id, "a new stream is told everything");
    ingest.send(1, 2, &[fact(&json!({"gone": true, "gone_why": "its RayJob was deleted"}))]).await;
    eventually("the job is cancelled", async || plane.get(&path).await["job"]["state"] == "cancelled").await;
    plane.stop().await;
}
