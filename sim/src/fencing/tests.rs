//! Seeds as tests: every rule holds, a seed is one run, and without any one rule the checker sees what it prevents.

#![allow(clippy::unwrap_used)]

use super::*;

/// Seeds of the tests; `squadron lab fencing` runs more.
const SEEDS: u64 = 1_000;
/// Seeds within which a missing rule must show.
const SEARCHED: u64 = 4_000;

#[test]
fn g7_g8_no_seed_breaks_a_rule_and_what_is_allowed_is_counted() {
    let report = run(1, SEEDS, |_| {});
    assert!(report.first_broken.is_none(), "{:?}", report.first_broken);
    assert!(report.holds() && report.overlaps == 0);
    for (policy, figures) in &report.by_policy {
        assert!(figures.runs > SEEDS / 4 && figures.rerun_s.count > 0, "{policy}: {figures:?}");
        assert_eq!(figures.needless_evictions, 0, "{policy}");
    }
    let rerun = &report.by_policy["rerun"];
    assert!(
        rerun.overlaps > 0 && rerun.overlap_seconds > 0.0,
        "the checker sees two copies where they are allowed"
    );
    assert_eq!(report.faults.len(), 18, "every kind of fault was drawn: {:?}", report.faults);
}

#[test]
fn a_seed_is_one_run_bit_for_bit() {
    for seed in [7, 42, 1_000_003] {
        let (first, second) = (play(seed, None, true), play(seed, None, true));
        assert!(first.trace.len() > 20 && first.trace == second.trace, "seed {seed}");
        let quiet = play(seed, None, false);
        let lives = |outcome: &Outcome| format!("{:?}", outcome.history.runs);
        assert_eq!(lives(&first), lives(&quiet), "a trace changes nothing");
    }
}

#[test]
fn t5_without_the_watchdog_a_cut_off_node_is_not_covered_and_that_is_counted_apart() {
    let found = (1..SEARCHED).find(|seed| {
        let overlaps = play(*seed, None, false).history.overlaps;
        overlaps
            .iter()
            .any(|overlap| overlap.uncovered && overlap.policy != squadron_core::lease::Policy::Rerun)
    });
    assert!(found.is_some(), "the seeds have no such case, or it is hidden");
}

/// The first thing that breaks in any seed without the rule.
fn missed(rule: Rule) -> String {
    let broken =
        (1..SEARCHED).find_map(|seed| play(seed, Some(rule), false).history.broken.into_iter().next());
    broken.unwrap_or_else(|| panic!("nothing breaks without {rule:?}"))
}

/// One test per rule, and the words of what must be seen without it.
macro_rules! without {
    ($($name:ident: $rule:ident => $words:literal),+ $(,)?) => {
        $(#[test]
        fn $name() {
            let broken = missed(Rule::$rule);
            assert!(broken.contains($words), "{broken}");
        })+

        #[test]
        fn every_rule_has_such_a_test() {
            assert_eq!([$(Rule::$rule),+], Rule::ALL);
        }
    };
}

without! {
    without_r1_a_job_has_two_live_attempts: R1 => "two live attempts",
    without_r2_a_report_of_the_first_attempt_closes_the_second: R2 => "is closed while its containers run",
    without_r3_a_foreign_object_is_adopted: R3 => "a foreign object is taken",
    without_r4_what_the_database_forgot_is_never_told: R4 => "not every job ended",
    without_r5_a_second_attempt_starts_beside_the_first: R5 => "while",
    without_r6_the_guard_a_lease_ends_before_its_containers: R6Guard => "while",
    without_r6_counting_from_the_sending_the_holder_is_late: R6Sent => "while",
    without_r7_nobody_stops_what_a_dead_agent_left: R7 => "while",
    without_r8_jobs_are_given_to_silent_clusters: R8 => "silent for long",
    without_r9_an_outage_of_the_control_plane_expires_leases: R9 => "",
    without_r10_a_former_leader_commits: R10 => "a former leader's write",
    without_r11_a_copy_of_a_cluster_is_heard: R11 => "",
    without_r12_quota_is_free_while_containers_run: R12 => "is closed while its containers run",
    without_r13_a_record_takes_effect_twice: R13 => "a record took effect twice",
    without_r14_what_a_person_deleted_comes_back: R14 => "was deleted by a person",
}
