//! Share: how much of what others leave unused a queue would hold, by weight. Kueue's weighted dominant share.
//!
//! Between siblings the smaller share goes first, level by level from the root down. A queue that borrows nothing has the
//! share 0; where both have it, the one that uses less of its guarantee goes first.

use std::collections::BTreeMap;

use crate::{
    dispatch::{
        pack::Charge,
        quota::{Place, Quotas, Tree, parts},
        tenants::Tenants,
    },
    quota::Resource,
};

/// Shares in millionths; the smaller goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Share {
    /// Of what its parent could lend, by weight.
    pub(crate) borrowed: u64,
    /// Of its guarantee, by weight; 0 where it has none.
    pub(crate) used: u64,
}

impl Quotas {
    /// The share that `node`, which the place is in or below, would have with `charge`.
    pub(crate) fn share(&self, place: Place, node: usize, charge: &Charge) -> Share {
        let tree = &self.trees[place.tree];
        let mut by_resource: BTreeMap<Resource, (i128, i128)> = BTreeMap::new();
        let mut used = 0;
        for (flavor, resource, amount) in parts(charge) {
            let Some(book) = tree.book(flavor, resource) else { continue };
            let here = tree.arrives(book, place.node, node, amount);
            let nominal = book.nominal(node);
            if nominal > 0 {
                used = used.max(millionths(book.used(node).saturating_add(here).into(), nominal.into()));
            }
            let sums = by_resource.entry(resource).or_default();
            sums.0 += i128::from(book.borrowed(node, here));
            sums.1 += i128::from(tree.lendable(node, flavor, resource));
        }
        let borrowed = by_resource.values().map(|(borrowed, lent)| millionths(*borrowed, *lent)).max();
        let weight = |share: u64| share.saturating_mul(1_000) / u64::from(tree.weight(node));
        Share { borrowed: weight(borrowed.unwrap_or(0)), used: weight(used) }
    }
}

impl Tree {
    /// What of `amount` more at `from` reaches `node` above it.
    pub(crate) fn arrives(&self, book: &Tenants, from: usize, node: usize, amount: i64) -> i64 {
        if from == node {
            return amount;
        }
        let passed = book.passed_on(from, amount);
        self.parent(from).map_or(0, |parent| self.arrives(book, parent, node, passed))
    }
}

fn millionths(part: i128, all: i128) -> u64 {
    if part <= 0 {
        return 0;
    }
    u64::try_from(part * 1_000_000 / all.max(1)).unwrap_or(u64::MAX)
}
