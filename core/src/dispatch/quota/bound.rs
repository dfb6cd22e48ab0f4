//! Bound: what keeps pods on nodes of the flavors that their attempt is charged to.
//!
//! Owns the node affinity and the tolerations that a decision adds to the templates of pods that ask for GPUs, and which taints
//! such pods need not mind. Invariant: of a cluster's nodes, the affinity of a flavor is met by those that have it, and by no
//! other. Pods without GPUs, and those of clusters where no flavor is declared, stay as they are. Fails towards requiring less:
//! a flavor that takes too many alternatives to tell apart is not told apart, and the cluster's scheduler may use its nodes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        Bound, Cluster, GangPart,
        pack::Placed,
        quota::{Flavors, flavors::has_all},
    },
    placement::{Face, Labels, NodeWish, Requirement, Taint, Toleration, name_spot},
    quota::{Flavor, Policy},
    resources::is_gpu,
    sentence::list,
};

/// Alternatives of one affinity at most.
const MOST_TERMS: usize = 16;

/// Alternatives, each a list of what must hold together.
type Terms = Vec<Vec<Requirement>>;

/// What binds pods to each flavor that a cluster's nodes have.
pub(crate) type Binds = BTreeMap<usize, NodeWish>;

/// Notes which taints of nodes pods that ask for GPUs will tolerate by the flavor of the node. Needed again when the policy or
/// the nodes are others.
pub fn lift(clusters: &mut [Cluster], policy: &Policy) {
    let flavors = Flavors::new(&policy.flavors);
    for node in clusters.iter_mut().flat_map(|cluster| &mut cluster.nodes) {
        let face = &mut node.face;
        face.taints.append(&mut face.lifted);
        if !face.taints.is_empty()
            && let Some(flavor) = flavors.of(face)
        {
            let taints = std::mem::take(&mut face.taints);
            (face.lifted, face.taints) = taints.into_iter().partition(|taint| flavors.lifts(flavor, taint));
        }
    }
}

impl Flavors {
    /// A flavor's own tolerations, and the taint of nodes that can be taken away where the flavor names such nodes.
    fn lifts(&self, flavor: usize, taint: &Taint) -> bool {
        let Flavor { node_labels, tolerations, .. } = self.get(flavor);
        tolerations.iter().any(|one| one.tolerates(taint)) || taint.names_spot() && name_spot(node_labels)
    }

    /// What binds pods to each flavor of the cluster's nodes.
    pub(crate) fn binds(&self, cluster: &Cluster) -> Binds {
        let faces: Vec<&Face> = cluster.nodes.iter().map(|node| &node.face).collect();
        let mut by_flavor: BTreeMap<usize, Vec<&Face>> = BTreeMap::new();
        for face in &faces {
            self.of(face).into_iter().for_each(|flavor| by_flavor.entry(flavor).or_default().push(face));
        }
        let bind = |(flavor, there): (usize, Vec<&Face>)| {
            let (affinity, tolerations) = (self.terms(flavor, &faces), self.tolerations(flavor, &there));
            (flavor, NodeWish { affinity, tolerations, ..NodeWish::default() })
        };
        by_flavor.into_iter().map(bind).collect()
    }

    /// The labels of the flavor, and what sets its nodes apart from those of flavors that go before it: of those that share a
    /// label with it, though nodes of them may come only later, and of those whose nodes have its labels as well.
    fn terms(&self, flavor: usize, faces: &[&Face]) -> Terms {
        let ours = &self.get(flavor).node_labels;
        let near = |other: &Labels| {
            other.iter().any(|(key, value)| ours.get(key) == Some(value))
                || faces.iter().any(|face| has_all(face, ours) && has_all(face, other))
        };
        let before = self.before(flavor).map(|before| &before.node_labels);
        let mut terms: Terms = vec![ours.iter().map(|(key, value)| requirement(key, "In", value)).collect()];
        for other in before.filter(|other| may_have_both(ours, other) && near(other)) {
            terms =
                apart(terms, &other.iter().filter(|(key, _)| !ours.contains_key(*key)).collect::<Vec<_>>());
        }
        terms.sort();
        terms.dedup();
        terms.retain(|term| !term.is_empty());
        terms
    }

