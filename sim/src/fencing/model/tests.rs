//! The searches that every run of the tests makes.

use squadron_core::lease::Policy;

use super::{Bounds, Without, search};

const SMALL: Bounds = Bounds {
    policy: Policy::Fence,
    time: 5,
    beats: [1, 2],
    quick: true,
    offered: false,
    deaths: [0, 0],
    pauses: 0,
    takeovers: 0,
    slips: 0,
    without: None,
};

fn holds(bounds: Bounds) -> super::Search {
    let found = search(bounds);
    println!("{bounds:?}: {} states", found.states);
    assert_eq!(found.counterexample, None);
    found
}

#[test]
fn g7_no_order_of_events_runs_two_copies_of_a_fenced_job() {
    let found = holds(SMALL);
    assert!(found.second_ran, "or nothing was shown");
}
