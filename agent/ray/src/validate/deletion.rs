//! Rules of a RayJob's deletion strategy (V-24 to V-27).

use std::collections::BTreeMap;

use super::Findings;
use crate::types::{DeletionRule, DeletionStrategy, RayJobSpec};

pub(super) fn check(findings: &mut Findings<'_>, spec: &RayJobSpec) {
    let Some(strategy) = &spec.deletion_strategy else { return };
    let legacy = strategy.on_success.is_some() || strategy.on_failure.is_some();
    let rules = strategy.deletion_rules.as_deref().unwrap_or_default();
    let field = "deletionStrategy";
    findings.add_if(
        !legacy && rules.is_empty(),
        field,
        "needs deletionRules, or both onSuccess and onFailure",
    );
    findings.add_if(
        legacy && !rules.is_empty(),
        field,
        "cannot hold deletionRules beside onSuccess or onFailure",
    );
    if legacy {
        check_legacy(findings, spec, strategy);
    }
    if !rules.is_empty() {
        findings.add_if(
            spec.shuts_down(),
            "deletionStrategy.deletionRules",
            "cannot be combined with shutdownAfterJobFinishes; write a DeleteCluster rule instead",
        );
        check_rules(findings, spec, rules);
    }
}

fn check_legacy(findings: &mut Findings<'_>, spec: &RayJobSpec, strategy: &DeletionStrategy) {
    let policies = [("onSuccess", &strategy.on_success), ("onFailure", &strategy.on_failure)];
    for (name, policy) in policies {
        let word = policy.as_ref().and_then(|policy| policy.policy.as_deref());
        let field = format!("deletionStrategy.{name}.policy");
        match word {
            None => findings.add(&field, "is missing; both onSuccess and onFailure need a policy"),
            Some(word) => {
                check_policy(findings, spec, &field, word);
                findings.add_if(
                    word == "DeleteNone" && spec.shuts_down(),
                    &field,
                    "DeleteNone contradicts shutdownAfterJobFinishes: true",
                );
            }
        }
    }
}

/// V-26.
fn check_policy(findings: &mut Findings<'_>, spec: &RayJobSpec, field: &str, policy: &str) {
    let touches_cluster = matches!(policy, "DeleteCluster" | "DeleteWorkers");
    findings.add_if(
        touches_cluster && spec.selects_cluster(),
        field,
        "cannot delete a RayCluster chosen by clusterSelector",
    );
    let autoscaling = spec.ray_cluster_spec.as_ref().is_some_and(|cluster| cluster.autoscaling());
    findings.add_if(
        policy == "DeleteWorkers" && autoscaling,
        field,
        "DeleteWorkers cannot be combined with autoscaling",
    );
}

/// V-27.
fn check_rules(findings: &mut Findings<'_>, spec: &RayJobSpec, rules: &[DeletionRule]) {
    let mut latest: BTreeMap<&str, Vec<(u8, i32)>> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        let field = format!("deletionStrategy.deletionRules[{index}]");
        let ttl = rule.condition.ttl_seconds.unwrap_or(0);
        check_policy(findings, spec, &format!("{field}.policy"), &rule.policy);
        findings.add_if(ttl < 0, &format!("{field}.condition.ttlSeconds"), "must not be negative");
        let word = match (&rule.condition.job_status, &rule.condition.job_deployment_status) {
            (Some(word), None) | (None, Some(word)) => word.as_str(),
            _ => {
                findings.add(&format!("{field}.condition"), "needs either jobStatus or jobDeploymentStatus");
                continue;
            }
        };
        let strength = strength(&rule.policy);
        let earlier = latest.entry(word).or_default();
        findings.add_if(
            earlier.iter().any(|(known, _)| *known == strength),
            &field,
            "repeats an earlier rule with the same condition and policy",
        );
        let disordered = earlier
            .iter()
            .any(|(known, other)| (*known < strength && *other > ttl) || (*known > strength && *other < ttl));
        findings.add_if(
            strength > 0 && disordered,
            &format!("{field}.condition.ttlSeconds"),
            "must not make a cluster outlive its RayJob: workers first, then the cluster, then the RayJob",
        );
        earlier.push((strength, ttl));
    }
}

/// How much a policy deletes; a stronger one includes the weaker ones.
pub(crate) fn strength(policy: &str) -> u8 {
    match policy {
        "DeleteWorkers" => 1,
        "DeleteCluster" => 2,
        "DeleteSelf" => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    fn problems(strategy: &Value, extra: &Value) -> usize {
        let mut spec = json!({"deletionStrategy": strategy});
        spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let spec: RayJobSpec = serde_json::from_value(spec).unwrap();
        let mut findings = Findings::below("spec");
        check(&mut findings, &spec);
        findings.found.len()
    }

    fn rule(policy: &str, status: &str, ttl: i32) -> Value {
        json!({"policy": policy, "condition": {"jobStatus": status, "ttlSeconds": ttl}})
    }

    #[test]
    fn v_24_v_25_one_complete_style() {
        let both = json!({"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}});
        assert_eq!(problems(&both, &json!({})), 0);
        assert_eq!(problems(&both, &json!({"shutdownAfterJobFinishes": true})), 1);
        assert_eq!(problems(&json!({"onSuccess": {"policy": "DeleteCluster"}}), &json!({})), 1);
        assert_eq!(problems(&json!({}), &json!({})), 1);
        let rules = json!({"deletionRules": [rule("DeleteCluster", "FAILED", 0)]});
        assert_eq!(problems(&rules, &json!({"shutdownAfterJobFinishes": true})), 1);
    }

    #[test]
    fn v_26_policies_that_cannot_work() {
        let rules = json!({"deletionRules": [rule("DeleteWorkers", "FAILED", 0)]});
        assert_eq!(problems(&rules, &json!({"clusterSelector": {"ray.io/cluster": "a"}})), 1);
    }

    #[test]
    fn v_27_rules_are_unique_and_ordered() {
        let staged = json!([
            rule("DeleteWorkers", "FAILED", 10),
            rule("DeleteCluster", "FAILED", 20),
            rule("DeleteSelf", "FAILED", 30)
        ]);
        assert_eq!(problems(&json!({"deletionRules": staged}), &json!({})), 0);
        let disordered = json!([rule("DeleteCluster", "FAILED", 20), rule("DeleteWorkers", "FAILED", 30)]);
        assert_eq!(problems(&json!({"deletionRules": disordered}), &json!({})), 1);
        let twice = json!([rule("DeleteSelf", "FAILED", 1), rule("DeleteSelf", "FAILED", 2)]);
        assert_eq!(problems(&json!({"deletionRules": twice}), &json!({})), 1);
        let other = json!([rule("DeleteSelf", "FAILED", 1), rule("DeleteSelf", "SUCCEEDED", 2)]);
        assert_eq!(problems(&json!({"deletionRules": other}), &json!({})), 0);
        let vague = json!([{"policy": "DeleteSelf", "condition": {}}]);
        assert_eq!(problems(&json!({"deletionRules": vague}), &json!({})), 1);
    }
}
