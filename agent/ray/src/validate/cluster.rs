//! Rules of a RayCluster (V-1 to V-19).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Findings, names};
use crate::{
    manifest::FieldError,
    names::{FT_ENABLED, LONGEST_CLUSTER_NAME, STORAGE_NAMESPACE},
    object,
    types::{RayClusterSpec, WorkerGroupSpec},
};

const AUTOSCALER_V2: &str = "RAY_enable_autoscaler_v2";

/// V-1, V-2.
pub(crate) fn cluster_name(name: &str) -> Vec<FieldError> {
    let mut findings = Findings::below("metadata");
    if let Some(problem) = names::dns_label(name, LONGEST_CLUSTER_NAME) {
        findings.add("name", problem);
    }
    findings.found
}

/// V-3 to V-19. `owner` is the object whose annotations count: the RayCluster or the RayJob around it.
pub(crate) fn cluster_spec(spec: &RayClusterSpec, owner: &Value, path: &str) -> Vec<FieldError> {
    let mut findings = Findings::below(path);
    let head = &spec.head_group_spec;
    check_template(&mut findings, "headGroupSpec", &head.template);
    let group = Group {
        params: head.ray_start_params.as_ref(),
        resources: head.resources.as_ref(),
        labels: head.labels.as_ref(),
    };
    group.check(&mut findings, "headGroupSpec");
    for (index, worker) in spec.groups().iter().enumerate() {
        check_worker(&mut findings, &format!("workerGroupSpecs[{index}]"), worker, spec);
    }
    check_group_names(&mut findings, spec.groups());
    check_fault_tolerance(&mut findings, spec, owner);
    check_autoscaler(&mut findings, spec);
    check_unsupported(&mut findings, spec);
    findings.found
}

/// V-3, V-6: container 0 is the Ray container.
fn check_template(findings: &mut Findings<'_>, group: &str, template: &Value) {
    let containers = object::list(template, &["spec", "containers"]);
    let field = format!("{group}.template.spec.containers");
    findings.add_if(containers.is_empty(), &field, "needs at least one container; the first one runs Ray");
}

/// What head and worker groups have in common.
struct Group<'a> {
    params: Option<&'a BTreeMap<String, String>>,
    resources: Option<&'a BTreeMap<String, String>>,
    labels: Option<&'a BTreeMap<String, String>>,
}

impl Group<'_> {
    /// V-4, V-5.
    fn check(&self, findings: &mut Findings<'_>, group: &str) {
        let param =
            |name: &str| self.params.and_then(|params| params.get(name)).filter(|value| !value.is_empty());
        let sized =
            ["num-cpus", "num-gpus", "memory", "resources"].into_iter().any(|name| param(name).is_some());
        if sized && self.resources.is_some_and(|resources| !resources.is_empty()) {
            let problem = "cannot stand beside num-cpus, num-gpus, memory or resources in rayStartParams; use one of both";
            findings.add(&format!("{group}.resources"), problem);
        }
        if self.params.is_some_and(|params| params.contains_key("labels")) {
            let problem = "is not supported here; use the group's own labels field";
            findings.add(&format!("{group}.rayStartParams.labels"), problem);
        }
        for (key, value) in self.labels.into_iter().flatten() {
            if !names::is_label_key(key) || !names::is_label_value(value) {
                let problem =
                    "is no Kubernetes label: letters, digits, '-', '_' and '.', at most 63 characters";
                findings.add(&format!("{group}.labels.{key}"), problem);
            }
        }
    }
}

