//! Packing: whether a gang fits into a room and into a quota at once, and what it would be charged.
//!
//! Owns the search. All pods of a part go to nodes of one flavor that quota allows; flavors within the queue's guarantee are
//! tried before those that would be borrowed, then by name. Pods are placed first-fit decreasing over nodes in the order of
//! their names. Invariant: it never claims a packing that does not exist. It may miss one that does, which makes a job wait.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        GangPart,
        room::{NoFit, Room, size},
    },
    resources::Resources,
};

/// Flavor of a node, as an index among the declared ones; `None` where no flavor matches.
pub(crate) type Kind = Option<usize>;

/// What an attempt is charged, by index of the flavor.
pub(crate) type Charge = BTreeMap<usize, Resources>;

/// By role, the flavors of the nodes used for pods that ask for GPUs; empty when no flavor is declared.
pub(crate) type Placed = BTreeMap<String, BTreeSet<Kind>>;

/// What a queue may take of one flavor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limit {
    pub(crate) flavor: usize,
    /// With what it may borrow.
    pub(crate) left: Resources,
    /// Within its guarantee.
    pub(crate) own: Resources,
}

/// What quota leaves to a gang.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Limits {
    /// Its queue is not limited.
    None,
    /// Only these flavors, in their order.
    Flavors(Vec<Limit>),
}

/// Where a gang's pods would go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Packing {
    /// The room after the gang was placed.
    pub(crate) left: Room,
    /// Indices of the nodes used, without repetition, ascending.
    pub(crate) nodes: Vec<usize>,
    pub(crate) charge: Charge,
    pub(crate) kinds: Placed,
    /// What it costs an hour in 10⁻⁴ of the currency of the job's maximum; `None` for a job without one.
    pub(crate) price: Option<i64>,
}

/// Placements of parts that one search tries before it gives up.
const MOST_TRIES: u32 = 256;

impl Room {
    /// Places the whole gang whatever its flavors, or names the pod that found no node.
    pub(crate) fn pack(&self, gang: &[GangPart]) -> Result<Packing, NoFit> {
        self.pack_within(&[], gang, &Limits::None)
    }

    /// Places the whole gang within `limits`, or names the pod that found no node. `kinds` are the flavors of the nodes.
    pub(crate) fn pack_within(
        &self,
        kinds: &[Kind],
        gang: &[GangPart],
        limits: &Limits,
    ) -> Result<Packing, NoFit> {
        let limits = match limits {
            Limits::None => None,
            Limits::Flavors(flavors) => Some(flavors.clone()),
        };
        let mut search = Search { left: self.clone(), kinds, limits, put: Vec::new(), tries: MOST_TRIES };
        search.parts(&by_size(gang))?;
        Ok(search.found())
    }
}

/// A search while it goes on.
struct Search<'a> {
    left: Room,
    kinds: &'a [Kind],
    /// What is left of each limit; `None` when the queue is not limited.
    limits: Option<Vec<Limit>>,
    /// Node and part of every pod that was placed.
    put: Vec<(usize, &'a GangPart)>,
    tries: u32,
}

impl<'a> Search<'a> {
    fn parts(&mut self, parts: &[&'a GangPart]) -> Result<(), NoFit> {
        let Some((&part, rest)) = parts.split_first() else { return Ok(()) };
        let mut problem = None;
        for choice in self.choices(part) {
            if self.tries == 0 {
                break;
            }
            self.tries -= 1;
            let before = self.put.len();
            match self.put_part(part, choice).and_then(|()| self.parts(rest)) {
                Ok(()) => return Ok(()),
                Err(no_fit) => problem = problem.or(Some(no_fit)),
            }
            self.undo(part, choice, before);
        }
        Err(problem.unwrap_or_else(|| no_fit(part)))
    }

    /// Limits that the part may be charged to, by their place: those that leave it within the guarantee first.
    fn choices(&self, part: &GangPart) -> Vec<Option<usize>> {
        let Some(limits) = &self.limits else { return vec![None] };
        let asked = part.requests * i64::from(part.count);
        let enough = |at: &usize| asked.fits(limits[*at].left);
        let mut choices: Vec<usize> = (0..limits.len()).filter(enough).collect();
        choices.sort_by_key(|at| !asked.fits(limits[*at].own));
        choices.into_iter().map(Some).collect()
    }

    fn put_part(&mut self, part: &'a GangPart, choice: Option<usize>) -> Result<(), NoFit> {
        self.charge(part, choice, 1);
        let flavor = choice.and_then(|at| self.limits.as_ref().map(|limits| limits[at].flavor));
        let mut from = 0;
        for _ in 0..part.count {
            // Equal pods: nodes that were too full for the last one are so for this one.
            from = self.first_fit(part, flavor, from).ok_or_else(|| no_fit(part))?;
            self.left.nodes[from].1 = self.left.nodes[from].1 - part.requests;
            self.put.push((from, part));
        }
        Ok(())
    }

    /// The first node by name that has room and will do. Room is looked at first, because it costs less.
    fn first_fit(&self, part: &GangPart, flavor: Kind, from: usize) -> Option<usize> {
        (from..self.left.nodes.len()).find(|index| {
            part.requests.fits(self.left.nodes[*index].1)
                && (flavor.is_none() || self.kinds.get(*index).copied().flatten() == flavor)
                && part.wish.accepts(&self.left.faces[*index], part.requests.gpus)
        })
    }

    fn charge(&mut self, part: &GangPart, choice: Option<usize>, times: i64) {
        if let (Some(at), Some(limits)) = (choice, &mut self.limits) {
            let asked = part.requests * i64::from(part.count) * times;
            limits[at].left = limits[at].left - asked;
            limits[at].own = limits[at].own - asked;
        }
    }

    fn undo(&mut self, part: &GangPart, choice: Option<usize>, before: usize) {
        for (index, part) in self.put.drain(before..) {
            self.left.nodes[index].1 = self.left.nodes[index].1 + part.requests;
        }
        self.charge(part, choice, -1);
    }

    fn found(self) -> Packing {
        let (mut charge, mut kinds) = (Charge::new(), Placed::new());
        for (index, part) in &self.put {
            let Some(kind) = self.kinds.get(*index) else { continue };
            if let Some(flavor) = kind {
                let sum = charge.entry(*flavor).or_default();
                *sum = *sum + part.requests;
            }
            if part.requests.gpus > 0 {
                note(&mut kinds, &part.role, *kind);
            }
        }
        let mut nodes: Vec<usize> = self.put.into_iter().map(|(index, _)| index).collect();
        nodes.sort_unstable();
        nodes.dedup();
        Packing { left: self.left, nodes, charge, kinds, price: None }
    }
}

fn note(kinds: &mut Placed, role: &str, kind: Kind) {
    match kinds.get_mut(role) {
        Some(known) => {
            known.insert(kind);
        }
        None => {
            kinds.insert(role.to_owned(), BTreeSet::from([kind]));
        }
    }
}

fn no_fit(part: &GangPart) -> NoFit {
    NoFit { role: part.role.clone(), requests: part.requests, wish: Box::new(part.wish.clone()) }
}

/// Largest pods first, so that the hardest to place choose first. Ties keep the role's name order.
fn by_size(gang: &[GangPart]) -> Vec<&GangPart> {
    let mut parts: Vec<&GangPart> = gang.iter().collect();
    parts.sort_by(|a, b| size(b.requests).cmp(&size(a.requests)).then_with(|| a.role.cmp(&b.role)));
    parts
}
