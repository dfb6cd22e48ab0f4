//! The searches that every run of the tests makes: each bound is small, together they cover what can go wrong.

use squadron_core::lease::Policy;

use super::{Bounds, Search, Without, search};

/// Attempt 1 runs in cluster 0 behind a link that loses, repeats and delays; attempt 2 may follow in cluster 1.
const LOST: Bounds = Bounds {
    policy: Policy::Fence,
    time: 5,
    beats: [1, 2],
    quick: [false, true],
    offered: false,
    deaths: [0, 0],
    pauses: 0,
    takeovers: 0,
    slips: 0,
    without: None,
};

/// Attempt 1 is offered and may be accepted late, while it is given to cluster 1.
const OFFERED: Bounds = Bounds { time: 3, beats: [2, 2], offered: true, ..LOST };

fn holds(bounds: Bounds) -> Search {
    let found = search(bounds);
    println!("{} states: {bounds:?}", found.states);
    assert_eq!(found.counterexample, None, "{bounds:?}");
    found
}

/// A search without one rule finds two copies at once.
fn breaks(bounds: Bounds, without: Without) {
    let found = search(Bounds { without: Some(without), ..bounds });
    let way = found.counterexample.unwrap_or_else(|| panic!("nothing breaks without {without:?}"));
    println!("{} states, {} steps to two copies without {without:?}", found.states, way.len());
}

#[test]
fn g7_no_loss_or_order_of_messages_runs_two_copies() {
    let found = holds(LOST);
    assert!(found.second_ran && found.closed, "or nothing was shown");
}

#[test]
fn g7_no_dead_agent_leaves_a_second_copy() {
    assert!(holds(Bounds { deaths: [1, 0], ..LOST }).second_ran);
}

#[test]
fn g7_no_two_leaders_make_a_second_copy() {
    assert!(holds(Bounds { takeovers: 1, pauses: 1, quick: [true, true], ..LOST }).second_ran);
}

#[test]
fn g7_no_slow_clock_makes_a_second_copy() {
    assert!(holds(Bounds { slips: 1, time: 6, beats: [0, 2], ..LOST }).second_ran);
}

#[test]
fn g7_no_late_acceptance_makes_a_second_copy() {
    assert!(holds(OFFERED).second_ran);
    assert!(holds(Bounds { quick: [true, false], beats: [1, 2], ..OFFERED }).second_ran);
}

#[test]
fn g7_a_waiting_job_is_never_started_twice() {
    let found = holds(Bounds { policy: Policy::Wait, deaths: [1, 0], beats: [1, 1], ..LOST });
    assert!(!found.closed, "no time closes its attempt");
    assert!(
        holds(Bounds { policy: Policy::Wait, ..OFFERED }).closed,
        "but one that was never accepted is closed"
    );
}

#[test]
fn the_search_finds_what_each_rule_prevents() {
    breaks(LOST, Without::Proof);
    breaks(LOST, Without::Guard);
    breaks(LOST, Without::Sent);
    breaks(LOST, Without::Deadline);
    breaks(Bounds { deaths: [1, 0], ..LOST }, Without::Fencer);
}