    /// The clause that tells where pods with GPUs stay; empty where they may go anywhere.
    pub(crate) fn stays(&self, bound: &Bound, placed: &Placed) -> String {
        let is_bound = |role: &str| bound.get(role).is_some_and(|wish| !wish.affinity.is_empty());
        let kinds = placed.iter().filter(|(role, _)| is_bound(role)).flat_map(|(_, kinds)| kinds);
        let flavors: BTreeSet<usize> = kinds.flatten().copied().collect();
        let names: Vec<String> = flavors.into_iter().map(|flavor| self.name(flavor).to_owned()).collect();
        if names.is_empty() {
            String::new()
        } else {
            format!("; pods with GPUs stay on nodes of {}", list(&names))
        }
    }

    /// What the flavor says, and the well-known taints of its nodes.
    fn tolerations(&self, flavor: usize, nodes: &[&Face]) -> Vec<Toleration> {
        let mut all = self.get(flavor).tolerations.clone();
        let known = |taint: &&Taint| is_gpu(&taint.key);
        let taints = nodes.iter().flat_map(|face| face.lifted.iter().chain(face.taints.iter().filter(known)));
        for taint in taints.collect::<BTreeSet<_>>() {
            if !all.iter().any(|one| one.tolerates(taint)) {
                all.push(taint.toleration());
            }
        }
        all
    }
}

/// Whether a node can have the labels of both.
fn may_have_both(ours: &Labels, other: &Labels) -> bool {
    other.iter().all(|(key, value)| ours.get(key).is_none_or(|has| has == value))
}

/// The terms for nodes that lack at least one of these labels.
fn apart(terms: Terms, labels: &[(&String, &String)]) -> Terms {
    if labels.is_empty() || terms.len() * labels.len() > MOST_TERMS {
        return terms;
    }
    let with = |term: &Vec<Requirement>| {
        labels.iter().map(|(key, value)| without(term, key, value)).collect::<Terms>()
    };
    terms.iter().flat_map(with).collect()
}

/// By role, what binds a gang's pods to the flavors of the nodes where they were placed. A part of which a pod is on a node
/// without a flavor may go anywhere.
pub(crate) fn bound(binds: &Binds, gang: &[GangPart], placed: &Placed) -> Bound {
    let of = |part: &GangPart| {
        let kinds = placed.get(&part.role)?;
        let wishes: Vec<Option<&NodeWish>> = kinds.iter().map(|kind| binds.get(&(*kind)?)).collect();
        let free = wishes.iter().any(|wish| wish.is_none_or(|wish| wish.affinity.is_empty()));
        let known = || wishes.iter().flatten();
        let affinity =
            if free { Vec::new() } else { known().flat_map(|wish| wish.affinity.clone()).collect() };
        let mut tolerations: Vec<Toleration> = Vec::new();
        for one in known().flat_map(|wish| &wish.tolerations) {
            if !part.wish.tolerations.iter().chain(&tolerations).any(|own| covers(own, one)) {
                tolerations.push(one.clone());
            }
        }
        let wish = NodeWish { affinity, tolerations, ..NodeWish::default() };
        (!wish.is_empty()).then(|| (part.role.clone(), wish))
    };
    gang.iter().filter_map(of).collect()
}

/// Whether `one` adds nothing to `own`.
fn covers(own: &Toleration, one: &Toleration) -> bool {
    let Toleration { key, operator, value, effect } = one.clone();
    own == one || operator != "Exists" && own.tolerates(&Taint { key, value, effect })
}

fn requirement(key: &str, operator: &str, value: &str) -> Requirement {
    Requirement { key: key.to_owned(), operator: operator.to_owned(), values: vec![value.to_owned()] }
}

/// The term, and that a node has another value of the label or none.
fn without(term: &[Requirement], key: &str, value: &str) -> Vec<Requirement> {
    let mut term = term.to_vec();
    match term.iter_mut().find(|one| one.key == key && one.operator == "NotIn") {
        Some(known) if known.values.iter().any(|one| one == value) => {}
        Some(known) => known.values.push(value.to_owned()),
        None => term.push(requirement(key, "NotIn", value)),
    }
    term
}

#[cfg(test)]
#[path = "bound_tests.rs"]
mod tests;
