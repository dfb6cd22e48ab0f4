//! Shared memory and logs (POD-11).

use serde_json::{Value, json};

use super::{params::Params, ray_container};
use crate::{
    object::{self, items},
    requests::quantity_text,
};

const SHARED_MEMORY: (&str, &str) = ("shared-mem", "/dev/shm");
const LOGS: (&str, &str) = ("ray-logs", "/tmp/ray");

/// Plasma lives in memory; Docker's default of 64 MiB would send it to disk.
pub(super) fn add_shared_memory(template: &mut Value, params: &Params) {
    if params.contains_key("plasma-directory") {
        return;
    }
    let resources = object::at(ray_container(template), &["resources"]).clone();
    let memory = ["limits", "requests"].map(|part| quantity_text(object::at(&resources, &[part, "memory"])));
    let mut directory = json!({"medium": "Memory"});
    if let Some(limit) = memory.iter().find(|text| !text.is_empty()) {
        directory["sizeLimit"] = json!(limit);
    }
    add(template, 0, SHARED_MEMORY, &directory);
}

/// The autoscaler writes its log where Ray's dashboard looks for it.
pub(super) fn share_logs(template: &mut Value, other_container: usize) {
    for container in [0, other_container] {
        add(template, container, LOGS, &json!({}));
    }
}

fn add(template: &mut Value, container: usize, (name, path): (&str, &str), directory: &Value) {
    let Some(container) = items(&mut template["spec"], "containers").get_mut(container) else { return };
    let mounts = items(container, "volumeMounts");
    if mounts.iter().any(|mount| object::text(mount, &["mountPath"]) == path) {
        return;
    }
    mounts.push(json!({"name": name, "mountPath": path}));
    let volumes = items(&mut template["spec"], "volumes");
    if !volumes.iter().any(|volume| object::text(volume, &["name"]) == name) {
        volumes.push(json!({"name": name, "emptyDir": directory}));
    }
}
