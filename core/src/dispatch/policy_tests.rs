//! Plans under a declared policy on small fleets, which show the order, and on a large one.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{
    plan::counted,
    tests::{cluster, codes, res},
    *,
};
use crate::quota::{Flavor, Quota, Resource};

/// A flavor of nodes with these labels.
pub(super) fn flavor(name: &str, labels: &[(&str, &str)]) -> Flavor {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Flavor { name: name.into(), node_labels: labels.collect(), ..Flavor::default() }
}

/// The flavors a100 and h100, and these queues.
pub(super) fn policy(queues: &[crate::quota::Queue]) -> Policy {
    let flavor = |gpu: &str| flavor(gpu, &[("gpu", gpu)]);
    Policy { flavors: vec![flavor("h100"), flavor("a100")], queues: queues.to_vec(), ..Policy::default() }
}

/// So many GPUs of h100 are nominal, and cores and memory that never matter; nothing is declared for `None`.
pub(super) fn queue(name: &str, parent: Option<&str>, gpus: Option<i64>) -> crate::quota::Queue {
    let quota = |nominal| Quota { nominal, ..Quota::default() };
    let all = |gpus| {
        let plenty = [(Resource::Cpu, quota(1_000_000)), (Resource::Memory, quota(1 << 50))];
        [("h100".to_owned(), plenty.into_iter().chain([(Resource::Gpu, quota(gpus))]).collect())].into()
    };
    let quotas = gpus.map_or_else(BTreeMap::new, all);
    crate::quota::Queue {
        name: name.into(),
        parent: parent.map(str::to_owned),
        weight: 1_000,
        quotas,
        preemption: None,
    }
}

pub(super) fn gpu_node(name: &str, gpus: i64) -> Node {
    let mut node = cluster(1, "x", &[res(64, 256, gpus)]).nodes.remove(0);
    node.name = name.into();
    node.face.labels = [("gpu".into(), "h100".into())].into();
    node
}

/// Clusters of one node of h100 each.
pub(super) fn fleet(policy: Policy, clusters: &[(&str, i64)]) -> Input {
    let clusters = (1..).zip(clusters).map(|(number, (name, gpus))| {
        let mut made = cluster(number, name, &[]);
        made.nodes = vec![gpu_node("n0", *gpus)];
        made
    });
    Input { clusters: clusters.collect(), policy, ..Input::default() }
}

fn one_pod(gpus: i64) -> Vec<GangPart> {
    vec![GangPart { role: "head".into(), count: 1, requests: res(1, 1, gpus), ..GangPart::default() }]
}

pub(super) fn job_of(queue: &str, number: u128, gpus: i64) -> Waiting {
    Waiting { queue: queue.into(), ..tests::waiting(number, one_pod(gpus)) }
}

/// An attempt that was assigned at the beginning of time, charged to h100.
pub(super) fn held_by(number: u128, queue: &str, gpus: i64) -> Held {
    Held {
        id: AttemptId { job: JobId(Uuid::from_u128(number)), number: 1 },
        gang: one_pod(gpus),
        queue: queue.into(),
        usage: [("h100".to_owned(), res(1, 1, gpus))].into(),
        spread: String::new(),
        assigned_at: Timestamp(0),
        stake: Stake::default(),
        capped: None,
    }
}

fn placed(plan: &Plan) -> Vec<u128> {
    plan.assign.iter().map(|assign| assign.job.0.as_u128()).collect()
}

#[test]
fn quota_is_charged_and_stops_where_it_ends() {
    let mut input = fleet(policy(&[queue("a", None, Some(3))]), &[("east", 16)]);
    input.waiting = vec![job_of("a", 1, 2), job_of("a", 2, 2), job_of("a", 3, 1), job_of("free", 4, 9)];
    let plan = plan(&input);
    assert_eq!(placed(&plan), [1, 3, 4], "the second does not keep others back");
    assert_eq!(plan.assign[0].usage, [("h100".to_owned(), res(1, 1, 2))].into());
    assert!(
        plan.assign[0]
            .because
            .ends_with("; a is charged 1 core, 1 GiB, 2 GPUs of h100, within its guarantee")
    );
    assert_eq!(codes(&plan.blocked[0]), ["QUOTA_EXHAUSTED"]);
}

