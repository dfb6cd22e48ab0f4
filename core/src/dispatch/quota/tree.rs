//! One tree of queues, counted per flavor and resource.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        pack::{Charge, Limit},
        quota::Flavors,
        tenants::{Tenant, Tenants},
    },
    quota::{Queue, Quota, Resource},
    resources::Resources,
};

/// What quotas count, in the order in which it is told.
const RESOURCES: [Resource; 3] = [Resource::Gpu, Resource::Cpu, Resource::Memory];

type Named = BTreeSet<(usize, Resource)>;

/// A root with everything below it; queues are spoken of by their index, parents first.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// Usage of each flavor and resource that is named anywhere in the tree.
    books: BTreeMap<(usize, Resource), Tenants>,
    /// The same as if nothing ran.
    idle: BTreeMap<(usize, Resource), Tenants>,
    /// What jobs of each queue use.
    users: BTreeMap<String, Charge>,
    /// Why the tree cannot be counted.
    broken: Option<String>,
}

#[derive(Clone, Debug)]
struct Node {
    name: String,
    parent: Option<usize>,
    weight: u32,
    /// What it may use.
    named: Named,
}

impl Tree {
    pub(super) fn new(queues: &[(&Queue, Option<usize>)], flavors: &Flavors) -> Tree {
        let own: Vec<Named> = queues.iter().map(|(queue, _)| named(queue, flavors)).collect();
        let all: Named = own.iter().flatten().copied().collect();
        let mut nodes: Vec<Node> = Vec::new();
        for ((queue, parent), own) in queues.iter().zip(own) {
            let inherited = parent.map_or(&all, |parent| &nodes[parent].named);
            let named = if own.is_empty() { inherited.clone() } else { own };
            let (name, weight) = (queue.name.clone(), queue.weight);
            nodes.push(Node { name, parent: *parent, weight, named });
        }
        let mut broken = None;
        let mut idle = BTreeMap::new();
        for key in all {
            match Tenants::new(tenants(queues, flavors, key)) {
                Ok(book) => drop(idle.insert(key, book)),
                Err(error) => broken = Some(error.to_string()),
            }
        }
        Tree { nodes, books: idle.clone(), idle, users: BTreeMap::new(), broken }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn name(&self, node: usize) -> &str {
        &self.nodes[node].name
    }

    pub(crate) fn parent(&self, node: usize) -> Option<usize> {
        self.nodes[node].parent
    }

    pub(crate) fn weight(&self, node: usize) -> u32 {
        self.nodes[node].weight.max(1)
    }

    pub(crate) fn is_limited(&self) -> bool {
        !self.idle.is_empty() || self.broken.is_some()
    }

    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub(crate) fn book(&self, flavor: usize, resource: Resource) -> Option<&Tenants> {
        self.books.get(&(flavor, resource))
    }

    /// Every flavor and resource that is named anywhere in the tree.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (usize, Resource)> + '_ {
        self.idle.keys().copied()
    }

    /// Whether the queue may use the resource in the flavor.
    pub(crate) fn names(&self, node: usize, flavor: usize, resource: Resource) -> bool {
        self.nodes[node].named.contains(&(flavor, resource))
    }

    /// What the queue's own jobs use.
    pub(crate) fn own_use(&self, node: usize, flavor: usize, resource: Resource) -> i64 {
        let charge = self.users.get(&self.nodes[node].name);
        charge.and_then(|charge| charge.get(&flavor)).map_or(0, |amount| part(*amount, resource))
    }

    /// What the node's parent has to give if nothing ran, with what that may borrow itself.
    pub(crate) fn lendable(&self, node: usize, flavor: usize, resource: Resource) -> i64 {
        let parent = self.nodes[node].parent;
        let book = self.idle.get(&(flavor, resource));
        parent.zip(book).map_or(0, |(parent, book)| book.available(parent).max(0))
    }

    /// The book as if nothing ran.
    pub(crate) fn idle(&self, flavor: usize, resource: Resource) -> Option<&Tenants> {
        self.idle.get(&(flavor, resource))
    }

    /// What each queue uses of a flavor, the most first.
    pub(crate) fn users(&self, flavor: usize, resource: Resource, under: usize) -> Vec<(&str, i64)> {
        let of = |charge: &Charge| charge.get(&flavor).map_or(0, |amount| part(*amount, resource));
        let below = |queue: &String| {
            let at = self.nodes.iter().position(|node| node.name == *queue);
            at.is_some_and(|at| self.is_below(at, under))
        };
        let users = self.users.iter().filter(|(queue, _)| below(queue));
        let mut users: Vec<(&str, i64)> = users.map(|(queue, charge)| (queue.as_str(), of(charge))).collect();
        users.retain(|(_, amount)| *amount > 0);
        users.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        users
    }

