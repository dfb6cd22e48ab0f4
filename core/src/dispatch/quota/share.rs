//! Share: how much of what others leave unused a queue would hold, by weight. Kueue's weighted dominant share.
//!
//! Between siblings the smaller share goes first, level by level from the root down. A queue that borrows nothing has the
//! share 0; where both have it, the one that uses less of its guarantee goes first. Over the flavors everything is summed by their
//! weight, in what is borrowed and in what could be lent alike; use of a guarantee is told of each flavor for itself.

use std::collections::BTreeMap;

use crate::{
    dispatch::{
        pack::Charge,
        quota::{Place, Quotas, Tree, parts},
        tenants::Tenants,
    },
    quota::{ORDINARY, Resource},
};

/// Shares in millionths; the smaller goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Share {
    /// Of what its parent could lend, by weight.
    pub(crate) borrowed: u64,
    /// Of its guarantee, by weight; 0 where it has none.
    pub(crate) used: u64,
}

impl Share {
    /// Use over guarantee in thousandths. A queue that is guaranteed nothing counts as if it were a tenth of what it can borrow.
    pub(crate) fn pressure(self) -> u64 {
        self.used.max(self.borrowed.saturating_mul(if self.used == 0 { 10 } else { 0 })) / 1_000
    }
}

impl Quotas {
    /// The share that `node`, which the place is in or below, would have with `charge`.
    pub(crate) fn share(&self, place: Place, node: usize, charge: &Charge) -> Share {
        let tree = &self.trees[place.tree];
        let mut loans = Loans::new();
        let mut used = 0;
        for (flavor, resource, amount) in parts(charge) {
            let Some(book) = tree.book(flavor, resource) else { continue };
            let here = tree.arrives(book, place.node, node, amount);
            let nominal = book.nominal(node);
            if nominal > 0 {
                used = used.max(millionths(book.used(node).saturating_add(here).into(), nominal.into()));
            }
            let (borrowed, lent) = (book.borrowed(node, here), tree.lendable(node, flavor, resource));
            loans.entry(resource).or_default().add(self.flavors.weight(flavor), borrowed, lent);
        }
        Share { borrowed: dominant(tree, node, &loans), used: by_weight(tree, node, used) }
    }
}

impl Quotas {
    /// The share of borrowed capacity that the queue has now, over all flavors of its tree: thousandths of what its parent
    /// could lend, by weight. A decision compares the same for the flavors that a job would be charged.
    pub(crate) fn share_now(&self, place: Place) -> i64 {
        let tree = &self.trees[place.tree];
        let mut loans = Loans::new();
        for (flavor, resource) in tree.keys() {
            let borrowed = tree.book(flavor, resource).map_or(0, |book| book.borrowed(place.node, 0));
            let lent = tree.lendable(place.node, flavor, resource);
            loans.entry(resource).or_default().add(self.flavors.weight(flavor), borrowed, lent);
        }
        let share = dominant(tree, place.node, &loans) / 1_000;
        i64::try_from(share).unwrap_or(i64::MAX)
    }
}

/// What is borrowed of a resource and what of it could be lent, over the flavors by their weight.
#[derive(Default)]
struct Loan {
    borrowed: i128,
    lent: i128,
}

type Loans = BTreeMap<Resource, Loan>;

impl Loan {
    fn add(&mut self, weight: u32, borrowed: i64, lent: i64) {
        self.borrowed += i128::from(borrowed) * i128::from(weight);
        self.lent += i128::from(lent) * i128::from(weight);
    }

    /// Where nothing could be lent, a unit of an ordinary flavor stands for it.
    fn millionths(&self) -> u64 {
        millionths(self.borrowed, if self.lent > 0 { self.lent } else { ORDINARY.into() })
    }
}

/// The largest part borrowed of what could be lent, over the resources, by weight.
fn dominant(tree: &Tree, node: usize, loans: &Loans) -> u64 {
    by_weight(tree, node, loans.values().map(Loan::millionths).max().unwrap_or(0))
}

fn by_weight(tree: &Tree, node: usize, share: u64) -> u64 {
    share.saturating_mul(1_000) / u64::from(tree.weight(node))
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
