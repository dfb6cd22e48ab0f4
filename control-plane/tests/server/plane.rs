//! A control plane of its own for each test, and an administrator's view of it.

use std::{path::PathBuf, time::Duration};

use clap::Parser;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use squadron_control_plane::{
    boot::{self, Running},
    config::Serve,
};
use squadron_store::testing;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use crate::{
    agent::Agent,
    issuer::{Key, east_key},
};

pub const DEADLINE: Duration = Duration::from_secs(20);

pub struct Plane {
    pub running: Running,
    pub client: reqwest::Client,
    token: String,
    ca: String,
    data: tempfile::TempDir,
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    serve: Serve,
}

fn client(ca: &str) -> reqwest::Client {
    let certificate = reqwest::Certificate::from_pem(ca.as_bytes()).unwrap();
    reqwest::Client::builder().tls_certs_only([certificate]).build().unwrap()
}

impl Plane {
    pub async fn start() -> Plane {
        Plane::start_with(&[]).await
    }

    pub async fn start_with(flags: &[&str]) -> Plane {
        let url = format!("--database-url={}", testing::database_url().await);
        let flags: Vec<&str> = flags.iter().copied().chain([url.as_str()]).collect();
        Plane::launch(&flags).await
    }

    /// With a private Postgres of its own, which the test may kill.
    pub async fn start_private() -> Plane {
        Plane::launch(&[]).await
    }

    async fn launch(flags: &[&str]) -> Plane {
        let data = tempfile::tempdir().unwrap();
        let folder: PathBuf = data.path().to_owned();
        let common = ["test", "--listen=127.0.0.1:0", "--agent-listen=127.0.0.1:0", "--heartbeat=1"];
        let mut line: Vec<String> = common.iter().chain(flags).map(|flag| (*flag).to_owned()).collect();
        line.push(format!("--data={}", folder.display()));
        let running = boot::start(Line::parse_from(line).serve).await.unwrap();
        let token = std::fs::read_to_string(folder.join("admin.token")).unwrap().trim().to_owned();
        let ca = std::fs::read_to_string(folder.join("tls/ca.crt")).unwrap();
        let client = client(&ca);
        Plane { running, client, token, ca, data }
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("https://{}{path}", self.running.people)).bearer_auth(&self.token)
    }

    /// A client that speaks HTTP/1.1 alone, as Ray's does.
    pub fn http1(&self) -> reqwest::Client {
        let certificate = reqwest::Certificate::from_pem(self.ca.as_bytes()).unwrap();
        reqwest::Client::builder().tls_certs_only([certificate]).http1_only().build().unwrap()
    }

    /// A request without credentials.
    pub fn stranger(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("https://{}{path}", self.running.people))
    }

    /// A client with connections of its own.
    pub fn newcomer(&self) -> reqwest::Client {
        client(&self.ca)
    }

    /// Where people reach it, and where agents do.
    pub fn ports(&self) -> [u16; 2] {
        [self.running.people.port(), self.running.agents.port()]
    }

    /// The administrator's.
    pub fn token(&self) -> &str {
        &self.token
    }

    pub async fn get(&self, path: &str) -> Value {
        let response = self.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let response = self.request(Method::POST, path).json(body).send().await.unwrap();
        (response.status(), response.json().await.unwrap_or_default())
    }

    /// A new TLS connection for an agent.
    pub async fn dial(&self) -> Channel {
        let tls =
            ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&self.ca)).domain_name("localhost");
        let address = format!("https://localhost:{}", self.running.agents.port());
        Endpoint::from_shared(address).unwrap().tls_config(tls).unwrap().connect().await.unwrap()
    }

    /// Invites a cluster and returns its agent, not yet enrolled.
    pub async fn invited(&self, name: &str, key: &'static Key) -> Agent {
        let (status, reply) = self.post("/api/v1/clusters", &json!({ "name": name })).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        Agent::new(&reply, key)
    }

    /// An accepted cluster's agent.
    pub async fn accepted(&self, name: &str, key: &'static Key) -> Agent {
        let agent = self.invited(name, key).await;
        agent.enroll(self).await.unwrap();
        let (status, reply) = self.accept(name).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        agent
    }

    /// An administrator looks at the cluster and accepts what waits there.
    pub async fn accept(&self, name: &str) -> (StatusCode, Value) {
        let shown = self.cluster(name).await;
        let waits = if shown["reoffer"].is_null() { &shown["identity"] } else { &shown["reoffer"] };
        let identity = waits["digest"].as_str().unwrap_or_default();
        self.post(&format!("/api/v1/clusters/{name}/accept"), &json!({ "identity": identity })).await
    }

    pub async fn east(&self) -> Agent {
        self.accepted("east", east_key()).await
    }

    pub async fn cluster(&self, name: &str) -> Value {
        self.get(&format!("/api/v1/clusters/{name}")).await
    }

    /// Reasons of refusals in the audit log, newest first.
    pub async fn refusals(&self) -> Vec<String> {
        let page = self.get("/api/v1/audit?limit=500").await;
        let rows = page["items"].as_array().unwrap();
        rows.iter()
            .filter(|row| row["allowed"] == false)
            .map(|row| row["detail"].as_str().unwrap().to_owned())
            .collect()
    }

    fn postmaster(&self) -> Pid {
        let text = std::fs::read_to_string(self.data.path().join("postgres/postmaster.pid")).unwrap();
        Pid::from_raw(text.lines().next().unwrap().parse().unwrap())
    }

    /// Stops the private server from answering: no new connection is served, and the old ones are gone.
    pub fn hold_postgres(&self) {
        let server = self.postmaster();
        kill(server, Signal::SIGSTOP).unwrap();
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
        for child in children.split_whitespace() {
            kill(Pid::from_raw(child.parse().unwrap()), Signal::SIGKILL).unwrap();
        }
    }

    pub fn kill_postgres(&self) {
        kill(self.postmaster(), Signal::SIGKILL).unwrap();
    }

    pub async fn stop(self) {
        self.running.stop().await;
    }
}

/// Waits until `check` holds.
pub async fn eventually(what: &str, mut check: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while !check().await {
        assert!(tokio::time::Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
