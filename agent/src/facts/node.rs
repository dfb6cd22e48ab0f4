//! Node: capacity, readiness, labels, taints and the GPU model, from a Node object.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::api::resource::Quantity};
use squadron_core::{
    fact::NodeFact,
    placement::{Face, Taint},
    quantity,
    resources::{Resources, is_gpu},
};

use super::{at, bounded, bounded_or_empty};

/// The fact of a node as the API server has it.
pub fn node_fact(node: &Node) -> NodeFact {
    let meta = &node.metadata;
    let label = |name: &str| meta.labels.as_ref().and_then(|labels| labels.get(name));
    let status = node.status.clone().unwrap_or_default();
    let face = face(node);
    NodeFact {
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        ready: is_ready(node),
        unschedulable: node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false),
        capacity: status.capacity.as_ref().map(amounts).unwrap_or_default(),
        allocatable: status.allocatable.as_ref().map(amounts).unwrap_or_default(),
        gpu_model: bounded(face.gpu_model()),
        instance_type: bounded_or_empty(label("node.kubernetes.io/instance-type")),
        face,
        created_at: at(meta.creation_timestamp.as_ref()),
        gone: false,
    }
}

/// Labels, and the taints that keep pods away. Kubernetes bounds both by the size of an object.
fn face(node: &Node) -> Face {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let mut taints: Vec<Taint> = taints
        .into_iter()
        .flatten()
        .filter(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute"))
        .map(|taint| Taint {
            key: taint.key.clone(),
            value: taint.value.clone().unwrap_or_default(),
            effect: taint.effect.clone(),
        })
        .collect();
    taints.sort();
    Face { labels: node.metadata.labels.clone().unwrap_or_default(), taints, ..Face::default() }
}

/// A quantity that cannot be read counts as zero: nothing is promised that may not exist.
fn amounts(list: &BTreeMap<String, Quantity>) -> Resources {
    let whole = |quantity: &Quantity| quantity::whole(&quantity.0).unwrap_or(0);
    Resources {
        cpu_milli: list.get("cpu").map_or(0, |cpu| quantity::milli(&cpu.0).unwrap_or(0)),
        memory_bytes: list.get("memory").map_or(0, whole),
        gpus: list.iter().filter(|(name, _)| is_gpu(name)).map(|(_, amount)| whole(amount)).sum(),
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn heartbeat_times_do_not_change_the_fact() {
        let node = |beat: &str| -> Node {
            serde_json::from_value(json!({
                "metadata": {"name": "n1", "uid": "u1", "resourceVersion": beat,
                    "labels": {"nvidia.com/gpu.product": "H100"}},
                "status": {
                    "capacity": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "4"},
                    "allocatable": {"cpu": "7500m", "memory": "15Gi", "nvidia.com/gpu": "4"},
                    "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": beat}]},
            }))
            .unwrap()
        };
        let fact = node_fact(&node("2026-11-29T10:00:00Z"));
        assert_eq!(fact, node_fact(&node("2026-11-29T10:05:00Z")));
        assert!(fact.ready && !fact.unschedulable);
        assert_eq!(
            (fact.capacity.cpu_milli, fact.allocatable.cpu_milli, fact.capacity.gpus),
            (8_000, 7_500, 4)
        );
        assert_eq!(fact.gpu_model, "H100");
        assert_eq!(fact.face.labels["nvidia.com/gpu.product"], "H100");
    }

    #[test]
    fn taints_that_only_advise_are_left_out_and_their_order_does_not_matter() {
        let node = |taints: serde_json::Value| -> Node {
            serde_json::from_value(json!({"metadata": {"name": "n1"}, "spec": {"taints": taints}})).unwrap()
        };
        let dedicated = json!({"key": "dedicated", "value": "ml", "effect": "NoSchedule"});
        let gpu =
            json!({"key": "nvidia.com/gpu", "effect": "NoExecute", "timeAdded": "2026-11-29T10:00:00Z"});
        let soft = json!({"key": "soft", "effect": "PreferNoSchedule"});
        let face = node_fact(&node(json!([gpu, dedicated, soft]))).face;
        let shown: Vec<String> = face.taints.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["dedicated=ml:NoSchedule", "nvidia.com/gpu:NoExecute"]);
        assert_eq!(face, node_fact(&node(json!([soft, dedicated, gpu]))).face);
    }

    #[test]
    fn unknown_condition_is_not_ready() {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": "n1"}, "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]},
        }))
        .unwrap();
        let fact = node_fact(&node);
        assert!(!fact.ready && fact.unschedulable);
    }
}
