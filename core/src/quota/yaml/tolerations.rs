//! Tolerations of a flavor, as our own kind and Kueue's both have them.

use std::collections::BTreeMap;

use super::{
    fields::{Reader, Refused, under},
    node::Node,
};
use crate::placement::Toleration;

const REFUSED: &[Refused] = &[Refused {
    field: "tolerationSeconds",
    same: &[],
    reason: "a job is not meant to be evicted after a while; leave it out",
}];

/// The list, and its lines by the field names of a fault.
pub(super) fn tolerations(
    reader: &mut Reader,
    node: Option<&&Node>,
) -> (Vec<Toleration>, BTreeMap<String, u32>) {
    let path = "spec.tolerations";
    let mut lines: BTreeMap<String, u32> =
        node.map(|node| ("tolerations".to_owned(), node.line)).into_iter().collect();
    let mut all = Vec::new();
    for (index, node) in reader.list(node, path).iter().enumerate() {
        lines.insert(format!("tolerations[{index}]"), node.line);
        all.push(toleration(reader, node, &format!("{path}[{index}]")));
    }
    (all, lines)
}

/// Kubernetes takes Equal where no operator is given.
fn toleration(reader: &mut Reader, node: &Node, path: &str) -> Toleration {
    let fields = reader.map(node, path, &["key", "operator", "value", "effect", "tolerationSeconds"]);
    reader.refuse(&fields, path, REFUSED);
    let mut text =
        |field: &str| reader.text(fields.get(field), &under(path, field)).unwrap_or_default().to_owned();
    let (key, operator, value, effect) = (text("key"), text("operator"), text("value"), text("effect"));
    let operator = if operator.is_empty() { "Equal".to_owned() } else { operator };
    Toleration { key, operator, value, effect }
}
