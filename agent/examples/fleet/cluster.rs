//! Clusters: each a fake API server and a whole agent, enrolled and accepted like any other.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use squadron_agent::boot::{self, ControllerArgs, Mode};

use super::{fake::FakeApi, identity::Issuer, people::People};

const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(500);
/// Agents that enrol at the same time.
const AT_ONCE: usize = 25;

/// All clusters.
pub struct Fleet {
    folder: PathBuf,
    people: People,
    /// Where agents dial.
    address: SocketAddr,
    /// From a RayJob's creation to its end.
    lasts: Duration,
    apis: Vec<FakeApi>,
}

impl Fleet {
    pub fn new(folder: PathBuf, people: People, address: SocketAddr, lasts: Duration) -> Fleet {
        Fleet { folder, people, address, lasts, apis: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.apis.len()
    }

    /// RayJobs that were ever made in all clusters.
    pub fn made(&self) -> u64 {
        self.apis.iter().map(FakeApi::made).sum()
    }

    /// Writes at all API servers so far, by verb and collection.
    pub fn writes(&self) -> BTreeMap<(String, String), u64> {
        let mut all = BTreeMap::new();
        for (key, count) in self.apis.iter().flat_map(FakeApi::writes) {
            *all.entry(key).or_default() += count;
        }
        all
    }

    /// Adds clusters until there are `count`, and waits until all are connected and have told of their nodes.
    pub async fn grow(&mut self, count: usize) -> Result<()> {
        while self.len() < count {
            let first = self.len();
            let last = count.min(first + AT_ONCE);
            for number in first..last {
                self.add(&name(number)).await?;
            }
            for number in first..last {
                self.accept(&name(number)).await?;
            }
        }
        let connected = async {
            while self.people.ready_clusters().await? < count {
                tokio::time::sleep(LOOK).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(PATIENCE, connected).await.context("not all agents are connected in time")?
    }

    async fn add(&mut self, name: &str) -> Result<()> {
        let reply = self.people.post("/api/v1/clusters", &json!({"name": name})).await?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (folder, pod_uid, issuer) = (self.folder.join(name), format!("pod-of-{name}"), Issuer::new());
        std::fs::create_dir_all(&folder)?;
        issuer.write_token(&folder.join("token"), &text(&reply["audience"]), &pod_uid)?;
        std::fs::write(folder.join("ca.crt"), text(&reply["ca_bundle"]))?;
        let args = ControllerArgs {
            control_plane: format!("https://{}", self.address),
            ca: folder.join("ca.crt"),
            cluster_id: text(&reply["cluster"]["id"]).parse().context("the reply names no cluster")?,
            token: folder.join("token"),
            enrolment_code: Some(text(&reply["code"])),
            spool: folder.join("spool"),
            spool_mib: 64,
            namespaces: None,
            // The fake plays the operator's part.
            mode: Mode::Observe,
            heartbeat_seconds: None,
            health_port: 0,
            watchdog_address: None,
            watchdog_image: None,
            watchdog_port: 0,
            pod_name: "squadron-agent-1".to_owned(),
            pod_uid,
            pod_namespace: "squadron".to_owned(),
        };
        let api = FakeApi::new(name, &issuer.jwks(), self.lasts);
        let (client, name) = (api.client(), name.to_owned());
        tokio::spawn(async move {
            let ended = boot::controller(client, args).await;
            eprintln!("the agent of {name} ended: {ended:?}");
        });
        self.apis.push(api);
        Ok(())
    }

    async fn accept(&self, name: &str) -> Result<()> {
        let enrolled = async {
            while !self.people.accept(name).await? {
                tokio::time::sleep(LOOK).await;
            }
            Ok(())
        };
        match tokio::time::timeout(PATIENCE, enrolled).await {
            Ok(done) => done,
            Err(_late) => bail!("the agent of {name} did not enrol in time"),
        }
    }
}

fn name(number: usize) -> String {
    format!("c{number:04}")
}
