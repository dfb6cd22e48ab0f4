//! Model: the deciders of leases in a world so small that every order of events can be tried.
//!
//! Two clusters, two leaders, one job. Messages stay in the air for ever, so each may come late, twice, after others, or
//! never; agents die and come back without memory; leaders stand still between any two steps and take the duty from each
//! other at any time; the clocks of a cluster may lose a tick. The search is breadth first, so a counterexample is a
//! shortest one. Invariant: it ends only when nothing new can be reached within the bounds.

mod fleet;
mod step;
mod tests;

use std::{collections::HashMap, rc::Rc};

pub use self::{
    fleet::{Bounds, Fleet, Without},
    step::{Action, actions, apply},
};

/// What a search found.
pub struct Search {
    pub states: usize,
    /// The shortest way to two copies at once, if there is one.
    pub counterexample: Option<Vec<Action>>,
    /// A second attempt ran in some order.
    pub second_ran: bool,
    /// The job's attempt was closed in some order.
    pub closed: bool,
}

struct Node {
    fleet: Rc<Fleet>,
    /// Index of the state it came from, and how.
    from: usize,
    action: Option<Action>,
}

/// States at which a search gives up: the bounds are too wide for a test.
const MOST: usize = 600_000;

/// Tries every order of events within the bounds, or until two copies run at once.
pub fn search(bounds: Bounds) -> Search {
    let first = Rc::new(Fleet::new(bounds));
    let mut known = HashMap::from([(first.clone(), ())]);
    let mut nodes = vec![Node { fleet: first, from: 0, action: None }];
    let mut found = Search { states: 0, counterexample: None, second_ran: false, closed: false };
    let mut next = 0;
    while next < nodes.len() {
        assert!(nodes.len() < MOST, "{bounds:?} has more than {MOST} states; {next} were looked at");
        let fleet = nodes[next].fleet.clone();
        found.second_ran |= fleet.runs(2);
        found.closed |= fleet.number > 1;
        if fleet.copies() > 1 {
            found.counterexample = Some(way_to(&nodes, next));
            break;
        }
        for action in actions(&fleet) {
            let after = Rc::new(apply(&fleet, action));
            if !known.contains_key(&after) {
                known.insert(after.clone(), ());
                nodes.push(Node { fleet: after, from: next, action: Some(action) });
            }
        }
        next += 1;
    }
    found.states = nodes.len();
    found
}

fn way_to(nodes: &[Node], mut index: usize) -> Vec<Action> {
    let mut way = Vec::new();
    while let Some(action) = nodes[index].action {
        way.push(action);
        index = nodes[index].from;
    }
    way.reverse();
    way
}
