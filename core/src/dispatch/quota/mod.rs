//! Quota of a pass: what every queue uses of every flavor, and what it may still take.
//!
//! Owns the declared policy as trees that are counted, and the flavors of nodes. Invariants: what is taken at a queue is
//! seen by all it belongs to; a tree in which nothing is declared limits nothing; the order in which a policy is written
//! does not matter. Fails by holding back all jobs of a tree that cannot be counted, with the reason; repaired by who
//! declares a better one.

mod bound;
mod charge;
mod flavors;
mod share;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;

pub use self::bound::lift;
pub(crate) use self::{
    bound::{Binds, bound},
    flavors::Flavors,
    share::Share,
    tree::{Tree, part, parts},
};
use crate::{
    dispatch::{
        Cluster, Held,
        pack::{Charge, Limit, Limits},
        soft,
    },
    placement::NodeWish,
    quota::{Policy, Queue},
    resources::Resources,
};

/// What an attempt is charged, by name of the flavor.
pub type Usage = BTreeMap<String, Resources>;

/// By role: which nodes a pod of an attempt may go to and what it puts up with, besides what its template says.
pub type Bound = BTreeMap<String, NodeWish>;

/// Where a queue stands: its tree, and its node there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub(crate) tree: usize,
    pub(crate) node: usize,
}

/// The policy with what is in use.
#[derive(Clone, Debug)]
pub(crate) struct Quotas {
    pub(crate) flavors: Flavors,
    pub(crate) trees: Vec<Tree>,
    places: BTreeMap<String, Place>,
}

impl Quotas {
    /// The policy with everything that live attempts, and those whose pods are not all gone, are charged, and with what is there
    /// beyond their gangs.
    pub(crate) fn new(policy: &Policy, clusters: &[Cluster]) -> Quotas {
        let mut quotas = Quotas::idle(policy);
        for cluster in clusters {
            for held in cluster.attempts.iter().chain(&cluster.leaving) {
                if let Some(place) = quotas.limited(&held.queue) {
                    let charge = quotas.charge_of(cluster, held);
                    quotas.take(place, &held.queue, &charge);
                }
            }
            for soft in soft::of(cluster) {
                if let Some(place) = quotas.limited(&soft.held.queue) {
                    let charge = soft.charge(&quotas.flavors, cluster);
                    quotas.take(place, &soft.held.queue, &charge);
                }
            }
        }
        quotas
    }

    /// The policy as if nothing ran.
    fn idle(policy: &Policy) -> Quotas {
        let flavors = Flavors::new(&policy.flavors);
        let trees: Vec<Tree> =
            roots(&policy.queues).into_iter().map(|queues| Tree::new(&queues, &flavors)).collect();
        let mut places = BTreeMap::new();
        for (at, tree) in trees.iter().enumerate() {
            for node in 0..tree.len() {
                places.insert(tree.name(node).to_owned(), Place { tree: at, node });
            }
        }
        Quotas { flavors, trees, places }
    }

    /// Where the queue stands, if its tree limits anything.
    pub(crate) fn limited(&self, queue: &str) -> Option<Place> {
        self.places.get(queue).copied().filter(|place| self.trees[place.tree].is_limited())
    }

    /// What the queue may take now.
    pub(crate) fn limits(&self, place: Option<Place>) -> Limits {
        self.limits_by(place, Tree::limit)
    }

    /// What the queue could take if nothing ran.
    pub(crate) fn limits_if_idle(&self, place: Option<Place>) -> Limits {
        self.limits_by(place, Tree::limit_if_idle)
    }

    /// The flavors and resources that the queue may use, in any amount.
    pub(crate) fn limits_by_name(&self, place: Option<Place>) -> Limits {
        self.limits_by(place, Tree::limit_by_name)
    }

    fn limits_by(&self, place: Option<Place>, of: impl Fn(&Tree, usize, usize) -> Limit) -> Limits {
        let Some(place) = place else { return Limits::None };
        let tree = &self.trees[place.tree];
        let flavors = tree.flavors_of(place.node).into_iter();
        Limits::Flavors(flavors.map(|flavor| of(tree, place.node, flavor)).collect())
    }

    /// Whether the queue stays within a guarantee with `charge`.
    pub(crate) fn is_guaranteed(&self, place: Place, charge: &Charge) -> bool {
        let tree = &self.trees[place.tree];
        parts(charge).all(|(flavor, resource, amount)| {
            tree.book(flavor, resource).is_some_and(|book| amount <= book.guaranteed(place.node))
        })
    }

    /// Whether the queue may take `charge` now.
    pub(crate) fn allows(&self, place: Place, charge: &Charge) -> bool {
        let tree = &self.trees[place.tree];
        parts(charge).all(|(flavor, resource, amount)| {
            tree.book(flavor, resource).is_some_and(|book| amount <= book.available(place.node))
        })
    }

    pub(crate) fn take(&mut self, place: Place, queue: &str, charge: &Charge) {
        self.trees[place.tree].take(place.node, queue, charge);
    }

    /// Takes back what was taken last.
    pub(crate) fn give_back(&mut self, place: Place, queue: &str, charge: &Charge) {
        self.trees[place.tree].give_back(place.node, queue, charge);
    }

    /// A charge by the names of its flavors.
    pub(crate) fn usage(&self, charge: &Charge) -> Usage {
        charge.iter().map(|(flavor, amount)| (self.flavors.name(*flavor).to_owned(), *amount)).collect()
    }

    /// What the gang of an attempt is charged.
    pub(crate) fn charge_of(&self, cluster: &Cluster, held: &Held) -> Charge {
        charge::of(&self.flavors, cluster, held)
    }
}

/// The queues of each tree, parents before their children, by name. A queue whose parent is not there is a root; queues that
/// are their own ancestors are in no tree and so not limited, which a policy that was checked does not have.
fn roots(queues: &[Queue]) -> Vec<Vec<(&Queue, Option<usize>)>> {
    let names: BTreeMap<&str, &Queue> = queues.iter().map(|queue| (queue.name.as_str(), queue)).collect();
    let is_root = |queue: &&&Queue| queue.parent.as_deref().is_none_or(|parent| !names.contains_key(parent));
    let mut children: BTreeMap<&str, Vec<&Queue>> = BTreeMap::new();
    for queue in names.values() {
        if let Some(parent) = queue.parent.as_deref() {
            children.entry(parent).or_default().push(queue);
        }
    }
    let roots = names.values().filter(is_root);
    roots
        .map(|root| {
            let mut tree: Vec<(&Queue, Option<usize>)> = vec![(root, None)];
            let mut next = 0;
            while let Some((queue, _)) = tree.get(next).copied() {
                let below = children.get(queue.name.as_str()).into_iter().flatten();
                tree.extend(below.map(|child| (*child, Some(next))));
                next += 1;
            }
            tree
        })
        .collect()
}
