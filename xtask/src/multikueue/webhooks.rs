//! Kueue's webhooks for a Kueue that runs outside of its cluster: a certificate, and URLs in place of Services.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use squadron_e2e::command;

/// Kinds that take part; webhooks of others would refuse what Kueue does not serve here.
const KINDS: [&str; 6] = ["rayjob", "raycluster", "workload", "clusterqueue", "cohort", "resourceflavor"];

/// Makes a certificate for the address in `folder` and answers where it lies. One that is there is kept.
pub fn certificate(folder: &Path, address: &str) -> Result<PathBuf> {
    let (key, certificate) = (folder.join("tls.key"), folder.join("tls.crt"));
    if !certificate.exists() {
        fs::create_dir_all(folder)?;
        let mut openssl = command::new("openssl");
        openssl
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
            .args(["-days", "365", "-subj", "/CN=kueue", "-addext", &format!("subjectAltName=IP:{address}")])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate);
        command::output(&mut openssl)?;
    }
    Ok(certificate)
}

/// The configurations that `kubectl create -o json` showed, with URLs and our certificate.
pub fn by_url(shown: &str, address: &str, certificate: &Path) -> Result<String> {
    let bundle = command::output(command::new("base64").arg("-w0").arg(certificate))?;
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_str(shown).into_iter::<Value>() {
        let mut document = document.context("reading Kueue's webhooks")?;
        let hooks = document["webhooks"].as_array().cloned().unwrap_or_default();
        let ours: Vec<Value> =
            hooks.into_iter().filter_map(|hook| turned(hook, address, bundle.trim())).collect();
        document["webhooks"] = Value::Array(ours);
        documents.push(document.to_string());
    }
    Ok(documents.join("\n---\n"))
}

fn turned(mut hook: Value, address: &str, bundle: &str) -> Option<Value> {
    let path = hook["clientConfig"]["service"]["path"].as_str()?.to_owned();
    KINDS.iter().any(|kind| path.ends_with(&format!("-{kind}"))).then_some(())?;
    hook["clientConfig"] = json!({"url": format!("https://{address}:19443{path}"), "caBundle": bundle});
    Some(hook)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_kinds_that_take_part_stay() {
        let hook =
            |path: &str| json!({"name": "x", "clientConfig": {"service": {"name": "s", "path": path}}});
        let kept = turned(hook("/mutate-ray-io-v1-rayjob"), "127.0.0.1", "Q0E=").unwrap();
        assert_eq!(
            kept["clientConfig"],
            json!({"url": "https://127.0.0.1:19443/mutate-ray-io-v1-rayjob", "caBundle": "Q0E="})
        );
        assert!(turned(hook("/mutate--v1-pod"), "127.0.0.1", "Q0E=").is_none());
    }
}
