//! Bounds: what pods of a job may not have, whatever their template says.
//!
//! Owns the grace of pods that must stop when a lease ends, and the exclusion of nodes that can be taken away. Invariant: a
//! bound is set once per template, where the template is made: for those of the manifest when the RayJob is built, for the
//! submitter without one when its Job is. Fails by leaving an odd shape as it is, for the API server to refuse.

use serde_json::{Map, Value, json};
use squadron_core::{
    job::marks,
    lease::{Policy, Terms},
    placement::SPOT_LABELS,
    preference::Field,
};

use crate::object;

/// Whether a manifest or a RayJob says that its pods may not run on nodes that can be taken away.
pub fn excludes_spot(object: &Value) -> bool {
    object::annotation(object, &Field::Spot.annotation()).trim() == "never"
}

/// Whether a RayJob says that its pods stop when a lease ends.
fn is_leased(rayjob: &Value) -> bool {
    object::annotation(rayjob, marks::ON_LOST).parse().is_ok_and(|policy: Policy| policy != Policy::Wait)
}

/// Gives a template that does not come from the RayJob the bounds that the RayJob's own have.
pub(crate) fn like(rayjob: &Value, template: &mut Value) {
    if is_leased(rayjob) {
        grace(template);
    }
    if excludes_spot(rayjob) {
        keep_off_spot(template);
    }
}

/// Who deletes the pods first decides how long they live on, and the garbage collector may come before the fence does: it
/// grants what the pod says, so no pod of a leased attempt may say more than the fence waits.
pub fn grace(template: &mut Value) {
    let most = Terms::default().grace / 1_000;
    let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let wish = pod.get("terminationGracePeriodSeconds").and_then(Value::as_u64).unwrap_or(most);
    pod.insert("terminationGracePeriodSeconds".into(), wish.min(most).into());
}

/// Requires nodes that carry none of the labels of nodes that can be taken away.
pub fn keep_off_spot(template: &mut Value) {
    let steady = SPOT_LABELS.map(|(key, value)| json!({"key": key, "operator": "NotIn", "values": [value]}));
    require(template, &[steady.to_vec()]);
}

/// Requires nodes that meet one of these alternatives, each a list of expressions, beside what the template requires itself.
/// Its own terms are alternatives as well, so each is joined with each. A term that says nothing matches no node, and stays.
pub(crate) fn require(template: &mut Value, alternatives: &[Vec<Value>]) {
    const PATH: [&str; 4] =
        ["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
    let mut place = template;
    for field in PATH {
        let Some(fields) = place.as_object_mut() else { return };
        place = or_if_null(fields, field, json!({}));
    }
    let Some(required) = place.as_object_mut() else { return };
    let Some(terms) = or_if_null(required, "nodeSelectorTerms", json!([])).as_array_mut() else { return };
    if terms.is_empty() {
        terms.extend(alternatives.iter().map(|all| json!({"matchExpressions": all})));
        return;
    }
    let own = std::mem::take(terms);
    for term in own {
        if says_nothing(&term) {
            terms.push(term);
        } else {
            terms.extend(alternatives.iter().map(|all| joined(term.clone(), all)));
        }
    }
}

fn says_nothing(term: &Value) -> bool {
    ["matchExpressions", "matchFields"].iter().all(|field| object::list(term, &[field]).is_empty())
}

fn joined(mut term: Value, expressions: &[Value]) -> Value {
    if let Some(fields) = term.as_object_mut()
        && let Some(all) = or_if_null(fields, "matchExpressions", json!([])).as_array_mut()
    {
        all.extend_from_slice(expressions);
    }
    term
}

/// The field, which becomes `default` where it is absent or null: YAML writes null where everything below is left out.
pub(crate) fn or_if_null<'a>(
    fields: &'a mut Map<String, Value>,
    field: &str,
    default: Value,
) -> &'a mut Value {
    let value = fields.entry(field).or_insert(Value::Null);
    if value.is_null() {
        *value = default;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_that_is_made_for_a_rayjob_gets_the_bounds_that_the_rayjob_names() {
        let bounded = |annotations: Value| {
            let mut template = json!({"spec": {}});
            like(&json!({"metadata": {"annotations": annotations}}), &mut template);
            let spec = &template["spec"];
            (spec["terminationGracePeriodSeconds"].as_u64(), spec["affinity"].is_object())
        };
        assert_eq!(bounded(json!({"squadron.dev/on-lost": "fence"})), (Some(10), false));
        assert_eq!(bounded(json!({"squadron.dev/on-lost": "rerun"})), (Some(10), false));
        assert_eq!(
            bounded(json!({"squadron.dev/on-lost": "wait", "squadron.dev/spot": "never"})),
            (None, true)
        );
        assert_eq!(bounded(json!({"squadron.dev/spot": "allow"})), (None, false));
        assert_eq!(bounded(Value::Null), (None, false));
    }

    #[test]
    fn nulls_on_the_way_to_an_affinity_are_filled() {
        let expected = |template: Value| {
            let mut template = template;
            keep_off_spot(&mut template);
            let term = &template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                ["nodeSelectorTerms"][0];
            assert_eq!(
                term["matchExpressions"].as_array().map(Vec::len),
                Some(SPOT_LABELS.len()),
                "{template}"
            );
        };
        expected(json!({"spec": null}));
        expected(json!({"spec": {"affinity": {"nodeAffinity": null}}}));
        let required = |terms: Value| {
            json!({"spec": {"affinity": {"nodeAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}})
        };
        expected(required(Value::Null));
        expected(required(json!([{"matchFields": [{"key": "metadata.name"}], "matchExpressions": null}])));
        let nothing = required(json!([{"matchExpressions": null}, {}]));
        let mut template = nothing.clone();
        keep_off_spot(&mut template);
        assert_eq!(template, nothing, "what matches no node must not match some afterwards");
    }
}