#[test]
fn a_gang_that_fits_no_cluster_now_holds_no_quota_against_one_that_does() {
    let mut input = fleet(policy(&[queue("a", None, Some(20))]), &[("east", 10), ("west", 10)]);
    input.waiting = vec![job_of("a", 1, 7), job_of("a", 2, 7), job_of("a", 3, 6), job_of("a", 4, 3)];
    let plan = plan(&input);
    assert_eq!(placed(&plan), [1, 2, 4]);
    assert_eq!(codes(&plan.blocked[0]), ["QUOTA_EXHAUSTED", "CLUSTER_FULL", "CLUSTER_FULL"]);
    assert_eq!(plan.blocked[0].blockers[0].with, [Cause::ClusterFull], "seventeen of twenty are used");
}

#[test]
fn who_stays_within_a_guarantee_goes_before_older_jobs_that_borrow() {
    let tree = [queue("lab", None, None), queue("a", Some("lab"), Some(0)), queue("b", Some("lab"), Some(8))];
    let mut input = fleet(policy(&tree), &[("east", 2)]);
    input.waiting = vec![job_of("a", 1, 1), job_of("a", 2, 1), job_of("b", 3, 1), job_of("b", 4, 1)];
    assert_eq!(placed(&plan(&input)), [3, 4]);
    input.clusters[0].nodes[0].allocatable.gpus = 3;
    let plan = plan(&input);
    assert_eq!(placed(&plan), [3, 4, 1], "what is left may be borrowed");
    assert!(plan.assign[2].because.ends_with("of h100, borrowed"), "{}", plan.assign[2].because);
}

#[test]
fn borrowers_take_turns_by_weighted_share_and_a_team_s_guarantee_covers_its_projects() {
    let mut tree =
        vec![queue("lab", None, Some(12)), queue("a", Some("lab"), None), queue("b", Some("lab"), None)];
    tree[1].weight = 2_000;
    let mut input = fleet(policy(&tree), &[("east", 6)]);
    input.waiting = (1..=12).map(|number| job_of(if number <= 6 { "a" } else { "b" }, number, 1)).collect();
    assert_eq!(placed(&plan(&input)), [1, 2, 7, 3, 4, 8], "two to one, although all of a's are older");
    let tree = [
        queue("lab", None, None),
        queue("team", Some("lab"), Some(2)),
        queue("project", Some("team"), None),
        queue("b", Some("lab"), Some(1)),
        queue("c", Some("lab"), Some(9)),
    ];
    let mut input = fleet(policy(&tree), &[("east", 3)]);
    input.waiting =
        (1..=6).map(|number| job_of(if number <= 3 { "b" } else { "project" }, number, 1)).collect();
    let mut first: Vec<u128> = placed(&plan(&input));
    first.sort_unstable();
    assert_eq!(first, [1, 4, 5], "one of b's and two of the team's are guaranteed");
}

#[test]
fn priority_counts_within_a_queue_and_not_between_queues() {
    let mut input = fleet(policy(&[]), &[("east", 2)]);
    let urgent = Waiting { priority: 5, ..job_of("a", 3, 1) };
    input.waiting = vec![job_of("a", 1, 1), job_of("b", 2, 1), urgent];
    let plan = plan(&input);
    assert_eq!(placed(&plan), [2, 3]);
}

