//! Bind: a manifest whose pods stay on nodes of the flavors that their attempt is charged to.
//!
//! Invariant: what a template says stays, and is joined with what was decided; a manifest for which nothing was decided is the
//! same text as before. The decision chose nodes that the template accepts, so both hold on some node. Fails by leaving an odd
//! shape as it is, for the API server to refuse.

use serde_json::{Map, Value, json};
use squadron_core::{
    dispatch::Bound,
    placement::{NodeWish, Requirement, Toleration},
};

use crate::{
    bounds::{or_if_null, require},
    object,
};

/// The RayJob, given and answered as JSON, with the templates of the bound roles changed.
pub fn in_text(manifest: String, bound: &Bound) -> String {
    if bound.is_empty() {
        return manifest;
    }
    match serde_json::from_str::<Value>(&manifest) {
        Ok(mut object) => {
            bind(&mut object, bound);
            object.to_string()
        }
        Err(_) => manifest,
    }
}

fn bind(manifest: &mut Value, bound: &Bound) {
    let Some(spec) = manifest.get_mut("spec") else { return };
    give(spec.get_mut("submitterPodTemplate"), bound.get("submitter"));
    let Some(cluster) = spec.get_mut("rayClusterSpec") else { return };
    give(cluster.pointer_mut("/headGroupSpec/template"), bound.get("head"));
    let groups = cluster.get_mut("workerGroupSpecs").and_then(Value::as_array_mut);
    for group in groups.into_iter().flatten() {
        let wish = bound.get(object::text(group, &["groupName"])).cloned();
        give(group.get_mut("template"), wish.as_ref());
    }
}

fn give(template: Option<&mut Value>, wish: Option<&NodeWish>) {
    let (Some(template), Some(wish)) = (template.filter(|one| one.is_object()), wish) else { return };
    if !wish.affinity.is_empty() {
        let alternatives: Vec<Vec<Value>> =
            wish.affinity.iter().map(|term| term.iter().map(expression).collect()).collect();
        require(template, &alternatives);
    }
    if !wish.tolerations.is_empty()
        && let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(all) = or_if_null(spec, "tolerations", json!([])).as_array_mut()
    {
        all.extend(wish.tolerations.iter().map(toleration));
    }
}

fn expression(one: &Requirement) -> Value {
    json!({"key": one.key, "operator": one.operator, "values": one.values})
}

/// Kubernetes tells an empty field from none: an empty effect is no effect, and Exists has no value.
fn toleration(one: &Toleration) -> Value {
    let fields =
        [("key", &one.key), ("operator", &one.operator), ("value", &one.value), ("effect", &one.effect)];
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(field, value)| (field.to_owned(), value.as_str().into())).collect::<Map<_, _>>().into()
}

#[cfg(test)]
#[path = "bind_tests.rs"]
mod tests;
