//! Dashboard: the few requests to a Ray head's job API.
//!
//! Owns time limits and sizes. Ray's head runs user code, so what it answers is hostile: bodies are cut, redirects are
//! not followed, and nothing of ours is sent along.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use serde_json::Value;
use squadron_ray::plan::REFUSED;

use super::address::resolve;
use crate::watch::Cache;

/// A job's details are small; its message is cut later.
const LONGEST_DETAILS: usize = 256 * 1024;
const TIMEOUT: Duration = Duration::from_secs(2);
const SUBMIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Half a GiB at 2 MB/s.
const PACKAGE_TIMEOUT: Duration = Duration::from_secs(270);

/// Why a dashboard gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum DashboardError {
    #[error("the Ray dashboard at {dashboard} did not answer: {problem}")]
    Unreachable {
        dashboard: String,
        problem: String,
        #[source]
        cause: reqwest::Error,
    },
    #[error("the Ray dashboard at {dashboard} answered with more than {limit} bytes")]
    TooLong { dashboard: String, limit: usize },
}

/// Characters of an error that are told.
const LONGEST_WORDS: usize = 300;

/// What to say when `what` was answered with `code`: with Ray's own error, which is the last line of a traceback.
pub fn unwelcome(what: &str, code: u16, body: &[u8]) -> String {
    let verdict = if (400..500).contains(&code) { REFUSED } else { "the Ray dashboard failed on" };
    format!("{verdict} {what} with status {code}: {}", last_line(body))
}

/// The last line of an answer: of a Python traceback the error itself.
pub fn last_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(LONGEST_WORDS).collect()
}

/// Client of all dashboards of this cluster.
#[derive(Clone)]
pub struct Dashboards {
    client: reqwest::Client,
    cache: Arc<Cache>,
}

/// Status code and body of an answer.
pub type Answer = (u16, Vec<u8>);

impl Dashboards {
    pub fn new(cache: Arc<Cache>) -> Result<Dashboards, reqwest::Error> {
        let client = reqwest::Client::builder()
            .connect_timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .pool_idle_timeout(Duration::from_secs(15))
            .build()?;
        Ok(Dashboards { client, cache })
    }

    /// GET `/api/jobs/{submission_id}`.
    pub async fn job(&self, dashboard: &str, submission_id: &str) -> Result<Answer, DashboardError> {
        let request = self.client.get(self.url(dashboard, submission_id)).timeout(TIMEOUT);
        self.send(dashboard, request, LONGEST_DETAILS).await
    }

    /// GET `/api/jobs/{submission_id}/logs`: the answer's first `limit` bytes, and whether there are more.
    pub async fn logs(
        &self,
        dashboard: &str,
        id: &str,
        limit: usize,
    ) -> Result<(Answer, bool), DashboardError> {
        let request = self.client.get(format!("{}/logs", self.url(dashboard, id))).timeout(SUBMIT_TIMEOUT);
        self.beginning(dashboard, request, limit).await
    }

    /// POST `/api/jobs/`.
    pub async fn submit(&self, dashboard: &str, body: &Value) -> Result<Answer, DashboardError> {
        let request = self.client.post(self.url(dashboard, "")).timeout(SUBMIT_TIMEOUT).json(body);
        self.send(dashboard, request, LONGEST_DETAILS).await
    }

    /// POST `/api/jobs/{submission_id}/stop`.
    pub async fn stop(&self, dashboard: &str, submission_id: &str) -> Result<Answer, DashboardError> {
        let request =
            self.client.post(format!("{}/stop", self.url(dashboard, submission_id))).timeout(TIMEOUT);
        self.send(dashboard, request, LONGEST_DETAILS).await
    }

    /// GET `/api/packages/gcs/{name}`: 200 when the head has it.
    pub async fn package(&self, dashboard: &str, name: &str) -> Result<Answer, DashboardError> {
        let request = self.client.get(self.package_url(dashboard, name)).timeout(SUBMIT_TIMEOUT);
        self.send(dashboard, request, LONGEST_DETAILS).await
    }

