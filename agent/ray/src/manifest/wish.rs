//! Wish: what a pod template says about the nodes that it accepts.
//!
//! Only what the scheduler requires is read: node selector, required node affinity by labels, tolerations. Preferences do
//! not keep a pod from a node, and `matchFields` names single nodes, which DaemonSets do and jobs do not.

use serde_json::Value;
use squadron_core::placement::{NodeWish, Requirement, Toleration};

use crate::object;

const REQUIRED: &[&str] =
    &["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"];

/// Of `pod`, anything with a pod `spec`.
pub(super) fn of(pod: &Value) -> NodeWish {
    let spec = object::at(pod, &["spec"]);
    let selector = object::at(spec, &["nodeSelector"]).as_object();
    let label = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    NodeWish {
        labels: selector.into_iter().flatten().filter_map(label).collect(),
        affinity: affinity(object::list(spec, REQUIRED)),
        tolerations: object::list(spec, &["tolerations"]).iter().map(toleration).collect(),
        no_spot: false,
    }
}

/// The expressions of all terms. Any term is enough, so one that names nodes by field leaves everything to the
/// cluster's scheduler.
fn affinity(terms: &[Value]) -> Vec<Vec<Requirement>> {
    let expressions = |term: &Value| object::list(term, &["matchExpressions"]).to_vec();
    let names_nodes = |term: &Value| !object::list(term, &["matchFields"]).is_empty();
    if terms.iter().any(|term| names_nodes(term) && expressions(term).is_empty()) {
        return Vec::new();
    }
    terms.iter().map(|term| expressions(term).iter().map(requirement).collect()).collect()
}

fn requirement(expression: &Value) -> Requirement {
    let values = object::list(expression, &["values"]).iter();
    Requirement {
        key: object::text(expression, &["key"]).to_owned(),
        operator: object::text(expression, &["operator"]).to_owned(),
        values: values.filter_map(|value| value.as_str().map(str::to_owned)).collect(),
    }
}

fn toleration(toleration: &Value) -> Toleration {
    let text = |field: &str| object::text(toleration, &[field]).to_owned();
    Toleration { key: text("key"), operator: text("operator"), value: text("value"), effect: text("effect") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn template_tells_labels_affinity_and_tolerations() {
        let wish = of(&json!({"spec": {
            "nodeSelector": {"gpu": "h100"},
            "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]},
                                          {"key": "old", "operator": "DoesNotExist"}]}, {}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}},
            "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
        }}));
        assert_eq!(wish.labels.get("gpu").map(String::as_str), Some("h100"));
        let shown: Vec<String> = wish.affinity[0].iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["zone In [a, b]", "old DoesNotExist"]);
        assert_eq!(wish.affinity[1], [], "an empty term stays: it matches nothing");
        let (key, operator) = (wish.tolerations[0].key.as_str(), wish.tolerations[0].operator.as_str());
        assert_eq!(
            (key, operator, wish.tolerations[0].effect.as_str()),
            ("dedicated", "Exists", "NoSchedule")
        );
    }

    #[test]
    fn term_that_names_nodes_leaves_the_choice_to_the_cluster() {
        let terms = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
            {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]);
        assert_eq!(affinity(terms.as_array().map_or(&[], Vec::as_slice)), Vec::<Vec<Requirement>>::new());
    }

    #[test]
    fn template_without_a_word_about_nodes_accepts_all() {
        assert!(of(&json!({"spec": {"containers": []}})).is_empty());
        assert!(of(&Value::Null).is_empty());
    }
}
