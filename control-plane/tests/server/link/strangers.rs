//! Strangers who say nothing, or name clusters that do not exist.

use std::time::Duration;

use squadron_proto::link::{ControlUp, link_client::LinkClient};
use tokio::net::{TcpSocket, TcpStream};
use tonic::Code;

use crate::{issuer::east_key, plane::Plane};

/// Connections of some loopback address that never say a word.
async fn idle(port: u16, host: u8, count: usize) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for _ in 0..count {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("127.0.0.{host}:0").parse().unwrap()).unwrap();
        open.push(socket.connect(format!("127.0.0.1:{port}").parse().unwrap()).await.unwrap());
    }
    open
}

#[tokio::test]
async fn silent_connections_keep_nobody_out() {
    let plane = Plane::start().await;
    let agent = plane.accepted("east", east_key()).await;
    let mut silent = Vec::new();
    for port in plane.ports() {
        for host in 2..7 {
            silent.extend(idle(port, host, 20).await);
        }
    }
    let answers = tokio::time::timeout(Duration::from_secs(4), async {
        let page = format!("https://localhost:{}/healthz", plane.ports()[0]);
        assert!(plane.newcomer().get(page).send().await.is_ok());
        agent.control(&plane, 1).await.is_ok()
    });
    assert!(answers.await.unwrap(), "100 silent connections to each listener hold no place");
    drop(silent);
    plane.stop().await;
}

#[tokio::test]
async fn names_of_clusters_that_do_not_exist_fill_no_audit() {
    let plane = Plane::start().await;
    let agent = plane.accepted("east", east_key()).await;
    let mut codes = Vec::new();
    for _ in 0..70 {
        let guess = crate::agent::Agent { cluster: uuid::Uuid::now_v7().to_string(), ..agent.clone() };
        let mut client = LinkClient::new(plane.dial().await);
        let stream = tokio_stream::iter(Vec::<ControlUp>::new());
        codes.push(client.control(guess.request(&guess.token(), stream)).await.unwrap_err().code());
    }
    assert!(
        codes.starts_with(&[Code::Unauthenticated; 60]) && codes.ends_with(&[Code::ResourceExhausted]),
        "{codes:?}"
    );
    let refused = plane.get("/api/v1/audit?limit=100").await;
    let rows = refused["items"].as_array().unwrap().iter().filter(|row| row["action"] == "link.refused");
    assert!(rows.count() <= 2, "one reason in ten seconds: {refused}");
    assert!(agent.control(&plane, 1).await.is_ok(), "agents of known clusters at the same address come in");
    plane.stop().await;
}
