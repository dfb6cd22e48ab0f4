//! Check: whether a policy can be counted and obeyed, as a whole.
//!
//! Owns the rules of a sound policy: names, references, one tree without cycles, amounts that add up, limits that mean
//! something. Invariant: a policy without faults can be summed along its tree in 64 bits, and every flavor can be given
//! to some node. All faults are told together, each with the thing and the field that it is about.

mod amounts;
mod flavors;
#[cfg(test)]
mod tests;
mod tree;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{
    name::{K8sName, QueueName},
    nearest::nearest,
    quota::{Noun, Policy, PriorityClass, Queue},
    sentence::clip,
};

/// Queues of a policy at most.
pub const MOST_QUEUES: usize = 5_000;
/// Flavors, and priority classes, of a policy at most.
pub const MOST_OTHERS: usize = 500;
/// Queues from a leaf to its root at most.
pub const MOST_DEPTH: usize = 16;
/// Greatest weight of a queue or a flavor, in thousandths.
pub const MOST_WEIGHT: u32 = 1_000_000_000;
/// Characters of a description at most.
const LONGEST_DESCRIPTION: usize = 1_000;

/// One thing that is wrong with a policy.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fault {
    pub noun: Noun,
    pub name: String,
    /// As in a file: `parent`, `quotas.h100.gpu.lendingLimit`; empty when it is about the thing.
    pub field: String,
    /// A sentence without its subject: what is wrong, and what would be right.
    pub problem: String,
    /// Something is named, or counted on, that this policy does not have; a greater policy might.
    pub missing: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.thing())?;
        if !self.field.is_empty() {
            write!(f, ", {}", clip(&self.field, 120))?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl Fault {
    /// The thing that it is about: `queue research`, or `queues` for all.
    pub fn thing(&self) -> String {
        match self.name.as_str() {
            "" if self.noun == Noun::PriorityClass => "priority classes".to_owned(),
            "" => format!("{}s", self.noun.word()),
            name => format!("{} {}", self.noun.word(), clip(name, 80)),
        }
    }

    pub(super) fn new(noun: Noun, name: &str, field: impl Into<String>, problem: impl Into<String>) -> Fault {
        Fault { noun, name: name.to_owned(), field: field.into(), problem: problem.into(), missing: false }
    }

    fn queue(queue: &Queue, field: impl Into<String>, problem: impl Into<String>) -> Fault {
        Fault::new(Noun::Queue, &queue.name, field, problem)
    }
}

/// Everything that is wrong with `policy`; empty when it may be in force.
pub fn check(policy: &Policy) -> Vec<Fault> {
    let mut faults = sizes(policy);
    if !faults.is_empty() {
        return faults;
    }
    faults.extend(flavors::check(&policy.flavors));
    faults.extend(queue_names(&policy.queues));
    faults.extend(policy.queues.iter().filter_map(|queue| {
        let problem = odd_weight(queue.weight, "would never get a share")?;
        Some(Fault::queue(queue, "weight", problem))
    }));
    let tree = tree::check(&policy.queues);
    let is_tree = tree.is_empty();
    faults.extend(tree);
    let flavors: BTreeSet<&str> = policy.flavors.iter().map(|flavor| flavor.name.as_str()).collect();
    faults.extend(amounts::check(&policy.queues, &flavors));
    if is_tree && faults.is_empty() {
        faults.extend(amounts::check_sums(&policy.queues));
    }
    faults.extend(classes(&policy.priority_classes));
    faults
}

fn sizes(policy: &Policy) -> Vec<Fault> {
    let counts = [
        (Noun::Flavor, policy.flavors.len(), MOST_OTHERS),
        (Noun::Queue, policy.queues.len(), MOST_QUEUES),
        (Noun::PriorityClass, policy.priority_classes.len(), MOST_OTHERS),
    ];
    let too_many = counts.into_iter().filter(|(_, count, most)| count > most);
    too_many
        .map(|(noun, count, most)| {
            Fault::new(noun, "", "", format!("{count} are too many; the most is {most}"))
        })
        .collect()
}

fn queue_names(queues: &[Queue]) -> Vec<Fault> {
    let bad = queues.iter().filter_map(|queue| {
        let bad = QueueName::new(queue.name.clone()).err()?;
        Some(Fault::queue(queue, "name", bad.problem))
    });
    let names = queues.iter().map(|queue| queue.name.as_str());
    bad.chain(duplicates(Noun::Queue, names)).collect()
}

/// What is wrong with a weight in thousandths; `nought` is what one of 0 would do.
fn odd_weight(weight: u32, nought: &str) -> Option<String> {
    match weight {
        0 => Some(format!("is 0, which {nought}; write 0.001 or more, or leave it out for 1")),
        1..=MOST_WEIGHT => None,
        _ => Some(format!("is greater than {}", MOST_WEIGHT / 1_000)),
    }
}

/// A fault for each name that stands there twice.
fn duplicates<'a>(noun: Noun, names: impl Iterator<Item = &'a str>) -> Vec<Fault> {
    let mut seen = BTreeMap::<&str, usize>::new();
    for name in names {
        *seen.entry(name).or_default() += 1;
    }
    let twice = seen.into_iter().filter(|(_, count)| *count > 1);
    twice.map(|(name, count)| Fault::new(noun, name, "", format!("stands there {count} times"))).collect()
}

fn classes(classes: &[PriorityClass]) -> Vec<Fault> {
    let fault = |class: &PriorityClass, field: &str, problem: String| {
        Fault::new(Noun::PriorityClass, &class.name, field, problem)
    };
    let mut faults = Vec::new();
    for class in classes {
        if let Err(bad) = K8sName::new(class.name.clone()) {
            faults.push(fault(class, "name", bad.problem));
        }
        if class.description.chars().count() > LONGEST_DESCRIPTION {
            let problem = format!("is longer than {LONGEST_DESCRIPTION} characters");
            faults.push(fault(class, "description", problem));
        }
        if class.description.contains('\0') {
            faults.push(fault(class, "description", "holds a zero byte".to_owned()));
        }
    }
    faults.extend(duplicates(Noun::PriorityClass, classes.iter().map(|class| class.name.as_str())));
    faults
}

/// Names that are compared with all others to find what was meant; comparing costs much.
const MOST_GUESSES: usize = 10;

/// `there is no queue "reserach"; did you mean "research"?` The `nth` of its kind.
fn unknown<'a>(noun: Noun, name: &str, all: impl IntoIterator<Item = &'a str>, nth: usize) -> String {
    let all = all.into_iter().take(if nth < MOST_GUESSES { usize::MAX } else { 0 });
    let meant = nearest(name, all).map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
    format!("there is no {} {:?}{meant}", noun.word(), clip(name, 80))
}