    /// PUT `/api/packages/gcs/{name}` with `bytes` bytes.
    pub async fn put_package(
        &self,
        dashboard: &str,
        name: &str,
        bytes: u64,
        body: reqwest::Body,
    ) -> Result<Answer, DashboardError> {
        let request = self.client.put(self.package_url(dashboard, name)).timeout(PACKAGE_TIMEOUT);
        let request = request.header(reqwest::header::CONTENT_LENGTH, bytes).body(body);
        self.send(dashboard, request, LONGEST_DETAILS).await
    }

    fn url(&self, dashboard: &str, id: &str) -> String {
        format!("http://{}/api/jobs/{}", resolve(dashboard, &self.cache), encoded(id))
    }

    fn package_url(&self, dashboard: &str, name: &str) -> String {
        format!("http://{}/api/packages/gcs/{}", resolve(dashboard, &self.cache), encoded(name))
    }

    async fn send(
        &self,
        dashboard: &str,
        request: reqwest::RequestBuilder,
        limit: usize,
    ) -> Result<Answer, DashboardError> {
        match self.beginning(dashboard, request, limit).await? {
            (answer, false) => Ok(answer),
            (_, true) => Err(DashboardError::TooLong { dashboard: dashboard.to_owned(), limit }),
        }
    }

    /// The first `limit` bytes of the answer, and whether there are more.
    async fn beginning(
        &self,
        dashboard: &str,
        request: reqwest::RequestBuilder,
        limit: usize,
    ) -> Result<(Answer, bool), DashboardError> {
        let unreachable = |cause: reqwest::Error| DashboardError::Unreachable {
            dashboard: dashboard.to_owned(),
            problem: problem(&cause).to_owned(),
            cause,
        };
        let answer = request.send().await.map_err(unreachable)?;
        let code = answer.status().as_u16();
        let mut body = Vec::new();
        let mut parts = answer.bytes_stream();
        while let Some(part) = parts.next().await {
            body.extend_from_slice(&part.map_err(unreachable)?);
            if body.len() > limit {
                body.truncate(limit);
                return Ok(((code, body), true));
            }
        }
        Ok(((code, body), false))
    }
}

fn problem(cause: &reqwest::Error) -> &'static str {
    if cause.is_timeout() {
        "no answer in time"
    } else if cause.is_connect() {
        "no connection"
    } else {
        "the request failed"
    }
}

/// Ids and names come from manifests; only unreserved characters stay as they are.
fn encoded(text: &str) -> String {
    text.bytes().map(encode).collect()
}

fn encode(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    /// A server that answers one request with `answer` and tells the request's first line.
    async fn serve(answer: String) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let read = socket.read(&mut request).await.unwrap();
            let _ = socket.write_all(answer.as_bytes()).await;
            String::from_utf8_lossy(&request[..read]).lines().next().unwrap_or_default().to_owned()
        });
        (address, task)
    }

    fn dashboards() -> Dashboards {
        Dashboards::new(Arc::new(Cache::default())).unwrap()
    }

    #[tokio::test]
    async fn ids_cannot_leave_their_path() {
        let (address, task) = serve("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno".into()).await;
        let (code, body) = dashboards().job(&address, "../../x y").await.unwrap();
        assert_eq!((code, body.as_slice()), (404, b"no".as_slice()));
        assert_eq!(task.await.unwrap(), "GET /api/jobs/..%2F..%2Fx%20y HTTP/1.1");
    }

    #[tokio::test]
    async fn a_body_without_end_is_cut_off() {
        let body = "x".repeat(5_000);
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let (address, _task) = serve(answer).await;
        let ((code, beginning), more) = dashboards().logs(&address, "a", 1_000).await.unwrap();
        assert_eq!((code, beginning.len(), more), (200, 1_000, true));
    }

    #[tokio::test]
    async fn details_that_are_too_long_are_refused() {
        let body = "x".repeat(LONGEST_DETAILS + 1);
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let (address, _task) = serve(answer).await;
        let refused = dashboards().job(&address, "a").await.unwrap_err().to_string();
        assert!(refused.ends_with("answered with more than 262144 bytes"), "{refused}");
    }
}
