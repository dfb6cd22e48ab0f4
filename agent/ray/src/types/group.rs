//! Head group and worker groups of a RayCluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::embedded;

/// `headGroupSpec`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeadGroupSpec {
    #[schemars(schema_with = "embedded::pod_template")]
    pub template: Value,
    #[serde(default)]
    #[schemars(schema_with = "embedded::service")]
    pub head_service: Option<Value>,
    pub enable_ingress: Option<bool>,
    #[serde(default)]
    #[schemars(schema_with = "embedded::anything")]
    pub ingress_options: Option<Value>,
    pub resources: Option<BTreeMap<String, String>>,
    pub labels: Option<BTreeMap<String, String>>,
    pub ray_start_params: Option<BTreeMap<String, String>>,
    pub service_type: Option<String>,
}

/// One of `workerGroupSpecs`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerGroupSpec {
    pub suspend: Option<bool>,
    pub group_name: String,
    #[schemars(extend("x-default" = 0))]
    pub replicas: Option<i32>,
    #[schemars(required, range(min = 0), extend("x-default" = 0))]
    pub min_replicas: Option<i32>,
    #[schemars(required, range(min = 0), extend("x-default" = 2_147_483_647))]
    pub max_replicas: Option<i32>,
    #[schemars(range(min = 0))]
    pub idle_timeout_seconds: Option<i32>,
    pub priority: Option<i32>,
    pub resources: Option<BTreeMap<String, String>>,
    pub labels: Option<BTreeMap<String, String>>,
    pub ray_start_params: Option<BTreeMap<String, String>>,
    #[schemars(schema_with = "embedded::pod_template")]
    pub template: Value,
    pub scale_strategy: Option<ScaleStrategy>,
    #[schemars(extend("x-default" = 1))]
    pub num_of_hosts: Option<i32>,
}

/// Pods that the autoscaler wants gone.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScaleStrategy {
    pub workers_to_delete: Option<Vec<String>>,
}

impl WorkerGroupSpec {
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspend == Some(true)
    }

    pub(crate) fn hosts(&self) -> i32 {
        self.num_of_hosts.unwrap_or(1).max(1)
    }

    pub(crate) fn least(&self) -> i32 {
        self.min_replicas.unwrap_or(0).max(0)
    }

    pub(crate) fn most(&self) -> i32 {
        self.max_replicas.unwrap_or(i32::MAX).max(0)
    }

    /// Pods that should exist: replicas within their limits, times hosts; none while suspended.
    pub(crate) fn desired_pods(&self) -> i32 {
        if self.is_suspended() {
            return 0;
        }
        let replicas = self.replicas.unwrap_or(0).max(self.least()).min(self.most());
        replicas.saturating_mul(self.hosts())
    }

    pub(crate) fn to_delete(&self) -> &[String] {
        let listed = self.scale_strategy.as_ref().and_then(|strategy| strategy.workers_to_delete.as_deref());
        listed.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(replicas: Option<i32>, least: i32, most: i32) -> WorkerGroupSpec {
        WorkerGroupSpec {
            replicas,
            min_replicas: Some(least),
            max_replicas: Some(most),
            ..Default::default()
        }
    }

    #[test]
    fn rc_wrk_4_replicas_are_kept_within_their_limits() {
        let cases =
            [(Some(3), 1, 5, 3), (Some(0), 1, 5, 1), (Some(9), 1, 5, 5), (None, 2, 5, 2), (Some(4), 3, 2, 2)];
        for (replicas, least, most, pods) in cases {
            assert_eq!(group(replicas, least, most).desired_pods(), pods, "{replicas:?} in {least}..{most}");
        }
    }

    #[test]
    fn rc_wrk_4_hosts_multiply_and_suspension_empties() {
        let hosts = |number| WorkerGroupSpec { num_of_hosts: Some(number), ..group(Some(2), 0, 5) };
        assert_eq!((hosts(4).desired_pods(), hosts(0).desired_pods(), hosts(-1).desired_pods()), (8, 2, 2));
        assert_eq!(WorkerGroupSpec { suspend: Some(true), ..hosts(4) }.desired_pods(), 0);
        assert_eq!(group(Some(i32::MAX), 0, i32::MAX).desired_pods(), i32::MAX);
    }
}
