//! Rules of a RayJob (V-22 to V-32).

use serde_json::Value;

use super::{Findings, cluster, deletion, names};
use crate::{
    manifest::FieldError,
    names::LONGEST_JOB_NAME,
    object,
    types::{RayJobSpec, SubmissionMode},
};

/// V-22.
pub(crate) fn job_name(name: &str) -> Vec<FieldError> {
    let mut findings = Findings::below("metadata");
    if let Some(problem) = names::dns_label(name, LONGEST_JOB_NAME) {
        findings.add("name", problem);
    }
    findings.found
}

/// V-23 to V-32. `job` is the RayJob itself, for its annotations.
pub(crate) fn job_spec(spec: &RayJobSpec, job: &Value) -> Vec<FieldError> {
    let mut findings = Findings::below("spec");
    check_end(&mut findings, spec);
    deletion::check(&mut findings, spec);
    check_cluster(&mut findings, spec, job);
    check_mode(&mut findings, spec);
    check_entrypoint(&mut findings, spec);
    let positive = |seconds: Option<i32>| seconds.is_none_or(|seconds| seconds > 0);
    findings.add_if(
        !positive(spec.active_deadline_seconds),
        "activeDeadlineSeconds",
        "must be greater than 0",
    );
    findings.add_if(
        !positive(spec.pre_running_deadline_seconds),
        "preRunningDeadlineSeconds",
        "must be greater than 0",
    );
    findings.add_if(
        spec.backoff_limit.is_some_and(|limit| limit < 0),
        "backoffLimit",
        "must not be negative",
    );
    findings.found
}

/// V-23.
fn check_end(findings: &mut Findings<'_>, spec: &RayJobSpec) {
    let ttl = spec.ttl_seconds_after_finished.unwrap_or(0);
    findings.add_if(
        spec.is_suspended() && !spec.shuts_down(),
        "suspend",
        "needs shutdownAfterJobFinishes: true, because suspending deletes the RayCluster",
    );
    findings.add_if(
        spec.is_suspended() && spec.selects_cluster(),
        "suspend",
        "cannot be combined with clusterSelector",
    );
    findings.add_if(ttl < 0, "ttlSecondsAfterFinished", "must not be negative");
    findings.add_if(
        ttl > 0 && !spec.shuts_down(),
        "ttlSecondsAfterFinished",
        "has no effect without shutdownAfterJobFinishes: true; add it or remove the TTL",
    );
}

/// V-28, V-31.
fn check_cluster(findings: &mut Findings<'_>, spec: &RayJobSpec, job: &Value) {
    match &spec.ray_cluster_spec {
        Some(cluster) => {
            let path = format!("{}.rayClusterSpec", findings.path);
            findings.found.extend(cluster::cluster_spec(cluster, job, &path));
        }
        None => findings.add_if(
            !spec.selects_cluster(),
            "rayClusterSpec",
            "is missing; describe the RayCluster to run on, or name an existing one in clusterSelector",
        ),
    }
    if spec.selects_cluster() {
        findings.add_if(
            spec.selected_cluster().is_empty(),
            "clusterSelector",
            "must name the RayCluster under the key ray.io/cluster",
        );
        let retries = spec.backoff_limit.is_some_and(|limit| limit > 0);
        findings.add_if(
            retries,
            "backoffLimit",
            "cannot be combined with clusterSelector: a retry needs a new RayCluster",
        );
    }
}

/// V-29, V-30.
fn check_mode(findings: &mut Findings<'_>, spec: &RayJobSpec) {
    let submitter =
        object::list(spec.submitter_pod_template.as_ref().unwrap_or(&Value::Null), &["spec", "containers"]);
    findings.add_if(
        spec.submitter_pod_template.is_some() && submitter.is_empty(),
        "submitterPodTemplate.spec.containers",
        "needs at least one container; the first one submits the job",
    );
    match spec.mode() {
        None => {
            let problem = "must be one of K8sJobMode, HTTPMode, SidecarMode, InteractiveMode";
            findings.add("submissionMode", problem);
        }
        Some(SubmissionMode::Sidecar) => check_sidecar(findings, spec),
        Some(SubmissionMode::Interactive) => findings.add_if(
            spec.backoff_limit.is_some_and(|limit| limit > 0),
            "backoffLimit",
            "cannot be combined with InteractiveMode",
        ),
        Some(SubmissionMode::K8sJob | SubmissionMode::Http) => {}
    }
}

/// V-30: the submitter is part of the head pod, so nothing of its own can be set.
fn check_sidecar(findings: &mut Findings<'_>, spec: &RayJobSpec) {
    let later = "cannot be combined with SidecarMode";
    findings.add_if(spec.submitter_pod_template.is_some(), "submitterPodTemplate", later);
    findings.add_if(spec.submitter_config.is_some(), "submitterConfig", later);
    findings.add_if(spec.selects_cluster(), "clusterSelector", later);
    let template = spec.ray_cluster_spec.as_ref().map(|cluster| &cluster.head_group_spec.template);
    let policy = object::text(template.unwrap_or(&Value::Null), &["spec", "restartPolicy"]);
    findings.add_if(
        !matches!(policy, "" | "Never"),
        "rayClusterSpec.headGroupSpec.template.spec.restartPolicy",
        "must be Never or absent with SidecarMode",
    );
}