    /// Whether a node is `under` or stands below it.
    pub(crate) fn is_below(&self, node: usize, under: usize) -> bool {
        node == under || self.nodes[node].parent.is_some_and(|parent| self.is_below(parent, under))
    }

    /// Flavors that a queue may use, ascending.
    pub(crate) fn flavors_of(&self, node: usize) -> Vec<usize> {
        if self.broken.is_some() {
            return Vec::new();
        }
        let flavors: BTreeSet<usize> = self.nodes[node].named.iter().map(|(flavor, _)| *flavor).collect();
        flavors.into_iter().collect()
    }

    pub(super) fn limit(&self, node: usize, flavor: usize) -> Limit {
        self.limit_in(&self.books, node, flavor)
    }

    pub(super) fn limit_if_idle(&self, node: usize, flavor: usize) -> Limit {
        self.limit_in(&self.idle, node, flavor)
    }

    pub(super) fn limit_by_name(&self, node: usize, flavor: usize) -> Limit {
        let any = self.amounts(node, flavor, |_| i64::MAX);
        Limit { flavor, left: any, own: any }
    }

    fn limit_in(&self, books: &BTreeMap<(usize, Resource), Tenants>, node: usize, flavor: usize) -> Limit {
        let of = |resource, question: fn(&Tenants, usize) -> i64| {
            books.get(&(flavor, resource)).map_or(0, |book| question(book, node).max(0))
        };
        Limit {
            flavor,
            left: self.amounts(node, flavor, |resource| of(resource, Tenants::available)),
            own: self.amounts(node, flavor, |resource| of(resource, Tenants::guaranteed)),
        }
    }

    /// What the queue does not name it may not use.
    fn amounts(&self, node: usize, flavor: usize, of: impl Fn(Resource) -> i64) -> Resources {
        let named = &self.nodes[node].named;
        let of = |resource| if named.contains(&(flavor, resource)) { of(resource) } else { 0 };
        Resources {
            cpu_milli: of(Resource::Cpu),
            memory_bytes: of(Resource::Memory),
            gpus: of(Resource::Gpu),
        }
    }

    pub(super) fn take(&mut self, node: usize, queue: &str, charge: &Charge) {
        for (flavor, resource, amount) in parts(charge) {
            if let Some(book) = self.books.get_mut(&(flavor, resource)) {
                book.take(node, amount);
            }
        }
        let users = self.users.entry(queue.to_owned()).or_default();
        for (flavor, amount) in charge {
            let sum = users.entry(*flavor).or_default();
            *sum = *sum + *amount;
        }
    }

    pub(super) fn give_back(&mut self, node: usize, queue: &str, charge: &Charge) {
        for (flavor, resource, amount) in parts(charge) {
            if let Some(book) = self.books.get_mut(&(flavor, resource)) {
                book.give_back(node, amount);
            }
        }
        for (flavor, amount) in charge {
            if let Some(sum) = self.users.get_mut(queue).and_then(|users| users.get_mut(flavor)) {
                *sum = *sum - *amount;
            }
        }
    }
}

fn named(queue: &Queue, flavors: &Flavors) -> Named {
    let quotas = queue.quotas.iter().filter_map(|(name, quota)| Some((flavors.index(name)?, quota)));
    quotas.flat_map(|(flavor, quota)| quota.keys().map(move |resource| (flavor, *resource))).collect()
}

/// The tree for one flavor and resource.
fn tenants(
    queues: &[(&Queue, Option<usize>)],
    flavors: &Flavors,
    (flavor, resource): (usize, Resource),
) -> Vec<Tenant> {
    let quota = |queue: &Queue| -> Quota {
        let of_flavor = queue.quotas.get(flavors.name(flavor));
        of_flavor.and_then(|quota| quota.get(&resource)).copied().unwrap_or_default()
    };
    let tenant = |(queue, parent): &(&Queue, Option<usize>)| {
        let Quota { nominal, borrowing_limit, lending_limit } = quota(queue);
        let (name, weight) = (queue.name.clone(), queue.weight);
        Tenant { name, parent: *parent, nominal, borrowing_limit, lending_limit, weight }
    };
    queues.iter().map(tenant).collect()
}

/// One dimension of an amount.
pub(crate) fn part(amount: Resources, resource: Resource) -> i64 {
    match resource {
        Resource::Cpu => amount.cpu_milli,
        Resource::Memory => amount.memory_bytes,
        Resource::Gpu => amount.gpus,
    }
}

/// What of a charge is not zero.
pub(crate) fn parts(charge: &Charge) -> impl Iterator<Item = (usize, Resource, i64)> {
    let all =
        charge.iter().flat_map(|(flavor, amount)| RESOURCES.map(|one| (*flavor, one, part(*amount, one))));
    all.filter(|(.., amount)| *amount != 0)
}
