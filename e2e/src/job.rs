//! Jobs for tests: small RayJobs, submitted and followed through the command line as a person does it.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{
    stage::Stage,
    wait::{self, Look},
};

/// The Ray image of the testbed.
pub const RAY_IMAGE: &str = "rayproject/ray:2.60.0";
/// How long a small job may take from submission to its end beside whatever else the machine does.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A RayJob with a head and one worker.
#[derive(Clone, Debug)]
pub struct Job {
    pub name: &'static str,
    pub entrypoint: String,
    pub image: &'static str,
    /// `K8sJobMode` or `HTTPMode`.
    pub mode: &'static str,
    /// What the worker asks for, in cores.
    pub worker_cpu: &'static str,
    /// What the worker may use of memory.
    pub worker_memory: &'static str,
}

impl Job {
    pub fn new(name: &'static str, entrypoint: impl Into<String>) -> Job {
        let entrypoint = entrypoint.into();
        Job {
            name,
            entrypoint,
            image: RAY_IMAGE,
            mode: "K8sJobMode",
            worker_cpu: "500m",
            worker_memory: "1Gi",
        }
    }

    /// A driver that prints `line 1` to `line N`, one a second.
    pub fn counting(name: &'static str, seconds: u32) -> Job {
        let loop_ =
            format!("[print('line', n, flush=True) or time.sleep(1) for n in range(1, {})]", seconds + 1);
        Job::new(name, format!("python -c \"import time; {loop_}\""))
    }

    pub fn manifest(&self) -> Value {
        let requests = |cpu: &str, memory: &str| json!({"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}});
        let pod = |container: &str, resources: Value| json!({"spec": {"containers": [{"name": container, "image": self.image, "resources": resources}]}});
        json!({
            "apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"name": self.name, "namespace": "default"},
            "spec": {
                "entrypoint": self.entrypoint, "submissionMode": self.mode,
                "shutdownAfterJobFinishes": true, "ttlSecondsAfterFinished": 1,
                "rayClusterSpec": {
                    "rayVersion": "2.60.0",
                    "headGroupSpec": {
                        "rayStartParams": {"num-cpus": "1"},
                        "template": pod("ray-head", requests("500m", "1536Mi")),
                    },
                    "workerGroupSpecs": [{
                        "groupName": "workers", "replicas": 1, "minReplicas": 1, "maxReplicas": 1,
                        "rayStartParams": {"num-cpus": "1"},
                        "template": pod("ray-worker", requests(self.worker_cpu, self.worker_memory)),
                    }],
                },
            },
        })
    }

    /// The manifest in a file of its own; JSON is YAML too.
    pub fn file(&self) -> Result<PathBuf> {
        write(self.name, &serde_json::to_string_pretty(&self.manifest())?)
    }
}

/// A file in the folder for temporary files.
pub fn write(name: &str, text: &str) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join("squadron-e2e");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.yaml"));
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

impl Stage {
    /// Submits to the queue `default`; the id of the new job.
    pub fn submit(&self, job: &Job, more: &[&str]) -> Result<String> {
        let file = job.file()?.to_string_lossy().into_owned();
        let mut args = vec!["submit", file.as_str()];
        args.extend(more);
        let reply = self.json(&args)?;
        Ok(reply["job"]["id"].as_str().context("the answer to the submission names no job")?.to_owned())
    }

    /// Everything that the control plane tells of a job.
    pub fn detail(&self, job: &str) -> Result<Value> {
        self.json(&["describe", job])
    }

    /// Waits until the job is in `state`; an end in another state is an error at once.
    pub fn wait_job(&self, job: &str, state: &str) -> Result<Value> {
        let mut ended_otherwise = None;
        let found = wait::until(&format!("job {job} to be {state}"), PATIENCE, || {
            let detail = self.detail(job)?;
            let seen = detail["job"]["state"].as_str().unwrap_or_default().to_owned();
            if seen != state && ["succeeded", "failed", "cancelled"].contains(&seen.as_str()) {
                ended_otherwise = Some(detail.clone());
            }
            let is_over = seen == state || ended_otherwise.is_some();
            Ok(if is_over {
                Look::Found(detail)
            } else {
                Look::NotYet(detail["job"]["sentence"].to_string())
            })
        })?;
        if let Some(detail) = ended_otherwise {
            bail!("job {job} is {}, not {state}: {}", detail["job"]["state"], detail["job"]["sentence"]);
        }
        Ok(found)
    }

    /// Waits until the job's log holds `text`, and returns the log.
    pub fn wait_log(&self, job: &str, text: &str) -> Result<String> {
        wait::until(&format!("{text:?} in the log of {job}"), PATIENCE, || {
            let log = self.squadron(&["logs", job])?.ok()?;
            Ok(if log.contains(text) { Look::Found(log) } else { Look::NotYet(log) })
        })
    }

    /// Waits until no pod of the job is left in its cluster.
    pub fn wait_pods_gone(&self, cluster: &str, job: &str) -> Result<()> {
        let selector = format!("squadron.dev/job-id={job}");
        wait::until(&format!("the pods of {job} to be gone"), PATIENCE, || {
            let pods = self.kubectl(cluster, &["get", "pods", "-A", "-l", &selector, "-o", "name"])?;
            Ok(wait::found_if(pods.trim().is_empty(), pods))
        })
    }
}
