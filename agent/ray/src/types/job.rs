//! RayJob's spec.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RayClusterSpec;
use crate::schema::{embedded, managed_by};

/// `RayJob.spec`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RayJobSpec {
    pub active_deadline_seconds: Option<i32>,
    #[schemars(range(min = 1))]
    pub pre_running_deadline_seconds: Option<i32>,
    #[schemars(extend("x-default" = 0))]
    pub backoff_limit: Option<i32>,
    pub ray_cluster_spec: Option<RayClusterSpec>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::pod_template")]
    pub submitter_pod_template: Option<Value>,
    pub metadata: Option<BTreeMap<String, String>>,
    pub cluster_selector: Option<BTreeMap<String, String>>,
    pub submitter_config: Option<SubmitterConfig>,
    #[serde(default)]
    #[schemars(schema_with = "managed_by")]
    pub managed_by: Option<String>,
    pub deletion_strategy: Option<DeletionStrategy>,
    pub entrypoint: Option<String>,
    #[serde(rename = "runtimeEnvYAML")]
    pub runtime_env_yaml: Option<String>,
    pub job_id: Option<String>,
    #[schemars(extend("x-default" = "K8sJobMode"))]
    pub submission_mode: Option<String>,
    pub entrypoint_resources: Option<String>,
    pub entrypoint_num_cpus: Option<f32>,
    pub entrypoint_num_gpus: Option<f32>,
    pub shutdown_after_job_finishes: Option<bool>,
    #[schemars(extend("x-default" = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
    pub suspend: Option<bool>,
}

/// The batch Job that submits.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubmitterConfig {
    pub backoff_limit: Option<i32>,
}

/// What is deleted when the job ended: either by rules, or by the older pair of policies.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))",
        "message": "legacy policies (onSuccess/onFailure) and deletionRules cannot be used together within the same deletionStrategy",
    },
    {
        "rule": "((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))",
        "message": "deletionStrategy requires either BOTH onSuccess and onFailure, OR the deletionRules field (cannot be empty)",
    },
]))]
pub struct DeletionStrategy {
    pub on_success: Option<DeletionPolicy>,
    pub on_failure: Option<DeletionPolicy>,
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "atomic"))]
    pub deletion_rules: Option<Vec<DeletionRule>>,
}

/// The older form.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeletionPolicy {
    #[schemars(extend("enum" = ["DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"]))]
    pub policy: Option<String>,
}

/// One deletion and when it is due.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeletionRule {
    #[schemars(extend("enum" = ["DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"]))]
    pub policy: String,
    pub condition: DeletionCondition,
}

/// The end that a rule waits for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "!(has(self.jobStatus) && has(self.jobDeploymentStatus))",
        "message": "jobStatus and jobDeploymentStatus cannot be used together within the same deletion condition",
    },
    {
        "rule": "has(self.jobStatus) || has(self.jobDeploymentStatus)",
        "message": "the deletion condition requires either jobStatus or jobDeploymentStatus",
    },
]))]
pub struct DeletionCondition {
    #[schemars(extend("enum" = ["SUCCEEDED", "FAILED"]))]
    pub job_status: Option<String>,
    #[schemars(extend("enum" = ["Failed"]))]
    pub job_deployment_status: Option<String>,
    #[schemars(range(min = 0), extend("x-default" = 0))]
    pub ttl_seconds: Option<i32>,
}

/// Who submits the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SubmissionMode {
    K8sJob,
    Http,
    Sidecar,
    Interactive,
}

impl RayJobSpec {
    /// `None` for a word that is no submission mode.
    pub(crate) fn mode(&self) -> Option<SubmissionMode> {
        match self.submission_mode.as_deref().unwrap_or_default() {
            "" | "K8sJobMode" => Some(SubmissionMode::K8sJob),
            "HTTPMode" => Some(SubmissionMode::Http),
            "SidecarMode" => Some(SubmissionMode::Sidecar),
            "InteractiveMode" => Some(SubmissionMode::Interactive),
            _ => None,
        }
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.suspend == Some(true)
    }

    pub(crate) fn shuts_down(&self) -> bool {
        self.shutdown_after_job_finishes == Some(true)
    }

    pub(crate) fn selects_cluster(&self) -> bool {
        self.cluster_selector.as_ref().is_some_and(|selector| !selector.is_empty())
    }

    /// The name in `clusterSelector`, empty if there is none.
    pub(crate) fn selected_cluster(&self) -> &str {
        let selector = self.cluster_selector.as_ref();
        selector.and_then(|labels| labels.get(crate::names::CLUSTER)).map_or("", String::as_str)
    }
}
