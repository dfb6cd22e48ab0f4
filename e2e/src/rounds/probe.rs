//! Probes: how long a submission takes to become a RayJob in a cluster that is well, alone and while another is lost.
//!
//! The time reaches from the start of the program that submits to what the API server logged when it had created the object.
//! Invariant: a probe costs its cluster next to nothing; its pod names a scheduler that does not exist, so it is never run.

use std::{
    fs,
    io::{Read, Seek, SeekFrom, Write},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{clock, command, job::RAY_IMAGE, stage::Stage, testbed, wait, wait::Look};

/// How long one may take before it counts as not dispatched.
const PATIENCE: Duration = Duration::from_secs(60);

/// Submits one job to `cluster`, waits for its object and cancels it; seconds that it took.
pub fn one(stage: &Stage, cluster: &str, name: &str) -> Result<f64> {
    let log = testbed::audit_log(cluster)?;
    let from = fs::metadata(&log).map_or(0, |found| found.len());
    let body = json!({"manifest": manifest(name).to_string(), "queue": "default", "cluster": cluster});
    let begun = clock::now();
    let reply = post(stage, "/api/v1/jobs", &body)?;
    let id = reply["job"]["id"].as_str().with_context(|| format!("no job in the answer {reply}"))?.to_owned();
    let created = wait::until(&format!("the RayJob of {name}"), PATIENCE, || {
        let found = created_at(&log, from, name)?;
        Ok(found.map_or_else(|| Look::NotYet(String::new()), Look::Found))
    });
    post(stage, &format!("/api/v1/jobs/{id}/cancel"), &json!({"reason": "it was measured"}))?;
    Ok(created? - begun)
}

/// When an API server had created the RayJob of a job of this name.
fn created_at(log: &std::path::Path, from: u64, name: &str) -> Result<Option<f64>> {
    let mut file = fs::File::open(log).with_context(|| format!("reading {}", log.display()))?;
    file.seek(SeekFrom::Start(from))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let is_it = |entry: &Value| {
        let object = &entry["objectRef"];
        entry["verb"] == "create"
            && object["resource"] == "rayjobs"
            && entry["responseStatus"]["code"] == 201
            && object["name"].as_str().is_some_and(|object| object.starts_with(name))
    };
    let mut entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let entry = entries.find(is_it);
    Ok(entry.and_then(|entry| clock::seconds(entry["stageTimestamp"].as_str()?)))
}

fn post(stage: &Stage, path: &str, body: &Value) -> Result<Value> {
    let ca = stage.data().join("tls/ca.crt");
    let config = format!(
        "url = \"{}{path}\"\ncacert = \"{}\"\nheader = \"authorization: Bearer {}\"\nheader = \"content-type: \
         application/json\"\ndata-binary = {}\n",
        stage.server(),
        ca.display(),
        stage.token()?,
        // A string of JSON is quoted as curl's configuration wants it.
        Value::from(body.to_string())
    );
    let mut curl = command::new("curl");
    curl.args(["-sS", "--fail-with-body", "--max-time", "30", "--config", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = curl.spawn().context("starting curl")?;
    child.stdin.take().context("curl listens to nobody")?.write_all(config.as_bytes())?;
    let done = child.wait_with_output()?;
    if !done.status.success() {
        bail!("curl ended with {} for {path}: {}", done.status, String::from_utf8_lossy(&done.stdout));
    }
    serde_json::from_slice(&done.stdout)
        .with_context(|| format!("the answer to {path}: {}", String::from_utf8_lossy(&done.stdout)))
}

fn manifest(name: &str) -> Value {
    let container = json!({"name": "ray-head", "image": RAY_IMAGE,
        "resources": {"requests": {"cpu": "10m", "memory": "1Mi"}, "limits": {"memory": "1Mi"}}});
    json!({
        "apiVersion": "ray.io/v1", "kind": "RayJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "entrypoint": "nothing", "submissionMode": "HTTPMode",
            "rayClusterSpec": {
                "rayVersion": "2.60.0",
                "headGroupSpec": {
                    "rayStartParams": {"num-cpus": "1"},
                    "template": {"spec": {"schedulerName": "nobody", "containers": [container]}},
                },
            },
        },
    })
}
