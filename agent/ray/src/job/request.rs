//! The request that submits a job over HTTP (RJ-HTTP).

use serde_json::{Value, json};

use crate::{
    submission::Extras,
    types::RayJobSpec,
    validate::{entrypoint_resources, runtime_env},
};

/// Body of POST `/api/jobs/`. Parts that cannot be read were refused by validation, and are left out here.
pub(super) fn body(spec: &RayJobSpec, extras: &Extras, submission_id: &str) -> Value {
    let mut body = json!({
        "entrypoint": spec.entrypoint.as_deref().unwrap_or_default().trim(),
        "submission_id": submission_id,
    });
    let optional = [
        ("runtime_env", runtime_env(spec).ok().flatten()),
        ("metadata", spec.metadata.as_ref().filter(|map| !map.is_empty()).map(|map| json!(map))),
        ("entrypoint_resources", entrypoint_resources(spec).ok().flatten()),
        ("entrypoint_num_cpus", positive(spec.entrypoint_num_cpus)),
        ("entrypoint_num_gpus", positive(spec.entrypoint_num_gpus)),
        ("entrypoint_memory", extras.entrypoint_memory.filter(|bytes| *bytes > 0).map(Value::from)),
        ("entrypoint_label_selector", extras.entrypoint_label_selector.as_ref().map(|labels| json!(labels))),
    ];
    for (field, value) in optional {
        if let Some(value) = value {
            body[field] = value;
        }
    }
    body
}

fn positive(number: Option<f32>) -> Option<Value> {
    number.filter(|number| *number > 0.0).map(|number| json!(number))
}
