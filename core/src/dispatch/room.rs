//! Room: what the nodes of a cluster have free, and whether a gang fits into it.
//!
//! Packing is first-fit decreasing over nodes in the order of their names. It may miss a packing that exists; it never
//! claims one that does not.

use std::collections::BTreeMap;

use crate::{
    dispatch::{Cluster, GangPart, Held, Pod},
    id::AttemptId,
    resources::Resources,
};

/// Free resources per usable node, in the order of names. May be negative where a node is overcommitted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Room {
    pub(crate) nodes: Vec<(String, Resources)>,
}

/// Where a gang's pods would go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Packing {
    /// The room after the gang was placed.
    pub(crate) left: Room,
    /// Indices of the nodes used, without repetition, ascending.
    pub(crate) nodes: Vec<usize>,
}

/// The pod of a gang that found no node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NoFit {
    pub(crate) role: String,
    pub(crate) requests: Resources,
}

impl Room {
    /// The cluster's usable nodes as if nothing ran on them.
    pub(crate) fn empty(cluster: &Cluster) -> Room {
        let mut nodes: Vec<(String, Resources)> = cluster
            .nodes
            .iter()
            .filter(|node| node.usable)
            .map(|node| (node.name.clone(), node.allocatable))
            .collect();
        nodes.sort_by(|a, b| a.0.cmp(&b.0));
        Room { nodes }
    }

    /// What is left beside the pods that are there and those that live attempts still need.
    pub(crate) fn free(cluster: &Cluster) -> Room {
        let mut room = Room::empty(cluster);
        for pod in cluster.pods.iter().filter(|pod| !pod.node.is_empty()) {
            if let Some((_, free)) = room.nodes.iter_mut().find(|(name, _)| *name == pod.node) {
                *free = *free - pod.requests;
            }
        }
        room.reserve(&expected(cluster));
        room
    }

    /// Takes the room of pods that have no node yet; one that fits nowhere takes none, as the scheduler leaves it out.
    fn reserve(&mut self, pods: &[Resources]) {
        for requests in pods {
            if let Some((_, free)) = self.nodes.iter_mut().find(|(_, free)| requests.fits(*free)) {
                *free = *free - *requests;
            }
        }
    }

    /// Places the whole gang or names the pod that found no node.
    pub(crate) fn pack(&self, gang: &[GangPart]) -> Result<Packing, NoFit> {
        let mut left = self.clone();
        let mut used = Vec::new();
        for part in by_size(gang) {
            for _ in 0..part.count {
                let found = left.nodes.iter().position(|(_, free)| part.requests.fits(*free));
                let Some(index) = found else {
                    return Err(NoFit { role: part.role.clone(), requests: part.requests });
                };
                left.nodes[index].1 = left.nodes[index].1 - part.requests;
                used.push(index);
            }
        }
        used.sort_unstable();
        used.dedup();
        Ok(Packing { left, nodes: used })
    }

    /// Everything free, counting overcommitted nodes as empty-handed.
    pub(crate) fn total(&self) -> Resources {
        self.nodes.iter().map(|(_, free)| free.max(Resources::default())).sum()
    }

    /// The node with the most of what the pod asks for, as `(name, free)`.
    pub(crate) fn roomiest_for(&self, requests: Resources) -> Option<&(String, Resources)> {
        self.nodes.iter().rev().max_by_key(|(_, free)| closeness(*free, requests))
    }
}

/// How near a node comes to a pod's requests, in thousandths of the dimension that lacks most.
pub(crate) fn closeness(free: Resources, requests: Resources) -> i128 {
    let share = |have: i64, want: i64| {
        if want <= 0 { 1_000 } else { (i128::from(have.max(0)) * 1_000 / i128::from(want)).min(1_000) }
    };
    share(free.cpu_milli, requests.cpu_milli)
        .min(share(free.memory_bytes, requests.memory_bytes))
        .min(share(free.gpus, requests.gpus))
}

/// Largest pods first, so that the hardest to place choose first. Ties keep the role's name order.
fn by_size(gang: &[GangPart]) -> Vec<&GangPart> {
    let mut parts: Vec<&GangPart> = gang.iter().collect();
    parts.sort_by(|a, b| size(b.requests).cmp(&size(a.requests)).then_with(|| a.role.cmp(&b.role)));
    parts
}

pub(crate) fn size(requests: Resources) -> (i64, i64, i64) {
    (requests.gpus, requests.memory_bytes, requests.cpu_milli)
}

/// Requests of pods that will come: unbound ones, and those that a live attempt still lacks. Largest first.
fn expected(cluster: &Cluster) -> Vec<Resources> {
    let unbound = cluster.pods.iter().filter(|pod| pod.node.is_empty()).map(|pod| pod.requests);
    let seen = seen_per_role(&cluster.pods);
    let mut pods: Vec<Resources> =
        unbound.chain(cluster.attempts.iter().flat_map(|held| lacking(held, &seen))).collect();
    pods.sort_by_key(|requests| std::cmp::Reverse(size(*requests)));
    pods
}

type Seen<'a> = BTreeMap<(AttemptId, &'a str), u32>;

fn seen_per_role(pods: &[Pod]) -> Seen<'_> {
    let mut seen = Seen::new();
    for pod in pods {
        if let Some(attempt) = pod.attempt {
            *seen.entry((attempt, pod.role.as_str())).or_default() += 1;
        }
    }
    seen
}

fn lacking(held: &Held, seen: &Seen<'_>) -> Vec<Resources> {
    held.gang
        .iter()
        .flat_map(|part| {
            let there = seen.get(&(held.id, part.role.as_str())).copied().unwrap_or(0);
            (there..part.count).map(|_| part.requests)
        })
        .collect()
}
