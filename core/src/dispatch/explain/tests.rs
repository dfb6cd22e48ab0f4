//! What is said to those who wait, and that it is true.

#![allow(clippy::unwrap_used)]

use proptest::{prelude::*, strategy::ValueTree};

use crate::{
    dispatch::{
        STARVES_AFTER_MS,
        policy_properties::{any_fleet, frozen},
        policy_tests::{fleet, gpu_node, held_by, job_of, policy, queue},
        preference_tests::any_wishing_fleet,
        tests::{cluster, codes, res},
        *,
    },
    placement::{NodeWish, REGION_LABEL, Toleration},
    quota::Resource,
};

const HUGE: i64 = 1 << 50;

fn sentence(plan: &Plan) -> &str {
    &plan.blocked[0].blockers[0].sentence
}

#[test]
fn exhausted_quota_names_the_queue_the_users_and_the_way_out() {
    let policy =
        policy(&[queue("lab", None, Some(4)), queue("a", Some("lab"), None), queue("b", Some("lab"), None)]);
    let mut input = fleet(policy, &[("east", 16)]);
    input.clusters[0].attempts = vec![
        held_by(1, "a", 1),
        held_by(2, "a", 1),
        held_by(3, "b", 1),
        held_by(4, "b", 1),
        held_by(5, "b", 1),
    ];
    input.waiting = vec![job_of("a", 9, 2)];
    let plan = plan(&input);
    assert_eq!(codes(&plan.blocked[0]), ["QUOTA_EXHAUSTED"]);
    assert_eq!(
        sentence(&plan),
        "lab may use 4 GPUs of h100 and uses 5 GPUs (b 3 GPUs, a 2 GPUs); the job asks for 2 GPUs; that is more than its \
         quota since that was lowered, and nothing is stopped for it"
    );
    assert_eq!(
        plan.blocked[0].blockers[0].try_this,
        "wait until jobs that use it end, or have the quota of lab raised by 3 GPUs of h100: squadron apply -f FILE"
    );
}

#[test]
fn what_a_queue_may_never_use_is_told_with_the_most_that_it_may() {
    let mut a = queue("a", Some("lab"), Some(2));
    a.quotas
        .values_mut()
        .flat_map(|quota| quota.values_mut())
        .for_each(|quota| quota.borrowing_limit = Some(1));
    let mut input =
        fleet(policy(&[queue("lab", None, None), a, queue("b", Some("lab"), Some(6))]), &[("east", 16)]);
    input.waiting = vec![job_of("a", 9, 4)];
    let plan = plan(&input);
    assert_eq!(codes(&plan.blocked[0]), ["QUOTA_NEVER"]);
    assert_eq!(
        sentence(&plan),
        "a may never use 4 GPUs of h100: the limits of a allow it at most 3 GPUs, even if nothing ran"
    );
    assert!(plan.blocked[0].blockers[0].try_this.starts_with("ask for at most 3 GPUs of h100"), "{plan:?}");
}

#[test]
fn nodes_of_another_flavor_and_resources_without_a_name_are_told() {
    let mut input = fleet(policy(&[queue("a", None, Some(4))]), &[("east", 4)]);
    input.clusters[0].nodes[0].face.labels.insert("gpu".into(), "t4".into());
    input.waiting = vec![job_of("a", 1, 1)];
    let told = plan(&input);
    assert_eq!(codes(&told.blocked[0]), ["NO_FLAVOR"]);
    assert!(sentence(&told).contains("have no flavor, and a may not use those"), "{}", sentence(&told));
    input.clusters[0].nodes = vec![gpu_node("n0", 4)];
    input.policy.queues[0].quotas.get_mut("h100").unwrap().retain(|resource, _| *resource == Resource::Gpu);
    let told = plan(&input);
    assert!(sentence(&told).ends_with("it may use h100 (gpu)"), "{}", sentence(&told));
}

