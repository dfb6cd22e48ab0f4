//! Status of a RayCluster and of a RayJob, as they are written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::embedded;

/// `RayCluster.status`. Empty parts are left out when written.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RayClusterStatus {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    #[serde(rename = "desiredCPU")]
    #[schemars(schema_with = "embedded::quantity")]
    pub desired_cpu: String,
    #[schemars(schema_with = "embedded::quantity")]
    pub desired_memory: String,
    #[serde(rename = "desiredGPU")]
    #[schemars(schema_with = "embedded::quantity")]
    pub desired_gpu: String,
    #[serde(rename = "desiredTPU")]
    #[schemars(schema_with = "embedded::quantity")]
    pub desired_tpu: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time", "nullable" = true))]
    pub last_update_time: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "embedded::times")]
    pub state_transition_times: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub endpoints: BTreeMap<String, String>,
    pub head: HeadInfo,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "is_zero")]
    pub ready_worker_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub available_worker_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub desired_worker_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub min_worker_replicas: i32,
    #[serde(skip_serializing_if = "is_zero")]
    pub max_worker_replicas: i32,
    pub observed_generation: i64,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// Where the head is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HeadInfo {
    #[serde(rename = "podIP", skip_serializing_if = "String::is_empty")]
    pub pod_ip: String,
    #[serde(rename = "serviceIP", skip_serializing_if = "String::is_empty")]
    pub service_ip: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pod_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_name: String,
}

/// A condition as Kubernetes knows it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    pub r#type: String,
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    #[schemars(extend("minLength" = 1, "maxLength" = 1024))]
    pub reason: String,
    #[schemars(extend("maxLength" = 32_768))]
    pub message: String,
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// `RayJob.status`. Empty parts are left out when written.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RayJobStatus {
    pub ray_job_info: RayJobInfo,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ray_cluster_name: String,
    #[serde(rename = "dashboardURL", skip_serializing_if = "String::is_empty")]
    pub dashboard_url: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job_status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job_deployment_status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub start_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub end_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = 0))]
    pub succeeded: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = 0))]
    pub failed: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub job_status_check_failure_start_time: Option<String>,
    /// Copy of the RayCluster's status.
    #[serde(skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "embedded::cluster_status")]
    pub ray_cluster_status: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// When Ray started and ended the job.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RayJobInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub start_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub end_time: Option<String>,
}
