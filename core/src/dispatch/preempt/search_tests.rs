//! What a search comes to when a pass has few steps for it.

#![allow(clippy::unwrap_used)]

use super::{
    world::{World, stopped, with},
    *,
};
use crate::{
    dispatch::{
        Input, plan,
        policy_tests::{job_of, queue},
        tests::says,
    },
    quota::{Reclaim, Within},
};

/// Four clusters that a has filled with jobs of one GPU, and a job of b that takes back four.
fn full() -> Input {
    let team = |name| with(queue(name, Some("lab"), Some(16)), Within::Never, Reclaim::Any);
    let tree = [queue("lab", None, None), team("a"), team("b")];
    let mut world = World::new(&tree, &[("east", 8), ("north", 8), ("south", 8), ("west", 8)], 20);
    (1..=32).for_each(|number| world.submit(job_of("a", number, 1)));
    world.step(0);
    world.submit(job_of("b", 99, 4));
    world.input.now = Timestamp(3_600_000_000);
    world.input
}

fn with_steps(input: &Input, steps: u64) -> crate::dispatch::Plan {
    let terms = Terms { steps, ..input.terms };
    plan(&Input { terms, ..input.clone() })
}

#[test]
fn a_bound_that_is_met_makes_the_job_wait_or_leaves_clusters_uncompared_and_is_told() {
    let input = full();
    let whole = plan(&input);
    assert_eq!(stopped(&whole).len(), 4);
    assert!(!whole.making[0].because.contains("compared"), "{}", whole.making[0].because);
    let (mut waited, mut partly) = (0, 0);
    for steps in (0..8_000).step_by(20) {
        let bounded = with_steps(&input, steps);
        let Some(making) = bounded.making.first() else {
            let sentence = says(&bounded.blocked[0]);
            assert!(sentence.ends_with("was not found in the steps that a pass has for this"), "{sentence}");
            waited += 1;
            continue;
        };
        assert_eq!(making.stops.len(), 4, "nobody stops in vain, whatever the bound");
        if making.because.contains("could not be compared") {
            partly += 1;
        } else {
            assert_eq!(bounded, whole);
        }
    }
    assert!(waited > 0 && partly > 0 && waited + partly < 400, "{waited} {partly}");
}

#[test]
fn a_job_that_costs_much_leaves_steps_for_those_behind_it() {
    let mut input = full();
    // More urgent, and with so many parts that a look for it costs much.
    let mut dear = job_of("b", 98, 0);
    dear.priority = 1;
    dear.gang = (0..200)
        .map(|part| crate::dispatch::GangPart {
            role: format!("w{part}"),
            ..job_of("b", 98, 1).gang.remove(0)
        })
        .collect();
    input.waiting.push(dear);
    let plan = with_steps(&input, 16_000);
    let cut = |number: u128| {
        let blocked = plan.blocked.iter().find(|one| one.job.0.as_u128() == number).unwrap();
        blocked.note.ends_with("has for this")
    };
    assert_eq!((cut(98), cut(99), stopped(&plan).len()), (true, false, 4));
}
