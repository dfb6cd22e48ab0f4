//! Fake GPUs on a node: the extended resource and the label that a device plugin and its feature discovery would set.
//!
//! Invariant: the count in the node's status is what was asked for; the kubelet keeps resources that it does not know.

use serde_json::{Value, json};

use crate::error::Result;
use crate::kubectl::Kubectl;

/// The resource that pods request.
pub const RESOURCE: &str = "nvidia.com/gpu";
const LABEL: &str = "nvidia.com/gpu.product";

/// Gives every node so many fake GPUs of this model. Zero takes them away.
pub fn set(kubectl: &Kubectl, count: u32, model: &str) -> Result<Vec<String>> {
    let listed =
        kubectl.run("list the nodes", &["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"])?;
    let nodes: Vec<String> = listed.split_whitespace().map(str::to_owned).collect();
    for node in &nodes {
        let words = ["patch", "node", node, "--subresource=status", "--type=strategic", "-p", &status(count)];
        kubectl.run("give the node fake GPUs", &words)?;
        let label = if count == 0 { format!("{LABEL}-") } else { format!("{LABEL}={model}") };
        kubectl.run("label the node", &["label", "node", node, "--overwrite", &label])?;
    }
    Ok(nodes)
}

/// The fake GPUs of a cluster's first node, as its API server tells of them.
pub struct FirstNode {
    pub node: String,
    pub count: u32,
    /// Empty where no label says it.
    pub model: String,
}

/// Asks for the first node's fake GPUs; local clusters have one node.
pub fn of_first_node(kubectl: &Kubectl) -> Result<FirstNode> {
    let nodes = kubectl.get("look at the fake GPUs", &["nodes"])?;
    Ok(first_node(&nodes))
}

fn first_node(nodes: &Value) -> FirstNode {
    let node = &nodes["items"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    FirstNode {
        node: text(&node["metadata"]["name"]),
        count: text(&node["status"]["allocatable"][RESOURCE]).parse().unwrap_or_default(),
        model: text(&node["metadata"]["labels"][LABEL]),
    }
}

/// The id of a node's fake GPU, counted from 0.
pub fn device_id(index: u32) -> String {
    format!("GPU-fake-{index}")
}

fn status(count: u32) -> String {
    let value = if count == 0 { json!(null) } else { json!(count.to_string()) };
    json!({"status": {"capacity": {RESOURCE: value}, "allocatable": {RESOURCE: value}}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_node_tells_count_and_model() {
        let node = json!({"metadata": {"name": "n1", "labels": {LABEL: "H100"}}, "status": {"allocatable": {RESOURCE: "8"}}});
        let gpus = first_node(&json!({"items": [node]}));
        assert_eq!((gpus.node.as_str(), gpus.count, gpus.model.as_str()), ("n1", 8, "H100"));
        assert_eq!(first_node(&json!({"items": [{"metadata": {"name": "n1"}}]})).count, 0);
    }

    #[test]
    fn count_is_written_as_a_quantity_and_zero_removes() {
        assert_eq!(
            status(4),
            r#"{"status":{"capacity":{"nvidia.com/gpu":"4"},"allocatable":{"nvidia.com/gpu":"4"}}}"#
        );
        assert!(status(0).contains("null"));
    }
}
