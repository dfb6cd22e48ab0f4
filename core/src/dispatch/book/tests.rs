//! Order, quota and reservation on small fleets, and properties over random ones.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::dispatch::tenants::Tenant;

pub(super) const GPU: i64 = 1_000;
const HOUR: Millis = 3_600_000;

pub(super) fn site(name: &str, gpus: i64) -> Site {
    Site::new(name.to_owned(), vec![Pool { model: 0, total: gpus * GPU, free: gpus * GPU }])
}

pub(super) fn book(gpus: &[i64], teams: usize) -> Book {
    let sites: Vec<Site> = gpus.iter().map(|gpus| site(&format!("c{gpus}"), *gpus)).collect();
    let names: Vec<String> = (0..teams).map(|team| format!("t{team}")).collect();
    let capacity = gpus.iter().sum::<i64>() * GPU;
    Book::new(Terms::default(), Tenants::equal(&names, capacity).unwrap(), sites)
}

pub(super) fn shape(team: usize, gpus: u32) -> Shape {
    Shape { tenant: team + 1, gpus, milli: i64::from(gpus) * GPU, models: u64::MAX, declared: None }
}

pub(super) fn ask(job: u64, team: usize, gpus: u32, submitted: Millis) -> Ask {
    Ask { job, shape: shape(team, gpus), submitted }
}

pub(super) fn started(starts: &[Start]) -> Vec<u64> {
    starts.iter().map(|start| start.job).collect()
}

#[test]
fn job_goes_where_least_is_left() {
    let mut book = book(&[16, 8, 4], 1);
    book.arrive(ask(1, 0, 8, 0)).unwrap();
    book.arrive(ask(2, 0, 3, 0)).unwrap();
    let starts = book.decide(0);
    let places: Vec<(u64, usize)> = starts.iter().map(|start| (start.job, start.site)).collect();
    assert_eq!(places, [(2, 2), (1, 1)]);
    assert_eq!(starts[0].because.left, GPU);
}

#[test]
fn team_under_its_guarantee_goes_before_one_that_borrows() {
    let mut book = book(&[8], 2);
    book.arrive(ask(1, 0, 8, 0)).unwrap();
    assert_eq!(started(&book.decide(0)), [1]);
    book.arrive(ask(2, 0, 8, 10)).unwrap();
    book.arrive(ask(3, 1, 4, 20)).unwrap();
    book.end(1, HOUR);
    let starts = book.decide(HOUR);
    assert_eq!((started(&starts), starts[0].because.class), (vec![3], Class::Guaranteed));
}

#[test]
fn short_kinds_go_first_and_the_long_one_gets_its_turn() {
    let mut book = book(&[1], 2);
    for (job, team, runs) in [(1, 0, 60), (2, 0, 60), (3, 0, 60), (4, 1, 3_600), (5, 1, 3_600), (6, 1, 3_600)]
    {
        book.arrive(ask(job, team, 1, 0)).unwrap();
        book.decide(0);
        book.end(job, runs * 1_000);
        let _ = started(&book.decide(0));
    }
    book.arrive(ask(9, 0, 1, 0)).unwrap();
    assert_eq!(started(&book.decide(0)), [9]);
    book.arrive(ask(10, 1, 1, 0)).unwrap();
    book.arrive(ask(11, 0, 1, 0)).unwrap();
    book.end(9, 1_000);
    assert_eq!(started(&book.decide(1_000)), [11], "predicted at a minute, against an hour");
    book.arrive(ask(12, 0, 1, 1_000 * HOUR)).unwrap();
    book.end(11, 1_000 * HOUR);
    assert_eq!(started(&book.decide(1_000 * HOUR)), [10], "it waited a thousand hours");
}

#[test]
fn starving_gang_gets_its_cluster_although_singles_keep_coming() {
    let mut book = book(&[16], 2);
    book.terms.reserve_borrowing = 48 * HOUR;
    let mut running: Vec<(Millis, u64)> = Vec::new();
    book.arrive(ask(1, 1, 16, 0)).unwrap();
    for (next, minute) in (100..).zip(0..100 * 60) {
        let now = minute * 60_000 + 1;
        let (over, still): (Vec<_>, Vec<_>) = running.iter().partition(|(end, _)| *end <= now);
        running = still;
        over.iter().for_each(|(_, job)| book.end(*job, now));
        book.arrive(ask(next, 0, 1, now)).unwrap();
        let starts = started(&book.decide(now));
        if starts.contains(&1) {
            return;
        }
        running.extend(starts.iter().map(|job| (now + 40 * 60_000, *job)));
    }
    panic!("the gang starved; reservations: {:?}", book.reservations());
}

#[test]
fn borrowing_stops_at_its_limit_and_says_so() {
    let tenant = |name: &str, parent, nominal, borrowing_limit| Tenant {
        name: name.to_owned(),
        parent,
        nominal,
        borrowing_limit,
        lending_limit: None,
        weight: 1_000,
    };
    let tree = vec![
        tenant("root", None, 0, None),
        tenant("a", Some(0), 2 * GPU, Some(GPU)),
        tenant("b", Some(0), 6 * GPU, None),
    ];
    let mut book = Book::new(Terms::default(), Tenants::new(tree).unwrap(), vec![site("east", 8)]);
    for job in 0..4 {
        book.arrive(ask(job, 0, 1, job)).unwrap();
    }
    assert_eq!(started(&book.decide(9)), [0, 1, 2]);
    assert_eq!(book.why(shape(0, 1), 9), [Why::OverQuota { available: 0 }]);
    book.end(0, 10);
    assert_eq!(started(&book.decide(10)), [3]);
}

