//! Caps: a RayCluster whose worker groups may not be as large as its RayJob says, and how it gets back what it was.
//!
//! Invariant: only `maxReplicas`, `replicas` and `workersToDelete` change, no group falls below its `minReplicas`, and what was
//! there before is noted in an annotation, so that nothing of the manifest is needed to lift a cap. Ray's autoscaler reads
//! `maxReplicas` anew each time it looks. The patch names the version that it was made for: if Ray wrote meanwhile, it is
//! refused and made again. Fails by leaving the group as it is; repaired by the next pass of the agent.

use serde_json::{Map, Value, json};
use squadron_core::dispatch::soft::{Cap, Caps};

use crate::object;

/// Annotation of a RayCluster: `maxReplicas` of its capped groups as they were, as JSON.
pub const UNCAPPED: &str = "squadron.dev/uncapped";

/// Whether groups of the RayCluster are capped.
pub fn is_capped(cluster: &Value) -> bool {
    !object::annotation(cluster, UNCAPPED).is_empty()
}

/// The merge patch that brings the RayCluster to these caps, and back to what it was in all other groups; nothing if it is so.
pub fn patch(cluster: &Value, caps: &Caps) -> Option<Value> {
    let text = object::annotation(cluster, UNCAPPED);
    let mut before: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let mut groups = object::list(cluster, &["spec", "workerGroupSpecs"]).to_vec();
    let mut changed = false;
    for group in &mut groups {
        let name = object::text(group, &["groupName"]).to_owned();
        changed |= match caps.get(&name) {
            Some(cap) => bound(group, cap, before.entry(name).or_insert(group["maxReplicas"].clone())),
            None => before.remove(&name).map(|most| group["maxReplicas"] = most).is_some(),
        };
    }
    let note = if before.is_empty() { Value::Null } else { Value::Object(before).to_string().into() };
    changed.then(|| {
        json!({
            "metadata": {"resourceVersion": cluster["metadata"]["resourceVersion"], "annotations": {UNCAPPED: note}},
            "spec": {"workerGroupSpecs": groups},
        })
    })
}

/// Answers whether that changed anything.
fn bound(group: &mut Value, cap: &Cap, before: &Value) -> bool {
    let number = |field: &str| group[field].as_i64();
    let most = i64::from(cap.most).max(number("minReplicas").unwrap_or(0));
    let most = before.as_i64().map_or(most, |before| most.min(before));
    let now = number("maxReplicas");
    if now == Some(most) {
        return false;
    }
    let replicas = number("replicas").map(|replicas| replicas.min(most));
    let shrinks = now.is_none_or(|now| now > most);
    group["maxReplicas"] = most.into();
    group["replicas"] = replicas.map_or(group["replicas"].clone(), Value::from);
    if shrinks && !cap.leaves.is_empty() {
        let listed = object::list(group, &["scaleStrategy", "workersToDelete"]);
        let mut names: Vec<Value> = listed.to_vec();
        names.extend(
            cap.leaves.iter().map(|name| Value::from(name.as_str())).filter(|name| !listed.contains(name)),
        );
        group["scaleStrategy"] = json!({"workersToDelete": names});
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn cluster(note: Option<&str>, replicas: i64, most: i64) -> Value {
        let mut metadata = json!({"name": "t", "resourceVersion": "7"});
        if let Some(note) = note {
            metadata["annotations"] = json!({UNCAPPED: note});
        }
        json!({"metadata": metadata, "spec": {"workerGroupSpecs": [
            {"groupName": "other", "replicas": 2, "minReplicas": 1, "maxReplicas": 4},
            {"groupName": "w", "replicas": replicas, "minReplicas": 1, "maxReplicas": most,
                "scaleStrategy": {"workersToDelete": ["old"]}},
        ]}})
    }

    fn caps(most: u32, leaves: &[&str]) -> Caps {
        let leaves = leaves.iter().map(|name| (*name).to_owned()).collect();
        [("w".to_owned(), Cap { most, leaves })].into()
    }

    #[test]
    fn a_capped_group_loses_the_pods_that_are_named_and_the_others_stay_as_they_are() {
        let patch = patch(&cluster(None, 5, 8), &caps(3, &["t-1", "t-2"])).unwrap();
        assert_eq!(
            patch["metadata"],
            json!({"resourceVersion": "7", "annotations": {UNCAPPED: "{\"w\":8}"}})
        );
        let groups = &patch["spec"]["workerGroupSpecs"];
        assert_eq!(groups[0], cluster(None, 0, 0)["spec"]["workerGroupSpecs"][0]);
        assert_eq!((&groups[1]["replicas"], &groups[1]["maxReplicas"]), (&json!(3), &json!(3)));
        assert_eq!(groups[1]["scaleStrategy"]["workersToDelete"], json!(["old", "t-1", "t-2"]));
    }

    #[test]
    fn what_is_as_it_should_be_is_left_alone_and_a_cap_may_move() {
        let capped = cluster(Some("{\"w\":8}"), 3, 3);
        assert!(is_capped(&capped) && !is_capped(&cluster(None, 3, 3)));
        assert_eq!(patch(&capped, &caps(3, &["t-1"])), None);
        assert_eq!(patch(&cluster(None, 3, 3), &Caps::new()), None);
        let raised = patch(&capped, &caps(6, &[])).unwrap();
        let group = &raised["spec"]["workerGroupSpecs"][1];
        assert_eq!(
            (&group["replicas"], &group["maxReplicas"]),
            (&json!(3), &json!(6)),
            "Ray asks for more itself"
        );
        assert_eq!(group["scaleStrategy"]["workersToDelete"], json!(["old"]));
        let least = patch(&cluster(None, 5, 8), &caps(0, &[])).unwrap();
        assert_eq!(least["spec"]["workerGroupSpecs"][1]["maxReplicas"], 1, "never below its minimum");
        assert_eq!(patch(&cluster(None, 5, 8), &caps(9, &[])), None, "a cap is no reason to grow");
    }

    #[test]
    fn a_lifted_cap_brings_back_what_was_there() {
        let lifted = patch(&cluster(Some("{\"w\":8}"), 3, 3), &Caps::new()).unwrap();
        assert_eq!(lifted["metadata"]["annotations"][UNCAPPED], Value::Null);
        assert_eq!(lifted["spec"]["workerGroupSpecs"][1]["maxReplicas"], 8);
    }
}
