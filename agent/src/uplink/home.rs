//! Home: what this cluster says about itself, asked at its own API server.

use anyhow::Context;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use serde::Deserialize;

/// Longest key set that is handed on, in bytes.
const LONGEST: usize = 64 * 1024;

/// Identity and version of the cluster.
#[derive(Clone, Debug)]
pub struct Home {
    pub issuer: String,
    /// The key set that verifies its tokens, as served.
    pub jwks: String,
    /// Uid of the kube-system namespace.
    pub uid: String,
    pub kubernetes_version: String,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
}

impl Home {
    pub async fn ask(client: &Client) -> anyhow::Result<Home> {
        let discovery = get(client, "/.well-known/openid-configuration").await?;
        let discovery: Discovery =
            serde_json::from_str(&discovery).context("the issuer's discovery document cannot be read")?;
        let system = Api::<Namespace>::all(client.clone()).get("kube-system").await;
        let system = system.context("cannot read the namespace kube-system")?;
        let version = client.apiserver_version().await.context("cannot ask the API server's version")?;
        Ok(Home {
            issuer: discovery.issuer,
            jwks: key_set(client).await?,
            uid: system.metadata.uid.unwrap_or_default(),
            kubernetes_version: version.git_version,
        })
    }
}

/// The keys that sign this cluster's tokens at present.
pub async fn key_set(client: &Client) -> anyhow::Result<String> {
    get(client, "/openid/v1/jwks").await
}

async fn get(client: &Client, path: &str) -> anyhow::Result<String> {
    let request = http::Request::get(path).body(Vec::new())?;
    let text = client.request_text(request).await.with_context(|| format!("cannot read {path}"))?;
    anyhow::ensure!(text.len() <= LONGEST, "{path} answered with more than {LONGEST} bytes");
    Ok(text)
}
