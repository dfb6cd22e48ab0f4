//! A log is followed over a WebSocket as Ray's client does it: upgrade, text, farewell.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use squadron_control_plane::{clock, wake::Topic};
use squadron_core::id::{AttemptId, ClusterId};
use squadron_store::testing::fixture;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::plane::{DEADLINE, Plane};

const TEXT: u8 = 1;
const CLOSE: u8 = 8;

/// The next frame of a server that masks nothing: kind and content.
async fn frame(socket: &mut (impl AsyncRead + Unpin)) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    socket.read_exact(&mut head).await.unwrap();
    let length = match head[1] {
        126 => usize::from(socket.read_u16().await.unwrap()),
        short => usize::from(short),
    };
    let mut content = vec![0; length];
    socket.read_exact(&mut content).await.unwrap();
    (head[0] & 0x0f, content)
}

#[tokio::test]
async fn a_log_is_followed_from_the_queue_to_the_job_s_end() {
    let plane = Plane::start().await;
    let east: ClusterId = plane.east().await.cluster.parse().unwrap();
    let body = json!({"entrypoint": "x", "submission_id": "s"});
    assert_eq!(plane.post("/api/jobs/", &body).await.0, StatusCode::OK);
    let store = &plane.running.app.store;
    let job = store.submission("s").await.unwrap().unwrap().job;
    let mut socket = follow(&plane).await;
    fixture::attempt(store, job, east, clock::now()).await;
    plane.running.app.wake.notify(Topic::Dispatch);
    fixture::log(store, east, AttemptId { job, number: 1 }, "zwölf\n").await;
    plane.running.app.wake.notify(Topic::Logs);
    let heard = tokio::time::timeout(DEADLINE, frame(&mut socket)).await.expect("text in time");
    assert_eq!(heard, (TEXT, "zwölf\n".as_bytes().to_vec()));
    fixture::execute(store, "update attempt set state = 'succeeded', ended_at = now() where number = $1", 1)
        .await;
    fixture::execute(store, "update job set state = 'succeeded', ended_at = now() where $1 = 1", 1).await;
    let farewell = tokio::time::timeout(DEADLINE, frame(&mut socket)).await.expect("a farewell in time");
    assert_eq!(farewell, (CLOSE, 1000_u16.to_be_bytes().to_vec()));
    plane.stop().await;
}

fn tail(plane: &Plane) -> reqwest::RequestBuilder {
    let address = format!("https://{}/api/jobs/s/logs/tail", plane.running.people);
    plane.http1().get(address).bearer_auth(plane.token())
}

async fn follow(plane: &Plane) -> reqwest::Upgraded {
    let request = tail(plane)
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    response.upgrade().await.unwrap()
}

#[tokio::test]
async fn a_follower_holds_no_stop_up() {
    let plane = Plane::start().await;
    plane.post("/api/jobs/", &json!({"entrypoint": "x", "submission_id": "s"})).await;
    let mut socket = follow(&plane).await;
    let stopped = tokio::time::timeout(Duration::from_secs(4), plane.stop()).await;
    assert!(stopped.is_ok(), "an open log holds nothing up");
    let mut rest = Vec::new();
    let _reset = socket.read_to_end(&mut rest).await;
    assert!(
        rest.is_empty(),
        "no farewell, so that the client knows that it did not hear everything: {rest:?}"
    );
}

#[tokio::test]
async fn a_plain_request_is_told_what_is_missing() {
    let plane = Plane::start().await;
    plane.post("/api/jobs/", &json!({"entrypoint": "x", "submission_id": "s"})).await;
    let response = tail(&plane).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert!(response.text().await.unwrap().contains("upgrade"));
    plane.stop().await;
}
