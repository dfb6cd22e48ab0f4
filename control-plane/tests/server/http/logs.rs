//! Driver logs: by offset, and followed to their end.

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::{Method, Response};
use squadron_control_plane::wake::Topic;
use squadron_core::id::AttemptId;
use squadron_proto::link::{Batch, LogChunk, Record, RecordClass, Records, ingest_up, record::Payload};
use squadron_store::testing::link::{assigned, ended};

use crate::{
    agent::{Agent, Ingest, packed},
    plane::Plane,
};

async fn running(plane: &Plane) -> (Agent, AttemptId) {
    let agent = plane.east().await;
    let attempt = assigned(&plane.running.app.store, agent.cluster.parse().unwrap(), "train").await;
    (agent, attempt)
}

fn chunk(attempt: AttemptId, seq: u64, offset: u64, text: &str) -> Batch {
    let log = LogChunk {
        job_id: attempt.job.to_string(),
        attempt: attempt.number,
        stream: "driver".into(),
        offset,
        data: text.as_bytes().to_vec().into(),
    };
    let records =
        Records { records: vec![Record { seq, observed_at_us: 1, payload: Some(Payload::Log(log)) }] };
    packed(1, RecordClass::Log, seq, &records)
}

async fn print(ingest: &mut Ingest, attempt: AttemptId, seq: u64, offset: u64, text: &str) {
    ingest.say(ingest_up::Message::Batch(chunk(attempt, seq, offset, text))).await;
    assert_eq!(ingest.ack().await.unwrap(), seq);
}

async fn logs(plane: &Plane, job: &str, query: &str) -> Response {
    let response =
        plane.request(Method::GET, &format!("/api/v1/jobs/{job}/logs?{query}")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response
}

#[tokio::test]
async fn a_log_is_read_from_any_offset() {
    let plane = Plane::start().await;
    let (agent, attempt) = running(&plane).await;
    let mut ingest = agent.ingest(&plane, 1).await.unwrap();
    print(&mut ingest, attempt, 1, 0, "hello ").await;
    print(&mut ingest, attempt, 2, 6, "world\n").await;
    let whole = logs(&plane, "train", "").await;
    assert_eq!(whole.headers()["squadron-log-attempt"], "1");
    assert_eq!(whole.headers()["squadron-log-offset"], "0");
    assert_eq!(whole.text().await.unwrap(), "hello world\n");
    assert_eq!(logs(&plane, "train", "offset=8").await.text().await.unwrap(), "rld\n");
    assert_eq!(logs(&plane, "train", "offset=99").await.text().await.unwrap(), "");
    let refused = plane.request(Method::GET, "/api/v1/jobs/train/logs?attempt=9").send().await.unwrap();
    assert_eq!(refused.status(), 404);
    plane.stop().await;
}

#[tokio::test]
async fn a_hole_ends_the_answer_and_the_next_one_tells_of_it() {
    let plane = Plane::start().await;
    let (agent, attempt) = running(&plane).await;
    let mut ingest = agent.ingest(&plane, 1).await.unwrap();
    print(&mut ingest, attempt, 1, 0, "hello ").await;
    print(&mut ingest, attempt, 2, 20, "world\n").await;
    for query in ["", "follow=true"] {
        let before = logs(&plane, "train", query).await;
        assert!(before.headers().get("squadron-log-gap").is_none());
        assert_eq!(before.text().await.unwrap(), "hello ", "every byte is a byte of the log");
        let behind = logs(&plane, "train", "offset=6").await;
        assert_eq!(behind.headers()["squadron-log-offset"], "20");
        assert_eq!(
            behind.headers()["squadron-log-gap"],
            "14 bytes of the log are missing here: they never reached the control plane"
        );
        assert_eq!(behind.text().await.unwrap(), "world\n");
    }
    let marked = logs(&plane, "train", "marks=true").await.text().await.unwrap();
    let mark = "\n[14 bytes of the log are missing here: they never reached the control plane]\n";
    assert_eq!(marked, format!("hello {mark}world\n"));
    let inside = logs(&plane, "train", "marks=true&offset=10").await;
    assert_eq!(inside.headers()["squadron-log-offset"], "20");
    assert!(inside.text().await.unwrap().starts_with("\n[10 bytes of the log"));
    plane.stop().await;
}

#[tokio::test]
async fn a_followed_log_grows_and_ends_with_its_attempt() {
    let plane = Plane::start().await;
    let (agent, attempt) = running(&plane).await;
    let mut ingest = agent.ingest(&plane, 1).await.unwrap();
    print(&mut ingest, attempt, 1, 0, "one ").await;
    let mut stream = logs(&plane, "train", "follow=true").await.bytes_stream();
    let mut seen = Vec::new();
    let mut read = async |want: &str| {
        while seen.len() < want.len() {
            let piece =
                tokio::time::timeout(Duration::from_secs(10), stream.next()).await.expect("bytes in time");
            seen.extend_from_slice(&piece.unwrap().unwrap());
        }
        assert_eq!(String::from_utf8_lossy(&seen), want);
    };
    read("one ").await;
    print(&mut ingest, attempt, 2, 4, "two ").await;
    read("one two ").await;
    ended(&plane.running.app.store, attempt).await;
    print(&mut ingest, attempt, 3, 8, "last").await;
    plane.running.app.wake.notify(Topic::Logs);
    read("one two last").await;
    let rest =
        tokio::time::timeout(Duration::from_secs(20), stream.map(|piece| piece.unwrap().to_vec()).concat());
    assert_eq!(rest.await.expect("an end in time"), b"");
    plane.stop().await;
}
