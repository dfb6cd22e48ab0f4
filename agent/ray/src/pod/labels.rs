//! Labels and annotations of Ray pods (POD-2, POD-3).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Cluster, Node};
use crate::{
    names,
    object::{self, entry},
};

/// Labels by which tools and selectors find the pod; a template cannot change them.
const FIXED: [&str; 3] = [names::NODE_TYPE, names::GROUP, names::CLUSTER];

pub(super) fn set(cluster: &Cluster<'_>, node: Node<'_>, template: &mut Value) {
    let own = object::at(template, &["metadata", "labels"]).as_object().cloned().unwrap_or_default();
    let mut labels = generated(cluster, node);
    let group = match node {
        Node::Head => cluster.spec.head_group_spec.labels.as_ref(),
        Node::Worker(group) => group.labels.as_ref(),
    };
    let group = group.into_iter().flatten().map(|(key, value)| (key.clone(), json!(value)));
    let allowed = own.into_iter().chain(group).filter(|(key, _)| !FIXED.contains(&key.as_str()));
    labels.extend(allowed);
    labels.extend(marks(cluster.object));
    serve_label(cluster, node, &mut labels);
    entry(template, "metadata");
    entry(&mut template["metadata"], "labels").extend(labels);
    annotate(cluster, node, template);
}

fn generated(cluster: &Cluster<'_>, node: Node<'_>) -> BTreeMap<String, Value> {
    let name = object::name(cluster.object);
    let labels = [
        (names::IS_RAY_NODE, "yes".to_owned()),
        (names::CLUSTER, name.to_owned()),
        (names::NODE_TYPE, node.node_type().to_owned()),
        (names::GROUP, node.group_name().to_owned()),
        (names::IDENTIFIER, names::label_value(&format!("{name}-{}", node.node_type()))),
        (names::APP_NAME, names::APP.to_owned()),
        (names::CREATED_BY, names::OPERATOR.to_owned()),
    ];
    labels.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

/// Our own marks travel from the RayJob to its RayCluster and on to every pod.
pub(crate) fn marks(owner: &Value) -> impl Iterator<Item = (String, Value)> + '_ {
    let labels = object::at(owner, &["metadata", "labels"]).as_object();
    let ours = labels.into_iter().flatten().filter(|(key, _)| key.starts_with("squadron.dev/"));
    ours.map(|(key, value)| (key.clone(), value.clone()))
}

fn serve_label(cluster: &Cluster<'_>, node: Node<'_>, labels: &mut BTreeMap<String, Value>) {
    if cluster.origin() == "RayService" {
        let serving = matches!(node, Node::Worker(_));
        labels.insert(names::SERVE.to_owned(), json!(serving.to_string()));
    }
}

fn annotate(cluster: &Cluster<'_>, node: Node<'_>, template: &mut Value) {
    let annotations = entry(&mut template["metadata"], "annotations");
    if overwrites_command(cluster.object) {
        annotations.insert(names::OVERWRITE_COMMAND.to_owned(), json!("true"));
    }
    if matches!(node, Node::Head) {
        annotations.insert(names::FT_ENABLED.to_owned(), json!(cluster.fault_tolerant().to_string()));
    }
    if annotations.is_empty()
        && let Some(metadata) = template["metadata"].as_object_mut()
    {
        metadata.remove("annotations");
    }
}

/// The user starts Ray; the command stays as it is.
pub(super) fn overwrites_command(object: &Value) -> bool {
    object::annotation(object, names::OVERWRITE_COMMAND).eq_ignore_ascii_case("true")
}
