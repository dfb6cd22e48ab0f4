//! GCS fault tolerance with Redis (POD-14).

use serde_json::{Value, json};

use super::{
    Cluster, Node,
    env::{add_absent, has, literal},
    params::Params,
    ray_container,
};
use crate::{
    names,
    object::{self, entry, items},
    types::RedisCredential,
};

pub(super) fn add(cluster: &Cluster<'_>, node: Node<'_>, template: &mut Value, params: &mut Params) {
    if !cluster.fault_tolerant() {
        return;
    }
    if matches!(node, Node::Worker(_)) {
        add_absent(items(ray_container(template), "env"), "RAY_gcs_rpc_server_reconnect_timeout_s", "600");
        return;
    }
    let space = storage_namespace(cluster);
    entry(template, "metadata");
    entry(&mut template["metadata"], "annotations").insert(names::STORAGE_NAMESPACE.to_owned(), json!(space));
    let env = items(ray_container(template), "env");
    add_absent(env, "RAY_external_storage_namespace", &space);
    match &cluster.spec.gcs_fault_tolerance_options {
        Some(options) => {
            env.push(literal("RAY_REDIS_ADDRESS", options.redis_address.as_deref().unwrap_or_default()));
            add_credential(env, params, "username", options.redis_username.as_ref());
            add_credential(env, params, "password", options.redis_password.as_ref());
        }
        None => {
            if let Some(password) = params.get("redis-password").filter(|_| !has(env, "REDIS_PASSWORD")) {
                env.push(literal("REDIS_PASSWORD", password));
            }
        }
    }
}

/// The clear text stays out of the command: the param names the variable.
fn add_credential(
    env: &mut Vec<Value>,
    params: &mut Params,
    what: &str,
    credential: Option<&RedisCredential>,
) {
    let Some(credential) = credential else { return };
    let name = format!("REDIS_{}", what.to_uppercase());
    params.insert(format!("redis-{what}"), format!("${name}"));
    env.push(match &credential.value_from {
        Some(source) if !source.is_null() => json!({"name": name, "valueFrom": source}),
        _ => literal(&name, credential.value.as_deref().unwrap_or_default()),
    });
}

fn storage_namespace(cluster: &Cluster<'_>) -> String {
    let options = cluster.spec.gcs_fault_tolerance_options.as_ref();
    let own = options.and_then(|options| options.external_storage_namespace.as_deref()).unwrap_or_default();
    let candidates =
        [own, object::annotation(cluster.object, names::STORAGE_NAMESPACE), object::uid(cluster.object)];
    candidates.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
}
