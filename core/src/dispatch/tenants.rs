//! Tenants: who may use how much of the fleet, as a tree of quotas in Kueue's words.
//!
//! Owns nominal quota, borrowing and lending limits, weights and what each tenant uses, for one flavor. Amounts are
//! thousandths of a GPU. Invariant: usage is taken and given back at a leaf and seen by every ancestor; nobody is above
//! nominal plus borrowing, and no subtree lends more than its limit. Fails by refusing to build a tree with a cycle or a
//! negative amount. Every question costs the depth of the tree.

/// A node as it was configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tenant {
    pub name: String,
    /// Index of the parent, which must come earlier. None for a root.
    pub parent: Option<usize>,
    /// Its own quota, not that of its children.
    pub nominal: i64,
    /// How far above its subtree's quota it may go; None means as far as others lend.
    pub borrowing_limit: Option<i64>,
    /// How much of its subtree's quota others may use; None means all.
    pub lending_limit: Option<i64>,
    /// Thousandths; 1000 is an ordinary weight.
    pub weight: u32,
}

/// Why a tree was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TreeError {
    #[error("tenant {0} stands before its parent, or is its own ancestor")]
    Order(String),
    #[error("tenant {0} has a negative quota or limit")]
    Negative(String),
    #[error("tenant {0} has weight 0")]
    Weight(String),
    #[error("the quotas under tenant {0} add up to more than can be counted")]
    Overflow(String),
}

/// The tree with what is in use.
#[derive(Clone, Default, Debug)]
pub struct Tenants {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    tenant: Tenant,
    /// Nominal of the node, and what its children lend.
    quota: i64,
    used: i64,
}

impl Node {
    /// The part of its quota that nobody else may use.
    fn local(&self) -> i64 {
        self.tenant.lending_limit.map_or(0, |limit| (self.quota - limit).max(0))
    }

    fn local_left(&self) -> i64 {
        (self.local() - self.used).max(0)
    }
}

impl Tenants {
    /// Builds the tree; parents come before their children.
    pub fn new(tenants: Vec<Tenant>) -> Result<Self, TreeError> {
        for (index, tenant) in tenants.iter().enumerate() {
            check(index, tenant)?;
        }
        let mut nodes: Vec<Node> =
            tenants.into_iter().map(|tenant| Node { quota: tenant.nominal, used: 0, tenant }).collect();
        for index in (0..nodes.len()).rev() {
            let lent = nodes[index].quota - nodes[index].local();
            if let Some(parent) = nodes[index].tenant.parent {
                let sum = nodes[parent].quota.checked_add(lent);
                nodes[parent].quota =
                    sum.ok_or_else(|| TreeError::Overflow(nodes[parent].tenant.name.clone()))?;
            }
        }
        Ok(Tenants { nodes })
    }

    /// Equal guarantees for `names` under one root, which together are `capacity`. Tenant `i` is node `i + 1`.
    pub fn equal(names: &[String], capacity: i64) -> Result<Self, TreeError> {
        let root = Tenant {
            name: String::new(),
            parent: None,
            nominal: 0,
            borrowing_limit: None,
            lending_limit: None,
            weight: 1_000,
        };
        let count = i64::try_from(names.len()).unwrap_or(i64::MAX).max(1);
        let spare = capacity % count;
        let leaves = (0..).zip(names).map(|(index, name)| Tenant {
            name: name.clone(),
            parent: Some(0),
            nominal: capacity / count + i64::from(index < spare),
            ..root.clone()
        });
        Tenants::new(std::iter::once(root.clone()).chain(leaves).collect())
    }

    pub fn name(&self, tenant: usize) -> &str {
        &self.nodes[tenant].tenant.name
    }

    /// How many nodes the tree has.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// What the tenant is guaranteed.
    pub fn nominal(&self, tenant: usize) -> i64 {
        self.nodes[tenant].quota
    }

    pub fn used(&self, tenant: usize) -> i64 {
        self.nodes[tenant].used
    }

    /// Whether `amount` more stays within what the tenant itself is guaranteed.
    pub fn within_guarantee(&self, tenant: usize, amount: i64) -> bool {
        let node = &self.nodes[tenant];
        node.used.saturating_add(amount) <= node.quota
    }

    /// How much more the tenant may take, own quota and loans together.
    pub fn available(&self, tenant: usize) -> i64 {
        let node = &self.nodes[tenant];
        let Some(parent) = node.tenant.parent else { return node.quota - node.used };
        let mut from_parent = self.available(parent);
        if let Some(limit) = node.tenant.borrowing_limit {
            let lent = node.quota - node.local();
            let taken = (node.used - node.local()).max(0);
            from_parent = from_parent.min((lent - taken).saturating_add(limit));
        }
        node.local_left().saturating_add(from_parent.max(0))
    }