fn check_worker(findings: &mut Findings<'_>, field: &str, worker: &WorkerGroupSpec, spec: &RayClusterSpec) {
    check_template(findings, field, &worker.template);
    let group = Group {
        params: worker.ray_start_params.as_ref(),
        resources: worker.resources.as_ref(),
        labels: worker.labels.as_ref(),
    };
    group.check(findings, field);
    let negative = |number: Option<i32>| number.is_some_and(|number| number < 0);
    findings.add_if(negative(worker.min_replicas), &format!("{field}.minReplicas"), "must not be negative");
    findings.add_if(negative(worker.max_replicas), &format!("{field}.maxReplicas"), "must not be negative");
    findings.add_if(negative(worker.replicas), &format!("{field}.replicas"), "must not be negative");
    findings.add_if(
        worker.least() > worker.most(),
        &format!("{field}.minReplicas"),
        "is greater than maxReplicas; no number of workers satisfies both",
    );
    findings.add_if(
        worker.hosts() > 1,
        &format!("{field}.numOfHosts"),
        "greater than 1 is not supported yet; use replicas of one host each",
    );
    findings.add_if(
        worker.is_suspended() && spec.autoscaling(),
        &format!("{field}.suspend"),
        "cannot be combined with enableInTreeAutoscaling",
    );
    check_worker_autoscaling(findings, field, worker, spec);
}

/// V-8, V-9.
fn check_worker_autoscaling(
    findings: &mut Findings<'_>,
    field: &str,
    worker: &WorkerGroupSpec,
    spec: &RayClusterSpec,
) {
    let v2 = uses_v2(spec);
    if let Some(seconds) = worker.idle_timeout_seconds {
        let field = format!("{field}.idleTimeoutSeconds");
        findings.add_if(seconds < 0, &field, "must not be negative");
        findings.add_if(!v2, &field, "needs autoscalerOptions.version v2");
    }
    if worker.priority.is_some_and(|priority| priority != 0) {
        let recent = at_least(spec.ray_version.as_deref().unwrap_or_default(), (2, 56));
        let problem = "needs rayVersion 2.56.0 or newer and autoscalerOptions.version v2";
        findings.add_if(!v2 || !recent, &format!("{field}.priority"), problem);
    }
}

/// Pods are told apart by their group's name.
fn check_group_names(findings: &mut Findings<'_>, groups: &[WorkerGroupSpec]) {
    for (index, group) in groups.iter().enumerate() {
        let field = format!("workerGroupSpecs[{index}].groupName");
        findings.add_if(group.group_name.is_empty(), &field, "is empty; name the group");
        let twice = groups[..index].iter().any(|earlier| earlier.group_name == group.group_name);
        findings.add_if(twice, &field, "is used twice; group names must be unique");
        findings.add_if(!names::is_label_value(&group.group_name), &field, "must be usable as a label value");
    }
}

/// V-10 to V-13.
fn check_fault_tolerance(findings: &mut Findings<'_>, spec: &RayClusterSpec, owner: &Value) {
    let params = spec.head_group_spec.ray_start_params.as_ref();
    let has_param = |name: &str| params.is_some_and(|params| params.contains_key(name));
    let has_env = |name: &str| head_env(spec, name).is_some();
    let options = spec.gcs_fault_tolerance_options.as_ref();
    let annotated = object::annotation(owner, FT_ENABLED);
    let external = "gcsFaultToleranceOptions";
    findings.add_if(
        has_param("redis-username") || has_env("REDIS_USERNAME"),
        "headGroupSpec",
        "cannot set a Redis user name itself; use gcsFaultToleranceOptions.redisUsername",
    );
    let Some(options) = options else {
        let problem = "sets RAY_REDIS_ADDRESS, which needs gcsFaultToleranceOptions.redisAddress instead";
        findings.add_if(annotated != "true" && has_env("RAY_REDIS_ADDRESS"), "headGroupSpec", problem);
        return;
    };
    findings.add_if(
        !annotated.is_empty(),
        external,
        "cannot stand beside the annotation ray.io/ft-enabled; use only one",
    );
    findings.add_if(
        !object::annotation(owner, STORAGE_NAMESPACE).is_empty(),
        external,
        "cannot stand beside the annotation ray.io/external-storage-namespace; use externalStorageNamespace",
    );
    findings.add_if(
        has_param("redis-password") || has_env("REDIS_PASSWORD") || has_env("RAY_REDIS_ADDRESS"),
        "headGroupSpec",
        "cannot set the Redis address or password itself; use gcsFaultToleranceOptions",
    );
    findings.add_if(
        options.backend.as_deref() == Some("rocksdb") || options.storage.is_some(),
        external,
        "supports only the backend redis",
    );
}

