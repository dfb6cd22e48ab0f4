//! Views: a cluster as jobs of a queue see it: only nodes of flavors that the queue may use.

use std::{borrow::Cow, collections::BTreeMap, rc::Rc, sync::Arc};

use crate::{
    desired,
    dispatch::{
        Cluster,
        blockers::Looked,
        location::Location,
        pack::{Kind, Limits},
        plan::Pass,
        quota::{Flavors, Place},
        room::Room,
        site::Open,
    },
};

/// A room with the flavors of its nodes.
pub(super) struct Kinds {
    pub(super) room: Room,
    pub(super) kinds: Vec<Kind>,
}

pub(super) struct View<'a> {
    /// With all its nodes.
    pub(super) whole: &'a Cluster,
    /// With the nodes that the queue may use.
    pub(super) cluster: Cow<'a, Cluster>,
    /// What is left of those, ready and not cordoned.
    pub(super) free: Room,
    /// All nodes: what is left of them as they are.
    pub(super) now: Kinds,
    /// The same when nothing runs there.
    pub(super) empty: Kinds,
    /// What would be left if nothing ailed any node.
    pub(super) ready: Kinds,
    /// The same when nothing runs there.
    pub(super) everything: Kinds,
    /// Its desired set, as the pass left it.
    pub(super) set: desired::Size,
    /// Place among the clusters of the pass.
    pub(super) site: usize,
    pub(super) location: Arc<Location<'a>>,
}

impl View<'_> {
    pub(super) fn looked(&self) -> Looked<'_> {
        Looked { cluster: &self.cluster, free: &self.free }
    }
}

/// Views by the flavors that are allowed, made once for all queues that may use the same.
pub(super) struct Views<'a> {
    made: BTreeMap<Option<Vec<usize>>, Rc<Vec<View<'a>>>>,
}

impl<'a> Views<'a> {
    pub(super) fn new(_: &Pass<'a>) -> Views<'a> {
        Views { made: BTreeMap::new() }
    }

    pub(super) fn of(&mut self, pass: &Pass<'a>, place: Option<Place>) -> Rc<Vec<View<'a>>> {
        let allowed = match pass.quotas.limits_by_name(place) {
            Limits::None => None,
            Limits::Flavors(limits) => Some(limits.iter().map(|limit| limit.flavor).collect::<Vec<_>>()),
        };
        let made = self.made.entry(allowed.clone()).or_insert_with(|| {
            let sites = pass.sites.iter().enumerate();
            Rc::new(
                sites.map(|(at, site)| view(at, site, &pass.quotas.flavors, allowed.as_deref())).collect(),
            )
        });
        Rc::clone(made)
    }
}

fn view<'a>(site: usize, open: &Open<'a>, flavors: &Flavors, allowed: Option<&[usize]>) -> View<'a> {
    let kinds = |room: Room| Kinds { kinds: flavors.of_room(&room), room };
    let passes = |kind: Kind| allowed.is_none_or(|allowed| kind.is_some_and(|one| allowed.contains(&one)));
    let whole = open.cluster;
    let cluster = match allowed {
        None => Cow::Borrowed(whole),
        Some(_) => {
            let mut part = whole.clone();
            part.nodes.retain(|node| passes(flavors.of(&node.face)));
            Cow::Owned(part)
        }
    };
    let free = open.free.only(|index| passes(open.kinds.get(index).copied().flatten()));
    View {
        whole,
        cluster,
        free: if allowed.is_none() { open.free.clone() } else { free },
        now: Kinds { room: open.free.clone(), kinds: open.kinds.clone() },
        empty: Kinds { room: open.empty.clone(), kinds: open.kinds.clone() },
        ready: kinds(Room::if_ready(whole, &open.free)),
        everything: kinds(Room::everything(whole)),
        set: open.set,
        site,
        location: Arc::clone(&open.location),
    }
}
