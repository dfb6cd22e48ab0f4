//! Environment of the Ray container and of init containers (POD-9).

use serde_json::{Value, json};

use super::{Cluster, Node, ray_container};
use crate::{names, object, object::items};

pub(super) fn set(cluster: &Cluster<'_>, node: Node<'_>, template: &mut Value, start: &str) {
    let host = cluster.head_host();
    for init in items(&mut template["spec"], "initContainers") {
        items(init, "env").extend(head_address(&host));
    }
    if items(&mut template["spec"], "initContainers").is_empty()
        && let Some(spec) = template["spec"].as_object_mut()
    {
        spec.remove("initContainers");
    }
    let env = items(ray_container(template), "env");
    if matches!(node, Node::Worker(_)) {
        env.extend(head_address(&host));
    }
    env.push(cluster_name());
    env.push(from_field("RAY_CLUSTER_NAMESPACE", "metadata.namespace"));
    env.push(from_field("RAY_CLOUD_INSTANCE_ID", "metadata.name"));
    env.push(from_field("RAY_NODE_TYPE_NAME", &label_field(names::GROUP)));
    env.push(literal("KUBERAY_GEN_RAY_START_CMD", start));
    add_absent(env, "RAY_PORT", &cluster.gcs_port());
    add_for_serve(cluster, env);
    let address = if matches!(node, Node::Head) { "127.0.0.1" } else { &host };
    add_absent(env, "RAY_ADDRESS", &format!("{address}:{}", cluster.gcs_port()));
    add_absent(env, "RAY_USAGE_STATS_KUBERAY_IN_USE", "1");
    if matches!(node, Node::Head) {
        let version = env!("CARGO_PKG_VERSION");
        let tags = format!("kuberay_version=squadron-{version};kuberay_crd={}", cluster.origin());
        env.push(literal("RAY_USAGE_STATS_EXTRA_TAGS", &tags));
    }
    add_absent(env, "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1");
}

fn add_for_serve(cluster: &Cluster<'_>, env: &mut Vec<Value>) {
    if cluster.origin() == "RayService" {
        add_absent(env, "RAY_timeout_ms_task_wait_for_death_info", "0");
        add_absent(env, "RAY_gcs_server_request_timeout_seconds", "5");
        add_absent(env, "RAY_SERVE_KV_TIMEOUT_S", "5");
    }
}

/// RAY_IP is the older of the two names.
fn head_address(host: &str) -> [Value; 2] {
    let service = host.split('.').next().unwrap_or_default();
    [literal("FQ_RAY_IP", host), literal("RAY_IP", service)]
}

pub(super) fn cluster_name() -> Value {
    from_field("RAY_CLUSTER_NAME", &label_field(names::CLUSTER))
}

fn label_field(label: &str) -> String {
    format!("metadata.labels['{label}']")
}

pub(super) fn from_field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

pub(super) fn literal(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// Adds the variable unless the list has one of that name.
pub(super) fn add_absent(env: &mut Vec<Value>, name: &str, value: &str) {
    if !has(env, name) {
        env.push(literal(name, value));
    }
}

pub(super) fn has(env: &[Value], name: &str) -> bool {
    env.iter().any(|one| object::text(one, &["name"]) == name)
}
