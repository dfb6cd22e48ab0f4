//! Soft claims: pods of worker groups beyond their minimum, for which Ray's autoscaler asked.
//!
//! Owns which pods of an attempt nobody promised it, and the caps that make them go. A gang is a job's minimum; what a group
//! has beyond that counts as used while it is there, and yields to a gang that waits before anything is stopped. Invariants:
//! no cap is below a group's minimum; what is to go stays counted until the cluster says that it is gone. Fails by leaving a group as large as it is; a cap
//! that nobody obeys lets the job that it was for look for room elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    dispatch::{Cluster, GangPart, Held, pack::Charge, preempt::STUCK_AFTER_MS, quota::Flavors},
    id::{AttemptId, JobId},
    resources::Resources,
    time::Timestamp,
};

/// How many pods a worker group may have.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Cap {
    pub most: u32,
    /// Names of the pods that go; Ray may say otherwise.
    #[serde(default)]
    pub leaves: Vec<String>,
}

/// By worker group.
pub type Caps = BTreeMap<String, Cap>;

/// Caps in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capped {
    /// Never empty.
    pub caps: Caps,
    pub since: Timestamp,
    /// The job that the room is for.
    pub makes_room_for: Option<JobId>,
}

/// What goes together: the gang of an attempt, or one pod beyond it, by its place among the cluster's pods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Holder {
    Gang(AttemptId),
    Soft(AttemptId, usize),
}

/// A pod that its attempt was not promised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Soft<'a> {
    pub(crate) held: &'a Held,
    pub(crate) part: &'a GangPart,
    /// Its place among the cluster's pods.
    pub(crate) pod: usize,
    /// A cap names it.
    pub(crate) named: bool,
}

impl Held {
    /// Whether some worker group of it may grow.
    pub fn is_elastic(&self) -> bool {
        self.gang.iter().any(|part| part.most.is_some())
    }

    /// The cap of a worker group.
    pub(crate) fn cap(&self, role: &str) -> Option<&Cap> {
        self.capped.as_ref()?.caps.get(role)
    }
}

impl Soft<'_> {
    pub(crate) fn holder(&self) -> Holder {
        Holder::Soft(self.held.id, self.pod)
    }

    /// Whether its room is about to come free. What stays too long is not.
    pub(crate) fn is_leaving(&self, now: Timestamp) -> bool {
        let capped = self.held.capped.as_ref().filter(|_| self.named);
        capped.is_some_and(|capped| now.millis_since(capped.since) < STUCK_AFTER_MS)
            || self.held.stake.is_leaving(now)
    }

    /// What it is charged: the flavor of its node, nothing while it has none.
    pub(crate) fn charge(&self, flavors: &Flavors, cluster: &Cluster) -> Charge {
        let pod = &cluster.pods[self.pod];
        let node = cluster.nodes.iter().find(|node| node.name == pod.node);
        let flavor = node.and_then(|node| flavors.of(&node.face));
        flavor.into_iter().map(|flavor| (flavor, pod.requests)).collect()
    }
}

/// Of each worker group that may grow, the pods beyond its minimum, those that go first before the others: those that a cap
/// names, those without a node, then from the last node by name on, so that few nodes stay in use.
pub(crate) fn of(cluster: &Cluster) -> Vec<Soft<'_>> {
    let elastic = cluster.attempts.iter().filter(|held| held.is_elastic());
    let elastic: BTreeMap<AttemptId, &Held> = elastic.map(|held| (held.id, held)).collect();
    if elastic.is_empty() {
        return Vec::new();
    }
    let mut groups: BTreeMap<(AttemptId, &str), Vec<Soft<'_>>> = BTreeMap::new();
    for (at, pod) in cluster.pods.iter().enumerate() {
        let held = pod.attempt.and_then(|attempt| elastic.get(&attempt).copied());
        let Some(held) = held else { continue };
        let part = held.gang.iter().find(|part| part.role == pod.role && part.most.is_some());
        let Some(part) = part else { continue };
        let named = held.cap(&part.role).is_some_and(|cap| cap.leaves.contains(&pod.name));
        groups.entry((held.id, &part.role)).or_default().push(Soft { held, part, pod: at, named });
    }
    let mut soft = Vec::new();
    for mut group in groups.into_values() {
        let key = |one: &Soft<'_>| (one.named, &cluster.pods[one.pod]);
        group.sort_by(|a, b| {
            let ((named_a, a), (named_b, b)) = (key(a), key(b));
            let order = |named, node: &str| (named, node.is_empty());
            order(named_b, &b.node)
                .cmp(&order(named_a, &a.node))
                .then_with(|| (&b.node, &b.name).cmp(&(&a.node, &a.name)))
        });
        let stay = group.first().map_or(0, |one| usize::try_from(one.part.count).unwrap_or(usize::MAX));
        group.truncate(group.len().saturating_sub(stay));
        soft.append(&mut group);
    }
    soft
}

/// What is there beyond gangs, by queue.
pub fn beyond(cluster: &Cluster) -> Vec<(&str, Resources)> {
    of(cluster).iter().map(|soft| (soft.held.queue.as_str(), cluster.pods[soft.pod].requests)).collect()
}

/// What each pod of the cluster goes with; nothing for one of no attempt.
pub(crate) fn holders(cluster: &Cluster) -> Vec<Option<Holder>> {
    let mut holders: Vec<Option<Holder>> =
        cluster.pods.iter().map(|pod| pod.attempt.map(Holder::Gang)).collect();
    for soft in of(cluster) {
        holders[soft.pod] = Some(soft.holder());
    }
    holders
}

/// The caps of an attempt under which these pods go as well: `goes` are all of them in one attempt, and not empty.
pub(crate) fn tightened(cluster: &Cluster, held: &Held, goes: &BTreeSet<usize>) -> Caps {
    let mut caps = held.capped.as_ref().map(|capped| capped.caps.clone()).unwrap_or_default();
    for part in held.gang.iter().filter(|part| part.most.is_some()) {
        let there = || {
            cluster
                .pods
                .iter()
                .enumerate()
                .filter(|(_, pod)| pod.attempt == Some(held.id) && pod.role == part.role)
        };
        let known = caps.get(&part.role);
        let before = |name: &String| known.is_some_and(|cap| cap.leaves.contains(name));
        let mut leaves: Vec<String> = there()
            .filter(|(at, pod)| goes.contains(at) || before(&pod.name))
            .map(|(_, pod)| pod.name.clone())
            .collect();
        leaves.sort();
        if known.is_none() && !there().any(|(at, _)| goes.contains(&at)) {
            continue;
        }
        let stay = u32::try_from(there().count().saturating_sub(leaves.len())).unwrap_or(u32::MAX);
        let most = stay.max(part.count).min(known.map_or(u32::MAX, |cap| cap.most));
        caps.insert(part.role.clone(), Cap { most, leaves });
    }
    caps
}
