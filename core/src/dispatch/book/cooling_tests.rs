//! What happens to room that was taken back from borrowers.

#![allow(clippy::unwrap_used)]

use super::{tests::*, *};
use crate::dispatch::preempt::Patience;

const HOUR: Millis = 3_600_000;

fn lasting(job: u64, team: usize, hours: u64, submitted: Millis) -> Ask {
    Ask { job, shape: Shape { declared: Some(hours * HOUR), ..shape(team, 4) }, submitted }
}

/// Team 0 fills eight GPUs with jobs of ten hours. Team 1 takes four back after one hour and has done with them after another;
/// the job that was stopped for it waits.
fn taken_back() -> Book {
    let mut book = book(&[8], 2);
    book.terms = Terms {
        before_stops: Patience { price: 0, lasting_ms: 4 * HOUR, tolerance: 0 },
        cooling: 2 * HOUR,
        ..Terms::default()
    };
    book.arrive(lasting(0, 0, 10, 0)).unwrap();
    book.arrive(lasting(1, 0, 10, 0)).unwrap();
    assert_eq!(started(&book.decide(0)), [0, 1]);
    book.arrive(lasting(9, 1, 1, HOUR)).unwrap();
    book.decide(HOUR);
    assert_eq!(book.reclaim(HOUR).len(), 1);
    book.stopped(1, HOUR);
    assert_eq!(started(&book.decide(HOUR)), [9]);
    book.end(9, 2 * HOUR);
    book
}

#[test]
fn whoever_was_stopped_does_not_get_it_before_it_has_cooled() {
    let mut book = taken_back();
    assert_eq!(book.decide(2 * HOUR), [], "it would be stopped again when team 1 comes back");
    let told = book.why(lasting(1, 0, 10, 0).shape, 2 * HOUR);
    assert_eq!(told, [Why::NotLent { site: 0, until: 3 * HOUR }]);
    assert_eq!(book.wake(2 * HOUR), Some(3 * HOUR), "nothing else need happen");
    assert_eq!(started(&book.decide(3 * HOUR)), [1]);
}

#[test]
fn whoever_is_within_a_guarantee_or_was_not_stopped_has_it_at_once() {
    let mut owner = taken_back();
    owner.arrive(lasting(10, 1, 10, 2 * HOUR)).unwrap();
    assert_eq!(started(&owner.decide(2 * HOUR)), [10]);
    let mut fresh = taken_back();
    fresh.arrive(lasting(11, 0, 10, 2 * HOUR)).unwrap();
    assert_eq!(started(&fresh.decide(2 * HOUR)), [11], "though it came after the one that was stopped");
}

#[test]
fn what_is_free_beside_it_is_lent() {
    let mut book = taken_back();
    book.end(0, 2 * HOUR);
    assert_eq!(started(&book.decide(2 * HOUR)), [1], "four of the eight are kept back, the others are not");
    assert_eq!(book.decide(3 * HOUR), [], "nobody is left");
}
