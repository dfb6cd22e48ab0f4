//! Keys: the issuer and the key set of this cluster's tokens, and the cluster's fingerprint, from its API server.

use anyhow::Context;
use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

/// Longest document that is taken, in bytes.
const LONGEST: usize = 128 * 1024;

/// What tells this cluster from others.
#[derive(Clone, Debug)]
pub struct ClusterKeys {
    pub issuer: String,
    pub jwks: String,
}

/// Reads issuer and key set as the API server serves them.
pub async fn read(client: &Client) -> anyhow::Result<ClusterKeys> {
    let configuration = document(client, "/.well-known/openid-configuration").await?;
    let parsed: serde_json::Value =
        serde_json::from_str(&configuration).context("the API server's OpenID configuration is no JSON")?;
    let issuer = parsed["issuer"].as_str().context("the OpenID configuration names no issuer")?;
    let jwks = document(client, "/openid/v1/jwks").await?;
    Ok(ClusterKeys { issuer: issuer.to_owned(), jwks })
}

/// The uid of namespace kube-system, which lives as long as the cluster.
pub async fn fingerprint(client: &Client) -> anyhow::Result<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces.get("kube-system").await.context("namespace kube-system cannot be read")?;
    found.metadata.uid.context("namespace kube-system has no uid")
}

async fn document(client: &Client, path: &str) -> anyhow::Result<String> {
    let request = Request::get(path).body(Vec::new())?;
    let text =
        client.request_text(request).await.with_context(|| format!("the API server does not serve {path}"))?;
    anyhow::ensure!(text.len() <= LONGEST, "{path} is longer than {LONGEST} bytes");
    Ok(text)
}
