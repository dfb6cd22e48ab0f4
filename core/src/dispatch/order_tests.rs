//! The order of turns once history foretells run times.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, option, prelude::*};

use super::{
    policy_properties::any_fleet,
    policy_tests::{fleet, held_by, job_of, policy, queue},
    shape::tests::{copied, is_enough, oldest},
    tests::{any_input, res},
    *,
};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const NOW: Timestamp = Timestamp(100 * HOUR * 1_000);

/// A job for one GPU that has waited for some hours and is expected to run for others.
fn job(queue: &str, number: u128, waited: i64, runs: Option<i64>) -> Waiting {
    let expected_ms = runs.map(|hours| u64::try_from(hours * HOUR).unwrap());
    Waiting { submitted_at: NOW.plus_millis(-waited * HOUR), expected_ms, ..job_of(queue, number, 1) }
}

/// One cluster, on which so many GPUs are free for the jobs.
fn decided(policy: Policy, gpus: i64, waiting: Vec<Waiting>) -> (Vec<u128>, Plan) {
    let plan = plan(&Input { waiting, now: NOW, ..fleet(policy, &[("east", gpus)]) });
    (plan.assign.iter().map(|assign| assign.job.0.as_u128()).collect(), plan)
}

fn order(waiting: Vec<Waiting>) -> Vec<u128> {
    let all = i64::try_from(waiting.len()).unwrap();
    decided(policy(&[]), all, waiting).0
}

#[test]
fn what_is_foretold_to_be_short_goes_first_and_without_history_the_older() {
    let jobs = |runs: [Option<i64>; 3]| (1..).zip(runs).map(|(n, runs)| job("a", n, 5, runs)).collect();
    assert_eq!(order(jobs([None, None, None])), [1, 2, 3]);
    assert_eq!(order(jobs([Some(9), Some(1), Some(4)])), [2, 3, 1]);
}

#[test]
fn small_work_of_a_few_gpus_goes_before_as_long_work_of_many() {
    let wide = Waiting { submitted_at: NOW, expected_ms: Some(3_600_000), ..job_of("a", 1, 8) };
    let (placed, _) = decided(policy(&[]), 9, vec![wide, job("a", 2, 0, Some(1))]);
    assert_eq!(placed, [2, 1]);
}

#[test]
fn long_work_that_has_waited_long_goes_before_short_work_that_has_not() {
    assert_eq!(order(vec![job("a", 1, 300, Some(9)), job("a", 2, 0, Some(1))]), [1, 2]);
    assert_eq!(order(vec![job("a", 1, 30, Some(9)), job("a", 2, 0, Some(1))]), [2, 1]);
}

#[test]
fn priority_counts_before_size() {
    let urgent = Waiting { priority: 5, ..job("a", 1, 0, Some(90)) };
    assert_eq!(order(vec![urgent, job("a", 2, 0, Some(1))]), [1, 2]);
}

#[test]
fn what_a_queue_uses_beyond_its_guarantee_makes_its_work_count_as_larger() {
    let tree = [
        queue("lab", None, Some(0)),
        queue("a", Some("lab"), Some(1)),
        queue("b", Some("lab"), Some(1)),
        queue("idle", Some("lab"), Some(4)),
    ];
    let first = |a: Option<i64>, b: Option<i64>| {
        let mut input = fleet(policy(&tree), &[("east", 4)]);
        input.clusters[0].attempts = vec![held_by(100, "a", 2), held_by(101, "b", 1)];
        input.now = NOW;
        input.waiting = vec![job("a", 1, 0, a), job("b", 2, 0, b)];
        plan(&input).assign[0].job.0.as_u128()
    };
    assert_eq!(first(None, None), 2, "b has borrowed less");
    assert_eq!(first(Some(4), Some(4)), 2);
    assert_eq!(first(Some(4), Some(9)), 1, "a borrows more, and its work is shorter by more than that");
}

#[test]
fn who_used_much_less_lately_goes_before_the_older_job() {
    let mut input = fleet(policy(&[]), &[("east", 1)]);
    input.now = NOW;
    input.waiting = vec![job("a", 1, 5, None), job("b", 2, 0, None)];
    let first = |input: &Input| plan(input).assign[0].job.0.as_u128();
    assert_eq!(first(&input), 1);
    let used = |hours: f64| lately::Lately { gpu_seconds: hours * 3_600.0, at: NOW };
    input.lately = [("a".to_owned(), used(9.0)), ("b".to_owned(), used(8.5))].into();
    assert_eq!(first(&input), 1, "about as much");
    input.lately.insert("b".to_owned(), used(2.0));
    assert_eq!(first(&input), 2);
}

