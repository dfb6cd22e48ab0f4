//! Who shrinks for whom, who never does, and when a group may grow again.

#![allow(clippy::unwrap_used)]

use super::world::{World, started, stopped, with};
use crate::{
    dispatch::{
        Cause, Plan, Waiting,
        policy_tests::{job_of, queue},
        tests::says,
    },
    quota::{Queue, Reclaim, Within},
};

const HOUR: i64 = 3_600;

/// How many pods the worker group of a job may have, by what a plan asks of it.
fn shrunk(plan: &Plan) -> Vec<(u128, u32)> {
    let all = plan.making.iter().flat_map(|making| &making.shrinks);
    all.map(|one| (one.attempt.job.0.as_u128(), one.caps["w"].most)).collect()
}

fn team(name: &str, gpus: i64) -> Queue {
    with(queue(name, Some("lab"), Some(gpus)), Within::LowerPriority, Reclaim::Any)
}

/// Team a has job 1 with two GPUs for its head and four workers on eight, of which it was promised one.
fn grown(tree: &[Queue]) -> World {
    let mut world = World::new(tree, &[("east", 8)], 20);
    world.submit(job_of("a", 1, 2));
    assert_eq!(started(&world.step(0)), [1]);
    world.grown(1, (1, 9), 6);
    world
}

fn teams() -> Vec<Queue> {
    vec![queue("lab", None, None), team("a", 4), team("b", 4)]
}

#[test]
fn a_group_shrinks_before_anybody_stops_and_the_room_is_the_beneficiary_s_when_the_pods_are_gone() {
    let mut world = grown(&teams());
    world.submit(job_of("b", 2, 3));
    let plan = world.step(HOUR);
    assert_eq!((stopped(&plan), shrunk(&plan)), (vec![], vec![(1, 3)]));
    let making = &plan.making[0];
    assert_eq!(
        making.because,
        "asks 3 pods of job-1 to go on east, which nobody promised to the jobs that have them"
    );
    assert_eq!(making.shrinks[0].caps["w"].leaves, ["w-3", "w-4", "w-5"]);
    assert_eq!(
        making.shrinks[0].because,
        "worker group w may have 3 pods (at least 1): job job-2 of b needs the room, and what a job has beyond its \
         minimum is promised to nobody"
    );
    assert_eq!(plan.blocked[0].blockers[0].code, Cause::MakingRoom);
    let plan = world.step(HOUR + 10);
    assert_eq!((started(&plan), plan.making.len()), (vec![], 0), "its room is being made already");
    assert_eq!(
        says(&plan.blocked[0]),
        "queued in research: waits for 3 pods of job-1 to stop on east (stop asked 10 s ago); what comes free there is kept for it"
    );
    world.obey();
    assert_eq!(started(&world.step(HOUR + 20)), [2]);
}

#[test]
fn what_is_there_beyond_a_gang_counts_as_used() {
    let mut world = grown(&[queue("lab", None, None), queue("a", Some("lab"), Some(8))]);
    world.input.clusters[0].nodes[0].allocatable.gpus = 20;
    world.submit(Waiting { priority: -1, ..job_of("a", 2, 1) });
    let plan = world.step(HOUR);
    assert_eq!(
        (started(&plan), shrunk(&plan)),
        (vec![], vec![]),
        "2 and 6 of 8 GPUs, of a job that is more urgent"
    );
    assert_eq!(plan.blocked[0].blockers[0].code, Cause::QuotaExhausted);
    world.submit(job_of("a", 3, 1));
    assert_eq!(shrunk(&world.step(HOUR + 1)), [(1, 5)]);
}

#[test]
fn minima_are_never_taken_and_a_stop_takes_everything() {
    let mut world = grown(&teams());
    world.submit(job_of("b", 2, 4));
    assert_eq!(shrunk(&world.step(HOUR)), [(1, 2)]);
    let mut world = grown(&[queue("lab", None, None), team("a", 0), team("b", 8)]);
    world.submit(job_of("b", 2, 7));
    let plan = world.step(HOUR);
    assert_eq!(
        (stopped(&plan), shrunk(&plan)),
        (vec![(1, 2)], vec![]),
        "five beyond its gang are not enough"
    );
}

#[test]
fn where_nobody_may_be_stopped_groups_shrink_all_the_same() {
    let mut world = grown(&[]);
    world.submit(job_of("free", 2, 5));
    assert_eq!(shrunk(&world.step(HOUR)), [(1, 1)]);
    let mut world = grown(&[]);
    world.submit(job_of("free", 2, 6));
    assert_eq!(world.step(HOUR).making, [], "the gang stays, so it would be in vain");
}

#[test]
fn a_job_that_would_borrow_takes_nothing_from_others() {
    let mut world = grown(&[queue("lab", None, None), team("a", 8), team("b", 0)]);
    world.submit(job_of("b", 2, 1));
    assert_eq!(world.step(HOUR).making, []);
}

#[test]
fn a_cap_is_lifted_when_room_is_back_and_not_before_the_beneficiary_has_started() {
    let mut world = grown(&[queue("lab", None, None), team("a", 4), team("b", 20)]);
    world.submit(job_of("b", 2, 3));
    world.step(HOUR);
    assert_eq!(world.step(HOUR + 60).lifts, [], "the pods are still there");
    world.obey();
    assert_eq!(started(&world.step(HOUR + 61)), [2]);
    assert_eq!(world.step(HOUR + 120).lifts, [], "there is no room");
    world.input.clusters[0].attempts.retain(|held| held.queue == "a");
    let lifts = world.step(HOUR + 180).lifts;
    assert_eq!(lifts[0].caps["w"].most, 6, "{lifts:?}");
    assert_eq!(lifts[0].because, "east has room: worker group w may have 6 pods (at least 1)");
    world.input.clusters[0].nodes[0].allocatable.gpus = 20;
    assert_eq!(world.step(HOUR + 181).lifts, [], "it breathes no faster");
    let lifts = world.step(HOUR + 240).lifts;
    assert_eq!(lifts[0].because, "east has room: its worker groups may be as large as they ask for again");
    assert!(world.held(lifts[0].attempt).unwrap().capped.is_none());
}

#[test]
fn a_cap_that_nobody_obeys_lets_the_job_look_elsewhere() {
    let mut world = grown(&teams());
    world.submit(job_of("b", 2, 3));
    world.step(HOUR);
    let plan = world.step(HOUR + 601);
    assert_eq!(plan.dropped.len(), 1);
    assert_eq!(shrunk(&plan), [], "what was asked to go and stays is not asked again for somebody else");
}
