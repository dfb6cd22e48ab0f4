//! Loans of one flavor and resource: up the tree who uses more than they have, down the tree whose it is.

use super::Line;
use crate::{
    dispatch::{quota::Tree, tenants::Tenants},
    quota::{Quota, Resource},
};

/// What is counted at a queue. Sums are wider than any quota, so that use beyond all quotas cannot overflow.
#[derive(Clone, Copy, Default)]
struct Count {
    declared: bool,
    given: Quota,
    /// All nominal quota below it, and its own.
    total: i128,
    /// Its own, and what its children may lend: Kueue's subtree quota.
    quota: i128,
    /// The part of its quota that nobody else may use.
    local: i128,
    /// By its own jobs.
    own_use: i128,
    /// With everything below it.
    used: i128,
    /// What of that is not within its children's local parts.
    counted: i128,
    lent: i128,
}

impl Count {
    fn borrowed(&self) -> i128 {
        (self.counted - self.quota).max(0)
    }

    /// What others could still use of its quota.
    fn spare(&self) -> i128 {
        (self.quota - self.counted.max(self.local)).max(0)
    }
}

/// A line for each queue of the tree, in its order; `quota` is what each was given.
pub(super) fn lines(
    tree: &Tree,
    flavor: usize,
    resource: Resource,
    quota: impl Fn(usize) -> Option<Quota>,
) -> Vec<Line> {
    let book = tree.book(flavor, resource).filter(|_| tree.broken().is_none());
    let mut counts: Vec<Count> = (0..tree.len())
        .map(|node| {
            let own_use = i128::from(tree.own_use(node, flavor, resource));
            counted(book, node, quota(node), own_use)
        })
        .collect();
    let mut children = vec![Vec::new(); tree.len()];
    for node in (0..tree.len()).rev() {
        if let Some(parent) = tree.parent(node) {
            let Count { total, used, .. } = counts[node];
            counts[parent].total += total;
            counts[parent].used += used;
            children[parent].push(node);
        }
    }
    for (node, children) in children.iter_mut().enumerate() {
        children.reverse();
        lend(node, children, &mut counts);
    }
    counts.iter().map(|count| line(count, book.is_some())).collect()
}

fn counted(book: Option<&Tenants>, node: usize, declared: Option<Quota>, own_use: i128) -> Count {
    let given = declared.unwrap_or_default();
    let total = i128::from(given.nominal);
    let quota = book.map_or(0, |book| i128::from(book.nominal(node)));
    let counted = book.map_or(0, |book| i128::from(book.used(node)));
    let local = given.lending_limit.map_or(0, |limit| (quota - i128::from(limit)).max(0));
    Count {
        declared: declared.is_some(),
        given,
        total,
        quota,
        local,
        own_use,
        used: own_use,
        counted,
        lent: 0,
    }
}

/// What is taken from the children of `node`, by its own jobs, by each other and from outside, beyond what it has itself.
fn lend(node: usize, children: &[usize], counts: &mut [Count]) {
    let of = counts[node];
    let borrowed: i128 = children.iter().map(|child| counts[*child].borrowed()).sum();
    let nominal = i128::from(of.given.nominal);
    let taken = (borrowed + of.own_use + of.lent - of.borrowed() - nominal).max(0);
    let spare: Vec<i128> = children.iter().map(|child| counts[*child].spare()).collect();
    for (child, lent) in children.iter().zip(split(taken, &spare)) {
        counts[*child].lent = lent;
    }
}

/// `amount` over `parts` in proportion, none above its part, the sum exact: by largest remainder.
fn split(amount: i128, parts: &[i128]) -> Vec<i128> {
    let all: i128 = parts.iter().sum();
    let amount = amount.clamp(0, all);
    if all == 0 {
        return vec![0; parts.len()];
    }
    let mut shares: Vec<i128> = parts.iter().map(|part| amount * part / all).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|index| (-(amount * parts[*index] % all), *index));
    let mut left = amount - shares.iter().sum::<i128>();
    for index in order {
        if left > 0 && shares[index] < parts[index] {
            shares[index] += 1;
            left -= 1;
        }
    }
    shares
}

fn line(count: &Count, known: bool) -> Line {
    let narrow = |amount: i128| i64::try_from(amount).unwrap_or(i64::MAX);
    Line {
        declared: count.declared,
        nominal: count.given.nominal,
        total: narrow(count.total),
        borrowing_limit: count.given.borrowing_limit,
        lending_limit: count.given.lending_limit,
        used: known.then(|| narrow(count.used)),
        borrowed: known.then(|| narrow(count.borrowed())),
        lent: known.then(|| narrow(count.lent)),
    }
}
