//! What stops for whom, what never stops, and when room is free again.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, prelude::*};

use super::{tests::*, *};
use crate::dispatch::preempt::Patience;

/// Stops cost nothing to decide, so that every test sees them at once.
fn eager(gpus: &[i64], teams: usize) -> Book {
    let mut book = book(gpus, teams);
    book.terms = patient(0, 0, 0);
    book
}

/// Terms that differ in what is asked before anybody is stopped; what was taken back is lent at once.
fn patient(price: i128, lasting_ms: Millis, tolerance: i64) -> Terms {
    Terms { before_stops: Patience { price, lasting_ms, tolerance }, cooling: 0, ..Terms::default() }
}

/// More than all of what a tenant was owed.
const NEVER: i64 = 2_000;

fn minutes(minutes: u64) -> Millis {
    minutes * 60_000
}

fn stopped(stops: &[Stop]) -> Vec<u64> {
    let mut jobs: Vec<u64> = stops.iter().map(|stop| stop.job).collect();
    jobs.sort_unstable();
    jobs
}

/// Team 0 fills the fleet with jobs of these GPUs, started a minute apart.
fn filled(book: &mut Book, gpus: &[u32]) -> Millis {
    for (job, gpus) in (0u64..).zip(gpus) {
        book.arrive(ask(job, 0, *gpus, minutes(job))).unwrap();
        assert_eq!(started(&book.decide(minutes(job))), [job]);
    }
    minutes(gpus.len() as u64)
}

#[test]
fn borrower_that_loses_least_stops_and_nobody_else() {
    let mut book = eager(&[8], 2);
    filled(&mut book, &[2, 2, 2, 2]);
    let now = minutes(30);
    book.arrive(ask(9, 1, 2, now)).unwrap();
    assert_eq!(book.decide(now), []);
    let stops = book.reclaim(now);
    let lost = i128::from(2 * GPU) * i128::from(minutes(27));
    assert_eq!(stops, [Stop { job: 3, site: 0, makes_room_for: 9, lost }]);
    assert_eq!(book.reclaim(now), [], "its room is being made already");
}

#[test]
fn room_and_quota_are_free_only_after_the_stop_is_confirmed() {
    let mut book = eager(&[8], 2);
    filled(&mut book, &[4, 4]);
    let now = minutes(30);
    book.arrive(ask(9, 1, 4, now)).unwrap();
    book.decide(now);
    assert_eq!(stopped(&book.reclaim(now)), [1]);
    assert_eq!((book.decide(now + 1), book.sites()[0].free(u64::MAX)), (vec![], 0));
    assert_eq!(book.tenants().used(1), 8 * GPU);
    book.stopped(1, now);
    assert_eq!(book.tenants().used(1), 4 * GPU);
    let starts = book.decide(now + 30_000);
    assert_eq!((started(&starts), book.waiting()), (vec![9], 1));
    book.end(0, now + 40_000);
    let back = book.decide(now + 40_000);
    assert_eq!((started(&back), back[0].because.class), (vec![1], Class::Guaranteed));
}

#[test]
fn what_comes_free_is_kept_for_the_claim() {
    let mut book = eager(&[8], 3);
    filled(&mut book, &[1, 1, 1, 1, 1, 1, 1, 1]);
    let now = minutes(60);
    book.arrive(ask(20, 1, 2, now)).unwrap();
    book.decide(now);
    assert_eq!(stopped(&book.reclaim(now)), [6, 7]);
    book.arrive(ask(21, 2, 1, now)).unwrap();
    book.stopped(7, now);
    assert_eq!(book.decide(now + 1), [], "one of two GPUs is there, and it is not for job 21");
    assert_eq!(book.why(shape(2, 1), now + 1), [Why::Claimed { site: 0 }]);
    book.stopped(6, now);
    assert_eq!(started(&book.decide(now + 2)), [20]);
}

