//! The sidecar that runs Ray's autoscaler (POD-15).

use serde_json::{Value, json};

use super::{
    Cluster,
    command::shell,
    env::{cluster_name, from_field, literal},
    ray_container, volume,
};
use crate::{
    names,
    object::{self, items},
    types::{AutoscalerOptions, RayClusterSpec},
};

const COMMAND: &str =
    "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)";

pub(super) fn add(cluster: &Cluster<'_>, template: &mut Value) {
    let image = ray_container(template)["image"].clone();
    let mut sidecar = json!({
        "name": "autoscaler",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [
            cluster_name(),
            from_field("RAY_CLUSTER_NAMESPACE", "metadata.namespace"),
            from_field("RAY_HEAD_POD_NAME", "metadata.name"),
            literal("KUBERAY_CRD_VER", "v1"),
            literal("KUBERAY_GEN_AUTOSCALER_START_CMD", COMMAND),
        ],
        "command": shell(cluster.options, ""),
        "args": [COMMAND],
        "resources": {
            "limits": {"cpu": "500m", "memory": "512Mi"},
            "requests": {"cpu": "500m", "memory": "512Mi"},
        },
    });
    if let Some(options) = &cluster.spec.autoscaler_options {
        merge(&mut sidecar, options);
    }
    let containers = items(&mut template["spec"], "containers");
    let index = containers.len();
    containers.push(sidecar);
    volume::share_logs(template, index);
    template["spec"]["serviceAccountName"] =
        json!(names::checked_name(&service_account(cluster.object, cluster.spec)));
    set_version(cluster.spec, ray_container(template));
}

/// Autoscaler v2 replaces nodes itself, so a container must not restart in place.
pub(super) fn set_restart_policy(spec: &RayClusterSpec, template: &mut Value) {
    if spec.autoscaling() && spec.autoscaler_version() == Some("v2") {
        object::entry(template, "spec").insert("restartPolicy".to_owned(), json!("Never"));
    }
}

/// The head's ServiceAccount: the template's, else the cluster's own.
pub(crate) fn service_account(cluster: &Value, spec: &RayClusterSpec) -> String {
    let own = object::text(&spec.head_group_spec.template, &["spec", "serviceAccountName"]);
    if own.is_empty() { object::name(cluster).to_owned() } else { own.to_owned() }
}

fn set_version(spec: &RayClusterSpec, container: &mut Value) {
    let switch = match spec.autoscaler_version() {
        Some("v2") => "true",
        Some("v1") => "false",
        _ => return,
    };
    items(container, "env").push(literal("RAY_enable_autoscaler_v2", switch));
}

fn merge(sidecar: &mut Value, options: &AutoscalerOptions) {
    let replaced = [
        ("resources", options.resources.clone()),
        ("image", options.image.as_ref().map(|image| json!(image))),
        ("imagePullPolicy", options.image_pull_policy.as_ref().map(|policy| json!(policy))),
        ("securityContext", options.security_context.clone()),
        ("command", options.command.as_ref().map(|command| json!(command))),
        ("args", options.args.as_ref().map(|args| json!(args))),
    ];
    for (field, value) in replaced {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            sidecar[field] = value;
        }
    }
    let appended =
        [("env", &options.env), ("envFrom", &options.env_from), ("volumeMounts", &options.volume_mounts)];
    for (field, values) in appended {
        if let Some(values) = values.as_deref().filter(|values| !values.is_empty()) {
            items(sidecar, field).extend_from_slice(values);
        }
    }
}
