//! Changes reach those who listen, as what changed and nothing more.

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::Method;
use serde_json::json;

use crate::plane::Plane;

#[tokio::test]
async fn a_change_is_told_and_the_stream_ends_when_we_stop() {
    let plane = Plane::start().await;
    let response = plane.request(Method::GET, "/api/v1/events").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut stream = response.bytes_stream();
    let (_, reply) = plane.post("/api/v1/clusters", &json!({ "name": "east" })).await;
    let piece = tokio::time::timeout(Duration::from_secs(10), stream.next()).await.expect("a change in time");
    let text = String::from_utf8(piece.unwrap().unwrap().to_vec()).unwrap();
    let id = reply["cluster"]["id"].as_str().unwrap();
    assert_eq!(text, format!("data: {{\"kind\":\"cluster\",\"id\":\"{id}\",\"version\":0}}\n\n"));
    let stopped = tokio::time::timeout(Duration::from_secs(4), plane.stop());
    let (stopped, rest) =
        tokio::join!(stopped, stream.map(|piece| piece.unwrap_or_default().to_vec()).concat());
    assert!(stopped.is_ok(), "an open stream holds nothing up");
    assert_eq!(rest, b"");
}
