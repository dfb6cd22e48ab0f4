//! The queues by index, parents before their children.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use crate::quota::{Queue, Quota, Resource};

/// A flavor and a resource.
pub(super) type Key = (String, Resource);

pub(super) struct Tree<'a> {
    queues: Vec<&'a Queue>,
    parents: Vec<Option<usize>>,
    index: BTreeMap<&'a str, usize>,
    /// What each queue may use: what it names, or else what its parent may use, or else what its tree names.
    named: Vec<Rc<BTreeSet<Key>>>,
}

impl<'a> Tree<'a> {
    /// Queues that hang on nothing or in a circle are left out.
    pub(super) fn new(all: &'a [Queue]) -> Tree<'a> {
        let mut children = BTreeMap::<Option<&str>, Vec<&Queue>>::new();
        for queue in all {
            children.entry(queue.parent.as_deref()).or_default().push(queue);
        }
        let mut queues: Vec<&Queue> = children.remove(&None).unwrap_or_default();
        let mut next = 0;
        while let Some(queue) = queues.get(next) {
            queues.extend(children.remove(&Some(queue.name.as_str())).unwrap_or_default());
            next += 1;
        }
        let index: BTreeMap<&str, usize> =
            queues.iter().enumerate().map(|(at, queue)| (queue.name.as_str(), at)).collect();
        let parent = |queue: &&Queue| queue.parent.as_deref().and_then(|parent| index.get(parent)).copied();
        let parents: Vec<Option<usize>> = queues.iter().map(parent).collect();
        let named = named(&queues, &parents);
        Tree { queues, parents, index, named }
    }

    pub(super) fn len(&self) -> usize {
        self.queues.len()
    }

    pub(super) fn name(&self, node: usize) -> &'a str {
        &self.queues[node].name
    }

    pub(super) fn parent(&self, node: usize) -> Option<usize> {
        self.parents[node]
    }

    pub(super) fn weight(&self, node: usize) -> u32 {
        self.queues[node].weight
    }

    pub(super) fn quota(&self, node: usize, key: &Key) -> Quota {
        let amounts = self.queues[node].quotas.get(&key.0);
        amounts.and_then(|amounts| amounts.get(&key.1)).copied().unwrap_or_default()
    }

    /// Everything that quotas are for, with the queues that may use it.
    pub(super) fn keys(&self) -> BTreeMap<Key, BTreeSet<usize>> {
        let mut keys = BTreeMap::<Key, BTreeSet<usize>>::new();
        for (node, named) in self.named.iter().enumerate() {
            for key in named.iter() {
                keys.entry(key.clone()).or_default().insert(node);
            }
        }
        keys
    }

    /// The flavor of everything that the queue may use, when there is one.
    pub(super) fn only_flavor(&self, queue: &str) -> Option<String> {
        let named = &self.named[*self.index.get(queue)?];
        let (first, _) = named.first()?;
        named.iter().all(|(flavor, _)| flavor == first).then(|| first.clone())
    }
}

fn named(queues: &[&Queue], parents: &[Option<usize>]) -> Vec<Rc<BTreeSet<Key>>> {
    let own = |queue: &&Queue| -> BTreeSet<Key> {
        let all = queue.quotas.iter();
        all.flat_map(|(flavor, amounts)| amounts.keys().map(move |of| (flavor.clone(), *of))).collect()
    };
    let mut below: Vec<BTreeSet<Key>> = queues.iter().map(own).collect();
    for node in (0..queues.len()).rev() {
        if let Some(parent) = parents[node] {
            let keys = below[node].clone();
            below[parent].extend(keys);
        }
    }
    let mut named: Vec<Rc<BTreeSet<Key>>> = Vec::new();
    for (node, queue) in queues.iter().enumerate() {
        let own = own(queue);
        let inherited =
            || parents[node].map_or_else(|| Rc::new(below[node].clone()), |parent| named[parent].clone());
        let keys = if own.is_empty() { inherited() } else { Rc::new(own) };
        named.push(keys);
    }
    named
}
