//! Placement on small fleets, and properties over random ones.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};
use uuid::Uuid;

use super::{room::Room, *};

pub(super) fn res(cpu: i64, gib: i64, gpus: i64) -> Resources {
    Resources { cpu_milli: cpu * 1_000, memory_bytes: gib << 30, gpus }
}

pub(super) fn cluster(number: u128, name: &str, nodes: &[Resources]) -> Cluster {
    let nodes = (0..)
        .zip(nodes)
        .map(|(i, allocatable): (u32, _)| Node {
            name: format!("n{i}"),
            usable: true,
            allocatable: *allocatable,
            face: Face::default(),
        })
        .collect();
    Cluster {
        id: ClusterId(Uuid::from_u128(number)),
        name: name.into(),
        standing: Standing::Heard,
        labels: Labels::new(),
        nodes,
        pods: vec![],
        attempts: vec![],
        leaving: vec![],
        set: desired::Size::default(),
    }
}

pub(super) fn gang(head: Resources, workers: u32, worker: Resources) -> Vec<GangPart> {
    vec![
        GangPart { role: "head".into(), count: 1, requests: head, ..GangPart::default() },
        GangPart { role: "small".into(), count: workers, requests: worker, ..GangPart::default() },
    ]
}

pub(super) fn waiting(number: u128, gang: Vec<GangPart>) -> Waiting {
    Waiting {
        job: JobId(Uuid::from_u128(number)),
        name: format!("job-{number}"),
        queue: "research".into(),
        submitted_at: Timestamp(i64::try_from(number).unwrap()),
        gang,
        pinned: None,
        preferences: Preferences::default(),
        priority: 0,
        manifest: 4 << 10,
        program: String::new(),
        expected_ms: None,
        behind: 0,
    }
}

pub(super) fn held(id: AttemptId, gang: Vec<GangPart>) -> Held {
    let queue = "research".into();
    let (usage, spread, stake) = (Usage::new(), String::new(), Stake::default());
    Held { id, gang, queue, usage, spread, assigned_at: Timestamp(0), stake, capped: None }
}

fn one_core(number: u128) -> Waiting {
    waiting(number, gang(res(1, 1, 0), 0, res(0, 0, 0)))
}

fn two_small() -> Vec<Cluster> {
    vec![cluster(1, "east", &[res(2, 8, 0)]), cluster(2, "west", &[res(2, 8, 0)])]
}

/// What a job of research hears.
pub(super) fn says(blocked: &Blocked) -> String {
    waits("research", None, 0, &blocked.blockers, &blocked.note)
}

pub(super) fn codes(blocked: &Blocked) -> Vec<&'static str> {
    blocked.blockers.iter().map(|blocker| blocker.code.word()).collect()
}

#[test]
fn two_equal_jobs_go_to_different_clusters_and_a_third_waits_with_reasons() {
    let whole = |n| waiting(n, gang(res(1, 1, 0), 1, res(1, 1, 0)));
    let plan = plan(&Input {
        clusters: two_small(),
        waiting: vec![whole(1), whole(2), whole(3)],
        ..Input::default()
    });
    let places: Vec<u128> = plan.assign.iter().map(|assign| assign.cluster.0.as_u128()).collect();
    assert_eq!(places, [1, 2]);
    assert!(plan.assign[0].because.contains("equal to west in every term"), "{}", plan.assign[0].because);
    assert!(plan.assign[1].because.ends_with("no other cluster has"), "{}", plan.assign[1].because);
    let third = &plan.blocked[0];
    assert_eq!(codes(third), ["CLUSTER_FULL", "CLUSTER_FULL"]);
    assert_eq!(
        says(third),
        "queued in research: east is full: the job asks for 2 cores, 2 GiB, free are 0 cores, 6 GiB; no node \
         has 1 core left for its head pod"
    );
}

