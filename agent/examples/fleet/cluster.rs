//! Clusters: each a fake API server and a whole agent, enrolled and accepted like any other.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};
use serde_json::json;
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
    apis: Vec<FakeApi>,
}

impl Fleet {
    pub fn new(folder: PathBuf, people: People, address: SocketAddr) -> Fleet {
        Fleet { folder, people, address, apis: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.apis.len()
    }

    /// RayJobs in all clusters.
    pub fn ray_jobs(&self) -> usize {
        self.apis.iter().map(FakeApi::ray_jobs).sum()
    }

    /// Writes at all API servers so far, by verb and collection.
    pub fn writes(&self) -> BTreeMap<(String, String), u64> {
        let mut all = BTreeMap::new();
        for (key, count) in self.apis.iter().flat_map(FakeApi::writes) {
            *all.entry(key).or_default() += count;
        }
        all
    }

    /// Adds clusters until there are `count`, and waits until all are connected.
    pub async fn grow(&mut self, count: usize) -> Result<()> {
        while self.len() < count {
            let first = self.len();
            let last = count.min(first + AT_ONCE);
            for number in first..last {
                self.add(&format!("c{number:04}")).await?;
            }
            for number in first..last {
                self.accept(&format!("c{number:04}")).await?;
            }
        }
        let look = async {
            loop {
                let page = self.people.get("/api/v1/clusters?limit=1000").await?;
                let rows = page["items"].as_array().or(page.as_array()).context("no list of clusters")?;
                if rows.iter().filter(|row| row["state"] == "active").count() >= count {
                    return Ok(());
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, look).await.context("not all agents are connected in time")?
    }

    async fn add(&mut self, name: &str) -> Result<()> {
        let reply = self.people.post("/api/v1/clusters", &json!({"name": name})).await?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
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
            mode: Mode::Observe,
            heartbeat_seconds: None,
            health_port: 0,
            pod_name: "squadron-agent-1".to_owned(),
            pod_uid,
            pod_namespace: "squadron".to_owned(),
        };
        let api = FakeApi::new(name, &issuer.jwks());
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
