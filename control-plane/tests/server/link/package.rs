//! Packages go to the cluster that runs their job, whole, and to no other.

use reqwest::{Method, StatusCode};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use squadron_control_plane::clock;
use squadron_core::id::{ClusterId, JobId};
use squadron_proto::link::{
    PackageDown, PackageRequest, PackageUp, Refused, link_client::LinkClient, package_down::Message as Down,
    package_up::Message as Up,
};
use squadron_store::testing::fixture;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::{agent::Agent, issuer::west_key, plane::Plane};

const NAME: &str = "_ray_pkg_1.zip";

/// All parts of the package with the announced size and digest, or why there are none.
async fn fetch(
    plane: &Plane,
    agent: &Agent,
    job: JobId,
    attempt: u32,
) -> Result<(u64, Vec<u8>, Vec<u8>), Refused> {
    let token = agent.token();
    let (up, receiver) = mpsc::channel(4);
    let mut client = LinkClient::new(plane.dial().await).max_decoding_message_size(1 << 24);
    let mut down =
        client.package(agent.request(&token, ReceiverStream::new(receiver))).await.unwrap().into_inner();
    let (mut size, mut digest, mut parts) = (0, Vec::new(), Vec::new());
    while let Some(PackageDown { message }) = down.message().await.unwrap() {
        let said = match message.unwrap() {
            Down::Challenge(challenge) => Up::Hello(agent.hello(&challenge.nonce, &token, 1)),
            Down::Welcome(_) => {
                Up::Request(PackageRequest { job_id: job.to_string(), attempt, name: NAME.into() })
            }
            Down::Head(head) => {
                (size, digest) = (head.bytes, head.sha256.to_vec());
                continue;
            }
            Down::Part(part) => {
                parts.extend_from_slice(&part);
                continue;
            }
            Down::Refused(refused) => return Err(refused),
        };
        up.send(PackageUp { message: Some(said) }).await.unwrap();
    }
    Ok((size, digest, parts))
}

#[tokio::test]
async fn a_package_goes_whole_to_the_cluster_that_holds_the_attempt() {
    let plane = Plane::start().await;
    let east = plane.east().await;
    let west = plane.accepted("west", west_key()).await;
    let content: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let put = plane.request(Method::PUT, &format!("/api/packages/gcs/{NAME}")).body(content.clone());
    assert_eq!(put.send().await.unwrap().status(), StatusCode::OK);
    let body = json!({"entrypoint": "x", "submission_id": "s", "runtime_env": {"working_dir": format!("gcs://{NAME}")}});
    assert_eq!(plane.post("/api/jobs/", &body).await.0, StatusCode::OK);
    let store = &plane.running.app.store;
    let job = store.submission("s").await.unwrap().unwrap().job;
    let cluster: ClusterId = east.cluster.parse().unwrap();
    fixture::attempt(store, job, cluster, clock::now()).await;

    let (size, digest, parts) = fetch(&plane, &east, job, 1).await.unwrap();
    assert!(size == 3_000_000 && parts == content);
    assert_eq!(digest, Sha256::digest(&content).to_vec());
    for (agent, attempt) in [(&west, 1), (&east, 2)] {
        let refused = fetch(&plane, agent, job, attempt).await.unwrap_err();
        assert_eq!(refused.message, "the control plane has no such package for this attempt");
    }
    fixture::execute(store, "update attempt set desired = false where number = $1", 1).await;
    assert!(fetch(&plane, &east, job, 1).await.is_err(), "an attempt that is over brings nothing");
    plane.stop().await;
}
