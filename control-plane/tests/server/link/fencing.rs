//! One agent per cluster: keys, epochs, second agents.

use ed25519_dalek::SigningKey;
use serde_json::Value;
use squadron_proto::link::{control_up, refused::Code};
use squadron_store::testing::fixture;

use crate::{
    agent::{Agent, Control, End},
    plane::{Plane, eventually},
};

#[tokio::test]
async fn a_greater_epoch_supersedes_and_streams_of_the_older_end() {
    let plane = Plane::start().await;
    let old = plane.east().await;
    let mut control = old.control(&plane, 1).await.unwrap();
    let mut ingest = old.ingest(&plane, 1).await.unwrap();
    old.in_pod("pod-2").control(&plane, 2).await.unwrap();
    let ended = control.end().await.refused();
    assert_eq!((ended.code(), ended.epoch_above), (Code::Superseded, 2));
    assert_eq!(ingest.next().await.err().unwrap().refused().code(), Code::Superseded);
    let again = old.control(&plane, 1).await.err().unwrap().refused();
    assert_eq!(again.code(), Code::Duplicate, "a late word of the older pod");
    plane.stop().await;
}

#[tokio::test]
async fn a26_a_second_agent_is_refused_with_a_next_step_and_changes_nothing() {
    let plane = Plane::start().await;
    let first = plane.east().await;
    let mut control = first.control(&plane, 7).await.unwrap();
    let refused = first.in_pod("pod-2").control(&plane, 7).await.err().unwrap().refused();
    assert_eq!((refused.code(), refused.epoch_above), (Code::Duplicate, 0), "no epoch to outgrow it with");
    let alarm = plane.cluster("east").await["alarm"].as_str().unwrap().to_owned();
    assert_eq!(alarm, refused.message, "agent and console say the same");
    assert!(
        alarm.contains("pod pod-2, epoch 7") && alarm.contains("squadron cluster clear-alarm east"),
        "{alarm}"
    );
    control.beat(1, 0).await;
    assert!(control.next().await.is_ok(), "the first agent goes on");
    plane.post("/api/v1/clusters/east/clear-alarm", &Value::Null).await;
    assert_eq!(plane.cluster("east").await["alarm"], "");
    plane.stop().await;
}

#[tokio::test]
async fn r11_a_copy_of_the_past_is_refused_until_its_cluster_is_declared_dead() {
    let plane = Plane::start_with(&["--lease=20"]).await;
    let first = Agent { renewals: Some(0), ..plane.east().await };
    let mut control = first.control(&plane, 1).await.unwrap();
    control.beat(1, 0).await;
    assert_eq!(control.lease().await.unwrap().renewals, 1, "it is counted");
    fixture::execute(&plane.running.app.store, "update cluster set renewals = $1", 1_000).await;
    let copy = Agent { renewals: Some(700), ..first.in_pod("pod-of-the-copy") };
    for refused in [copy.control(&plane, 4).await.err(), copy.ingest(&plane, 4).await.err()] {
        let refused = refused.unwrap().refused();
        assert_eq!((refused.code(), refused.epoch_above), (Code::Duplicate, 0));
        assert_eq!(plane.cluster("east").await["alarm"], refused.message);
        assert!(refused.message.contains("squadron cluster declare-dead east"), "{}", refused.message);
    }
    control.beat(2, 0).await;
    assert_eq!(control.lease().await.unwrap().renewals, 1_000, "the first goes on, and its notes lag behind");
    drop(control);
    eventually("the cluster is silent", async || plane.cluster("east").await["state"] == "silent").await;
    let word = serde_json::json!({ "reason": "its machines are gone, it was restored" });
    plane.post("/api/v1/clusters/east/declare-dead", &word).await;
    assert!(copy.control(&plane, 4).await.is_ok());
    plane.stop().await;
}

#[tokio::test]
async fn a23_a_token_shown_with_another_key_is_refused_and_sets_the_alarm() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    agent.control(&plane, 1).await.unwrap();
    let thief = Agent { proof: SigningKey::from_bytes(&rand::random()), ..agent.clone() };
    let refused = thief.control_with(&plane, &agent.token(), 2).await.err().unwrap().refused();
    assert_eq!(
        (refused.code(), refused.message.as_str()),
        (Code::Unauthenticated, "the token was not accepted")
    );
    let alarm = plane.cluster("east").await["alarm"].as_str().unwrap().to_owned();
    assert!(alarm.contains("another key"), "{alarm}");
    assert!(agent.control(&plane, 2).await.is_ok());
    plane.stop().await;
}

#[tokio::test]
async fn a24_a_replayed_hello_is_refused() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let token = agent.token();
    let mut first = Control::open(&agent, &plane, &token).await.unwrap();
    let hello = agent.hello(&first.challenge().await.unwrap(), &token, 1);
    let mut second = Control::open(&agent, &plane, &token).await.unwrap();
    second.challenge().await.unwrap();
    second.say(control_up::Message::Hello(hello)).await;
    assert_eq!(second.next().await.err().unwrap().refused().code(), Code::Unauthenticated);
    let refusals = plane.refusals().await;
    assert!(refusals.iter().any(|reason| reason.contains("signature does not match")), "{refusals:?}");
    plane.stop().await;
}

#[tokio::test]
async fn a27_revoking_cuts_live_streams_within_seconds() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut control = agent.control(&plane, 1).await.unwrap();
    let mut ingest = agent.ingest(&plane, 1).await.unwrap();
    plane.post("/api/v1/clusters/east/revoke", &Value::Null).await;
    assert_eq!(control.end().await.refused().code(), Code::NotAccepted);
    assert!(matches!(ingest.next().await, Err(End::Refused(_))));
    assert!(Control::open(&agent, &plane, &agent.token()).await.is_err());
    plane.stop().await;
}

#[tokio::test]
async fn a_stream_must_begin_with_a_hello() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut control = Control::open(&agent, &plane, &agent.token()).await.unwrap();
    control.challenge().await.unwrap();
    control.beat(1, 0).await;
    assert!(control.next().await.err().unwrap().refused().message.contains("begin with a hello"));
    plane.stop().await;
}