/// V-32, and what Ray would refuse anyway.
fn check_entrypoint(findings: &mut Findings<'_>, spec: &RayJobSpec) {
    if let Err(problem) = runtime_env(spec) {
        findings.add("runtimeEnvYAML", problem);
    }
    if let Err(problem) = entrypoint_resources(spec) {
        findings.add("entrypointResources", problem);
    }
    if spec.metadata.as_ref().is_some_and(|metadata| !metadata.is_empty()) {
        let version = spec.ray_cluster_spec.as_ref().and_then(|cluster| cluster.ray_version.as_deref());
        let old = version.is_some_and(|version| !version.is_empty() && !cluster::at_least(version, (2, 6)));
        findings.add_if(old, "metadata", "needs rayVersion 2.6.0 or newer");
    }
}

/// The runtime environment as JSON; `None` where the job has none.
pub(crate) fn runtime_env(spec: &RayJobSpec) -> Result<Option<Value>, String> {
    let Some(text) = spec.runtime_env_yaml.as_deref().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    match crate::manifest::read_yaml(text) {
        Ok(env) if env.is_object() => Ok(Some(env)),
        Ok(_) => Err("must be a YAML map, for example `env_vars: {LEVEL: \"1\"}`".to_owned()),
        Err(error) => Err(error.problem),
    }
}

/// Custom resources of the driver; empty where the job names none.
pub(crate) fn entrypoint_resources(spec: &RayJobSpec) -> Result<Option<Value>, String> {
    let Some(text) = spec.entrypoint_resources.as_deref().filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let wrong = || "must be a JSON map from resource to number, for example {\"R1\": 2}".to_owned();
    let resources: Value = serde_json::from_str(text).map_err(|_| wrong())?;
    let numbers = resources.as_object().is_some_and(|map| map.values().all(Value::is_number));
    if numbers { Ok(Some(resources)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn findings(change: &Value) -> Vec<String> {
        let mut spec = json!({
            "entrypoint": "python train.py",
            "rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray-head"}]}}}},
        });
        for (key, value) in change.as_object().unwrap() {
            spec[key] = value.clone();
        }
        let spec: RayJobSpec = serde_json::from_value(spec).unwrap();
        job_spec(&spec, &json!({})).iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn refuses(change: &Value, path: &str) {
        let found = findings(change);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("{path}: ")), "{found:?}");
    }

    #[test]
    fn v_22_job_names_leave_room_for_a_suffix() {
        assert!(job_name(&"a".repeat(47)).is_empty());
        assert_eq!(job_name(&"a".repeat(48)).len(), 1);
    }

    #[test]
    fn v_23_suspension_and_ttl_need_shutdown() {
        assert!(findings(&json!({"shutdownAfterJobFinishes": true, "suspend": true})).is_empty());
        refuses(&json!({"suspend": true}), "spec.suspend");
        refuses(&json!({"ttlSecondsAfterFinished": 10}), "spec.ttlSecondsAfterFinished");
        refuses(&json!({"ttlSecondsAfterFinished": -1}), "spec.ttlSecondsAfterFinished");
    }

    #[test]
    fn v_28_cluster_or_selector() {
        refuses(&json!({"rayClusterSpec": null}), "spec.rayClusterSpec");
        let selects = json!({"rayClusterSpec": null, "clusterSelector": {"ray.io/cluster": "shared"}});
        assert!(findings(&selects).is_empty());
        refuses(&json!({"clusterSelector": {"team": "a"}}), "spec.clusterSelector");
        refuses(&json!({"clusterSelector": {"ray.io/cluster": "a"}, "backoffLimit": 1}), "spec.backoffLimit");
    }

    #[test]
    fn v_29_v_30_modes() {
        refuses(&json!({"submissionMode": "HttpMode"}), "spec.submissionMode");
        let sidecar = json!({"submissionMode": "SidecarMode", "submitterConfig": {"backoffLimit": 1}});
        refuses(&sidecar, "spec.submitterConfig");
        refuses(&json!({"submissionMode": "InteractiveMode", "backoffLimit": 2}), "spec.backoffLimit");
        refuses(
            &json!({"submitterPodTemplate": {"spec": {"containers": []}}}),
            "spec.submitterPodTemplate.spec.containers",
        );
    }

    #[test]
    fn v_31_nested_cluster_is_checked_with_its_path() {
        let broken = json!({"rayClusterSpec": {"headGroupSpec": {"template": {}}}});
        refuses(&broken, "spec.rayClusterSpec.headGroupSpec.template.spec.containers");
    }

    #[test]
    fn v_32_runtime_env_is_a_map_and_deadlines_are_positive() {
        assert!(
            findings(&json!({"runtimeEnvYAML": "\nenv_vars:\n  counter_name: test_counter\n"})).is_empty()
        );
        refuses(&json!({"runtimeEnvYAML": "invalid_yaml_string"}), "spec.runtimeEnvYAML");
        refuses(&json!({"runtimeEnvYAML": "a: [b"}), "spec.runtimeEnvYAML");
        refuses(&json!({"activeDeadlineSeconds": 0}), "spec.activeDeadlineSeconds");
        refuses(&json!({"backoffLimit": -1}), "spec.backoffLimit");
        refuses(&json!({"entrypointResources": "R1=2"}), "spec.entrypointResources");
    }
}
