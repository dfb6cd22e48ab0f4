//! Ledger: what a cluster has free while attempts and soft claims are thought gone and back, one at a time.
//!
//! Owns nothing but a faster way to [`Room::left_of`]: it is the same room, whoever is gone. Pods that have a node are given back and
//! taken one by one; only those that are still to come are placed anew each time, because they go where room is.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        Cluster,
        room::{Expected, Room, expected},
        soft::{Holder, holders},
    },
    resources::Resources,
};

/// A cluster's room as attempts go and come back.
pub(super) struct Ledger<'a> {
    /// The usable nodes beside the pods that have a node and stay.
    bound: Room,
    own: BTreeMap<Holder, Own>,
    expected: Vec<Expected<'a>>,
    /// How often each is thought gone: a pod beyond a gang goes by itself, and with its attempt.
    gone: BTreeMap<Holder, u32>,
    /// Pods of those who stay that are still to come.
    to_come: usize,
}

/// Pods of one holder.
#[derive(Default)]
struct Own {
    /// By the index of their node.
    bound: Vec<(usize, Resources)>,
    to_come: usize,
}

impl<'a> Ledger<'a> {
    /// With these gone; `empty` are the cluster's usable nodes as if nothing ran on them.
    pub(super) fn new(empty: &Room, cluster: &'a Cluster, gone: &BTreeSet<Holder>) -> Ledger<'a> {
        let (mut bound, mut own) = (empty.clone(), BTreeMap::<Holder, Own>::new());
        let holders = holders(cluster);
        for (pod, holder) in cluster.pods.iter().zip(&holders).filter(|(pod, _)| !pod.node.is_empty()) {
            let Some(node) = bound.index_of(&pod.node) else { continue };
            bound.nodes[node].1 = bound.nodes[node].1 - pod.requests;
            if let Some(holder) = holder {
                own.entry(*holder).or_default().bound.push((node, pod.requests));
            }
        }
        let expected = expected(cluster, &holders);
        for holder in expected.iter().filter_map(|pod| pod.holder) {
            own.entry(holder).or_default().to_come += 1;
        }
        let left: Vec<Holder> = own.keys().filter(|holder| gone.contains(holder)).copied().collect();
        let to_come = expected.len();
        let mut ledger = Ledger { bound, own, expected, gone: BTreeMap::new(), to_come };
        left.into_iter().for_each(|holder| ledger.go(holder));
        ledger
    }

    /// It is thought gone once more.
    pub(super) fn go(&mut self, holder: Holder) {
        let Some(own) = self.own.get(&holder) else { return };
        let times = self.gone.entry(holder).or_default();
        *times += 1;
        if *times == 1 {
            for (node, requests) in &own.bound {
                self.bound.nodes[*node].1 = self.bound.nodes[*node].1 + *requests;
            }
            self.to_come -= own.to_come;
        }
    }

    /// It stays after all, if it is not thought gone otherwise.
    pub(super) fn come_back(&mut self, holder: Holder) {
        let (Some(own), Some(times)) = (self.own.get(&holder), self.gone.get_mut(&holder)) else { return };
        *times -= 1;
        if *times == 0 {
            self.gone.remove(&holder);
            for (node, requests) in &own.bound {
                self.bound.nodes[*node].1 = self.bound.nodes[*node].1 - *requests;
            }
            self.to_come += own.to_come;
        }
    }

    /// What is left beside those who stay.
    pub(super) fn room(&self) -> Room {
        let mut room = self.bound.clone();
        let stays = |pod: &&Expected<'_>| pod.holder.is_none_or(|holder| !self.gone.contains_key(&holder));
        room.reserve(self.expected.iter().filter(stays));
        room
    }

    /// Nodes that are looked at to tell the room.
    pub(super) fn cost(&self) -> usize {
        self.bound.nodes.len().saturating_mul(1 + self.to_come)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::dispatch::preempt::world::any_cluster;

    proptest! {
        #[test]
        fn the_room_is_the_same_whoever_went_and_came_back(
            cluster in any_cluster(), first in vec(any::<bool>(), 8), turns in vec((0_usize..8, any::<bool>()), 0..20),
        ) {
            let gangs = cluster.attempts.iter().map(|held| Holder::Gang(held.id));
            let all: BTreeSet<Holder> = holders(&cluster).into_iter().flatten().chain(gangs).collect();
            let id = |at: usize| all.iter().nth(at).copied();
            let mut gone: BTreeSet<Holder> =
                (0..8).filter(|at| first[*at]).filter_map(id).collect();
            let empty = Room::empty(&cluster);
            let mut ledger = Ledger::new(&empty, &cluster, &gone);
            for (holder, goes) in turns.into_iter().filter_map(|(at, goes)| Some((id(at)?, goes))) {
                if goes {
                    ledger.go(holder);
                    if !gone.insert(holder) {
                        ledger.come_back(holder);
                    }
                } else if gone.remove(&holder) {
                    ledger.come_back(holder);
                }
                prop_assert_eq!(ledger.room(), Room::left_of(&empty, &cluster, |id| !gone.contains(&id)));
            }
        }
    }
}
