//! Room: what the nodes of a cluster have free. A node whose labels or taints a pod does not accept is no room for that
//! pod. Whether a gang fits is judged in [`super::pack`].

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    dispatch::{
        Cluster, Held, Node, Pod,
        soft::{Holder, holders},
    },
    id::AttemptId,
    placement::{Face, NodeWish, Taint},
    resources::Resources,
};

/// Free resources per usable node, in the order of names. May be negative where a node is overcommitted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Room {
    pub(crate) nodes: Vec<(Arc<str>, Resources)>,
    /// Labels and taints of the same nodes, shared between copies.
    pub(crate) faces: Arc<Vec<Face>>,
}

/// The pod of a gang that found no node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NoFit {
    pub(crate) role: String,
    pub(crate) requests: Resources,
    pub(crate) wish: Box<NodeWish>,
}

impl Room {
    /// The cluster's usable nodes as if nothing ran on them.
    pub(crate) fn empty(cluster: &Cluster) -> Room {
        Room::of(cluster.nodes.iter().filter(|node| node.usable), |node| node.face.clone())
    }

    /// All nodes, empty, as they are when nothing ails them: what comes and goes with a node's condition does not count.
    pub(crate) fn everything(cluster: &Cluster) -> Room {
        Room::of(cluster.nodes.iter(), |node| {
            let lasting =
                |taints: &[Taint]| taints.iter().filter(|one| !one.is_condition()).cloned().collect();
            let Face { labels, taints, lifted } = &node.face;
            Face { labels: labels.clone(), taints: lasting(taints), lifted: lasting(lifted) }
        })
    }

    /// What would be left if nothing ailed any node, where `free` is left of those that are usable.
    pub(crate) fn if_ready(cluster: &Cluster, free: &Room) -> Room {
        let mut room = Room::everything(cluster);
        let pods = cluster.pods.iter().filter(|pod| free.of_node(&pod.node).is_none());
        room.subtract(pods);
        for (name, left) in &mut room.nodes {
            *left = free.of_node(name).unwrap_or(*left);
        }
        room
    }

    fn of_node(&self, name: &str) -> Option<Resources> {
        Some(self.nodes[self.index_of(name)?].1)
    }

    /// The lesser of both on every node; the nodes are the same.
    pub(crate) fn least(&self, other: &Room) -> Room {
        let both = self.nodes.iter().zip(&other.nodes);
        let nodes = both.map(|((name, ours), (_, theirs))| (name.clone(), ours.min(*theirs))).collect();
        Room { nodes, faces: Arc::clone(&self.faces) }
    }

    /// What is left when as much is taken from every node as between `before` and `after`; the nodes are the same.
    pub(crate) fn less(&self, before: &Room, after: &Room) -> Room {
        let taken = before.nodes.iter().zip(&after.nodes).map(|(before, after)| before.1 - after.1);
        let nodes = self.nodes.iter().zip(taken).map(|((name, free), taken)| (name.clone(), *free - taken));
        Room { nodes: nodes.collect(), faces: Arc::clone(&self.faces) }
    }

    /// The nodes whose index passes.
    pub(crate) fn only(&self, passes: impl Fn(usize) -> bool) -> Room {
        let all = self.nodes.iter().zip(self.faces.iter()).enumerate().filter(|(index, _)| passes(*index));
        let (nodes, faces) = all.map(|(_, (node, face))| (node.clone(), face.clone())).unzip();
        Room { nodes, faces: Arc::new(faces) }
    }

