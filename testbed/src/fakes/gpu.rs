//! Fake GPUs on a node: the extended resource and the label that a device plugin and its feature discovery would set.
//!
//! Invariant: the count in the node's status is what was asked for; the kubelet keeps resources that it does not know.

use serde_json::json;

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

fn status(count: u32) -> String {
    let value = if count == 0 { json!(null) } else { json!(count.to_string()) };
    json!({"status": {"capacity": {RESOURCE: value}, "allocatable": {RESOURCE: value}}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_is_written_as_a_quantity_and_zero_removes() {
        assert_eq!(
            status(4),
            r#"{"status":{"capacity":{"nvidia.com/gpu":"4"},"allocatable":{"nvidia.com/gpu":"4"}}}"#
        );
        assert!(status(0).contains("null"));
    }
}
