//! The tree: every parent exists, nobody is above themselves, and it is not deeper than people can follow.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    quota::{
        Noun, Queue,
        check::{Fault, MOST_DEPTH, unknown},
    },
    sentence::clip,
};

type Parents<'a> = BTreeMap<&'a str, &'a str>;

pub(super) fn check(queues: &[Queue]) -> Vec<Fault> {
    let names: BTreeSet<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
    let astray = queues.iter().filter_map(|queue| Some((queue, queue.parent.as_deref()?)));
    let astray = astray.filter(|(_, parent)| !names.contains(parent)).enumerate();
    let mut faults: Vec<Fault> =
        astray.map(|(nth, (queue, parent))| missing(queue, parent, &names, nth)).collect();
    let parents: Parents<'_> =
        queues.iter().filter_map(|queue| Some((queue.name.as_str(), queue.parent.as_deref()?))).collect();
    let cycles = cycles(&parents);
    let in_cycle: BTreeSet<&str> = cycles.iter().flatten().copied().collect();
    faults.extend(cycles.iter().map(|cycle| told(cycle)));
    faults.extend(queues.iter().filter_map(|queue| too_deep(queue, &parents, &in_cycle)));
    faults
}

fn missing(queue: &Queue, parent: &str, names: &BTreeSet<&str>, nth: usize) -> Fault {
    let others = names.iter().copied().filter(|name| *name != queue.name);
    let problem = unknown(Noun::Queue, parent, others, nth);
    Fault { missing: true, ..Fault::queue(queue, "parent", problem) }
}

/// Each cycle once, beginning with its first name. Every queue has one parent, so cycles share nothing.
fn cycles<'a>(parents: &Parents<'a>) -> Vec<Vec<&'a str>> {
    let mut done = BTreeSet::<&str>::new();
    let mut cycles = Vec::new();
    for start in parents.keys() {
        let mut path = Vec::<&str>::new();
        let mut on_path = BTreeSet::<&str>::new();
        let mut at = Some(*start);
        while let Some(name) = at.filter(|name| !done.contains(name) && on_path.insert(name)) {
            path.push(name);
            at = parents.get(name).copied();
        }
        let closes = at.and_then(|again| path.iter().position(|name| *name == again));
        cycles.extend(closes.map(|from| path[from..].to_vec()));
        done.extend(path);
    }
    cycles
}

fn told(cycle: &[&str]) -> Fault {
    let first = cycle.iter().enumerate().min_by_key(|(_, name)| **name).map_or(0, |(index, _)| index);
    let turned = cycle.iter().cycle().skip(first).take(cycle.len().min(MOST_DEPTH) + 1);
    let path: Vec<String> = turned.map(|name| clip(name, 80)).collect();
    let problem = match cycle {
        [_] => "is the queue itself; leave it out for a root".to_owned(),
        _ => format!("makes a circle: {}; one of these must have another parent or none", path.join(" → ")),
    };
    Fault::new(Noun::Queue, cycle[first], "parent", problem)
}

fn too_deep(queue: &Queue, parents: &Parents<'_>, in_cycle: &BTreeSet<&str>) -> Option<Fault> {
    let mut depth = 1;
    let mut at = queue.name.as_str();
    while let Some(parent) = parents.get(at) {
        if in_cycle.contains(parent) {
            return None;
        }
        depth += 1;
        at = parent;
        if depth > MOST_DEPTH {
            let problem = format!("is more than {MOST_DEPTH} queues below its root");
            return Some(Fault::queue(queue, "parent", problem));
        }
    }
    None
}