    /// How much more its own limits and those of its ancestors allow, were the rest of the fleet idle.
    pub fn allowed(&self, tenant: usize) -> i64 {
        let node = &self.nodes[tenant];
        let Some(parent) = node.tenant.parent else { return node.quota };
        let mut from_parent = self.allowed(parent);
        if let Some(limit) = node.tenant.borrowing_limit {
            let taken = (node.used - node.local()).max(0);
            from_parent = from_parent.min((node.quota - node.local() - taken).saturating_add(limit));
        }
        node.local_left().saturating_add(from_parent)
    }

    /// Counts `amount` as used.
    pub fn take(&mut self, tenant: usize, amount: i64) {
        let node = &mut self.nodes[tenant];
        let own = node.local_left();
        node.used += amount;
        if let Some(parent) = node.tenant.parent.filter(|_| amount > own) {
            self.take(parent, amount - own);
        }
    }

    /// Gives `amount` back.
    pub fn give_back(&mut self, tenant: usize, amount: i64) {
        let node = &mut self.nodes[tenant];
        let above = node.used - node.local();
        node.used -= amount;
        if let Some(parent) = node.tenant.parent.filter(|_| above > 0) {
            self.give_back(parent, amount.min(above));
        }
    }

    /// Use over guarantee by weight if `amount` were added: 1000 is exactly the guarantee. The worst on the way to the root.
    pub fn pressure(&self, tenant: usize, amount: i64) -> u64 {
        let node = &self.nodes[tenant];
        let used = u128::try_from(node.used.saturating_add(amount)).unwrap_or(0);
        let quota = u128::try_from(node.quota.max(1)).unwrap_or(1);
        let own = used * 1_000_000 / quota / u128::from(node.tenant.weight);
        let own = u64::try_from(own).unwrap_or(u64::MAX);
        match node.tenant.parent.filter(|parent| self.nodes[*parent].tenant.parent.is_some()) {
            Some(parent) => own.max(self.pressure(parent, amount)),
            None => own,
        }
    }
}

/// What shares and refusals are told by.
impl Tenants {
    pub fn borrowing_limit(&self, tenant: usize) -> Option<i64> {
        self.nodes[tenant].tenant.borrowing_limit
    }

    /// How far above its guarantee the tenant is if `amount` were added.
    pub fn borrowed(&self, tenant: usize, amount: i64) -> i64 {
        let node = &self.nodes[tenant];
        node.used.saturating_add(amount).saturating_sub(node.quota).max(0)
    }

    /// How much more it may take before it borrows: within its own guarantee, or within that of one it belongs to. What lies
    /// in a root that has children is nobody's guarantee.
    pub fn guaranteed(&self, tenant: usize) -> i64 {
        let node = &self.nodes[tenant];
        let own = node.quota.saturating_sub(node.used);
        match node.tenant.parent.filter(|parent| self.nodes[*parent].tenant.parent.is_some()) {
            Some(parent) => own.max(node.local_left().saturating_add(self.guaranteed(parent))),
            None => own,
        }
    }

    /// What of `amount` more the tenant would take from its parent.
    pub fn passed_on(&self, tenant: usize, amount: i64) -> i64 {
        (amount - self.nodes[tenant].local_left()).max(0)
    }

    /// The tenant on the way to the root whose limit keeps `amount` more from being taken.
    pub fn refuses(&self, tenant: usize, amount: i64) -> Option<usize> {
        let node = &self.nodes[tenant];
        let Some(parent) = node.tenant.parent else {
            return (node.quota - node.used < amount).then_some(tenant);
        };
        let wanted = self.passed_on(tenant, amount);
        if wanted == 0 {
            return None;
        }
        let taken = (node.used - node.local()).max(0);
        let most = node.tenant.borrowing_limit.map(|limit| (node.quota - node.local()).saturating_add(limit));
        if most.is_some_and(|most| most - taken < wanted) {
            return Some(tenant);
        }
        self.refuses(parent, wanted)
    }
}