#[test]
fn of_many_clusters_the_best_are_told_in_their_order_and_the_rest_is_counted() {
    // The largest nodes come first by number and last by rank; every second cluster has no room.
    let cores = |n: u128| if n.is_multiple_of(2) { 1 } else { 128 >> (n / 10) };
    let name = |n: u128| format!("c{n:02}");
    let clusters = (1..=60).map(|n| cluster(n, &name(n), &[res(cores(n), 64, 0)])).collect();
    let job = waiting(1, gang(res(2, 1, 0), 0, res(0, 0, 0)));
    let placed = plan(&Input { clusters, waiting: vec![job], ..Input::default() }).assign.remove(0);
    let told: Vec<&str> = placed.choice.candidates.iter().map(|one| one.cluster.as_str()).collect();
    let mut all: Vec<u128> = (1..=60).filter(|n| cores(*n) >= 2).collect();
    all.sort_by_key(|n| (cores(*n), *n));
    let best: Vec<String> = all.iter().take(choice::KEPT).map(|n| name(*n)).collect();
    assert_eq!(told, best);
    assert_eq!(placed.cluster.0.as_u128(), all[0]);
    assert_eq!((placed.choice.refused.len(), placed.choice.left_out), (choice::KEPT, 60 - 2 * 10));
    assert!(placed.choice.candidates.iter().all(|one| one.terms.iter().all(|term| !term.clause.is_empty())));
}

#[test]
fn equal_jobs_spread_while_both_clusters_have_room() {
    let plan =
        plan(&Input { clusters: two_small(), waiting: vec![one_core(1), one_core(2)], ..Input::default() });
    assert_eq!(plan.assign[1].cluster.0.as_u128(), 2);
    assert!(
        plan.assign[1].because.ends_with("chosen over east: it runs 0 jobs, there it runs 1 job"),
        "{}",
        plan.assign[1].because
    );
}

#[test]
fn a_job_bigger_than_every_cluster_is_told_the_largest_node() {
    let huge = waiting(1, gang(res(1, 1, 0), 1, res(64, 16, 8)));
    let mut silent = cluster(3, "north", &[res(4, 16, 0)]);
    silent.standing = Standing::Silent { since: Timestamp(0) };
    let mut clusters = two_small();
    clusters.push(silent);
    let plan = plan(&Input { clusters, waiting: vec![huge], ..Input::default() });
    let blocked = &plan.blocked[0];
    assert_eq!(codes(blocked), ["TOO_BIG"]);
    assert_eq!(
        blocked.blockers[0].sentence,
        "it never fits on any cluster: its pod of worker group small asks for 64 cores, 16 GiB, 8 GPUs, and the largest \
         node, in east, has 2 cores, 8 GiB"
    );
}

#[test]
fn a_gang_bigger_than_the_sum_of_nodes_is_told_the_sum() {
    let wide = waiting(1, gang(res(1, 1, 0), 5, res(1, 1, 0)));
    let plan = plan(&Input { clusters: two_small(), waiting: vec![wide], ..Input::default() });
    assert!(plan.blocked[0].blockers[0].sentence.contains("6 cores, 6 GiB together"), "{:?}", plan.blocked);
}

#[test]
fn a_small_job_passes_a_large_one_which_is_told() {
    let mut clusters = two_small();
    clusters.truncate(1);
    clusters[0].pods = vec![Pod {
        node: "n0".into(),
        requests: res(1, 1, 0),
        attempt: None,
        role: String::new(),
        ..Pod::default()
    }];
    let large = waiting(1, gang(res(2, 1, 0), 0, res(0, 0, 0)));
    let plan = plan(&Input { clusters, waiting: vec![one_core(2), large], ..Input::default() });
    assert_eq!(plan.assign[0].job.0.as_u128(), 2);
    let blockers = &plan.blocked[0].blockers;
    let place = Place { position: 3, length: 20_000, about: false, of_about: true };
    let told = |overtaken| waits("research", Some(place), overtaken, blockers, "");
    assert!(told(2).starts_with("queued in research, 3rd of about 20000: "), "{}", told(2));
    assert!(told(1).ends_with("; 1 job that came later fitted and went first"), "{}", told(1));
    assert!(told(2).ends_with("; 2 jobs that came later fitted and went first"), "{}", told(2));
    assert!(
        told(101).ends_with("; more than 100 jobs that came later fitted and went first"),
        "{}",
        told(101)
    );
}