#[test]
fn a_full_cluster_and_a_spent_quota_stand_together() {
    let mut input = fleet(policy(&[queue("a", None, Some(1))]), &[("east", 2)]);
    input.clusters[0].attempts = vec![held_by(1, "a", 1), held_by(2, "free", 1)];
    input.waiting = vec![job_of("a", 3, 1)];
    let plan = plan(&input);
    assert_eq!(codes(&plan.blocked[0]), ["QUOTA_EXHAUSTED", "CLUSTER_FULL"]);
    assert_eq!(plan.blocked[0].blockers[0].with, [Cause::ClusterFull]);
    assert!(sentence(&plan).ends_with("; besides, there is no room now"), "{}", sentence(&plan));
}

#[test]
fn a_tree_that_cannot_be_counted_holds_its_jobs_back_and_says_so() {
    let mut a = queue("a", None, Some(4));
    a.weight = 0;
    let mut input = fleet(policy(&[a]), &[("east", 4)]);
    input.waiting = vec![job_of("a", 1, 1), job_of("free", 2, 1)];
    let plan = plan(&input);
    assert_eq!(plan.assign.len(), 1);
    assert_eq!(sentence(&plan), "the quotas of a cannot be counted: tenant a has weight 0");
}

/// An old gang of eight before singles; `old` more singles ran there before it starved.
fn starving(since_hours: i64) -> Input {
    let mut input = fleet(policy(&[]), &[("east", 8), ("west", 2)]);
    input.now = Timestamp(0).plus_millis(since_hours * 3_600_000);
    input.clusters[0].attempts = vec![held_by(1, "a", 1), held_by(2, "a", 1)];
    input.waiting = vec![Waiting { submitted_at: Timestamp(0), ..job_of("a", 3, 8) }];
    input.waiting.extend((4..12).map(|number| Waiting { submitted_at: input.now, ..job_of("a", number, 1) }));
    input
}

#[test]
fn a_starving_gang_has_its_cluster_kept_and_others_hear_of_it() {
    let young = plan(&starving(95));
    assert_eq!(young.assign.len(), 8, "nothing is kept yet: {young:?}");
    let input = starving(96);
    let old = plan(&input);
    let places: Vec<u128> = old.assign.iter().map(|assign| assign.cluster.0.as_u128()).collect();
    assert_eq!(places, [2, 2], "only the other cluster takes singles");
    let gang = old.blocked.iter().find(|blocked| blocked.job == input.waiting[0].job).unwrap();
    assert_eq!(old.blocked[0].job, gang.job, "the first in line");
    assert!(gang.note.ends_with("it has waited long, so east is kept for it"), "{}", gang.note);
    let single = &old.blocked[1];
    assert_eq!(codes(single), ["RESERVED", "CLUSTER_FULL"]);
    assert_eq!(
        single.blockers[0].sentence,
        "east has room for it, but that is kept for job-3, which has waited longer than 96 hours; only what fits beside \
         that gang may start there"
    );
}

#[test]
fn what_fits_beside_the_gang_may_start_where_it_is_kept() {
    let mut input = starving(96);
    input.clusters[0].nodes.push(gpu_node("n1", 3));
    let plan = plan(&input);
    let beside = plan.assign.iter().filter(|assign| assign.cluster.0.as_u128() == 1).count();
    assert_eq!(beside, 3, "the three of the other node, and none of the gang's: {plan:?}");
}

#[test]
fn the_gang_starts_as_soon_as_what_was_there_before_is_over() {
    let mut input = starving(97);
    input.clusters[0].attempts.clear();
    let plan = plan(&input);
    assert!(plan.assign.iter().any(|assign| assign.job == input.waiting[0].job), "{plan:?}");
}

#[test]
fn work_that_started_after_a_gang_starved_does_not_move_the_hold() {
    let mut input = starving(110);
    let late = Timestamp(0).plus_millis(STARVES_AFTER_MS + 1);
    input.clusters[0].attempts[0].assigned_at = late;
    let plan = plan(&input);
    assert!(plan.blocked.iter().all(|blocked| !codes(blocked).contains(&"RESERVED")), "{plan:?}");
}

