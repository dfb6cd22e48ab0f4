//! Standing: where every queue is with its quota: what it uses, what of that it borrows, and what others use of its own.
//!
//! Owns the numbers that people see, read from the quotas that the dispatcher counts, so that a page never tells another
//! use, base or share than a decision goes by. Invariant: what siblings borrow is what siblings lend, what their parent has
//! for all of them, and what it borrows itself. Which lender a borrowed unit came from nobody can know, so lent amounts are
//! told in proportion to what each leaves unused. Fails by telling no use of a tree that cannot be counted.

mod loans;

use std::collections::BTreeMap;

use crate::{
    dispatch::{
        Cluster,
        quota::{Place, Quotas, Tree},
    },
    quota::{Policy, Queue, Resource},
};

/// One flavor and resource of a queue, in the unit of the resource. `None` where the tree cannot be counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Line {
    /// Whether the queue itself names it; one that names nothing uses what its parent may.
    pub declared: bool,
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
    /// What a GPU of each flavor of the lines counts as in the share, in thousandths.
    pub weights: BTreeMap<String, u32>,
    /// Its weighted share of what its parent could lend, in thousandths; nothing for a root.
    pub share: Option<i64>,
}

/// Every queue of a policy, with what the clusters' attempts are charged. Nodes and pods count only for attempts without a
/// recorded charge.
pub fn standings(policy: &Policy, clusters: &[Cluster]) -> BTreeMap<String, Standing> {
    let quotas = Quotas::new(policy, clusters);
    let declared: BTreeMap<&str, &Queue> =
        policy.queues.iter().map(|queue| (queue.name.as_str(), queue)).collect();
    let mut standings: BTreeMap<String, Standing> =
        declared.keys().map(|name| ((*name).to_owned(), Standing::default())).collect();
    for (at, tree) in quotas.trees.iter().enumerate() {
        add_lines(&mut standings, &quotas, tree, &declared);
        for node in (0..tree.len()).filter(|node| tree.parent(*node).is_some() && tree.broken().is_none()) {
            let share = quotas.share_now(Place { tree: at, node });
            standings.entry(tree.name(node).to_owned()).or_default().share = Some(share);
        }
    }
    standings
}

fn add_lines(
    standings: &mut BTreeMap<String, Standing>,
    quotas: &Quotas,
    tree: &Tree,
    declared: &BTreeMap<&str, &Queue>,
) {
    for (flavor, resource) in tree.keys() {
        let key = (quotas.flavors.name(flavor).to_owned(), resource);
        let quota = |node: usize| {
            let amounts = declared.get(tree.name(node)).and_then(|queue| queue.quotas.get(&key.0));
            amounts.and_then(|amounts| amounts.get(&resource)).copied()
        };
        for (node, line) in loans::lines(tree, flavor, resource, quota).into_iter().enumerate() {
            if tree.names(node, flavor, resource)
                || line.total != 0
                || line.used.is_some_and(|used| used != 0)
            {
                let standing = standings.entry(tree.name(node).to_owned()).or_default();
                standing.lines.insert(key.clone(), line);
                standing.weights.insert(key.0.clone(), quotas.flavors.weight(flavor));
            }
        }
    }
}

#[cfg(test)]
mod tests;
