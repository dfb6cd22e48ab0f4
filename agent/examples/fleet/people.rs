//! People: what administrators and submitters ask of the control plane's API.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use reqwest::{Certificate, Client, Method};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// A client of the API with an administrator's token. Cheap to clone.
#[derive(Clone)]
pub struct People {
    client: Client,
    address: String,
    token: String,
}

impl People {
    /// Of the control plane whose data folder this is.
    pub fn of(data: &Path, address: &str) -> Result<People> {
        let token = std::fs::read_to_string(data.join("admin.token")).context("reading the token")?;
        let ca = std::fs::read(data.join("tls/ca.crt")).context("reading the certificate authority")?;
        let client = Client::builder().tls_certs_only([Certificate::from_pem(&ca)?]).http1_only().build()?;
        Ok(People { client, address: address.to_owned(), token: token.trim().to_owned() })
    }

    pub async fn get(&self, path: &str) -> Result<Value> {
        self.ask(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.ask(Method::POST, path, Some(body)).await
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let mut request =
            self.client.request(method, format!("{}{path}", self.address)).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.with_context(|| format!("asking {path}"))?;
        let (status, text) = (answer.status(), answer.text().await?);
        if !status.is_success() {
            bail!("{path} answered {status}: {text}");
        }
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Accepts a cluster that has enrolled; false while it has not.
    pub async fn accept(&self, name: &str) -> Result<bool> {
        let shown = self.get(&format!("/api/v1/clusters/{name}")).await?;
        let Some(identity) = shown["identity"]["digest"].as_str() else { return Ok(false) };
        self.post(&format!("/api/v1/clusters/{name}/accept"), &json!({"identity": identity})).await?;
        Ok(true)
    }

    /// Clusters that are heard and have told of a node.
    pub async fn ready_clusters(&self) -> Result<usize> {
        let page = self.get("/api/v1/clusters").await?;
        let rows = page["items"].as_array().context("no list of clusters")?;
        let ready = |row: &&Value| row["state"] == "active" && row["nodes"] != 0;
        Ok(rows.iter().filter(ready).count())
    }

    /// Whether a job has not ended yet.
    pub async fn any_open_job(&self) -> Result<bool> {
        let open = "queued,assigned,starting,running,stopping";
        let page = self.get(&format!("/api/v1/jobs?limit=1&status={open}")).await?;
        Ok(!page["items"].as_array().context("no list of jobs")?.is_empty())
    }

    /// Submits `count` jobs, so many of them in one request, over `at_once` connections; answers how long it took until all were
    /// answered.
    pub async fn submit(&self, jobs: Jobs<'_>, at_once: usize) -> Result<Duration> {
        let (begun, next) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
        let mut lines = JoinSet::new();
        for _ in 0..at_once {
            let (people, next) = (self.clone(), next.clone());
            let (manifest, prefix) = (jobs.manifest.to_owned(), jobs.prefix.to_owned());
            let Jobs { count, batch, .. } = jobs;
            let body = move |number| {
                let manifest = manifest.replace("NAME", &format!("{prefix}-{number}"));
                json!({"manifest": manifest, "queue": "default"})
            };
            lines.spawn(async move {
                loop {
                    let first = next.fetch_add(batch, Ordering::Relaxed);
                    if first >= count {
                        return Ok(());
                    }
                    let list: Vec<Value> = (first..count.min(first + batch)).map(&body).collect();
                    match list.as_slice() {
                        [one] => people.post("/api/v1/jobs", one).await?,
                        many => people.post("/api/v1/submissions", &json!({ "jobs": many })).await?,
                    };
                }
            });
        }
        while let Some(line) = lines.join_next().await {
            let done: Result<()> = line?;
            done?;
        }
        Ok(begun.elapsed())
    }
}

/// What is submitted.
#[derive(Clone, Copy)]
pub struct Jobs<'a> {
    pub manifest: &'a str,
    /// Before the number of each in its name.
    pub prefix: &'a str,
    pub count: usize,
    /// Jobs of one request.
    pub batch: usize,
}