#[test]
fn young_jobs_are_protected_and_longer_after_each_stop() {
    let mut book = eager(&[4], 2);
    filled(&mut book, &[4]);
    book.arrive(ask(8, 1, 2, 1)).unwrap();
    book.decide(minutes(9));
    assert_eq!(book.reclaim(minutes(9)), []);
    // The whole gang goes beyond what is borrowed, so it stays even when it is old: nobody is pushed below its guarantee.
    assert_eq!(book.reclaim(minutes(900)), []);
    let mut book = eager(&[4], 2);
    filled(&mut book, &[2, 2]);
    book.arrive(ask(8, 1, 2, minutes(2))).unwrap();
    book.decide(minutes(2));
    assert_eq!(book.reclaim(minutes(9)), []);
    assert_eq!(stopped(&book.reclaim(minutes(10))), [0], "job 1 is younger, and protected");
    book.stopped(0, minutes(10));
    assert_eq!(started(&book.decide(minutes(10))), [8]);
    book.end(8, minutes(30));
    let back = book.decide(minutes(30));
    assert_eq!((started(&back), back[0].because.class), (vec![0], Class::Borrowing));
    book.arrive(ask(9, 1, 2, minutes(45))).unwrap();
    book.decide(minutes(45));
    assert_eq!(stopped(&book.reclaim(minutes(45))), [1], "job 0 has run 15 minutes and was stopped before");
}

#[test]
fn a_job_that_was_stopped_four_times_is_left_to_end() {
    let mut book = eager(&[4], 2);
    filled(&mut book, &[2, 2]);
    for round in 1..=5 {
        let (now, newcomer) = (minutes(1_000 * round), 10 + round);
        book.arrive(ask(newcomer, 1, 2, now)).unwrap();
        book.decide(now);
        let victim = u64::from(round < 5);
        assert_eq!(stopped(&book.reclaim(now)), [victim], "the youngest, until it has lost enough");
        book.stopped(victim, now);
        assert_eq!(started(&book.decide(now)), [newcomer]);
        book.end(newcomer, now + 1);
        assert_eq!(started(&book.decide(now + 1)), [victim]);
    }
}

#[test]
fn jobs_of_a_tenant_within_its_guarantee_never_stop() {
    let mut book = eager(&[4, 4], 2);
    for job in 0..2 {
        book.arrive(ask(job, 0, 2, 0)).unwrap();
    }
    book.arrive(ask(2, 1, 3, 0)).unwrap();
    assert_eq!(book.decide(0).len(), 3);
    book.arrive(ask(3, 1, 1, 1)).unwrap();
    book.arrive(ask(4, 0, 4, 2)).unwrap();
    book.decide(minutes(1_000));
    assert_eq!(book.reclaim(minutes(1_000)), []);
}

#[test]
fn work_that_is_worth_more_than_what_was_missed_goes_on() {
    let mut book = book(&[8], 2);
    book.terms = patient(1_000, 0, NEVER);
    filled(&mut book, &[4, 4]);
    let came = minutes(60);
    book.arrive(ask(9, 1, 4, came)).unwrap();
    book.decide(came);
    assert_eq!(book.reclaim(came + minutes(58)), []);
    // Now it has missed as much as job 1 has done... which grows as fast, so only a price below one is ever met.
    assert_eq!(book.reclaim(came + minutes(1_000)), []);
    book.terms.before_stops.price = 500;
    assert_eq!(stopped(&book.reclaim(came + minutes(1_002))), [1]);
}

/// Two jobs of team 0 that run for an hour, which is what is expected of them; team 1 comes after half of it.
fn half_done(terms: Terms) -> Book {
    let mut book = book(&[8], 2);
    book.terms = terms;
    filled(&mut book, &[4, 4]);
    book.arrive(ask(9, 1, 4, minutes(30))).unwrap();
    book.decide(minutes(30));
    book
}

#[test]
fn what_should_end_soon_is_left_to_end() {
    let terms = patient(0, minutes(30), NEVER);
    assert_eq!(half_done(terms).reclaim(minutes(30)).len(), 1);
    assert_eq!(half_done(terms).reclaim(minutes(32)), [], "less than half an hour of the hour is left");
    assert_eq!(half_done(terms).reclaim(minutes(300)), [], "and what outlived it may end any time");
}

