//! What a running attempt is charged.
//!
//! What was recorded when it was assigned counts as long as its flavors exist. Without that, because the quota is younger
//! than the attempt, its pods are charged to the flavors of the nodes where they are, and those that have no node yet to the
//! first flavor that has a node which would do.

use crate::{
    dispatch::{Cluster, GangPart, Held, pack::Charge, quota::Flavors},
    resources::Resources,
};

pub(super) fn of(flavors: &Flavors, cluster: &Cluster, held: &Held) -> Charge {
    recorded(flavors, held).unwrap_or_else(|| observed(flavors, cluster, held))
}

fn recorded(flavors: &Flavors, held: &Held) -> Option<Charge> {
    let charge: Option<Charge> =
        held.usage.iter().map(|(name, amount)| Some((flavors.index(name)?, *amount))).collect();
    charge.filter(|charge| !charge.is_empty())
}

fn observed(flavors: &Flavors, cluster: &Cluster, held: &Held) -> Charge {
    let mut charge = Charge::new();
    for part in &held.gang {
        let seen: Vec<usize> = seen(flavors, cluster, held, part);
        let elsewhere = first(flavors, cluster, part);
        let count = usize::try_from(part.count).unwrap_or(usize::MAX);
        let missing = count.saturating_sub(seen.len());
        let all = seen.into_iter().chain(std::iter::repeat_n(elsewhere, missing).flatten());
        for flavor in all.take(count) {
            let sum: &mut Resources = charge.entry(flavor).or_default();
            *sum = *sum + part.requests;
        }
    }
    charge
}

/// Flavors of the nodes on which pods of the part are.
fn seen(flavors: &Flavors, cluster: &Cluster, held: &Held, part: &GangPart) -> Vec<usize> {
    let pods = cluster.pods.iter().filter(|pod| pod.attempt == Some(held.id) && pod.role == part.role);
    pods.filter_map(|pod| cluster.nodes.iter().find(|node| node.name == pod.node))
        .filter_map(|node| flavors.of(&node.face))
        .collect()
}

fn first(flavors: &Flavors, cluster: &Cluster, part: &GangPart) -> Option<usize> {
    let would_do = cluster.nodes.iter().filter(|node| {
        part.requests.fits(node.allocatable) && part.wish.accepts(&node.face, part.requests.gpus)
    });
    would_do.filter_map(|node| flavors.of(&node.face)).min()
}
