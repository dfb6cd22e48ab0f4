//! Requests: what a pod takes from its node, counted as the scheduler counts.
//!
//! Owns the sum over containers. Invariant: the larger of (all containers plus sidecars) and (each init container plus
//! the sidecars started before it), plus the pod's overhead; a pod-level request replaces the sum of its resource.
//! A quantity that cannot be read counts as zero, since the API server would have refused it.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{Container, PodSpec, ResourceRequirements},
    apimachinery::pkg::api::resource::Quantity,
};
use squadron_core::{
    quantity,
    resources::{Resources, is_gpu},
};

type Amounts = BTreeMap<String, Quantity>;

/// What the scheduler reserves for a pod of this spec.
pub fn pod_requests(spec: &PodSpec) -> Resources {
    let running: Resources = spec.containers.iter().map(container_requests).sum();
    let mut sidecars = Resources::default();
    let mut peak = Resources::default();
    for init in spec.init_containers.iter().flatten() {
        let requests = container_requests(init);
        peak = peak.max(sidecars + requests);
        if init.restart_policy.as_deref() == Some("Always") {
            sidecars = sidecars + requests;
        }
    }
    let counted = pod_level(peak.max(running + sidecars), spec.resources.as_ref());
    counted + spec.overhead.as_ref().map(amounts).unwrap_or_default()
}

/// A node's or a container's amounts, as integers.
pub(super) fn amounts(list: &Amounts) -> Resources {
    let whole = |quantity: &Quantity| quantity::whole(&quantity.0).unwrap_or(0);
    Resources {
        cpu_milli: list.get("cpu").map_or(0, |cpu| quantity::milli(&cpu.0).unwrap_or(0)),
        memory_bytes: list.get("memory").map_or(0, whole),
        gpus: list.iter().filter(|(name, _)| is_gpu(name)).map(|(_, amount)| whole(amount)).sum(),
    }
}

/// Requests, with limits standing in for a resource that has no request, as the API server defaults them.
fn container_requests(container: &Container) -> Resources {
    let Some(resources) = &container.resources else { return Resources::default() };
    let mut merged = resources.limits.clone().unwrap_or_default();
    merged.extend(resources.requests.clone().unwrap_or_default());
    amounts(&merged)
}

fn pod_level(counted: Resources, resources: Option<&ResourceRequirements>) -> Resources {
    let Some(requests) = resources.and_then(|resources| resources.requests.as_ref()) else { return counted };
    let stated = amounts(requests);
    let pick = |name: &str, stated: i64, counted: i64| if requests.contains_key(name) { stated } else { counted };
    Resources {
        cpu_milli: pick("cpu", stated.cpu_milli, counted.cpu_milli),
        memory_bytes: pick("memory", stated.memory_bytes, counted.memory_bytes),
        gpus: counted.gpus,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn requests(spec: serde_json::Value) -> Resources {
        pod_requests(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn containers_add_up_and_a_limit_stands_in_for_a_missing_request() {
        let got = requests(json!({"containers": [
            {"name": "a", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
            {"name": "b", "resources": {"limits": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"}}},
        ]}));
        assert_eq!(got, Resources { cpu_milli: 1_500, memory_bytes: 2 << 30, gpus: 2 });
    }

    #[test]
    fn init_container_peak_wins_and_sidecars_stay() {
        let got = requests(json!({
            "initContainers": [
                {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
                {"name": "big", "resources": {"requests": {"cpu": "2", "memory": "10Mi"}}},
            ],
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}],
        }));
        assert_eq!(got, Resources { cpu_milli: 2_100, memory_bytes: 64 << 20, gpus: 0 });
    }

    #[test]
    fn overhead_is_added_and_a_pod_level_request_replaces_the_sum() {
        let got = requests(json!({
            "overhead": {"cpu": "50m", "memory": "16Mi"},
            "resources": {"requests": {"cpu": "3"}},
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}],
        }));
        assert_eq!(got, Resources { cpu_milli: 3_050, memory_bytes: 80 << 20, gpus: 0 });
    }
}
