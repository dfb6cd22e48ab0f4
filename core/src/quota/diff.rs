//! Diff: what changes between two policies, field by field, in plain words.
//!
//! Invariant: putting every change on the old policy gives the new one, and equal policies differ in nothing, whatever
//! the order of their lists. Names are unique in both; a policy that did not pass its check may show less than all.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::quota::{Flavor, FlavorQuota, Policy, PriorityClass, Queue, Quota, Resource, amount};

/// Kinds of things that a policy declares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noun {
    Flavor,
    Queue,
    PriorityClass,
}

impl Noun {
    /// As people read it.
    pub fn word(self) -> &'static str {
        match self {
            Noun::Flavor => "flavor",
            Noun::Queue => "queue",
            Noun::PriorityClass => "priority class",
        }
    }
}

/// What happens to one thing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    Added,
    Changed,
    Removed,
}

/// One thing that is not as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    pub noun: Noun,
    pub name: String,
    pub fate: Fate,
    /// Never empty where something changed.
    pub fields: Vec<FieldChange>,
}

/// One field of it. Empty text stands for "nothing was said".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldChange {
    /// For example `h100 gpu nominal`.
    pub field: String,
    pub before: String,
    pub after: String,
}

/// From `old` to `new`: flavors, then queues, then priority classes, each by name.
pub fn diff(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = compare(Noun::Flavor, &old.flavors, &new.flavors, |it| &it.name, flavor);
    changes.extend(compare(Noun::Queue, &old.queues, &new.queues, |it| &it.name, queue));
    let classes = (&old.priority_classes, &new.priority_classes);
    changes.extend(compare(Noun::PriorityClass, classes.0, classes.1, |it| &it.name, class));
    changes
}

/// Fields with their values as text.
type Fields = BTreeMap<String, String>;

fn compare<T>(
    noun: Noun,
    old: &[T],
    new: &[T],
    name: fn(&T) -> &String,
    fields: fn(&T) -> Fields,
) -> Vec<Change> {
    let index = |all: &[T]| -> BTreeMap<String, Fields> {
        all.iter().map(|one| (name(one).clone(), fields(one))).collect()
    };
    let (old, new) = (index(old), index(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    names.into_iter().filter_map(|name| change(noun, name, old.get(name), new.get(name))).collect()
}

fn change(noun: Noun, name: &str, old: Option<&Fields>, new: Option<&Fields>) -> Option<Change> {
    let fate = match (old, new) {
        (None, _) => Fate::Added,
        (_, None) => Fate::Removed,
        (Some(old), Some(new)) if old == new => return None,
        _ => Fate::Changed,
    };
    let empty = Fields::new();
    let fields = field_changes(old.unwrap_or(&empty), new.unwrap_or(&empty));
    Some(Change { noun, name: name.to_owned(), fate, fields })
}

fn field_changes(old: &Fields, new: &Fields) -> Vec<FieldChange> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let text = |fields: &Fields, name: &str| fields.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .map(|field| FieldChange { field: field.clone(), before: text(old, field), after: text(new, field) })
        .filter(|change| change.before != change.after)
        .collect()
}

fn flavor(flavor: &Flavor) -> Fields {
    let label = |(key, value): (&String, &String)| (format!("node label {key}"), format!("{value:?}"));
    let mut fields: Fields = flavor.node_labels.iter().map(label).collect();
    fields.insert("weight".to_owned(), weight(flavor.weight));
    if !flavor.tolerations.is_empty() {
        let shown: Vec<String> = flavor.tolerations.iter().map(ToString::to_string).collect();
        fields.insert("tolerations".to_owned(), shown.join(", "));
    }
    fields
}

fn queue(queue: &Queue) -> Fields {
    let mut fields = Fields::from([("weight".to_owned(), weight(queue.weight))]);
    if let Some(parent) = &queue.parent {
        fields.insert("parent".to_owned(), parent.clone());
    }
    for (flavor, amounts) in &queue.quotas {
        fields.extend(quotas(flavor, amounts));
    }
    if let Some(rules) = queue.preemption {
        fields.insert("preemption within queue".to_owned(), rules.within.word().to_owned());
        fields.insert("preemption of borrowers".to_owned(), rules.reclaim.word().to_owned());
    }
    fields
}

fn quotas(flavor: &str, amounts: &FlavorQuota) -> Fields {
    amounts.iter().flat_map(|(resource, quota)| quota_fields(flavor, *resource, *quota)).collect()
}

fn quota_fields(flavor: &str, resource: Resource, quota: Quota) -> Vec<(String, String)> {
    let field = |what: &str| format!("{flavor} {} {what}", resource.word());
    let mut fields = vec![(field("nominal"), amount::text(resource, quota.nominal))];
    let limits = [("borrowing limit", quota.borrowing_limit), ("lending limit", quota.lending_limit)];
    for (what, limit) in limits {
        fields.extend(limit.map(|limit| (field(what), amount::text(resource, limit))));
    }
    fields
}

/// Thousandths as a decimal: 1500 is `1.5`.
pub fn weight(thousandths: u32) -> String {
    let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn class(class: &PriorityClass) -> Fields {
    let mut fields = Fields::from([("value".to_owned(), class.value.to_string())]);
    if !class.description.is_empty() {
        fields.insert("description".to_owned(), class.description.clone());
    }
    fields
}
