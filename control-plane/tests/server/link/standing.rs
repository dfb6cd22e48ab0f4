//! The control stream: heartbeats, desired states, tokens that end.

use std::time::Duration;

use squadron_control_plane::wake::Topic;
use squadron_proto::link::{DesiredState, control_down, control_up, refused::Code};

use crate::{
    agent::{Control, End},
    issuer::{claims, unix_now},
    plane::{Plane, eventually},
};

async fn desired(control: &mut Control) -> DesiredState {
    match control.next().await.unwrap() {
        control_down::Message::Desired(state) => state,
        other => panic!("no desired state but {other:?}"),
    }
}

#[tokio::test]
async fn heartbeats_are_answered_and_show_on_the_cluster() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut control = agent.control(&plane, 1).await.unwrap();
    assert!(desired(&mut control).await.attempts.is_empty(), "an empty set is a set");
    control.beat(9, 0).await;
    let control_down::Message::HeartbeatReply(reply) = control.next().await.unwrap() else {
        panic!("no reply")
    };
    assert_eq!(reply.number, 9);
    eventually("the heartbeat shows", async || plane.cluster("east").await["spool_bytes"] == 5).await;
    let shown = plane.cluster("east").await;
    assert_eq!((shown["state"].as_str(), shown["silent_since"].is_null()), (Some("active"), true));
    assert!(shown["clock_skew_ms"].as_i64().unwrap().abs() < 1_000);
    let heard = shown["last_heard_at"].clone();
    drop(control);
    eventually("the cluster is silent", async || plane.cluster("east").await["state"] == "silent").await;
    assert_eq!(plane.cluster("east").await["silent_since"], heard, "silent since its last word");
    plane.stop().await;
}

#[tokio::test]
async fn a_grown_generation_sends_the_whole_set() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut control = agent.control(&plane, 1).await.unwrap();
    let first = desired(&mut control).await;
    let id = agent.cluster.parse().unwrap();
    let attempt = squadron_store::testing::link::assigned(&plane.running.app.store, id, "train").await;
    plane.running.app.wake.notify(Topic::Desired);
    let second = desired(&mut control).await;
    assert!(second.generation > first.generation);
    assert_eq!(second.attempts.len(), 1);
    assert_eq!(
        (second.attempts[0].job_id.as_str(), second.attempts[0].number),
        (attempt.job.to_string().as_str(), 1)
    );
    let third = desired(&mut agent.control(&plane, 1).await.unwrap()).await;
    assert_eq!(third, second, "a new stream gets the set at once");
    plane.stop().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_token_unless_a_fresh_one_came() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let soon = || {
        let mut claims = claims(&agent.audience, &agent.pod_uid);
        claims["iat"] = (unix_now() - 60).into();
        claims["nbf"] = (unix_now() - 60).into();
        claims["exp"] = (unix_now() - 27).into();
        agent.key.sign(&agent.key.header(), &claims)
    };
    let mut ends = agent.control_with(&plane, &soon(), 1).await.unwrap();
    let mut stays = agent.control_with(&plane, &soon(), 1).await.unwrap();
    stays.say(control_up::Message::FreshToken(agent.token())).await;
    let refused = ends.end().await.refused();
    assert_eq!(refused.code(), Code::Unauthenticated);
    stays.beat(1, 0).await;
    desired(&mut stays).await;
    assert!(matches!(stays.next().await, Ok(control_down::Message::HeartbeatReply(_))));
    plane.stop().await;
}

#[tokio::test]
async fn a_fresh_token_of_another_pod_or_cluster_ends_the_stream() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    for token in [agent.in_pod("pod-2").token(), "nonsense".to_owned()] {
        let mut control = agent.control(&plane, 1).await.unwrap();
        control.say(control_up::Message::FreshToken(token)).await;
        assert_eq!(control.end().await.refused().code(), Code::Unauthenticated);
    }
    plane.stop().await;
}

#[tokio::test]
async fn a55_a_control_message_beyond_64_kib_ends_the_stream() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut control = agent.control(&plane, 1).await.unwrap();
    control.say(control_up::Message::FreshToken("x".repeat(64 * 1024 + 1))).await;
    assert!(control.end().await.refused().message.contains("64 KiB"));
    plane.stop().await;
}

#[tokio::test]
async fn a51_a_connection_that_does_not_say_who_it_is_is_cut_off() {
    let plane = Plane::start_with(&["--strangers-per-address=1"]).await;
    let agent = plane.east().await;
    let mut control = Control::open(&agent, &plane, &agent.token()).await.unwrap();
    control.challenge().await.unwrap();
    let started = tokio::time::Instant::now();
    assert!(matches!(control.end().await, End::Status(_) | End::Closed));
    assert!(started.elapsed() < Duration::from_secs(8), "cut off after {:?}", started.elapsed());
    agent.control(&plane, 1).await.unwrap();
    plane.stop().await;
}

#[tokio::test]
async fn a_planned_stop_tells_agents_when_to_come_back() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut control = agent.control(&plane, 1).await.unwrap();
    let (_, end) = tokio::join!(plane.stop(), control.end());
    let refused = end.refused();
    assert_eq!(refused.code(), Code::Drain);
    assert!((1_000..5_000).contains(&refused.retry_after_ms));
}
