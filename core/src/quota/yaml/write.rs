//! Writing: a policy as a text that can be applied again.

use std::fmt::Write as _;

use super::API_VERSION;
use crate::quota::{Flavor, FlavorQuota, ORDINARY, Policy, PriorityClass, Queue, amount, weight};

/// All of `policy` in our own kinds: flavors, queues with parents before their children, priority classes.
pub fn write(policy: &Policy) -> String {
    let mut parts: Vec<String> = policy.flavors.iter().map(flavor).collect();
    parts.extend(policy.in_order().into_iter().map(|(_, one)| queue(one)));
    parts.extend(policy.priority_classes.iter().map(class));
    parts.join("---\n")
}

fn head(kind: &str, name: &str) -> String {
    format!("apiVersion: {API_VERSION}\nkind: {kind}\nmetadata:\n  name: {}\n", quoted(name))
}

fn flavor(flavor: &Flavor) -> String {
    let mut spec = String::new();
    if !flavor.node_labels.is_empty() {
        line(&mut spec, 2, "nodeLabels:");
    }
    for (key, value) in &flavor.node_labels {
        line(&mut spec, 4, &format!("{}: {}", quoted(key), always_quoted(value)));
    }
    if !flavor.tolerations.is_empty() {
        line(&mut spec, 2, "tolerations:");
    }
    for one in &flavor.tolerations {
        line(&mut spec, 2, &format!("- operator: {}", quoted(&one.operator)));
        let fields = [("key", &one.key), ("value", &one.value), ("effect", &one.effect)];
        for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            line(&mut spec, 4, &format!("{field}: {}", always_quoted(value)));
        }
    }
    if flavor.weight != ORDINARY {
        line(&mut spec, 2, &format!("weight: {}", weight(flavor.weight)));
    }
    let spec = if spec.is_empty() { spec } else { format!("spec:\n{spec}") };
    head("Flavor", &flavor.name) + &spec
}

fn queue(queue: &Queue) -> String {
    let mut spec = String::new();
    if let Some(parent) = &queue.parent {
        line(&mut spec, 2, &format!("parent: {}", quoted(parent)));
    }
    if queue.weight != ORDINARY {
        line(&mut spec, 2, &format!("weight: {}", weight(queue.weight)));
    }
    if !queue.quotas.is_empty() {
        line(&mut spec, 2, "flavors:");
    }
    for (flavor, amounts) in &queue.quotas {
        line(&mut spec, 2, &format!("- name: {}", quoted(flavor)));
        quotas(&mut spec, amounts);
    }
    if let Some(rules) = queue.preemption {
        line(&mut spec, 2, "preemption:");
        line(&mut spec, 4, &format!("withinClusterQueue: {}", rules.within.word()));
        line(&mut spec, 4, &format!("reclaimWithinCohort: {}", rules.reclaim.word()));
    }
    let spec = if spec.is_empty() { spec } else { format!("spec:\n{spec}") };
    head("Queue", &queue.name) + &spec
}

fn quotas(text: &mut String, amounts: &FlavorQuota) {
    line(text, 4, if amounts.is_empty() { "resources: []" } else { "resources:" });
    for (resource, quota) in amounts {
        line(text, 4, &format!("- name: {}", resource.word()));
        let fields = [
            ("nominalQuota", Some(quota.nominal)),
            ("borrowingLimit", quota.borrowing_limit),
            ("lendingLimit", quota.lending_limit),
        ];
        for (field, value) in fields {
            if let Some(value) = value {
                line(text, 6, &format!("{field}: {}", amount::text(*resource, value)));
            }
        }
    }
}

fn class(class: &PriorityClass) -> String {
    let mut text = head("PriorityClass", &class.name);
    line(&mut text, 0, "spec:");
    line(&mut text, 2, &format!("value: {}", class.value));
    if !class.description.is_empty() {
        line(&mut text, 2, &format!("description: {}", always_quoted(&class.description)));
    }
    text
}

fn line(text: &mut String, indent: usize, content: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:indent$}{content}", "");
}

/// Plain where every reader of YAML takes it for a text.
fn quoted(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/' | '.' | '_');
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_word)
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if is_plain { text.to_owned() } else { always_quoted(text) }
}

/// A double-quoted text. JSON's escapes are YAML's too.
fn always_quoted(text: &str) -> String {
    let escaped = serde_json::Value::from(text).to_string();
    let special = |c: char| {
        c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    escaped
        .chars()
        .map(|c| if special(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() })
        .collect()
}
