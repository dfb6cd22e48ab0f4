//! Changes with a known effect, and random ones that must agree with the dispatcher.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::dispatch::{
    Cause, plan,
    policy_properties::{any_fleet, any_policy},
    policy_tests::{fleet, held_by, job_of, policy, queue},
};

/// Team a runs 4 of its 4 GPUs and wants 2 more; b has 4 and uses none.
fn company(a: i64, b: i64, gpus: i64) -> Input {
    let queues =
        [queue("lab", None, Some(0)), queue("a", Some("lab"), Some(a)), queue("b", Some("lab"), Some(b))];
    let mut input = fleet(policy(&queues), &[("east", gpus)]);
    input.clusters[0].attempts = vec![held_by(90, "a", 4)];
    input
}

fn capped(mut input: Input, queue: &str, limit: i64) -> Input {
    for queue in input.policy.queues.iter_mut().filter(|one| one.name == queue) {
        for quota in queue.quotas.get_mut("h100").unwrap().values_mut() {
            quota.borrowing_limit = Some(limit);
        }
    }
    input
}

fn names(starts: &[Start]) -> Vec<&str> {
    starts.iter().map(|start| start.name.as_str()).collect()
}

#[test]
fn more_quota_starts_the_job_that_waited_for_it() {
    let mut input = capped(company(4, 4, 16), "a", 0);
    input.waiting = vec![job_of("a", 1, 2), job_of("a", 2, 9)];
    let larger = capped(company(6, 4, 16), "a", 0).policy;
    let told = prospect(&input, &larger);
    assert_eq!(names(&told.starts), ["job-1"]);
    assert_eq!(told.starts[0].cluster, "east");
    assert_eq!((told.same, told.claims.len(), told.stays.len()), (1, 0, 0));
    let gpus = |standing: &Option<Standing>| {
        let line = standing.as_ref().unwrap().lines[&("h100".to_owned(), Resource::Gpu)];
        (line.nominal, line.used.unwrap(), line.borrowed.unwrap())
    };
    let a = &told.queues["a"];
    assert_eq!((gpus(&a.before), gpus(&a.after)), ((4, 4, 0), (6, 6, 0)));
    assert_eq!(told.sentence(), "1 waiting job would start now and 1 job would wait for the same as now");
}

#[test]
fn quota_alone_does_not_make_room() {
    let mut input = capped(company(4, 4, 4), "a", 0);
    input.waiting = vec![job_of("a", 1, 2)];
    let told = prospect(&input, &capped(company(8, 4, 4), "a", 0).policy);
    assert!(told.starts.is_empty());
    let shift = &told.shifts[0];
    let code = |blocker: &Option<Blocker>| blocker.as_ref().unwrap().code;
    assert_eq!((code(&shift.before), code(&shift.after)), (Cause::QuotaExhausted, Cause::ClusterFull));
}

#[test]
fn a_cut_turns_use_into_loans_and_tells_what_is_beyond_them() {
    let input = company(4, 4, 16);
    let told = prospect(&input, &capped(company(1, 7, 16), "a", 2).policy);
    let gpus: Vec<_> = told.claims.iter().filter(|claim| claim.resource == Resource::Gpu).collect();
    assert_eq!(gpus.len(), 1);
    assert_eq!((gpus[0].queue.as_str(), gpus[0].before, gpus[0].after, gpus[0].beyond), ("a", 0, 3, 1));
    assert!(
        told.sentence().ends_with("use of a would be on loan, which others may claim"),
        "{}",
        told.sentence()
    );
}

#[test]
fn a_sentence_names_a_few_queues_and_counts_the_others() {
    let claim = |number: u32| Claim {
        queue: format!("q{number}"),
        flavor: "h100".into(),
        resource: Resource::Gpu,
        before: 0,
        after: 1,
        beyond: 0,
    };
    let told = Prospect { claims: (1..=9).map(claim).collect(), ..Prospect::default() };
    let words = "use of q1, q2, q3, q4, q5 and 4 more queues would be on loan, which others may claim";
    assert!(told.sentence().ends_with(words), "{}", told.sentence());
}

#[test]
fn the_same_policy_changes_nothing() {
    let mut input = company(4, 4, 16);
    input.waiting = vec![job_of("a", 1, 20), job_of("b", 2, 1)];
    let expected = Prospect { same: 1, ..Prospect::default() };
    assert_eq!(prospect(&input, &input.policy.clone()), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_told_is_what_a_pass_with_the_other_policy_decides(input in any_fleet(), other in any_policy()) {
        let told = prospect(&input, &other);
        let (before, after) = (plan(&input), plan(&Input { policy: other, ..input.clone() }));
        let starts = |plan: &crate::dispatch::Plan| plan.assign.iter().map(|one| one.job).collect::<BTreeSet<_>>();
        let new: BTreeSet<JobId> = starts(&after).difference(&starts(&before)).copied().collect();
        prop_assert_eq!(told.starts.iter().map(|start| start.job).collect::<BTreeSet<_>>(), new);
        let gone: BTreeSet<JobId> = starts(&before).difference(&starts(&after)).copied().collect();
        prop_assert_eq!(told.stays.iter().map(|stay| stay.job).collect::<BTreeSet<_>>(), gone);
        prop_assert_eq!(told.stays.len() + told.shifts.len() + told.same, after.blocked.len());
        let asked = |plan: &crate::dispatch::Plan| -> BTreeSet<AttemptId> {
            plan.making.iter().flat_map(|making| &making.stops).map(|stop| stop.attempt).collect()
        };
        let asked: BTreeSet<AttemptId> = asked(&after).difference(&asked(&before)).copied().collect();
        prop_assert_eq!(told.stops.iter().map(|halt| halt.attempt).collect::<BTreeSet<_>>(), asked);
    }
}
