//! Postgres dies under us: streams stay, requests are told to come again, nothing is acknowledged that was not committed.

use reqwest::{Method, StatusCode};

use crate::{
    agent::lines,
    issuer::east_key,
    plane::{Plane, eventually},
};

#[tokio::test]
async fn a_killed_postgres_loses_nothing_and_ends_no_stream() {
    let plane = Plane::start_private().await;
    let agent = plane.accepted("east", east_key()).await;
    let mut control = agent.control(&plane, 1).await.unwrap();
    let mut ingest = agent.ingest(&plane, 1).await.unwrap();
    ingest.send(1, 1, &lines(1, 5)).await;
    assert_eq!(ingest.ack().await.unwrap(), 5);
    plane.hold_postgres();
    ingest.send(1, 6, &lines(6, 10)).await;
    let response = plane.request(Method::GET, "/api/v1/clusters").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key("retry-after"));
    let problem: serde_json::Value = response.json().await.unwrap();
    assert_eq!(problem["code"], "SQD-1008");
    plane.kill_postgres();
    assert_eq!(ingest.ack().await.unwrap(), 10, "the same stream, after the restart");
    control.beat(1, 0).await;
    assert!(control.next().await.is_ok());
    eventually("requests are answered again", async || {
        plane.request(Method::GET, "/api/v1/clusters").send().await.unwrap().status() == StatusCode::OK
    })
    .await;
    let facts = squadron_store::testing::link::kernel_lines(&plane.running.app.store, 1).await;
    assert_eq!(facts.len(), 10);
    plane.stop().await;
}