    fn of<'a>(nodes: impl Iterator<Item = &'a Node>, face: impl Fn(&Node) -> Face) -> Room {
        let mut nodes: Vec<&Node> = nodes.collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Room {
            nodes: nodes.iter().map(|node| (Arc::from(node.name.as_str()), node.allocatable)).collect(),
            faces: Arc::new(nodes.into_iter().map(face).collect()),
        }
    }

    /// The nodes that will do for such a pod, whatever they have free.
    pub(crate) fn for_pod(&self, no_fit: &NoFit) -> Room {
        let accepts = |face: &Face| no_fit.wish.accepts(face, no_fit.requests.gpus);
        let both = self.nodes.iter().zip(self.faces.iter()).filter(|(_, face)| accepts(face));
        let (nodes, faces): (Vec<_>, Vec<_>) = both.map(|(node, face)| (node.clone(), face.clone())).unzip();
        Room { nodes, faces: Arc::new(faces) }
    }

    /// What is left beside the pods that are there and those that live attempts still need.
    pub(crate) fn free(cluster: &Cluster) -> Room {
        Room::beside(cluster, |_| true)
    }

    /// What is left beside pods of no attempt and what stays of attempts.
    pub(crate) fn beside(cluster: &Cluster, stays: impl Fn(Holder) -> bool) -> Room {
        Room::left_of(&Room::empty(cluster), cluster, stays)
    }

    /// The same of `empty`, which are the cluster's usable nodes as if nothing ran on them.
    pub(crate) fn left_of(empty: &Room, cluster: &Cluster, stays: impl Fn(Holder) -> bool) -> Room {
        let (mut room, holders) = (empty.clone(), holders(cluster));
        let pods = cluster.pods.iter().zip(&holders).filter(|(_, holder)| holder.is_none_or(&stays));
        room.subtract(pods.map(|(pod, _)| pod));
        room.reserve(expected(cluster, &holders).iter().filter(|pod| pod.holder.is_none_or(&stays)));
        room
    }

    /// The node of this name.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.nodes.binary_search_by(|(node, _)| (**node).cmp(name)).ok()
    }

    fn subtract<'a>(&mut self, pods: impl Iterator<Item = &'a Pod>) {
        for pod in pods.filter(|pod| !pod.node.is_empty()) {
            if let Some(at) = self.index_of(&pod.node) {
                self.nodes[at].1 = self.nodes[at].1 - pod.requests;
            }
        }
    }

    /// Takes the room of pods that have no node yet; one that fits nowhere takes none, as the scheduler leaves it out.
    pub(crate) fn reserve<'p>(&mut self, pods: impl Iterator<Item = &'p Expected<'p>>) {
        let none = NodeWish::default();
        for pod in pods {
            if let Some(index) = self.first_fit(pod.requests, pod.wish.unwrap_or(&none)) {
                self.nodes[index].1 = self.nodes[index].1 - pod.requests;
            }
        }
    }

    /// The first node by name that has room and will do. Room is looked at first, because it costs less.
    fn first_fit(&self, requests: Resources, wish: &NodeWish) -> Option<usize> {
        self.nodes
            .iter()
            .zip(self.faces.iter())
            .position(|((_, free), face)| requests.fits(*free) && wish.accepts(face, requests.gpus))
    }

    /// Everything free, counting overcommitted nodes as empty-handed.
    pub(crate) fn total(&self) -> Resources {
        self.nodes.iter().map(|(_, free)| free.max(Resources::default())).sum()
    }

    /// The node with the most of what the pod asks for, as `(name, free)`.
    pub(crate) fn roomiest_for(&self, requests: Resources) -> Option<&(Arc<str>, Resources)> {
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

pub(crate) fn size(requests: Resources) -> (i64, i64, i64) {
    (requests.gpus, requests.memory_bytes, requests.cpu_milli)
}

/// `head pod`, `submitter pod`, `pod of worker group small`.
pub(crate) fn pod(role: &str) -> String {
    match role {
        "head" | "submitter" => format!("{role} pod"),
        group => format!("pod of worker group {group}"),
    }
}

/// A pod that will come.
pub(crate) struct Expected<'a> {
    /// What it goes with; absent for a pod of no attempt.
    pub(crate) holder: Option<Holder>,
    pub(crate) requests: Resources,
    wish: Option<&'a NodeWish>,
}

/// Pods that have no node yet, and those that a live attempt still lacks. Largest first. `holders` are what the pods go with.
pub(crate) fn expected<'a>(cluster: &'a Cluster, holders: &[Option<Holder>]) -> Vec<Expected<'a>> {
    let unbound = cluster.pods.iter().zip(holders).filter(|(pod, _)| pod.node.is_empty());
    let unbound = unbound.map(|(pod, holder)| Expected {
        holder: *holder,
        requests: pod.requests,
        wish: wish_of(cluster, pod),
    });
    let seen = seen_per_role(&cluster.pods);
    let lacking = cluster.attempts.iter().flat_map(|held| lacking(held, &seen));
    let mut pods: Vec<Expected<'_>> = unbound.chain(lacking).collect();
    pods.sort_by(|a, b| size(b.requests).cmp(&size(a.requests)).then_with(|| a.wish.cmp(&b.wish)));
    pods
}

/// What the pod's part of its attempt's gang asks for; nothing is known of other pods.
fn wish_of<'a>(cluster: &'a Cluster, pod: &Pod) -> Option<&'a NodeWish> {
    let held = cluster.attempts.iter().find(|held| Some(held.id) == pod.attempt)?;
    Some(&held.gang.iter().find(|part| part.role == pod.role)?.wish)
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

fn lacking<'a>(held: &'a Held, seen: &Seen<'_>) -> Vec<Expected<'a>> {
    held.gang
        .iter()
        .flat_map(|part| {
            let there = seen.get(&(held.id, part.role.as_str())).copied().unwrap_or(0);
            let pod = || Expected {
                holder: Some(Holder::Gang(held.id)),
                requests: part.requests,
                wish: Some(&part.wish),
            };
            (there..part.count).map(move |_| pod())
        })
        .collect()
}