fn check(index: usize, tenant: &Tenant) -> Result<(), TreeError> {
    let amounts = [Some(tenant.nominal), tenant.borrowing_limit, tenant.lending_limit];
    if tenant.parent.is_some_and(|parent| parent >= index) {
        return Err(TreeError::Order(tenant.name.clone()));
    }
    if amounts.iter().flatten().any(|amount| *amount < 0) {
        return Err(TreeError::Negative(tenant.name.clone()));
    }
    if tenant.weight == 0 {
        return Err(TreeError::Weight(tenant.name.clone()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn tenant(parent: Option<usize>, nominal: i64, borrowing: Option<i64>, lending: Option<i64>) -> Tenant {
        Tenant {
            name: format!("{nominal}"),
            parent,
            nominal,
            borrowing_limit: borrowing,
            lending_limit: lending,
            weight: 1_000,
        }
    }

    #[test]
    fn lending_limit_keeps_a_part_for_its_owner() {
        let tree = vec![
            tenant(None, 0, None, None),
            tenant(Some(0), 10, None, Some(4)),
            tenant(Some(0), 5, None, None),
        ];
        let mut tenants = Tenants::new(tree).unwrap();
        assert_eq!((tenants.available(1), tenants.available(2)), (15, 9));
        tenants.take(2, 9);
        assert_eq!((tenants.available(1), tenants.available(2)), (6, 0));
        tenants.take(1, 6);
        assert_eq!(tenants.available(1), 0);
        tenants.give_back(2, 9);
        assert_eq!((tenants.available(1), tenants.available(2)), (9, 9));
    }

    #[test]
    fn borrowing_limit_of_an_ancestor_binds_its_teams() {
        let tree = vec![
            tenant(None, 0, None, None),
            tenant(Some(0), 0, Some(2), None),
            tenant(Some(0), 8, None, None),
            tenant(Some(1), 3, None, None),
        ];
        let tenants = Tenants::new(tree).unwrap();
        assert_eq!(tenants.available(3), 5);
        assert!(tenants.within_guarantee(3, 3) && !tenants.within_guarantee(3, 4));
    }

    #[test]
    fn bad_trees_are_refused() {
        let root = tenant(None, 0, None, None);
        let cyclic = Tenants::new(vec![tenant(Some(1), 1, None, None), tenant(Some(0), 2, None, None)]);
        assert_eq!(cyclic.unwrap_err(), TreeError::Order("1".to_owned()));
        let negative = Tenants::new(vec![root.clone(), tenant(Some(0), -1, None, None)]);
        assert_eq!(negative.unwrap_err(), TreeError::Negative("-1".to_owned()));
        let weightless = Tenant { weight: 0, ..tenant(None, 4, None, None) };
        assert_eq!(Tenants::new(vec![weightless]).unwrap_err(), TreeError::Weight("4".to_owned()));
        let huge = tenant(Some(0), i64::MAX, None, None);
        assert_eq!(
            Tenants::new(vec![root, huge.clone(), huge]).unwrap_err(),
            TreeError::Overflow("0".to_owned())
        );
    }

    #[test]
    fn equal_guarantees_add_up_to_the_fleet() {
        let names: Vec<String> = (0..7).map(|number| number.to_string()).collect();
        let tenants = Tenants::equal(&names, 600_000).unwrap();
        assert_eq!((1..=7).map(|tenant| tenants.nominal(tenant)).sum::<i64>(), 600_000);
        assert_eq!((tenants.nominal(1), tenants.nominal(7)), (85_715, 85_714));
    }

    proptest! {
        /// Whatever is taken while it is available, nobody passes nominal plus borrowing, and giving all back empties the tree.
        #[test]
        fn limits_hold_and_usage_returns_to_nothing(
            nodes in vec((0i64..20, proptest::option::of(0i64..10), proptest::option::of(0i64..10)), 3),
            takes in vec((1usize..4, 1i64..8), 0..40),
        ) {
            let mut tree = vec![tenant(None, 5, None, None)];
            tree.extend(nodes.iter().map(|(nominal, borrow, lend)| tenant(Some(0), *nominal, *borrow, *lend)));
            let mut tenants = Tenants::new(tree).unwrap();
            let mut taken = Vec::new();
            for (leaf, amount) in takes {
                if tenants.available(leaf) >= amount {
                    tenants.take(leaf, amount);
                    taken.push((leaf, amount));
                }
                for (leaf, (nominal, borrow, _)) in (1..).zip(&nodes) {
                    let most = borrow.map_or(i64::MAX, |borrow| nominal + borrow);
                    prop_assert!(tenants.used(leaf) <= most);
                }
                let all: i64 = (1..4).map(|leaf| tenants.used(leaf)).sum();
                prop_assert!(all <= 5 + nodes.iter().map(|node| node.0).sum::<i64>());
            }
            for (leaf, amount) in taken {
                tenants.give_back(leaf, amount);
            }
            prop_assert!((0..4).all(|node| tenants.used(node) == 0));
        }
    }
}