#[test]
fn a_burst_counts_before_it_has_run() {
    let mut input = fleet(policy(&[]), &[("east", 24)]);
    input.now = NOW;
    input.waiting = (1..=30).map(|number| job("a", number, 5, None)).collect();
    input.waiting.push(job("b", 31, 0, None));
    let placed = plan(&input).assign;
    let at = placed.iter().position(|assign| assign.job.0.as_u128() == 31).unwrap();
    assert_eq!(at, 12, "twelve starts are an hour");
}

/// The same policy where GPUs of h100 weigh so many times as much as others.
fn dear(mut policy: Policy, times: u32) -> Policy {
    let h100 = policy.flavors.iter_mut().filter(|flavor| flavor.name == "h100");
    h100.for_each(|flavor| flavor.weight *= times);
    policy
}

#[test]
fn who_used_cheap_gpus_goes_before_who_used_dear_ones_for_as_long() {
    let first = |times: u32| {
        let mut input = fleet(dear(policy(&[]), times), &[("east", 3)]);
        input.now = NOW;
        let hours = |held: Held| Held { assigned_at: NOW.plus_millis(-2 * HOUR), ..held };
        let cheap = Held { usage: [("a100".to_owned(), res(1, 1, 1))].into(), ..held_by(91, "b", 1) };
        input.clusters[0].attempts = vec![hours(held_by(90, "a", 1)), hours(cheap)];
        input.waiting = vec![job("a", 1, 5, None), job("b", 2, 0, None)];
        plan(&input).assign[0].job.0.as_u128()
    };
    assert_eq!(first(1), 1, "they used as much, so the older goes first");
    assert_eq!(first(4), 2);
}

#[test]
fn a_start_on_dear_gpus_counts_for_more() {
    let mut input = fleet(dear(policy(&[]), 12), &[("east", 4)]);
    input.now = NOW;
    input.waiting = vec![job("a", 1, 5, None), job("a", 2, 5, None), job("b", 3, 0, None)];
    let placed: Vec<u128> = plan(&input).assign.iter().map(|assign| assign.job.0.as_u128()).collect();
    assert_eq!(placed, [1, 3, 2], "one start is an hour");
}

#[test]
fn between_queues_that_borrow_alike_short_work_goes_first() {
    let tree =
        [queue("lab", None, Some(0)), queue("a", Some("lab"), Some(4)), queue("b", Some("lab"), Some(4))];
    let jobs = vec![job("a", 1, 0, Some(9)), job("b", 2, 0, Some(1))];
    assert_eq!(decided(policy(&tree), 2, jobs).0, [2, 1]);
}

#[test]
fn those_that_wait_are_told_in_that_order() {
    let jobs = vec![job("a", 1, 0, Some(9)), job("a", 2, 0, Some(1)), job("a", 3, 0, Some(4))];
    let (_, plan) = decided(policy(&[]), 0, jobs);
    let told: Vec<_> = plan.blocked.iter().map(|one| one.job.0.as_u128()).collect();
    assert_eq!(told, [2, 3, 1]);
}

/// The same jobs, each of some program, of which it is known how long it runs or not; they have waited for up to a day.
pub(super) fn with_history(inputs: impl Strategy<Value = Input>) -> impl Strategy<Value = Input> {
    let runs = vec(option::weighted(0.8, 1_u64..1_000), 3);
    (inputs, runs, vec((0_usize..3, 0_i64..1_440), 16)).prop_map(|(mut input, runs, kinds)| {
        input.now = NOW;
        for (job, (program, waited)) in input.waiting.iter_mut().zip(kinds.iter().cycle()) {
            job.program = format!("python p{program}.py");
            job.expected_ms = runs[*program].map(|minutes| minutes * 60_000);
            job.submitted_at = NOW.plus_millis(-waited * MINUTE);
        }
        input
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_oldest_of_each_class_are_enough_whatever_is_foretold(
        input in with_history(prop_oneof![any_input().boxed(), any_fleet().boxed()]), copies in 1_u128..5
    ) {
        let whole = copied(&input, copies);
        let part = oldest(&whole, 1);
        is_enough((&whole, &plan(&whole)), (&part, &plan(&part)))?;
    }

    #[test]
    fn the_order_of_the_snapshot_does_not_matter_whatever_is_foretold(
        input in with_history(any_fleet()), turn in 0_usize..8
    ) {
        let mut turned = input.clone();
        let length = turned.waiting.len().max(1);
        turned.waiting.rotate_left(turn % length);
        turned.clusters.reverse();
        prop_assert_eq!(plan(&input), plan(&turned));
    }

    #[test]
    fn moves_are_the_plan_without_its_explanations(input in with_history(any_fleet())) {
        let plan = plan(&input);
        prop_assert_eq!(moves(&input), Plan { blocked: Vec::new(), ..plan });
    }
}
