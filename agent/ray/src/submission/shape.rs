//! Shape: image, workers and sizes that a submission chose, written into a copy of the template.

use serde_json::{Value, json};
use squadron_core::resources::is_gpu;

use super::{
    metadata::{Choices, Size},
    template,
};
use crate::{manifest::FieldError, object};

const GPU: &str = "nvidia.com/gpu";

/// Writes the choices into `job`; what the template has no place for is refused.
pub(super) fn apply(job: &mut Value, choices: &Choices) -> Vec<FieldError> {
    let mut found = Vec::new();
    if !object::at(job, &["spec", "rayClusterSpec", "headGroupSpec"]).is_object() {
        return vec![refused(
            "spec.rayClusterSpec",
            "the queue's template has no rayClusterSpec with a headGroupSpec",
        )];
    }
    let cluster = &mut job["spec"]["rayClusterSpec"];
    found.extend(set_workers(cluster, choices));
    if let Some(image) = &choices.image {
        set_image(&mut cluster["headGroupSpec"], image);
    }
    resize(&mut cluster["headGroupSpec"], &choices.head);
    let groups = cluster["workerGroupSpecs"].as_array_mut().into_iter().flatten();
    for group in groups {
        if let Some(image) = &choices.image {
            set_image(group, image);
        }
        resize(group, &choices.worker);
    }
    found
}

fn refused(path: &str, problem: &str) -> FieldError {
    FieldError { path: path.to_owned(), problem: problem.to_owned() }
}

fn set_workers(cluster: &mut Value, choices: &Choices) -> Option<FieldError> {
    let groups = object::list(cluster, &["workerGroupSpecs"]).len();
    match (choices.workers, groups) {
        (Some(0), 0) => None,
        (None, 0) if choices.worker.is_empty() => None,
        (None, 0) => Some(refused(
            "metadata",
            "chooses a size of workers but no number of them; add squadron.dev/workers",
        )),
        (Some(workers), 0) => {
            let group = template::worker_group(&cluster["headGroupSpec"], workers);
            object::items(cluster, "workerGroupSpecs").push(group);
            None
        }
        (Some(workers), 1) => {
            number(&mut cluster["workerGroupSpecs"][0], workers);
            None
        }
        (None, 1) => None,
        (workers, _) if workers.is_some() || !choices.worker.is_empty() => Some(refused(
            "metadata",
            "chooses workers, but the queue's template has several worker groups; leave squadron.dev/worker keys out",
        )),
        _ => None,
    }
}

fn number(group: &mut Value, workers: u32) {
    let most = group["maxReplicas"].as_u64().unwrap_or(0).max(u64::from(workers));
    group["replicas"] = workers.into();
    group["minReplicas"] = workers.into();
    group["maxReplicas"] = most.into();
}

fn container(group: &mut Value) -> Option<&mut Value> {
    group.pointer_mut("/template/spec/containers/0")
}

fn set_image(group: &mut Value, image: &str) {
    if let Some(container) = container(group) {
        container["image"] = image.into();
    }
}

/// Requests and limits alike: Ray offers what the limits say, and the dispatcher counts requests.
pub(super) fn resize(group: &mut Value, size: &Size) {
    if size.is_empty() {
        return;
    }
    let Some(container) = container(group) else { return };
    for side in ["requests", "limits"] {
        let resources = object::entry(container, "resources");
        let mut sized = resources.get(side).cloned().unwrap_or_else(|| json!({}));
        for (key, amount) in [("cpu", &size.cpus), ("memory", &size.memory)] {
            if let Some(amount) = amount {
                sized[key] = amount.clone().into();
            }
        }
        set_gpus(&mut sized, size.gpus);
        resources.insert(side.to_owned(), sized);
    }
}

fn set_gpus(side: &mut Value, gpus: Option<u32>) {
    let (Some(gpus), Some(side)) = (gpus, side.as_object_mut()) else { return };
    let named = side.keys().find(|name| is_gpu(name)).cloned();
    side.retain(|name, _| !is_gpu(name));
    if gpus > 0 {
        side.insert(named.unwrap_or_else(|| GPU.to_owned()), gpus.to_string().into());
    }
}
