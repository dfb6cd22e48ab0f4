//! Standing: where every queue is with its quota: what it uses, what of that it borrows, and what others use of its own.
//!
//! Owns the numbers that people see; what may start is the dispatcher's to say, by the same rules. Invariant: what
//! siblings borrow is what siblings lend, what their parent has for all of them, and what it borrows itself. Which lender a
//! borrowed unit came from nobody can know, so lent amounts are told in proportion to what each leaves unused. Fails by
//! telling nothing where use cannot be told by flavor.

mod loans;
mod tree;

use std::collections::BTreeMap;

use self::tree::Tree;
use crate::{
    quota::{Policy, Resource},
    resources::Resources,
};

/// What the live attempts of one queue hold.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Use {
    /// By name of the flavor.
    pub by_flavor: BTreeMap<String, Resources>,
    /// Of a flavor that nobody recorded.
    pub unknown: Resources,
}

impl Use {
    /// In all flavors together.
    pub fn total(&self) -> Resources {
        self.by_flavor.values().copied().sum::<Resources>() + self.unknown
    }
}

/// One flavor and resource of a queue, in the unit of the resource. `None` where use cannot be told.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Line {
    /// Its own.
    pub nominal: i64,
    /// With everything below it.
    pub total: i64,
    pub borrowing_limit: Option<i64>,
    pub lending_limit: Option<i64>,
    /// By its jobs and those below it.
    pub used: Option<i64>,
    /// What it uses above what it has.
    pub borrowed: Option<i64>,
    /// What others use of what it has.
    pub lent: Option<i64>,
}

/// One queue.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Standing {
    pub lines: BTreeMap<(String, Resource), Line>,
    /// Its greatest part of what its parent can lend, over its weight, in thousandths; nothing for a root.
    pub share: Option<i64>,
}

/// Every queue of a sound policy.
pub fn standings(policy: &Policy, used: &BTreeMap<String, Use>) -> BTreeMap<String, Standing> {
    let used = attributed(policy, used);
    let tree = Tree::new(&policy.queues);
    let mut standings: BTreeMap<String, Standing> =
        policy.queues.iter().map(|queue| (queue.name.clone(), Standing::default())).collect();
    for (key, wanted) in tree.keys() {
        for (node, line) in loans::lines(&tree, &key, &used).into_iter().enumerate() {
            if wanted.contains(&node) || line.total != 0 || line.used.is_some_and(|used| used != 0) {
                let standing = standings.entry(tree.name(node).to_owned()).or_default();
                standing.lines.insert(key.clone(), line);
            }
        }
    }
    for node in 0..tree.len() {
        let share = tree.parent(node).map(|parent| (tree.name(parent), tree.weight(node)));
        let share = share.map(|(parent, weight)| share_of(&standings, tree.name(node), parent, weight));
        standings.entry(tree.name(node).to_owned()).or_default().share = share.flatten();
    }
    standings
}

/// Kueue's weighted share: of each resource, what is borrowed in all flavors over what the parent has to lend.
fn share_of(standings: &BTreeMap<String, Standing>, name: &str, parent: &str, weight: u32) -> Option<i64> {
    let lines = |name: &str| standings.get(name).into_iter().flat_map(|standing| &standing.lines);
    let mut worst = 0_i128;
    for resource in Resource::ALL {
        let mut borrowed = 0_i128;
        for (_, line) in lines(name).filter(|((_, of), _)| *of == resource) {
            borrowed += i128::from(line.borrowed?);
        }
        let lendable: i128 = lines(parent)
            .filter(|((_, of), _)| *of == resource)
            .map(|(_, line)| i128::from(line.total))
            .sum();
        if borrowed > 0 {
            worst = worst.max(borrowed * 1_000_000 / lendable.max(1) / i128::from(weight.max(1)));
        }
    }
    Some(i64::try_from(worst).unwrap_or(i64::MAX))
}

/// Gives use without a flavor to the only flavor that the queue may use, where there is one.
fn attributed(policy: &Policy, used: &BTreeMap<String, Use>) -> BTreeMap<String, Use> {
    let tree = Tree::new(&policy.queues);
    let give = |(name, held): (&String, &Use)| {
        let mut held = held.clone();
        if let Some(flavor) = tree.only_flavor(name).filter(|_| held.unknown != Resources::default()) {
            let sum = held.by_flavor.entry(flavor).or_default();
            *sum = *sum + held.unknown;
            held.unknown = Resources::default();
        }
        (name.clone(), held)
    };
    used.iter().map(give).collect()
}

/// One dimension of an amount.
fn part(amount: Resources, resource: Resource) -> i64 {
    match resource {
        Resource::Cpu => amount.cpu_milli,
        Resource::Memory => amount.memory_bytes,
        Resource::Gpu => amount.gpus,
    }
}

#[cfg(test)]
mod tests;
