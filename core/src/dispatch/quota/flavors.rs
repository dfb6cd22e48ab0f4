//! Flavors of nodes: which of the declared ones a node has.
//!
//! Invariant: a node has one flavor at most, the first in [`Flavor::rank`] of those whose labels it has, so that one without
//! labels takes what no other names.

use crate::{
    dispatch::{pack::Kind, room::Room},
    placement::{Face, Labels},
    quota::{Flavor, ORDINARY},
};

/// Whether a node has all of these labels.
pub(super) fn has_all(face: &Face, labels: &Labels) -> bool {
    labels.iter().all(|(key, value)| face.labels.get(key) == Some(value))
}

/// The declared flavors in the order of their names; others speak of them by index.
#[derive(Clone, Default, Debug)]
pub(crate) struct Flavors {
    by_name: Vec<Flavor>,
    /// Indices in the order in which they are tried on a node.
    by_rank: Vec<usize>,
}

impl Flavors {
    pub(crate) fn new(flavors: &[Flavor]) -> Flavors {
        let mut sorted = flavors.to_vec();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        sorted.dedup_by(|a, b| a.name == b.name);
        let mut by_rank: Vec<usize> = (0..sorted.len()).collect();
        by_rank.sort_by_key(|flavor| sorted[*flavor].rank());
        Flavors { by_name: sorted, by_rank }
    }

    pub(super) fn get(&self, flavor: usize) -> &Flavor {
        &self.by_name[flavor]
    }

    /// Those that are tried on a node before this one.
    pub(super) fn before(&self, flavor: usize) -> impl Iterator<Item = &Flavor> {
        self.by_rank.iter().take_while(move |before| **before != flavor).map(|before| self.get(*before))
    }

    pub(crate) fn index(&self, name: &str) -> Kind {
        self.by_name.binary_search_by(|flavor| flavor.name.as_str().cmp(name)).ok()
    }

    pub(crate) fn name(&self, flavor: usize) -> &str {
        self.by_name.get(flavor).map_or("", |flavor| &flavor.name)
    }

    /// What one of its GPUs counts as, in thousandths.
    pub(crate) fn weight(&self, flavor: usize) -> u32 {
        self.by_name.get(flavor).map_or(ORDINARY, |flavor| flavor.weight)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Flavor of a node. One whose labels were not told has only a flavor that asks for none.
    pub(crate) fn of(&self, face: &Face) -> Kind {
        self.by_rank.iter().copied().find(|flavor| has_all(face, &self.get(*flavor).node_labels))
    }

    /// Flavors of all nodes of a room, in its order. Empty when none are declared.
    pub(crate) fn of_room(&self, room: &Room) -> Vec<Kind> {
        if self.by_name.is_empty() {
            return Vec::new();
        }
        room.faces.iter().map(|face| self.of(face)).collect()
    }
}
