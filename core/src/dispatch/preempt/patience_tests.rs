//! When borrowers are left to end, and for whom they are not.

#![allow(clippy::unwrap_used)]

use super::{
    patience::Owed,
    tests::{filled, sentence, two_teams},
    world::{SECOND, World, stopped},
};
use crate::{dispatch::owed::Account, dispatch::policy_tests::job_of, time::Timestamp};

const HOUR: i64 = 3_600;

/// Team a holds all eight GPUs by two jobs, of which the younger is expected to run so many hours; b had what it was owed but for
/// so many thousandths.
fn borrowed(hours: u64, error: i64) -> World {
    let mut world = filled(&two_teams(8), &[("east", 8)], &[4, 4]);
    let younger = &mut world.input.clusters[0].attempts[1];
    assert_eq!(younger.id.job.0.as_u128(), 2);
    younger.stake.expected_ms = Some(hours * 3_600_000);
    let account = Account { owed: 1_000_000_000_000, missing: error * 1_000_000_000, ..Account::default() };
    world.input.owed = [("b".to_owned(), Owed { account, at: Timestamp(HOUR * SECOND) })].into();
    world.input.now = Timestamp(HOUR * SECOND);
    world.submit(job_of("b", 9, 4));
    world
}

#[test]
fn what_should_end_soon_is_left_to_end() {
    let mut world = borrowed(4, 0);
    let plan = world.step(2 * HOUR);
    assert_eq!(stopped(&plan), [(1, 9)], "three hours are left of job 2, and nothing is known of job 1");
    let mut world = borrowed(4, 0);
    world.input.clusters[0].attempts[0].stake.expected_ms = Some(1);
    assert_eq!(stopped(&world.step(2 * HOUR)), [], "what outlived its prediction may end any time");
    assert_eq!(stopped(&borrowed(6, 0).step(2 * HOUR)), [(2, 9)]);
}

#[test]
fn what_would_be_lost_must_be_worth_the_wait() {
    let mut world = borrowed(90, 0);
    let plan = world.step(HOUR + 60);
    assert_eq!(stopped(&plan), [], "an hour of its work is worth three minutes of waiting");
    let told = sentence(&plan, 9);
    assert!(told.contains("once it has waited a twentieth of the time that they would lose"), "{told}");
    assert_eq!(stopped(&world.step(HOUR + 240)), [(2, 9)]);
}

#[test]
fn a_queue_that_was_below_its_guarantee_for_long_waits_for_nothing() {
    assert_eq!(stopped(&borrowed(1, 50).step(HOUR + 1)), [(2, 9)]);
    assert_eq!(stopped(&borrowed(1, 49).step(HOUR + 1)), []);
    let mut unknown = borrowed(1, 0);
    unknown.input.owed.clear();
    assert_eq!(stopped(&unknown.step(HOUR + 1)), [(2, 9)]);
}

#[test]
fn a_job_that_lost_all_four_times_is_left_to_end_and_one_that_goes_on_is_not() {
    let often = |saved: Option<Timestamp>| {
        let mut world = borrowed(90, 50);
        let younger = &mut world.input.clusters[0].attempts[1].stake;
        (younger.stops, younger.resumes, younger.saved) = (4, true, saved);
        world.step(200 * HOUR)
    };
    assert_eq!(stopped(&often(None)), [(1, 9)], "job 2 would lose less, and lost enough");
    assert_eq!(stopped(&often(Some(Timestamp(199 * HOUR * SECOND)))), [(2, 9)]);
}

#[test]
fn a_pass_tells_what_every_queue_is_owed_from_now_on() {
    let mut world = borrowed(90, 0);
    let plan = world.step(HOUR + 60);
    let rates = |queue: &str| {
        let owed = plan.owed[queue];
        (owed.account.owed_now, owed.account.missing_now, owed.at == world.input.now)
    };
    assert_eq!((rates("a"), rates("b")), ((4_000, 0, true), (4_000, 4_000, true)));
    assert_eq!(rates("lab"), (8_000, 0, true), "both together use what both are guaranteed");
}
