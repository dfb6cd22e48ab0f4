//! Flavors: names, labels, tolerations, weights, and whether a node can have them.

use crate::{
    name::K8sName,
    placement::Toleration,
    quota::{
        Flavor, Noun,
        check::{Fault, duplicates, odd_weight},
    },
    sentence::clip,
};

/// Labels of a flavor at most.
const MOST_LABELS: usize = 32;
/// Tolerations of a flavor at most.
const MOST_TOLERATIONS: usize = 32;

pub(super) fn check(flavors: &[Flavor]) -> Vec<Fault> {
    let mut faults: Vec<Fault> = flavors.iter().flat_map(of_flavor).collect();
    faults.extend(duplicates(Noun::Flavor, flavors.iter().map(|flavor| flavor.name.as_str())));
    faults.extend(flavors.iter().filter_map(|flavor| shadowed(flavor, flavors)));
    faults
}

fn of_flavor(flavor: &Flavor) -> Vec<Fault> {
    let fault = |field: String, problem: String| Fault::new(Noun::Flavor, &flavor.name, field, problem);
    let mut faults = Vec::new();
    if let Err(bad) = K8sName::new(flavor.name.clone()) {
        faults.push(fault("name".to_owned(), bad.problem));
    }
    if flavor.node_labels.len() > MOST_LABELS {
        let problem = format!("has more than {MOST_LABELS} labels");
        faults.push(fault("nodeLabels".to_owned(), problem));
    }
    let bad = flavor.node_labels.iter().filter(|(key, value)| !(is_key(key) && is_value(value)));
    faults.extend(bad.map(|(key, value)| {
        let problem =
            format!("{:?} with the value {:?} is no label of Kubernetes", clip(key, 80), clip(value, 80));
        fault(format!("nodeLabels.{}", clip(key, 80)), problem)
    }));
    if flavor.tolerations.len() > MOST_TOLERATIONS {
        let problem = format!("has more than {MOST_TOLERATIONS} tolerations");
        faults.push(fault("tolerations".to_owned(), problem));
    }
    let weight = odd_weight(flavor.weight, "would make its use free");
    faults.extend(weight.map(|problem| fault("weight".to_owned(), problem)));
    let meaning = flavor.tolerations.iter().enumerate();
    faults.extend(meaning.filter_map(|(at, one)| Some(fault(format!("tolerations[{at}]"), odd(one)?))));
    faults
}

/// Why the API server would refuse a pod with this toleration.
fn odd(one: &Toleration) -> Option<String> {
    let Toleration { key, operator, value, effect } = one;
    let shown = || clip(&one.to_string(), 80);
    if !matches!(operator.as_str(), "Equal" | "Exists") {
        return Some(format!("has the operator {:?}; write Equal or Exists", clip(operator, 40)));
    }
    if !matches!(effect.as_str(), "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        let effects = "NoSchedule, PreferNoSchedule or NoExecute, or leave it out for all";
        return Some(format!("has the effect {:?}; write {effects}", clip(effect, 40)));
    }
    if operator == "Exists" && !value.is_empty() {
        return Some(format!("{} has a value, which Exists does not look at; leave it out", shown()));
    }
    let legal = if key.is_empty() { operator == "Exists" } else { is_key(key) && is_value(value) };
    (!legal).then(|| format!("{} names no taint; write a key, and a value if the taint has one", shown()))
}

/// Of two flavors with the same labels one would have all their nodes.
fn shadowed(flavor: &Flavor, all: &[Flavor]) -> Option<Fault> {
    let same = |other: &&Flavor| other.node_labels == flavor.node_labels && other.name < flavor.name;
    let first = all.iter().filter(same).min_by_key(|other| &other.name)?;
    let problem = format!(
        "is the flavor of no node: {} has the same labels and a name that comes first; give one of them more labels",
        first.name
    );
    Some(Fault::new(Noun::Flavor, &flavor.name, "nodeLabels", problem))
}

/// `[prefix/]name`, as Kubernetes has it.
fn is_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').unwrap_or(("example.com", key));
    let part = |part: &str| K8sName::new(part).is_ok();
    prefix.len() <= 253 && prefix.split('.').all(part) && !name.is_empty() && is_value(name)
}

fn is_value(value: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    value.is_empty()
        || value.len() <= 63 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(legal)
}
