//! Kubeconfigs for the people and daemons of a local cluster.
//!
//! Invariant: each is complete in itself (certificates inside), so it can be copied anywhere that reaches the node.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::{AtPath, Result};
use crate::files;
use crate::local::cluster::Cluster;

/// Users that get a kubeconfig, by the name of their certificate.
const USERS: [&str; 6] = ["admin", "controller-manager", "scheduler", "proxy", "kubelet", "coredns"];

/// Writes the kubeconfig of every user.
pub fn write_all(cluster: &Cluster) -> Result<()> {
    for user in USERS {
        files::replace_secret(&cluster.kubeconfig(user), render(cluster, user)?)?;
    }
    Ok(())
}

fn render(cluster: &Cluster, user: &str) -> Result<String> {
    let name = &cluster.name;
    let server = cluster.api_url();
    let authority = encoded(cluster, "ca.crt")?;
    let certificate = encoded(cluster, &format!("{user}.crt"))?;
    let key = encoded(cluster, &format!("{user}.key"))?;
    Ok(format!(
        "apiVersion: v1
kind: Config
clusters:
- name: {name}
  cluster: {{server: \"{server}\", certificate-authority-data: {authority}}}
users:
- name: {user}
  user: {{client-certificate-data: {certificate}, client-key-data: {key}}}
contexts:
- name: {name}
  context: {{cluster: {name}, user: {user}}}
current-context: {name}
"
    ))
}

fn encoded(cluster: &Cluster, file: &str) -> Result<String> {
    let path = cluster.pki(file);
    Ok(STANDARD.encode(std::fs::read(&path).at("read", &path)?))
}