#[test]
fn a_wronged_tenant_waits_for_nothing() {
    let patient = patient(1_000_000, minutes(600), 1_000);
    let stops = half_done(patient).reclaim(minutes(31));
    assert_eq!(stopped(&stops), [1], "all that team 1 was owed so far is missing");
    let mut book = half_done(patient);
    book.end(0, minutes(31));
    assert_eq!(started(&book.decide(minutes(31))), [9]);
    book.end(9, minutes(99));
    book.arrive(ask(10, 0, 4, minutes(99))).unwrap();
    book.decide(minutes(99));
    book.arrive(ask(11, 1, 4, minutes(100))).unwrap();
    book.decide(minutes(100));
    assert_eq!(book.reclaim(minutes(130)), [], "it had most of what it was owed");
}

#[test]
fn a_job_that_was_stopped_is_expected_to_run_long() {
    let mut book = eager(&[8], 2);
    filled(&mut book, &[4, 4]);
    let now = minutes(100);
    book.arrive(ask(9, 1, 4, now)).unwrap();
    book.decide(now);
    assert_eq!(stopped(&book.reclaim(now)), [1]);
    book.stopped(1, now);
    book.decide(now);
    book.end(9, minutes(110));
    let back = book.decide(minutes(110));
    assert_eq!(started(&back), [1]);
    let expected = back[0].because.predicted;
    assert!(expected.millis >= minutes(8 * 99), "it ran 99 minutes before: {expected:?}");
    assert_eq!(book.predict(shape(0, 4)).basis, Basis::Nothing, "nothing is learnt of its kind");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever comes and whenever stops are confirmed: only borrowers stop, nobody falls below its guarantee by it, nobody
    /// stops within its protected time, sums agree, and all that waits is told why.
    #[test]
    fn stops_keep_every_rule(
        gpus in vec(1i64..24, 1..4),
        cooling in 0u64..120,
        jobs in vec((0usize..3, 1u32..12, 0u64..60, 1u64..400, 0u64..30), 1..40),
    ) {
        let mut book = eager(&gpus, 3);
        book.terms.cooling = minutes(cooling);
        let mut now = 0;
        let mut asks = Vec::new();
        let mut running: Vec<(Millis, Start)> = Vec::new();
        let mut stopping: Vec<(Millis, u64)> = Vec::new();
        for (job, (team, gang, pause, _, delay)) in (0u64..).zip(&jobs) {
            now += minutes(*pause);
            let runs = |job: u64| minutes(jobs[usize::try_from(job).unwrap()].3);
            let (over, still): (Vec<_>, Vec<_>) =
                running.into_iter().partition(|(at, start)| at + runs(start.job) <= now);
            running = still;
            over.iter().for_each(|(_, start)| book.end(start.job, now));
            stopping.retain(|(_, job)| over.iter().all(|(_, start)| start.job != *job));
            let (gone, still): (Vec<_>, Vec<_>) = stopping.iter().partition(|(at, _)| *at <= now);
            stopping = still;
            for (_, job) in gone {
                book.stopped(job, now);
                running.retain(|(_, start)| start.job != job);
            }
            asks.push(ask(job, *team, *gang, now));
            let _ = book.arrive(asks[usize::try_from(job).unwrap()]);
            running.extend(book.decide(now).into_iter().map(|start| (now, start)));
            let stops = book.reclaim(now);
            for stop in &stops {
                let (at, _) = running.iter().find(|(_, start)| start.job == stop.job).unwrap();
                prop_assert!(now - at >= minutes(10));
                prop_assert!(stopping.iter().all(|(_, job)| *job != stop.job));
                stopping.push((now + minutes(*delay), stop.job));
            }
            for tenant in stops.iter().map(|stop| asks[usize::try_from(stop.job).unwrap()].shape.tenant) {
                let going = stopping.iter().map(|(_, job)| asks[usize::try_from(*job).unwrap()].shape);
                let going: i64 = going.filter(|shape| shape.tenant == tenant).map(|shape| shape.milli).sum();
                let coming = book.claims.iter().map(|claim| book.lines[claim.line].shape);
                let coming: i64 = coming.filter(|shape| shape.tenant == tenant).map(|shape| shape.milli).sum();
                prop_assert!(book.tenants().used(tenant) + coming - going >= book.tenants().nominal(tenant));
            }
            let starts: Vec<Start> = running.iter().map(|(_, start)| start.clone()).collect();
            check(&book, &gpus, &starts, &asks, now);
        }
    }
}