#[test]
fn gang_larger_than_every_cluster_is_refused_and_an_unknown_end_changes_nothing() {
    let mut book = book(&[8, 8], 1);
    assert_eq!(book.arrive(ask(1, 0, 9, 0)), Err(Why::NeverFits { largest: 8 * GPU }));
    book.end(77, 5);
    assert_eq!((book.waiting(), book.decide(5).len()), (0, 0));
}

#[test]
fn closed_cluster_gets_nothing_and_is_named() {
    let mut sites = vec![site("east", 8)];
    sites[0].open = false;
    let tenants = Tenants::equal(&["t".to_owned()], 8 * GPU).unwrap();
    let mut book = Book::new(Terms::default(), tenants, sites);
    book.arrive(ask(1, 0, 1, 0)).unwrap();
    assert_eq!(book.decide(0), []);
    assert_eq!(book.why(shape(0, 1), 0), [Why::Closed { site: 0 }]);
}

#[test]
fn mixed_cluster_gives_only_models_that_are_allowed() {
    let pools = vec![
        Pool { model: 0, total: 4 * GPU, free: 4 * GPU },
        Pool { model: 1, total: 4 * GPU, free: 4 * GPU },
    ];
    let tenants = Tenants::equal(&["t".to_owned()], 8 * GPU).unwrap();
    let mut book = Book::new(Terms::default(), tenants, vec![Site::new("mixed".to_owned(), pools)]);
    book.arrive(Ask { job: 1, shape: Shape { models: 0b10, ..shape(0, 3) }, submitted: 0 }).unwrap();
    book.arrive(Ask { job: 2, shape: shape(0, 5), submitted: 1 }).unwrap();
    let starts = book.decide(1);
    assert_eq!(starts[0].parts, [Part { pool: 1, milli: 3 * GPU }]);
    assert_eq!(starts[1].parts, [Part { pool: 0, milli: 4 * GPU }, Part { pool: 1, milli: GPU }]);
    let never = Shape { models: 0b100, ..shape(0, 1) };
    assert_eq!(book.why(never, 1), [Why::NeverFits { largest: 0 }]);
}

/// Sums of what runs, by tenant, and of what is free.
pub(super) fn check(book: &Book, gpus: &[i64], running: &[Start], asks: &[Ask], now: Millis) {
    for (index, total) in gpus.iter().enumerate() {
        let free = book.sites()[index].free(u64::MAX);
        let held: i64 = running
            .iter()
            .filter(|start| start.site == index)
            .flat_map(|start| &start.parts)
            .map(|part| part.milli)
            .sum();
        assert!(free >= 0, "cluster {index} is over capacity");
        assert_eq!(free + held, total * GPU);
    }
    for tenant in 1..=3 {
        let used: i64 = running
            .iter()
            .map(|start| asks[usize::try_from(start.job).unwrap()].shape)
            .filter(|shape| shape.tenant == tenant)
            .map(|shape| shape.milli)
            .sum();
        assert_eq!(book.tenants().used(tenant), used);
    }
    for (shape, _) in book.shapes() {
        let why = book.why(shape, now);
        assert!(!why.is_empty(), "{shape:?} fits and its quota allows it, but it waits and nothing says why");
        let kept = why.iter().any(|why| matches!(why, Why::KeptFor { .. }));
        assert!(!kept || !book.reservations().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// G13 and the invariants of section 3.2: nothing over capacity, sums agree, nobody waits without a stated reason.
    #[test]
    fn random_fleets_keep_every_rule(
        gpus in vec(1i64..24, 1..5),
        jobs in vec((0usize..3, 1u32..16, 0u64..4, 1u64..40), 1..40),
    ) {
        let mut book = book(&gpus, 3);
        let mut now = 0;
        let mut asks = Vec::new();
        let mut running: Vec<Start> = Vec::new();
        let mut ends: Vec<(Millis, u64)> = Vec::new();
        for (job, (team, gang, pause, _)) in (0..).zip(&jobs) {
            now += pause * HOUR;
            let (over, still): (Vec<_>, Vec<_>) = ends.iter().partition(|(end, _)| *end <= now);
            ends = still;
            for (_, over) in over {
                book.end(over, now);
                running.retain(|start| start.job != over);
            }
            asks.push(ask(job, *team, *gang, now));
            let fits = book.arrive(asks[usize::try_from(job).unwrap()]);
            prop_assert_eq!(fits.is_ok(), gpus.iter().any(|gpus| *gpus >= i64::from(*gang)));
            for start in book.decide(now) {
                let runs = jobs[usize::try_from(start.job).unwrap()].3;
                ends.push((now + runs * HOUR / 4, start.job));
                running.push(start);
            }
            check(&book, &gpus, &running, &asks, now);
        }
    }
}
