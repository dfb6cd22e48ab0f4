//! Requests: what a pod asks of a node, counted as the scheduler counts.
//!
//! Invariant: for every pod that the API server accepts, the result is what kube-scheduler subtracts from a node:
//! the greater of the init containers' peak and the sum of the containers, plus overhead. Requests default to limits.
//! A quantity that cannot be read counts as zero here; [`crate::manifest::parse`] refuses it beforehand.

use serde_json::{Map, Value};
use squadron_core::{
    quantity,
    resources::{Resources, is_gpu},
};

use crate::object;

/// What `pod` (a Pod or a PodTemplateSpec: anything with a pod `spec`) asks for.
pub fn pod_requests(pod: &Value) -> Resources {
    let spec = object::at(pod, &["spec"]);
    let running: Resources = object::list(spec, &["containers"]).iter().map(container_requests).sum();
    let (sidecars, peak) = object::list(spec, &["initContainers"]).iter().fold(
        (Resources::default(), Resources::default()),
        |(sidecars, peak), init| {
            let own = container_requests(init);
            if object::text(init, &["restartPolicy"]) == "Always" {
                let sidecars = sidecars + own;
                (sidecars, peak.max(sidecars))
            } else {
                (sidecars, peak.max(sidecars + own))
            }
        },
    );
    let overhead = object::at(spec, &["overhead"]).as_object().map(amounts).unwrap_or_default();
    let needed = pod_level(spec).unwrap_or_else(|| (running + sidecars).max(peak));
    needed + overhead
}

/// Requests of one container; a resource that has only a limit requests its limit.
fn container_requests(container: &Value) -> Resources {
    amounts(&requests_or_limits(object::at(container, &["resources"])))
}

/// Kubernetes 1.34: `spec.resources` replaces the sum over the containers for the resources it names.
fn pod_level(spec: &Value) -> Option<Resources> {
    let resources = object::at(spec, &["resources"]);
    let named = requests_or_limits(resources);
    (named.contains_key("cpu") && named.contains_key("memory")).then(|| {
        let gpus =
            object::list(spec, &["containers"]).iter().map(container_requests).map(|own| own.gpus).sum();
        Resources { gpus, ..amounts(&named) }
    })
}

fn requests_or_limits(resources: &Value) -> Map<String, Value> {
    let mut merged = object::at(resources, &["limits"]).as_object().cloned().unwrap_or_default();
    for (name, amount) in object::at(resources, &["requests"]).as_object().into_iter().flatten() {
        merged.insert(name.clone(), amount.clone());
    }
    merged
}

fn amounts(named: &Map<String, Value>) -> Resources {
    let mut sum = Resources::default();
    for (name, amount) in named {
        let text = quantity_text(amount);
        match name.as_str() {
            "cpu" => sum.cpu_milli = quantity::milli(&text).unwrap_or(0),
            "memory" => sum.memory_bytes = quantity::whole(&text).unwrap_or(0),
            gpu if is_gpu(gpu) => sum.gpus = sum.gpus.saturating_add(quantity::whole(&text).unwrap_or(0)),
            _ => {}
        }
    }
    sum
}

/// What is wrong with an amount of a resource, if anything: it must be one that [`amounts`] can count.
pub(crate) fn amount_problem(name: &str, text: &str) -> Option<String> {
    let read = if name == "cpu" { quantity::milli(text) } else { quantity::whole(text) };
    match read {
        Err(bad) => Some(bad.to_string()),
        Ok(amount) if amount < 0 || text.starts_with('-') => Some("must not be negative".to_owned()),
        Ok(_) if is_gpu(name) && quantity::milli(text).is_ok_and(|milli| milli % 1_000 != 0) => {
            Some(format!("is {text}, and GPUs are given to pods whole"))
        }
        Ok(_) => None,
    }
}

/// A quantity may be written as a number or as a string.
pub(crate) fn quantity_text(amount: &Value) -> String {
    match amount {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(spec: &Value) -> (i64, i64, i64) {
        let sum = pod_requests(&json!({"spec": spec}));
        (sum.cpu_milli, sum.memory_bytes, sum.gpus)
    }

    #[test]
    fn containers_add_up_and_the_largest_init_container_counts() {
        let two =
            json!([{"resources": {"requests": {"cpu": "500m"}}}, {"resources": {"requests": {"cpu": 1}}}]);
        assert_eq!(of(&json!({"containers": two})), (1_500, 0, 0));
        let init = json!([{"resources": {"requests": {"cpu": "2"}}}, {"resources": {"requests": {"memory": "1Gi"}}}]);
        assert_eq!(of(&json!({"containers": two, "initContainers": init})), (2_000, 1 << 30, 0));
    }

    #[test]
    fn limits_stand_in_for_missing_requests() {
        let limits = json!({"limits": {"cpu": "1", "nvidia.com/gpu": 2}, "requests": {"cpu": "300m"}});
        assert_eq!(of(&json!({"containers": [{"resources": limits}]})), (300, 0, 2));
    }

    #[test]
    fn restartable_init_containers_run_beside_the_others() {
        let init = json!([
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "200m"}}},
            {"resources": {"requests": {"cpu": "900m"}}},
        ]);
        let main = json!([{"resources": {"requests": {"cpu": "1"}}}]);
        assert_eq!(of(&json!({"containers": main, "initContainers": init})), (1_200, 0, 0));
    }

    #[test]
    fn overhead_and_pod_level_resources_count() {
        let main = json!([{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]);
        assert_eq!(of(&json!({"containers": main, "overhead": {"cpu": "250m"}})), (1_250, 1 << 30, 0));
        let pod = json!({"requests": {"cpu": "3", "memory": "2Gi"}});
        assert_eq!(of(&json!({"containers": main, "resources": pod})), (3_000, 2 << 30, 0));
    }

    #[test]
    fn amounts_that_cannot_be_counted_are_told() {
        for (name, text) in [
            ("cpu", "-1"),
            ("cpu", "-0.0001"),
            ("cpu", "1e18"),
            ("memory", "-1Gi"),
            ("memory", "64Ei"),
            ("nvidia.com/gpu", "-8"),
            ("nvidia.com/gpu", "0.5"),
            ("nvidia.com/gpu", "1500m"),
            ("example.com/fpga", "-1"),
        ] {
            assert!(amount_problem(name, text).is_some(), "{name}: {text}");
        }
        for (name, text) in
            [("cpu", "0.5"), ("cpu", "100m"), ("memory", "1.5Gi"), ("memory", "1e3"), ("amd.com/gpu", "8")]
        {
            assert_eq!(amount_problem(name, text), None, "{name}: {text}");
        }
    }

    #[test]
    fn garbage_counts_as_nothing() {
        assert_eq!(of(&json!({"containers": [{"resources": {"requests": {"cpu": "lots"}}}, 7]})), (0, 0, 0));
    }
}
