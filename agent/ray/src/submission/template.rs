//! Template: the RayJob that submissions of a queue are made from.

use serde_json::{Value, json};

use super::{Submission, rayjob};
use crate::{
    manifest::{self, FieldError},
    object,
};

/// Head of one core and two GiB with the image whose API is served; no workers.
pub(super) fn default_template() -> Value {
    let size = json!({"cpu": "1", "memory": "2Gi"});
    let container = json!({
        "name": "ray-head",
        "image": "rayproject/ray:2.60.0",
        "resources": {"requests": size, "limits": size},
    });
    json!({
        "metadata": {},
        "spec": {"rayClusterSpec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}},
        }},
    })
}

/// A group of `workers` that run the head's image and are of the head's size.
pub(super) fn worker_group(head: &Value, workers: u32) -> Value {
    let mut template = head["template"].clone();
    if let Some(container) = template.pointer_mut("/spec/containers/0") {
        container["name"] = "ray-worker".into();
        if let Some(fields) = container.as_object_mut() {
            for own in ["ports", "command", "args", "livenessProbe", "readinessProbe", "startupProbe"] {
                fields.remove(own);
            }
        }
    }
    json!({
        "groupName": "workers",
        "replicas": workers,
        "minReplicas": workers,
        "maxReplicas": workers.max(1),
        "rayStartParams": {},
        "template": template,
    })
}

/// Reads and checks a queue's template: a RayJob whose entrypoint and submission are left out or ignored.
pub fn check_template(text: &str) -> Result<Value, Vec<FieldError>> {
    let template = manifest::read_yaml(text).map_err(|error| vec![error])?;
    let kind = object::text(&template, &["kind"]);
    if kind != "RayJob" {
        let problem = format!("is {:?}; a template is a RayJob", kind.chars().take(60).collect::<String>());
        return Err(vec![FieldError { path: "kind".to_owned(), problem }]);
    }
    let probe = Submission { entrypoint: "true".to_owned(), ..Submission::default() };
    let example = rayjob(&probe, "example", Some(&template))?;
    manifest::parse(&example.to_string())?;
    Ok(template)
}
