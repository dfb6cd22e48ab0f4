//! Turns: whose job is looked at next.
//!
//! Owns the order. Within a queue: jobs within a guarantee first, then those of higher priority, then by [`Urgency`], then the
//! older. Between queues of one tree, level by level from the root: those within a guarantee first, then by urgency, where what is
//! used beyond a guarantee makes a job count as larger, then the smaller weighted share of what is borrowed, then who used much
//! less lately ([`Uses`]), then who uses less of its guarantee, then the older job. While no run time is foretold, urgency tells
//! nobody apart. Between trees, which share nothing: the same without shares. Queues that are not limited have no guarantee. Equal
//! jobs stand in one group, of which only the first is compared.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    dispatch::{
        Input, Waiting, gang_total,
        lately::Uses,
        pack::Charge,
        quota::{Place, Quotas, Share},
        urgency::Urgency,
    },
    id::JobId,
    time::Timestamp,
};

/// Whether a job stays within a guarantee.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Class {
    Guaranteed,
    Borrowing,
}

/// Place within a queue: priority, urgency, age, and the group it heads.
type Key = (Reverse<i32>, Urgency, Timestamp, JobId, usize);

/// A queue with its groups.
#[derive(Default)]
struct Line {
    place: Option<Place>,
    guaranteed: BTreeSet<Key>,
    borrowing: BTreeSet<Key>,
}

/// All queues with waiting jobs.
pub(super) struct Turns<'a> {
    lines: BTreeMap<&'a str, Line>,
    uses: Uses,
    now: Timestamp,
}

/// The first of a queue, or of everything below a node.
#[derive(Clone, Copy)]
struct Turn {
    class: Class,
    /// Of what is compared at the level that the turn has reached.
    lately: u32,
    urgency: Urgency,
    submitted: Timestamp,
    job: JobId,
    group: usize,
    place: Option<Place>,
}

impl<'a> Turns<'a> {
    /// Nobody waits.
    pub(super) fn new(input: &Input, quotas: &Quotas) -> Turns<'a> {
        Turns { lines: BTreeMap::new(), uses: Uses::new(input, quotas), now: input.now }
    }

    /// A job is placed and charged so, and its queue used more.
    pub(super) fn start(&mut self, quotas: &Quotas, job: &Waiting, charge: &Charge) {
        self.uses.start(quotas, &job.queue, gang_total(&job.gang), charge);
    }

    fn key(&self, job: &Waiting, group: usize) -> Key {
        let (priority, urgency, submitted, id) = job.turn(self.now);
        (priority, urgency, submitted, id, group)
    }

    /// A group has a new first job.
    pub(super) fn join(&mut self, job: &'a Waiting, group: usize, place: Option<Place>) {
        let key = self.key(job, group);
        let line = self.lines.entry(job.queue.as_str()).or_default();
        line.place = place;
        match place {
            Some(_) => line.guaranteed.insert(key),
            None => line.borrowing.insert(key),
        };
    }

    /// A group is not looked at any more in this pass, or its first job was placed.
    pub(super) fn leave(&mut self, job: &Waiting, group: usize) {
        let key = self.key(job, group);
        if let Some(line) = self.lines.get_mut(job.queue.as_str()) {
            line.guaranteed.remove(&key);
            line.borrowing.remove(&key);
            if line.guaranteed.is_empty() && line.borrowing.is_empty() {
                self.lines.remove(job.queue.as_str());
            }
        }
    }

    /// The group whose turn it is. `charge` tells what a group's next job would be charged; until that is known the job is
    /// taken for one within its guarantee, so that it is looked at.
    pub(super) fn next<'c>(
        &mut self,
        quotas: &Quotas,
        charge: impl Fn(usize) -> Option<&'c Charge>,
    ) -> Option<usize> {
        let mut trees: BTreeMap<usize, Vec<Turn>> = BTreeMap::new();
        let mut best: Vec<Turn> = Vec::new();
        for (queue, line) in &mut self.lines {
            let Some(turn) = first(line, quotas, &charge) else { continue };
            match turn.place {
                Some(place) => trees.entry(place.tree).or_default().push(turn),
                None => best.push(Turn { lately: self.uses.of_queue(queue), ..turn }),
            }
        }
        best.extend(trees.values().filter_map(|turns| self.of_tree(turns, quotas, &charge)));
        let key = |turn: &Turn| (turn.class, turn.urgency, turn.lately, turn.submitted, turn.job);
        best.into_iter().min_by_key(key).map(|turn| turn.group)
    }

    /// The first of a tree: the best of each node's children goes up, until the root's best is known.
    fn of_tree<'c>(
        &self,
        turns: &[Turn],
        quotas: &Quotas,
        charge: impl Fn(usize) -> Option<&'c Charge>,
    ) -> Option<Turn> {
        let at = turns.first()?.place?.tree;
        let tree = &quotas.trees[at];
        let mut best: BTreeMap<usize, (Turn, Share)> = BTreeMap::new();
        for turn in turns {
            let node = turn.place?.node;
            best.insert(node, (*turn, Share::default()));
        }
        // Parents stand before their children, so the last node is always one whose children are done.
        while let Some((node, (turn, _))) = best.pop_last() {
            let turn = Turn { lately: self.uses.of_node(quotas, Place { tree: at, node }), ..turn };
            let Some(parent) = tree.parent(node) else { return Some(turn) };
            let share = match (turn.place, charge(turn.group)) {
                (Some(place), Some(charge)) => quotas.share(place, node, charge),
                _ => Share::default(),
            };
            let key = |turn: &Turn, share: Share| {
                let pressed = turn.urgency.pressed(share.pressure());
                let age = (turn.submitted, turn.job);
                (turn.class, pressed, share.borrowed, turn.lately, share.used, age)
            };
            let known =
                best.get(&parent).is_some_and(|(other, theirs)| key(other, *theirs) < key(&turn, share));
            if !known {
                best.insert(parent, (turn, share));
            }
        }
        None
    }
}

/// The first of a queue. Usage only grows within a pass, so who is beyond a guarantee once stays so.
fn first<'c>(line: &mut Line, quotas: &Quotas, charge: impl Fn(usize) -> Option<&'c Charge>) -> Option<Turn> {
    while let Some(key) = line.guaranteed.first().copied() {
        let group = key.4;
        let place = line.place?;
        if charge(group).is_none_or(|charge| quotas.is_guaranteed(place, charge)) {
            return Some(turn(key, Class::Guaranteed, line.place));
        }
        line.guaranteed.remove(&key);
        line.borrowing.insert(key);
    }
    line.borrowing.first().map(|key| turn(*key, Class::Borrowing, line.place))
}

fn turn((_, urgency, submitted, job, group): Key, class: Class, place: Option<Place>) -> Turn {
    Turn { class, lately: 0, urgency, submitted, job, group, place }
}