#[test]
fn what_borrows_keeps_nothing_while_a_guaranteed_job_waits() {
    let tree =
        [queue("lab", None, None), queue("a", Some("lab"), Some(0)), queue("b", Some("lab"), Some(16))];
    let mut input = starving(336);
    input.policy = policy(&tree);
    input.waiting.push(Waiting { submitted_at: input.now, ..job_of("b", 30, 8) });
    let told = plan(&input);
    assert!(told.blocked.iter().all(|blocked| !codes(blocked).contains(&"RESERVED")), "{told:?}");
    input.waiting.pop();
    let told = plan(&input);
    assert!(told.blocked.iter().any(|blocked| codes(blocked).contains(&"RESERVED")), "{told:?}");
}

/// Makes the change that a cause asks for.
fn change(input: &mut Input, cause: Cause, at: &str) {
    let queue = input.waiting[0].queue.clone();
    let here = |name: &str| at.is_empty() || name == at;
    match cause {
        Cause::QuotaExhausted | Cause::QuotaNever => raise(input, &queue),
        Cause::NoFlavor => open_flavors(input, &queue),
        Cause::Pinned
            if input.clusters.iter().any(|c| c.name == at && c.standing == Standing::NotAccepted) =>
        {
            accept(input, at);
        }
        Cause::Pinned => input.waiting[0].pinned = None,
        Cause::NoMatchingNode => tolerate(input),
        Cause::NoCluster => {
            let mut new = cluster(99, "new", &[]);
            new.nodes = ["a100", "h100"].map(labelled).to_vec();
            let wished = &mut input.waiting[0].preferences;
            new.labels.extend(wished.residency.first().map(|region| ("region".to_owned(), region.clone())));
            wished.max_price = None;
            input.clusters.push(new);
            tolerate(input);
        }
        Cause::Residency => input.waiting[0].preferences.residency.clear(),
        Cause::MaxPrice => input.waiting[0].preferences.max_price = None,
        Cause::Reserved | Cause::MakingRoom | Cause::Failover => {}
        Cause::ClusterFull | Cause::NoReadyNode | Cause::ClusterStale | Cause::TooBig => {
            for one in input.clusters.iter_mut().filter(|one| here(&one.name)) {
                match cause {
                    Cause::ClusterFull => one.pods.clear(),
                    Cause::NoReadyNode => one.nodes.iter_mut().for_each(|node| node.usable = true),
                    Cause::ClusterStale if one.standing != Standing::NotAccepted => {
                        one.standing = Standing::Heard;
                    }
                    Cause::TooBig => {
                        let region = one.nodes.first().and_then(|node| node.face.region()).map(str::to_owned);
                        let mut big = ["a100", "h100"].map(labelled);
                        for node in &mut big {
                            let told = region.iter().map(|region| (REGION_LABEL.to_owned(), region.clone()));
                            node.face.labels.extend(told);
                        }
                        one.nodes.extend(big);
                    }
                    _ => {}
                }
            }
            if cause == Cause::TooBig {
                tolerate(input);
            }
        }
    }
}

fn labelled(gpu: &str) -> Node {
    let mut node = gpu_node(&format!("big-{gpu}"), 1_000);
    node.allocatable = res(10_000, 10_000, 1_000);
    node.face.labels = [("gpu".to_owned(), gpu.to_owned())].into();
    node
}

fn accept(input: &mut Input, name: &str) {
    input.clusters.iter_mut().filter(|one| one.name == name).for_each(|one| one.standing = Standing::Heard);
}

fn tolerate(input: &mut Input) {
    let all = Toleration { operator: "Exists".into(), ..Toleration::default() };
    let wish = NodeWish { tolerations: vec![all], ..NodeWish::default() };
    input.waiting[0].gang.iter_mut().for_each(|part| part.wish = wish.clone());
}

