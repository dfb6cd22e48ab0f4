//! Metadata of a submitted RayJob: the fields that a person may write.

use serde_json::{Value, json};

use super::FieldError;
use crate::{object, schema, validate};

/// Fields that the API server writes; a manifest exported from a cluster holds them, and they change nothing.
const WRITTEN_BY_SERVER: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

pub(super) fn check(metadata: &Value) -> Vec<FieldError> {
    let mut own = metadata.clone();
    if let Some(fields) = own.as_object_mut() {
        fields.retain(|name, _| !WRITTEN_BY_SERVER.contains(&name.as_str()));
    }
    let mut found = schema::check::check(&own, &schema(), "metadata");
    found.extend(name_problems(metadata));
    if let Some(problem) = namespace_problem(object::text(metadata, &["namespace"])) {
        found.push(FieldError { path: "metadata.namespace".to_owned(), problem });
    }
    found.extend(label_problems(metadata));
    found
}

/// The name, or what stands before the `-` of `generateName`: Squadron adds its own ending to either.
pub(super) fn name(metadata: &Value) -> &str {
    match object::text(metadata, &["name"]) {
        "" => object::text(metadata, &["generateName"]).trim_end_matches('-'),
        name => name,
    }
}

fn name_problems(metadata: &Value) -> Vec<FieldError> {
    let mut found = validate::job_name(name(metadata));
    let generated = object::text(metadata, &["name"]).is_empty() && metadata.get("generateName").is_some();
    for error in found.iter_mut().filter(|_| generated) {
        "metadata.generateName".clone_into(&mut error.path);
    }
    found
}

fn schema() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "generateName": {"type": "string"},
            "namespace": {"type": "string"},
            "labels": texts,
            "annotations": texts,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "ownerReferences": {"type": "array", "items": {"type": "object"}},
        },
    })
}

fn namespace_problem(namespace: &str) -> Option<String> {
    if namespace.is_empty() {
        return None;
    }
    match squadron_core::name::K8sName::new(namespace) {
        Err(bad) => Some(bad.problem),
        Ok(_) if squadron_core::name::is_kubernetes_own(namespace) => {
            Some("belongs to Kubernetes, and no job may run there; write another namespace".to_owned())
        }
        Ok(_) => None,
    }
}

fn label_problems(metadata: &Value) -> Vec<FieldError> {
    let labels = object::at(metadata, &["labels"]).as_object();
    let bad = |(key, value): (&String, &Value)| {
        let legal = validate::is_label(key, value.as_str().unwrap_or_default());
        (!legal).then(|| FieldError {
            path: format!("metadata.labels.{}", clip(key)),
            problem: "is no Kubernetes label: letters, digits, '-', '_' and '.', at most 63 characters"
                .to_owned(),
        })
    };
    labels.into_iter().flatten().filter_map(bad).collect()
}

fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}
