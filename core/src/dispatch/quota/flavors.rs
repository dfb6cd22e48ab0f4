//! Flavors of nodes: the first declared flavor, by name, whose labels a node has.

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
pub(crate) struct Flavors(pub(super) Vec<Flavor>);

impl Flavors {
    pub(crate) fn new(flavors: &[Flavor]) -> Flavors {
        let mut sorted = flavors.to_vec();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        sorted.dedup_by(|a, b| a.name == b.name);
        Flavors(sorted)
    }

    pub(crate) fn index(&self, name: &str) -> Kind {
        self.0.binary_search_by(|flavor| flavor.name.as_str().cmp(name)).ok()
    }

    pub(crate) fn name(&self, flavor: usize) -> &str {
        self.0.get(flavor).map_or("", |flavor| &flavor.name)
    }

    /// What one of its GPUs counts as, in thousandths.
    pub(crate) fn weight(&self, flavor: usize) -> u32 {
        self.0.get(flavor).map_or(ORDINARY, |flavor| flavor.weight)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Flavor of a node. One whose labels were not told has only a flavor that asks for none.
    pub(crate) fn of(&self, face: &Face) -> Kind {
        self.0.iter().position(|flavor| has_all(face, &flavor.node_labels))
    }

    /// Flavors of all nodes of a room, in its order. Empty when none are declared.
    pub(crate) fn of_room(&self, room: &Room) -> Vec<Kind> {
        if self.0.is_empty() {
            return Vec::new();
        }
        room.faces.iter().map(|face| self.of(face)).collect()
    }
}
