//! Probes of the Ray container (POD-13).
//!
//! Ray 2.53 and newer answer one HTTP question for raylet and GCS, which costs no process. Older versions are asked
//! by a shell. With [`Probes::Quick`] a startup probe asks each second, so a node counts as ready when it is.

use serde_json::{Value, json};

use super::{Cluster, Node, container_port};
use crate::{names, object, options::Probes, validate};

struct Timing {
    initial: i64,
    period: i64,
    timeout: i64,
    failures: i64,
}

pub(super) fn add(cluster: &Cluster<'_>, node: Node<'_>, container: &mut Value) {
    if cluster.options.probes == Probes::Off {
        return;
    }
    let has = |probe: &str| !object::at(container, &[probe]).is_null();
    let (own_liveness, own_readiness, own_startup) =
        (has("livenessProbe"), has("readinessProbe"), has("startupProbe"));
    let timeout = if matches!(node, Node::Head) { 5 } else { 2 };
    let quick = cluster.options.probes == Probes::Quick && !own_readiness && !own_startup;
    let serving = cluster.origin() == "RayService" && matches!(node, Node::Worker(_));
    if !own_liveness {
        let timing = Timing { initial: 30, period: 5, timeout, failures: 120 };
        container["livenessProbe"] = probe(&timing, node_check(cluster, node));
    }
    if !own_readiness {
        let initial = if quick { 0 } else { 10 };
        let timing = Timing { initial, period: 5, timeout, failures: if serving { 1 } else { 10 } };
        let check = if serving { serve_check(cluster, node, container) } else { node_check(cluster, node) };
        container["readinessProbe"] = probe(&timing, check);
    }
    if quick {
        let timing = Timing { initial: 0, period: 1, timeout, failures: 630 };
        container["startupProbe"] = probe(&timing, node_check(cluster, node));
    }
}

fn probe(timing: &Timing, check: Value) -> Value {
    let mut probe = check;
    probe["initialDelaySeconds"] = json!(timing.initial);
    probe["periodSeconds"] = json!(timing.period);
    probe["timeoutSeconds"] = json!(timing.timeout);
    probe["successThreshold"] = json!(1);
    probe["failureThreshold"] = json!(timing.failures);
    probe
}

/// Raylet, and on the head also the GCS.
fn node_check(cluster: &Cluster<'_>, node: Node<'_>) -> Value {
    let version = cluster.spec.ray_version.as_deref().unwrap_or_default();
    if validate::at_least(version, (2, 53)) {
        return json!({"httpGet": {"path": "/api/healthz", "port": agent_port(cluster, node)}});
    }
    json!({"exec": {"command": ["bash", "-c", shell_checks(cluster, node).join(" && ")]}})
}

fn serve_check(cluster: &Cluster<'_>, node: Node<'_>, container: &Value) -> Value {
    let mut checks = shell_checks(cluster, node);
    checks.push(ask(container_port(container, "serve", names::PORT_SERVE), "-/healthz"));
    json!({"exec": {"command": ["bash", "-c", checks.join(" && ")]}})
}

fn shell_checks(cluster: &Cluster<'_>, node: Node<'_>) -> Vec<String> {
    let mut checks = vec![ask(agent_port(cluster, node), "api/local_raylet_healthz")];
    if matches!(node, Node::Head) {
        checks.push(ask(names::PORT_DASHBOARD, "api/gcs_healthz"));
    }
    checks
}

/// An HTTP question by the shell alone: images need neither wget nor curl.
fn ask(port: i64, path: &str) -> String {
    format!(
        "(exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET /{path} HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q success <&3)"
    )
}

fn agent_port(cluster: &Cluster<'_>, node: Node<'_>) -> i64 {
    let params = match node {
        Node::Head => cluster.spec.head_group_spec.ray_start_params.as_ref(),
        Node::Worker(group) => group.ray_start_params.as_ref(),
    };
    let own = params.and_then(|params| params.get("dashboard-agent-listen-port"));
    own.and_then(|port| port.parse().ok()).unwrap_or(names::PORT_AGENT)
}
