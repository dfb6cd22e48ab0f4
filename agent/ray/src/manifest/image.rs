//! Images of the Ray containers: required in what is submitted.
//!
//! A RayCluster that somebody else applies may get its image from a webhook, so the reconcilers let it pass. A job goes
//! to a cluster that its author may never have seen, and would wait there for a pod that the API server refuses.

use serde_json::Value;

use super::FieldError;
use crate::object;

/// Every group whose Ray container names no image.
pub(super) fn missing(manifest: &Value) -> Vec<FieldError> {
    let spec = ["spec", "rayClusterSpec"];
    let workers = object::list(manifest, &[spec[0], spec[1], "workerGroupSpecs"]).iter().enumerate();
    let workers = workers.map(|(index, group)| (format!("workerGroupSpecs[{index}]"), group));
    let head = object::at(manifest, &[spec[0], spec[1], "headGroupSpec"]);
    std::iter::once(("headGroupSpec".to_owned(), head))
        .chain(workers)
        .filter(|(_, group)| {
            let ray = object::list(group, &["template", "spec", "containers"]).first();
            ray.is_some_and(|ray| object::text(ray, &["image"]).trim().is_empty())
        })
        .map(|(group, _)| FieldError {
            path: format!("spec.rayClusterSpec.{group}.template.spec.containers[0].image"),
            problem: "is missing; write the image that runs Ray, for example rayproject/ray:2.60.0"
                .to_owned(),
        })
        .collect()
}
