//! Outside: what happens in a cluster without the reconcilers, and how objects are shown in golden files.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::World;
use crate::object::{self, at, text};

impl World {
    /// Everything but the reconcilers moves one second on.
    pub(crate) fn tick(&mut self) {
        self.now = self.now.plus_millis(1_000);
        self.objects.retain(|(kind, _), object| kind != "Pod" || !object::is_deleting(object));
        let now = object::stamp(self.now);
        for ((kind, _), object) in &mut self.objects {
            match kind.as_str() {
                "Pod" => {
                    run_pod(object);
                    run_sidecar(object, &mut self.ray, &now);
                }
                "Job" if at(object, &["status"]).is_null() => {
                    let id = submission_id(object);
                    object["status"] = json!({"active": 1});
                    self.ray.entry(id).or_insert_with(|| "PENDING".to_owned());
                }
                "Job" => follow_job(object, &self.ray, &now),
                _ => {}
            }
        }
        for status in self.ray.values_mut() {
            match (status.as_str(), self.verdict) {
                ("PENDING", _) => "RUNNING".clone_into(status),
                ("RUNNING", Some(verdict)) => verdict.clone_into(status),
                _ => {}
            }
        }
    }
}

/// A pod or template in few lines: environment as `NAME=value`, probes as one line each.
pub(crate) fn brief(object: &Value) -> Value {
    let mut short = object.clone();
    let spec = if short.pointer("/spec/template").is_some() { "/spec/template/spec" } else { "/spec" };
    for list in ["containers", "initContainers"] {
        let containers = short.pointer_mut(&format!("{spec}/{list}")).and_then(Value::as_array_mut);
        containers.into_iter().flatten().for_each(shorten);
    }
    short["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    short
}

fn shorten(container: &mut Value) {
    let env = object::list(container, &["env"]).iter().map(|one| {
        let from = one.pointer("/valueFrom/fieldRef/fieldPath").and_then(Value::as_str);
        json!(format!("{}={}", text(one, &["name"]), from.unwrap_or(text(one, &["value"]))))
    });
    container["env"] = env.collect();
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        if let Some(found) = container.get(probe) {
            container[probe] = json!(found.to_string().replace('"', ""));
        }
    }
    for field in ["resources", "ports", "volumeMounts", "command"] {
        if let Some(found) = container.get(field) {
            container[field] = json!(found.to_string().replace('"', ""));
        }
    }
}

/// A submitter inside a head pod: submits when the pod runs, and ends with its Ray job.
fn run_sidecar(pod: &mut Value, ray: &mut BTreeMap<String, String>, now: &str) {
    let containers = object::list(pod, &["spec", "containers"]);
    let Some(own) = containers.iter().find(|one| one["name"] == "ray-job-submitter") else { return };
    let id = submission_id_of(own);
    if text(pod, &["status", "phase"]) != "Running" {
        return;
    }
    let state = ray.entry(id).or_insert_with(|| "PENDING".to_owned());
    if matches!(state.as_str(), "SUCCEEDED" | "FAILED" | "STOPPED")
        && pod["status"]["containerStatuses"].is_null()
    {
        let ended = json!({"exitCode": 0, "reason": "Completed", "finishedAt": now});
        pod["status"]["containerStatuses"] =
            json!([{"name": "ray-job-submitter", "state": {"terminated": ended}}]);
    }
}

/// The submitter ends with its Ray job, or when Ray has not known it for ten seconds.
fn follow_job(job: &mut Value, ray: &BTreeMap<String, String>, now: &str) {
    let misses = match ray.get(&submission_id(job)).map(String::as_str) {
        Some("SUCCEEDED" | "FAILED" | "STOPPED") => 10,
        Some(_) => 0,
        None => job["status"]["misses"].as_i64().unwrap_or(0) + 1,
    };
    job["status"]["misses"] = json!(misses);
    if misses >= 10 && job["status"]["conditions"].is_null() {
        job["status"]["conditions"] =
            json!([{"type": "Complete", "status": "True", "lastTransitionTime": now}]);
    }
}

fn submission_id(job: &Value) -> String {
    submission_id_of(&object::list(job, &["spec", "template", "spec", "containers"])[0])
}

fn submission_id_of(container: &Value) -> String {
    let env = object::list(container, &["env"]).iter().find(|one| one["name"] == "RAY_JOB_SUBMISSION_ID");
    env.unwrap()["value"].as_str().unwrap().to_owned()
}

/// Pending → bound and Running → Ready; an ended pod stays as it is.
fn run_pod(pod: &mut Value) {
    match text(pod, &["status", "phase"]) {
        "" => {
            pod["spec"]["nodeName"] = json!("node");
            pod["status"] = json!({"phase": "Running", "podIP": "10.0.0.1",
                                   "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]});
        }
        "Running" => pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]),
        _ => {}
    }
}