#[test]
fn a_silent_cluster_gets_nothing_and_says_since_when() {
    let mut clusters = two_small();
    clusters.truncate(1);
    clusters[0].standing = Standing::Silent { since: Timestamp(1_796_000_000_000_000) };
    let plan = plan(&Input { clusters, waiting: vec![one_core(1)], ..Input::default() });
    assert_eq!(codes(&plan.blocked[0]), ["CLUSTER_STALE"]);
    assert!(
        says(&plan.blocked[0]).contains("silent since 2026-11-30T00:53:20Z"),
        "{}",
        says(&plan.blocked[0])
    );
}

#[test]
fn a_cluster_that_has_yet_to_tell_what_it_holds_gets_nothing_and_says_so() {
    let mut clusters = two_small();
    clusters[0].standing = Standing::Untold;
    let elsewhere =
        plan(&Input { clusters: clusters.clone(), waiting: vec![one_core(1)], ..Input::default() });
    assert_eq!(elsewhere.assign[0].cluster, clusters[1].id);
    clusters.truncate(1);
    let plan = plan(&Input { clusters, waiting: vec![one_core(1)], ..Input::default() });
    assert_eq!(codes(&plan.blocked[0]), ["CLUSTER_STALE"]);
    assert!(says(&plan.blocked[0]).contains("east has not told what it holds"), "{}", says(&plan.blocked[0]));
}

#[test]
fn without_any_cluster_the_next_step_is_to_add_one() {
    let mut invited = cluster(1, "east", &[]);
    invited.standing = Standing::NotAccepted;
    for clusters in [vec![], vec![invited]] {
        let plan = plan(&Input { clusters, waiting: vec![one_core(1)], ..Input::default() });
        assert_eq!(codes(&plan.blocked[0]), ["NO_CLUSTER"]);
    }
}

#[test]
fn a_pinned_job_hears_that_another_cluster_would_take_it() {
    let mut clusters = two_small();
    clusters[0].nodes[0].usable = false;
    let pinned = Waiting { pinned: Some(clusters[0].id), ..one_core(1) };
    let plan = plan(&Input { clusters, waiting: vec![pinned], ..Input::default() });
    assert_eq!(codes(&plan.blocked[0]), ["PINNED", "NO_READY_NODE"]);
    assert!(plan.blocked[0].blockers[0].sentence.contains("west would take it now"));
}

#[test]
fn room_is_held_for_pods_of_an_attempt_that_are_not_seen_yet() {
    let mut east = cluster(1, "east", &[res(4, 8, 0)]);
    let id = AttemptId { job: JobId(Uuid::from_u128(9)), number: 1 };
    east.attempts = vec![held(id, gang(res(1, 1, 0), 2, res(1, 1, 0)))];
    assert_eq!(Room::free(&east).total(), res(1, 5, 0));
    east.pods = vec![
        Pod {
            node: "n0".into(),
            requests: res(1, 1, 0),
            attempt: Some(id),
            role: "head".into(),
            ..Pod::default()
        },
        Pod {
            node: String::new(),
            requests: res(1, 1, 0),
            attempt: Some(id),
            role: "small".into(),
            ..Pod::default()
        },
    ];
    assert_eq!(Room::free(&east).total(), res(1, 5, 0));
}

#[test]
fn work_without_gpus_keeps_off_gpu_nodes() {
    let clusters = vec![cluster(1, "east", &[res(8, 8, 8)]), cluster(2, "west", &[res(8, 8, 0)])];
    let plan = plan(&Input { clusters, waiting: vec![one_core(1), one_core(2)], ..Input::default() });
    assert!(plan.assign.iter().all(|assign| assign.cluster.0.as_u128() == 2), "{plan:?}");
}

fn any_res(most: i64) -> impl Strategy<Value = Resources> {
    (0..=most, 0..=most, 0..=most / 4).prop_map(|(cpu, gib, gpus)| res(cpu, gib, gpus))
}

