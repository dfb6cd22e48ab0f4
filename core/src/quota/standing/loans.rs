//! Loans of one flavor and resource: up the tree who uses more than they have, down the tree whose it is.

use std::collections::BTreeMap;

use super::{
    Line, Use, part,
    tree::{Key, Tree},
};
use crate::resources::Resources;

/// What is counted at a queue. Sums are wider than any quota, so that use beyond all quotas cannot overflow.
#[derive(Clone, Copy, Default)]
struct Count {
    nominal: i128,
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
    /// Use below it, or in it, has no flavor.
    unknown: bool,
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

/// A line for each queue of the tree, in its order.
pub(super) fn lines(tree: &Tree<'_>, key: &Key, used: &BTreeMap<String, Use>) -> Vec<Line> {
    let mut counts: Vec<Count> = (0..tree.len()).map(|node| own(tree, node, key, used)).collect();
    for node in (0..tree.len()).rev() {
        gather(tree, node, key, &mut counts);
    }
    let mut children = vec![Vec::new(); tree.len()];
    let mut clear = vec![true; tree.len()];
    for node in 0..tree.len() {
        match tree.parent(node) {
            Some(parent) => {
                children[parent].push(node);
                clear[node] = clear[parent];
            }
            None => clear[node] = !counts[node].unknown,
        }
    }
    for (node, children) in children.iter().enumerate() {
        lend(node, children, &mut counts);
    }
    (0..tree.len()).map(|node| line(tree, node, key, &counts[node], clear[node])).collect()
}

fn own(tree: &Tree<'_>, node: usize, key: &Key, used: &BTreeMap<String, Use>) -> Count {
    let held = used.get(tree.name(node));
    let known = held.and_then(|held| held.by_flavor.get(&key.0)).map_or(0, |amount| part(*amount, key.1));
    let nominal = i128::from(tree.quota(node, key).nominal);
    let own_use = i128::from(known);
    Count {
        nominal,
        total: nominal,
        quota: nominal,
        own_use,
        used: own_use,
        counted: own_use,
        unknown: held.is_some_and(|held| held.unknown != Resources::default()),
        ..Count::default()
    }
}

/// Children come later in the order, so `node` is complete when its turn comes.
fn gather(tree: &Tree<'_>, node: usize, key: &Key, counts: &mut [Count]) {
    let limit = tree.quota(node, key).lending_limit;
    let count = &mut counts[node];
    count.local = limit.map_or(0, |limit| (count.quota - i128::from(limit)).max(0));
    let count = *count;
    let Some(parent) = tree.parent(node) else { return };
    let above = &mut counts[parent];
    above.total += count.total;
    above.quota += count.quota - count.local;
    above.used += count.used;
    above.counted += (count.counted - count.local).max(0);
    above.unknown |= count.unknown;
}

/// What is taken from the children of `node`, by its own jobs, by each other and from outside, beyond what it has itself.
fn lend(node: usize, children: &[usize], counts: &mut [Count]) {
    let of = counts[node];
    let borrowed: i128 = children.iter().map(|child| counts[*child].borrowed()).sum();
    let taken = (borrowed + of.own_use + of.lent - of.borrowed() - of.nominal).max(0);
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

fn line(tree: &Tree<'_>, node: usize, key: &Key, count: &Count, clear: bool) -> Line {
    let narrow = |amount: i128| i64::try_from(amount).unwrap_or(i64::MAX);
    let quota = tree.quota(node, key);
    Line {
        nominal: quota.nominal,
        total: narrow(count.total),
        borrowing_limit: quota.borrowing_limit,
        lending_limit: quota.lending_limit,
        used: (!count.unknown).then(|| narrow(count.used)),
        borrowed: (!count.unknown).then(|| narrow(count.borrowed())),
        lent: clear.then(|| narrow(count.lent)),
    }
}
