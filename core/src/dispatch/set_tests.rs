//! Desired sets: a cluster that holds all that its agent may gets nothing more, and says so.

#![allow(clippy::unwrap_used)]

use super::{
    desired::{LIMIT, Size},
    policy_tests::{fleet, job_of, policy, queue},
    tests::{cluster, codes, gang, res, waiting},
    *,
};

fn nearly_full(number: u128, name: &str) -> Cluster {
    let set = Size { attempts: 1, bytes: LIMIT - 8_192 };
    Cluster { set, ..cluster(number, name, &[res(8, 8, 8)]) }
}

#[test]
fn a_full_set_is_told_and_the_job_goes_where_there_is_room() {
    let job = waiting(1, gang(res(1, 1, 0), 0, res(0, 0, 0)));
    let alone = plan(&Input {
        clusters: vec![nearly_full(1, "east")],
        waiting: vec![job.clone()],
        ..Input::default()
    });
    assert_eq!(codes(&alone.blocked[0]), ["CLUSTER_FULL"]);
    assert!(alone.blocked[0].blockers[0].sentence.contains("one agent may hold"), "{:?}", alone.blocked);
    let west = cluster(2, "west", &[res(8, 8, 8)]);
    let both = Input { clusters: vec![nearly_full(1, "east"), west], waiting: vec![job], ..Input::default() };
    let told = plan(&both);
    assert_eq!(told.assign[0].cluster.0.as_u128(), 2);
    assert!(told.assign[0].choice.refused[0].blocker.sentence.contains("one agent may hold"));
}

#[test]
fn jobs_of_one_pass_fill_the_set_together() {
    let mut east = nearly_full(1, "east");
    east.set.bytes = LIMIT - 12_288;
    let jobs: Vec<_> = (1..=4).map(|n| waiting(n, gang(res(1, 1, 0), 0, res(0, 0, 0)))).collect();
    let plan = plan(&Input { clusters: vec![east], waiting: jobs, ..Input::default() });
    assert_eq!((plan.assign.len(), plan.blocked.len()), (1, 3));
    assert!(plan.blocked.iter().all(|blocked| codes(blocked) == ["CLUSTER_FULL"]));
}

#[test]
fn a_job_that_a_full_set_refuses_takes_no_quota_from_others() {
    let long = Waiting { manifest: 256 << 10, ..job_of("vision", 1, 2) };
    let short = job_of("vision", 2, 2);
    let mut input = fleet(policy(&[queue("vision", None, Some(2))]), &[("east", 8)]);
    input.clusters[0].set = Size { attempts: 1, bytes: LIMIT - 16_384 };
    input.waiting = vec![long, short];
    let plan = plan(&input);
    let placed: Vec<_> = plan.assign.iter().map(|assign| assign.job.0.as_u128()).collect();
    assert_eq!(placed, [2]);
}