/// Everything that the queue may use, without end.
fn raise(input: &mut Input, name: &str) {
    let quotas = quota::Quotas::new(&input.policy, &[]);
    let pack::Limits::Flavors(limits) = quotas.limits_by_name(quotas.limited(name)) else { return };
    for limit in limits {
        let flavor = quotas.flavors.name(limit.flavor).to_owned();
        let amounts = [
            (Resource::Cpu, limit.left.cpu_milli),
            (Resource::Memory, limit.left.memory_bytes),
            (Resource::Gpu, limit.left.gpus),
        ];
        for (resource, _) in amounts.into_iter().filter(|(_, left)| *left > 0) {
            give(input, name, &flavor, resource);
        }
    }
}

fn give(input: &mut Input, name: &str, flavor: &str, resource: Resource) {
    let queue = input.policy.queues.iter_mut().find(|queue| queue.name == name).unwrap();
    let quota = queue.quotas.entry(flavor.to_owned()).or_default().entry(resource).or_default();
    quota.nominal += HUGE;
}

fn open_flavors(input: &mut Input, name: &str) {
    let any = crate::quota::Flavor { name: "zz".into(), ..crate::quota::Flavor::default() };
    input.policy.flavors.push(any);
    let flavors: Vec<String> = input.policy.flavors.iter().map(|flavor| flavor.name.clone()).collect();
    for flavor in flavors {
        for resource in [Resource::Cpu, Resource::Memory, Resource::Gpu] {
            give(input, name, &flavor, resource);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Whatever the first blocker names, changed alone or with what it says must change besides, starts the job.
    #[test]
    fn changing_what_the_first_blocker_names_starts_the_job(input in any_fleet()) {
        prop_assert_eq!(still_waits(&input), None);
    }

    /// The same where jobs have preferences.
    #[test]
    fn changing_the_first_blocker_of_a_wish_starts_the_job(input in any_wishing_fleet()) {
        prop_assert_eq!(still_waits(&input), None);
    }
}

/// A job that still waits after what its first blocker names has changed.
fn still_waits(input: &Input) -> Option<String> {
    let frozen = frozen(input);
    frozen.waiting.iter().find_map(|job| {
        let mut alone = Input { waiting: vec![job.clone()], ..frozen.clone() };
        let told = plan(&alone);
        let blocked = told.blocked.first()?;
        let first = &blocked.blockers[0];
        for cause in std::iter::once(first.code).chain(first.with.iter().copied()) {
            change(&mut alone, cause, &first.cluster);
        }
        let after = plan(&alone);
        (after.assign.len() != 1).then(|| format!("{:?}, then {:?}", blocked.blockers, after.blocked))
    })
}

/// The property above would say little if the random fleets met few causes.
#[test]
fn random_fleets_meet_the_causes_and_pairs_of_them() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut first, mut pairs) = (std::collections::BTreeMap::<&str, usize>::new(), 0);
    for _ in 0..1_000 {
        let frozen = frozen(&any_fleet().new_tree(&mut runner).unwrap().current());
        for blocked in plan(&frozen).blocked {
            *first.entry(blocked.blockers[0].code.word()).or_default() += 1;
            pairs += usize::from(!blocked.blockers[0].with.is_empty());
        }
    }
    let rare = first.values().filter(|times| **times < 10).count();
    assert!(first.len() >= 9 && rare == 0 && pairs >= 100, "{first:?}, {pairs} pairs");
}

#[test]
fn a_single_change_stands_before_a_double_one() {
    let mut input = fleet(policy(&[queue("a", None, Some(1))]), &[("east", 2), ("west", 2)]);
    input.clusters[0].attempts = vec![held_by(1, "free", 1), held_by(2, "free", 1)];
    input.clusters[1].standing = Standing::Silent { since: Timestamp(0) };
    input.waiting = vec![job_of("a", 3, 1)];
    let plan = plan(&input);
    assert_eq!(codes(&plan.blocked[0]), ["CLUSTER_FULL", "CLUSTER_STALE"]);
    assert!(plan.blocked[0].blockers.iter().all(|blocker| blocker.with.is_empty()));
}
