//! The rules for RayClusters, one case each.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

/// A minimal spec, changed by a JSON merge.
fn findings(change: &Value) -> Vec<String> {
    findings_of(change, &json!({}))
}

fn findings_of(change: &Value, owner: &Value) -> Vec<String> {
    let mut spec = json!({
        "headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray-head"}]}}},
        "workerGroupSpecs": [{"groupName": "small", "replicas": 1, "minReplicas": 0, "maxReplicas": 2,
                              "template": {"spec": {"containers": [{"name": "ray-worker"}]}}}],
    });
    merge(&mut spec, change);
    let spec: RayClusterSpec = serde_json::from_value(spec).unwrap();
    cluster_spec(&spec, owner, "spec").iter().map(ToString::to_string).collect()
}

fn merge(target: &mut Value, change: &Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (key, value) in change {
                merge(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(target), Value::Array(change)) => {
            target.resize(change.len().max(target.len()), Value::Null);
            for (target, change) in target.iter_mut().zip(change) {
                merge(target, change);
            }
        }
        (target, change) => *target = change.clone(),
    }
}

#[track_caller]
fn refuses(change: &Value, path: &str) {
    let found = findings(change);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(&format!("{path}: ")), "{found:?}");
}

fn worker(change: &Value) -> Value {
    json!({"workerGroupSpecs": [change]})
}

fn head_env_of(name: &str, value: &str) -> Value {
    json!({"headGroupSpec": {"template": {"spec": {"containers": [{"env": [{"name": name, "value": value}]}]}}}})
}

#[test]
fn minimal_cluster_is_fine() {
    assert_eq!(findings(&json!({})), Vec::<String>::new());
}

#[test]
fn v_1_v_2_cluster_names() {
    assert!(cluster_name(&"a".repeat(53)).is_empty());
    assert_eq!(cluster_name(&"a".repeat(54)).len(), 1);
    assert_eq!(cluster_name("1a").len(), 1);
}

#[test]
fn v_3_v_6_templates_need_a_container() {
    let none = json!({"spec": null});
    refuses(&json!({"headGroupSpec": {"template": none}}), "spec.headGroupSpec.template.spec.containers");
    refuses(&worker(&json!({"template": none})), "spec.workerGroupSpecs[0].template.spec.containers");
}

#[test]
fn v_4_resources_are_given_once() {
    let both = json!({"rayStartParams": {"num-cpus": "1"}, "resources": {"CPU": "1"}});
    refuses(&worker(&both), "spec.workerGroupSpecs[0].resources");
    refuses(&json!({"headGroupSpec": both}), "spec.headGroupSpec.resources");
    assert!(
        findings(&worker(&json!({"rayStartParams": {"num-cpus": ""}, "resources": {"CPU": "1"}}))).is_empty()
    );
}

#[test]
fn v_5_labels_are_kubernetes_labels() {
    refuses(
        &worker(&json!({"rayStartParams": {"labels": "a=b"}})),
        "spec.workerGroupSpecs[0].rayStartParams.labels",
    );
    refuses(&worker(&json!({"labels": {"a": "b c"}})), "spec.workerGroupSpecs[0].labels.a");
}

#[test]
fn v_7_limits_of_replicas() {
    refuses(&worker(&json!({"minReplicas": 3})), "spec.workerGroupSpecs[0].minReplicas");
    refuses(&worker(&json!({"maxReplicas": -1})), "spec.workerGroupSpecs[0].maxReplicas");
}

#[test]
fn v_8_v_9_need_autoscaler_v2() {
    refuses(&worker(&json!({"idleTimeoutSeconds": 30})), "spec.workerGroupSpecs[0].idleTimeoutSeconds");
    let v2 = json!({"enableInTreeAutoscaling": true, "autoscalerOptions": {"version": "v2"}, "rayVersion": "2.55.1",
                    "workerGroupSpecs": [{"idleTimeoutSeconds": 30, "priority": 2}]});
    refuses(&v2, "spec.workerGroupSpecs[0].priority");
}

#[test]
fn v_10_to_v_13_redis_is_configured_in_one_place() {
    refuses(&head_env_of("RAY_REDIS_ADDRESS", "redis:6379"), "spec.headGroupSpec");
    refuses(&head_env_of("REDIS_USERNAME", "ray"), "spec.headGroupSpec");
    let options = json!({"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}});
    let annotated = json!({"metadata": {"annotations": {"ray.io/ft-enabled": "true"}}});
    assert_eq!(findings_of(&options, &annotated).len(), 1);
    assert!(findings_of(&head_env_of("RAY_REDIS_ADDRESS", "redis:6379"), &annotated).is_empty());
}

#[test]
fn v_14_autoscaler_and_its_switch_agree() {
    refuses(&head_env_of("RAY_enable_autoscaler_v2", "1"), "spec.headGroupSpec");
    let mut both = head_env_of("RAY_enable_autoscaler_v2", "1");
    merge(&mut both, &json!({"enableInTreeAutoscaling": true, "autoscalerOptions": {"version": "v1"}}));
    refuses(&both, "spec.autoscalerOptions.version");
    let restarts = json!({"enableInTreeAutoscaling": true, "autoscalerOptions": {"version": "v2"},
                          "workerGroupSpecs": [{"template": {"spec": {"restartPolicy": "Always"}}}]});
    refuses(&restarts, "spec.workerGroupSpecs[0].template.spec.restartPolicy");
    refuses(
        &json!({"enableInTreeAutoscaling": true, "workerGroupSpecs": [{"suspend": true}]}),
        "spec.workerGroupSpecs[0].suspend",
    );
}

#[test]
fn groups_have_unique_names() {
    let second = json!({"groupName": "small", "template": {"spec": {"containers": [{}]}}});
    refuses(&json!({"workerGroupSpecs": [{}, second]}), "spec.workerGroupSpecs[1].groupName");
    refuses(&worker(&json!({"groupName": "a b"})), "spec.workerGroupSpecs[0].groupName");
}

#[test]
fn versions_compare_by_number() {
    for (version, expected) in
        [("2.53.0", true), ("2.9.1", false), ("3.0", true), ("nightly", false), ("", false)]
    {
        assert_eq!(at_least(version, (2, 53)), expected, "{version}");
    }
}