fn any_cluster(number: u128) -> impl Strategy<Value = Cluster> {
    let standing = prop_oneof![
        4 => Just(Standing::Heard),
        1 => Just(Standing::Silent { since: Timestamp(0) }),
        1 => Just(Standing::Untold),
        1 => Just(Standing::NotAccepted)
    ];
    let pods = vec((0_u32..5, any_res(3)), 0..4);
    let attempts = vec((0_u32..3, any_res(3)), 0..2);
    (vec((any_res(8), any::<bool>()), 0..4), standing, pods, attempts).prop_map(
        move |(nodes, standing, pods, attempts)| {
            let mut made =
                cluster(number, &format!("c{number}"), &nodes.iter().map(|node| node.0).collect::<Vec<_>>());
            made.standing = standing;
            for (node, (_, usable)) in made.nodes.iter_mut().zip(nodes) {
                node.usable = usable;
            }
            made.pods = pods
                .into_iter()
                .map(|(n, requests)| Pod { node: format!("n{n}"), requests, ..Pod::default() })
                .collect();
            made.attempts = (100..)
                .zip(attempts)
                .map(|(n, (workers, each))| {
                    held(AttemptId { job: JobId(Uuid::from_u128(n)), number: 1 }, gang(each, workers, each))
                })
                .collect();
            made
        },
    )
}

fn any_waiting() -> impl Strategy<Value = Vec<Waiting>> {
    vec((any_res(4), 0_u32..4, any_res(4), 0_u8..3, 0_u128..6), 0..8).prop_map(|jobs| {
        (1..)
            .zip(jobs)
            .map(|(n, (head, workers, worker, queue, pin))| Waiting {
                queue: format!("q{queue}"),
                pinned: (1..=3).contains(&pin).then(|| ClusterId(Uuid::from_u128(pin))),
                ..waiting(n, gang(head, workers, worker))
            })
            .collect()
    })
}

pub(super) fn any_input() -> impl Strategy<Value = Input> {
    (any_cluster(1), any_cluster(2), any_cluster(3), any_waiting()).prop_map(|(a, b, c, waiting)| Input {
        clusters: vec![a, b, c],
        waiting,
        ..Input::default()
    })
}

proptest! {
    #[test]
    fn every_job_is_assigned_or_told_why_not(input in any_input()) {
        let plan = plan(&input);
        let mut seen: Vec<JobId> = plan.assign.iter().map(|assign| assign.job).collect();
        seen.extend(plan.blocked.iter().map(|blocked| blocked.job));
        seen.sort();
        prop_assert_eq!(seen, input.waiting.iter().map(|job| job.job).collect::<Vec<_>>());
        for blocked in &plan.blocked {
            prop_assert!(!blocked.blockers.is_empty());
            prop_assert!(blocked.blockers.is_sorted_by_key(|blocker| (blocker.with.len(), blocker.code)));
        }
    }

    #[test]
    fn no_cluster_gets_more_than_it_has_free(input in any_input()) {
        let jobs: BTreeMap<JobId, &Waiting> = input.waiting.iter().map(|job| (job.job, job)).collect();
        let plan = plan(&input);
        for cluster in &input.clusters {
            let given: Vec<&Waiting> =
                plan.assign.iter().filter(|assign| assign.cluster == cluster.id).map(|assign| jobs[&assign.job]).collect();
            prop_assert!(given.is_empty() || cluster.standing == Standing::Heard);
            prop_assert!(given.iter().all(|job| job.pinned.is_none_or(|pin| pin == cluster.id)));
            let asked: Resources = given.iter().map(|job| gang_total(&job.gang)).sum();
            prop_assert!(given.is_empty() || asked.fits(Room::free(cluster).total()));
        }
    }

    #[test]
    fn the_order_of_the_snapshot_does_not_matter(input in any_input(), turn in 0_usize..8) {
        let mut turned = input.clone();
        turned.clusters.reverse();
        let length = turned.waiting.len().max(1);
        turned.waiting.rotate_left(turn % length);
        for cluster in &mut turned.clusters {
            cluster.nodes.reverse();
            cluster.pods.reverse();
            cluster.attempts.reverse();
        }
        prop_assert_eq!(plan(&input), plan(&turned));
    }

    #[test]
    fn the_oldest_job_is_placed_exactly_when_it_fits_where_it_may_go(input in any_input()) {
        if let Some(oldest) = input.waiting.first() {
            let fits = input.clusters.iter().any(|cluster| {
                cluster.standing == Standing::Heard
                    && oldest.pinned.is_none_or(|pin| pin == cluster.id)
                    && Room::free(cluster).pack(&oldest.gang).is_ok()
            });
            prop_assert_eq!(fits, plan(&input).assign.iter().any(|assign| assign.job == oldest.job));
        }
    }
}
