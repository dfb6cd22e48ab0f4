//! Ledger: what a cluster has free while attempts are thought gone and back, one at a time.
//!
//! Owns nothing but a faster way to [`Room::left_of`]: it is the same room, whoever is gone. Pods that have a node are given back and
//! taken one by one; only those that are still to come are placed anew each time, because they go where room is.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        Cluster,
        room::{Expected, Room, expected},
    },
    id::AttemptId,
    resources::Resources,
};

/// A cluster's room as attempts go and come back.
pub(super) struct Ledger<'a> {
    /// The usable nodes beside the pods that have a node and stay.
    bound: Room,
    own: BTreeMap<AttemptId, Own>,
    expected: Vec<Expected<'a>>,
    gone: BTreeSet<AttemptId>,
    /// Pods of those who stay that are still to come.
    to_come: usize,
}

/// Pods of one attempt.
#[derive(Default)]
struct Own {
    /// By the index of their node.
    bound: Vec<(usize, Resources)>,
    to_come: usize,
}

impl<'a> Ledger<'a> {
    /// With these gone; `empty` are the cluster's usable nodes as if nothing ran on them.
    pub(super) fn new(empty: &Room, cluster: &'a Cluster, gone: &BTreeSet<AttemptId>) -> Ledger<'a> {
        let (mut bound, mut own) = (empty.clone(), BTreeMap::<AttemptId, Own>::new());
        for pod in cluster.pods.iter().filter(|pod| !pod.node.is_empty()) {
            let Some(node) = bound.index_of(&pod.node) else { continue };
            bound.nodes[node].1 = bound.nodes[node].1 - pod.requests;
            if let Some(attempt) = pod.attempt {
                own.entry(attempt).or_default().bound.push((node, pod.requests));
            }
        }
        let expected = expected(cluster);
        for attempt in expected.iter().filter_map(|pod| pod.attempt) {
            own.entry(attempt).or_default().to_come += 1;
        }
        let left: Vec<AttemptId> = own.keys().filter(|attempt| gone.contains(attempt)).copied().collect();
        let to_come = expected.len();
        let mut ledger = Ledger { bound, own, expected, gone: BTreeSet::new(), to_come };
        left.into_iter().for_each(|attempt| ledger.go(attempt));
        ledger
    }

    /// The attempt is thought gone.
    pub(super) fn go(&mut self, attempt: AttemptId) {
        let Some(own) = self.own.get(&attempt).filter(|_| self.gone.insert(attempt)) else { return };
        for (node, requests) in &own.bound {
            self.bound.nodes[*node].1 = self.bound.nodes[*node].1 + *requests;
        }
        self.to_come -= own.to_come;
    }

    /// It stays after all.
    pub(super) fn come_back(&mut self, attempt: AttemptId) {
        let Some(own) = self.own.get(&attempt).filter(|_| self.gone.remove(&attempt)) else { return };
        for (node, requests) in &own.bound {
            self.bound.nodes[*node].1 = self.bound.nodes[*node].1 - *requests;
        }
        self.to_come += own.to_come;
    }

    /// What is left beside those who stay.
    pub(super) fn room(&self) -> Room {
        let mut room = self.bound.clone();
        let stays = |pod: &&Expected<'_>| pod.attempt.is_none_or(|attempt| !self.gone.contains(&attempt));
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
            let id = |at: usize| cluster.attempts.get(at).map(|held| held.id);
            let mut gone: BTreeSet<AttemptId> =
                (0..8).filter(|at| first[*at]).filter_map(id).collect();
            let empty = Room::empty(&cluster);
            let mut ledger = Ledger::new(&empty, &cluster, &gone);
            for (attempt, goes) in turns.into_iter().filter_map(|(at, goes)| Some((id(at)?, goes))) {
                if goes {
                    ledger.go(attempt);
                    gone.insert(attempt);
                } else {
                    ledger.come_back(attempt);
                    gone.remove(&attempt);
                }
                prop_assert_eq!(ledger.room(), Room::left_of(&empty, &cluster, |id| !gone.contains(&id)));
            }
        }
    }
}