/// V-14, V-15.
fn check_autoscaler(findings: &mut Findings<'_>, spec: &RayClusterSpec) {
    let flag = head_env(spec, AUTOSCALER_V2);
    if !spec.autoscaling() {
        let on = flag.is_some_and(|value| value == "1" || value == "true");
        let problem = "sets RAY_enable_autoscaler_v2 although enableInTreeAutoscaling is off; switch it on";
        findings.add_if(on, "headGroupSpec", problem);
        return;
    }
    let version = spec.autoscaler_version();
    findings.add_if(
        version.is_some() && flag.is_some(),
        "autoscalerOptions.version",
        "cannot stand beside the head's RAY_enable_autoscaler_v2; keep only this field",
    );
    if version == Some("v2") {
        let templates = std::iter::once(("headGroupSpec".to_owned(), &spec.head_group_spec.template)).chain(
            spec.groups()
                .iter()
                .enumerate()
                .map(|(index, group)| (format!("workerGroupSpecs[{index}]"), &group.template)),
        );
        for (field, template) in templates {
            let policy = object::text(template, &["spec", "restartPolicy"]);
            let field = format!("{field}.template.spec.restartPolicy");
            findings.add_if(
                !matches!(policy, "" | "Never"),
                &field,
                "must be Never or absent with autoscaler v2",
            );
        }
    }
    let own = spec.autoscaler_options.as_ref().and_then(|options| options.env.as_deref()).unwrap_or_default();
    let reserved = own.iter().any(|env| object::text(env, &["name"]) == "KUBERAY_GEN_AUTOSCALER_START_CMD");
    findings.add_if(reserved, "autoscalerOptions.env", "must not set KUBERAY_GEN_AUTOSCALER_START_CMD");
}

/// Parts of the API that this build cannot carry out; silence would be worse.
fn check_unsupported(findings: &mut Findings<'_>, spec: &RayClusterSpec) {
    let later = "is not supported yet; remove it";
    let token = spec.auth_options.as_ref().is_some_and(|auth| auth.mode.as_deref() == Some("token"));
    findings.add_if(token, "authOptions.mode", "token is not supported yet; remove it or write disabled");
    findings.add_if(
        spec.tls_options.as_ref().is_some_and(|tls| tls.enabled == Some(true)),
        "tlsOptions",
        later,
    );
    findings.add_if(spec.network_policy.is_some(), "networkPolicy", later);
    findings.add_if(spec.history_server_options.is_some(), "historyServerOptions", later);
    let recreate =
        spec.upgrade_strategy.as_ref().is_some_and(|upgrade| upgrade.r#type.as_deref() == Some("Recreate"));
    findings.add_if(recreate, "upgradeStrategy.type", "Recreate is not supported yet; write None");
    let ingress = spec.head_group_spec.enable_ingress == Some(true);
    findings.add_if(
        ingress,
        "headGroupSpec.enableIngress",
        "is not supported yet; create an Ingress to the head Service",
    );
}

fn uses_v2(spec: &RayClusterSpec) -> bool {
    let by_env = head_env(spec, AUTOSCALER_V2).is_some_and(|value| value == "1" || value == "true");
    spec.autoscaling() && (spec.autoscaler_version() == Some("v2") || by_env)
}

/// The literal value of an environment variable of the head's Ray container.
fn head_env<'a>(spec: &'a RayClusterSpec, name: &str) -> Option<&'a str> {
    let containers = object::list(&spec.head_group_spec.template, &["spec", "containers"]);
    let env = object::list(containers.first()?, &["env"]);
    env.iter().find(|one| object::text(one, &["name"]) == name).map(|one| object::text(one, &["value"]))
}

/// Whether `version` is `major.minor` or newer; a text that is no version is not.
pub(crate) fn at_least(version: &str, (major, minor): (u64, u64)) -> bool {
    let mut parts = version.trim_start_matches('v').split('.').map(|part| part.parse::<u64>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(own_major), Some(own_minor)) => (own_major, own_minor) >= (major, minor),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