#[test]
fn a_gang_spreads_over_the_flavors_that_its_queue_may_use() {
    let mut a = queue("a", None, Some(2));
    let cpu = [(Resource::Cpu, 4_000), (Resource::Memory, 8 << 30)];
    let quota = |(resource, nominal)| (resource, Quota { nominal, ..Quota::default() });
    a.quotas.insert("cpu".into(), cpu.map(quota).into());
    let mut declared = policy(&[a]);
    declared.flavors.push(flavor("cpu", &[("kind", "cpu")]));
    let mut input = fleet(declared, &[("east", 2)]);
    input.clusters[0].nodes[0].allocatable.cpu_milli = 2_000;
    let mut plain = cluster(1, "x", &[res(4, 8, 0)]).nodes.remove(0);
    plain.name = "n1".into();
    plain.face.labels = [("kind".into(), "cpu".into())].into();
    input.clusters[0].nodes.push(plain);
    input.waiting = vec![tests::waiting(1, tests::gang(res(4, 1, 0), 2, res(1, 1, 1)))];
    input.waiting[0].queue = "a".into();
    let plan = plan(&input);
    let expected: Usage = [("cpu".to_owned(), res(4, 1, 0)), ("h100".to_owned(), res(2, 2, 2))].into();
    assert_eq!(plan.assign.first().map(|assign| &assign.usage), Some(&expected), "{plan:?}");
}

#[test]
fn quota_is_held_by_what_is_leaving_and_by_what_was_never_recorded() {
    let mut input = fleet(policy(&[queue("a", None, Some(2))]), &[("east", 8)]);
    input.clusters[0].leaving = vec![held_by(1, "a", 1)];
    let unrecorded = Held { usage: Usage::new(), ..held_by(2, "a", 1) };
    input.clusters[0].attempts = vec![unrecorded];
    input.waiting = vec![job_of("a", 3, 1)];
    assert_eq!(codes(&plan(&input).blocked[0]), ["QUOTA_EXHAUSTED"]);
    input.clusters[0].leaving.clear();
    assert_eq!(placed(&plan(&input)), [3]);
    input.clusters[0].attempts[0].usage = [("renamed".to_owned(), res(1, 1, 9))].into();
    assert_eq!(placed(&plan(&input)), [3], "a flavor that is gone is replaced by where its pods may be");
}

/// A hundred thousand jobs of twenty shapes over ten clusters of fifty nodes.
fn many() -> Input {
    let mut clusters = Vec::new();
    for number in 1..=10 {
        let mut one = cluster(number, &format!("c{number}"), &[]);
        one.nodes = (0..50).map(|node| gpu_node(&format!("n{node}"), 8)).collect();
        clusters.push(one);
    }
    let tree = [
        queue("lab", None, None),
        queue("a", Some("lab"), Some(1_500)),
        queue("b", Some("lab"), Some(1_500)),
    ];
    let waiting = (0..100_000).map(|number: u128| {
        let queue = if number.is_multiple_of(2) { "a" } else { "b" };
        job_of(queue, number, i64::try_from(1 + number / 2 % 10).unwrap().min(8))
    });
    let mut input = Input { clusters, waiting: waiting.collect(), policy: policy(&tree), ..Input::default() };
    for job in &mut input.waiting {
        job.gang[0].requests.cpu_milli += i64::try_from(job.job.0.as_u128() / 2 % 10).unwrap();
    }
    input
}

#[test]
fn equal_jobs_are_judged_together() {
    let input = many();
    let (plan, packings) = counted(&input);
    assert_eq!(plan.assign.len() + plan.blocked.len(), input.waiting.len());
    let (groups, sites, placements) = (20, 10, plan.assign.len() as u64);
    assert!(placements > 500, "{placements}");
    assert!(packings <= (2 * groups + placements) * sites, "{packings} packings for {placements} placements");
}

/// A queue with a guarantee of one flavor and loans of another: places are told in the order in which jobs get room.
#[test]
fn who_stays_within_a_guarantee_stands_before_who_is_more_urgent_and_borrows() {
    let mut input =
        fleet(policy(&[queue("lab", None, Some(8)), queue("a", Some("lab"), Some(2))]), &[("east", 4)]);
    input.clusters[0].attempts = vec![held_by(90, "lab", 4)];
    input.waiting = vec![
        Waiting { priority: 5, ..job_of("a", 1, 3) },
        job_of("a", 2, 1),
        Waiting { priority: 1, ..job_of("a", 3, 1) },
    ];
    let line: Vec<u128> = plan(&input).blocked.iter().map(|job| job.job.0.as_u128()).collect();
    assert_eq!(line, [3, 2, 1]);
    input.clusters[0].attempts.clear();
    assert_eq!(placed(&plan(&input)), [3, 2], "as they are placed when room comes free");
}
