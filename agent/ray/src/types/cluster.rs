//! RayCluster's spec.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{HeadGroupSpec, WorkerGroupSpec};
use crate::schema::{embedded, managed_by};

/// `RayCluster.spec`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RayClusterSpec {
    pub upgrade_strategy: Option<ClusterUpgradeStrategy>,
    pub auth_options: Option<AuthOptions>,
    pub suspend: Option<bool>,
    #[serde(default)]
    #[schemars(schema_with = "managed_by")]
    pub managed_by: Option<String>,
    pub autoscaler_options: Option<AutoscalerOptions>,
    pub head_service_annotations: Option<BTreeMap<String, String>>,
    pub enable_in_tree_autoscaling: Option<bool>,
    pub gcs_fault_tolerance_options: Option<GcsFaultToleranceOptions>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::anything")]
    pub history_server_options: Option<Value>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::anything")]
    pub network_policy: Option<Value>,
    pub tls_options: Option<TlsOptions>,
    pub head_group_spec: HeadGroupSpec,
    pub ray_version: Option<String>,
    pub worker_group_specs: Option<Vec<WorkerGroupSpec>>,
}

/// What happens to running pods when the spec changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClusterUpgradeStrategy {
    #[schemars(extend("enum" = ["Recreate", "None"]))]
    pub r#type: Option<String>,
}

/// Ray token authentication.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthOptions {
    #[schemars(extend("enum" = ["disabled", "token"]))]
    pub mode: Option<String>,
    pub secret_name: Option<String>,
    #[serde(rename = "enableK8sTokenAuth")]
    pub enable_k8s_token_auth: Option<bool>,
}

/// The sidecar that runs Ray's autoscaler.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerOptions {
    #[serde(default)]
    #[schemars(schema_with = "embedded::resources")]
    pub resources: Option<Value>,
    pub image: Option<String>,
    pub image_pull_policy: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::security_context")]
    pub security_context: Option<Value>,
    #[schemars(range(min = 0))]
    pub idle_timeout_seconds: Option<i32>,
    #[schemars(extend("enum" = ["Default", "Aggressive", "Conservative"]))]
    pub upscaling_mode: Option<String>,
    #[schemars(extend("enum" = ["v1", "v2"]))]
    pub version: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::env")]
    pub env: Option<Vec<Value>>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::env_from")]
    pub env_from: Option<Vec<Value>>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::volume_mounts")]
    pub volume_mounts: Option<Vec<Value>>,
    pub command: Option<Vec<String>>,
    pub args: Option<Vec<String>>,
}

/// Where the GCS keeps its state so that it survives the head.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcsFaultToleranceOptions {
    #[schemars(extend(
        "enum" = ["redis", "rocksdb"],
        "x-kubernetes-validations" = [{"rule": "self == oldSelf", "message": "the backend field is immutable"}],
    ))]
    pub backend: Option<String>,
    pub redis_address: Option<String>,
    pub redis_username: Option<RedisCredential>,
    pub redis_password: Option<RedisCredential>,
    pub external_storage_namespace: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::anything")]
    pub storage: Option<Value>,
}

/// A user name or password, in place or from a Secret.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedisCredential {
    pub value: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::env_source")]
    pub value_from: Option<Value>,
}

/// Mutual TLS managed by the operator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TlsOptions {
    pub enabled: Option<bool>,
}

impl RayClusterSpec {
    pub(crate) fn groups(&self) -> &[WorkerGroupSpec] {
        self.worker_group_specs.as_deref().unwrap_or_default()
    }

    pub(crate) fn autoscaling(&self) -> bool {
        self.enable_in_tree_autoscaling == Some(true)
    }

    pub(crate) fn autoscaler_version(&self) -> Option<&str> {
        self.autoscaler_options.as_ref()?.version.as_deref()
    }

    /// Pods that the worker groups should have together.
    pub(crate) fn desired_workers(&self) -> i32 {
        self.groups().iter().map(WorkerGroupSpec::desired_pods).fold(0, i32::saturating_add)
    }
}
