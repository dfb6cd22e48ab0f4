//! Who stops for whom, who never does, and when room is free again.

#![allow(clippy::unwrap_used)]

use super::{
    world::{SECOND, World, started, stopped, with},
    *,
};
use crate::{
    dispatch::{
        Cause, Standing, Waiting,
        policy_tests::{job_of, queue},
        tests::says,
    },
    quota::{Queue, Reclaim, Within},
};

const HOUR: i64 = 3_600;

/// Two teams that are guaranteed a half of so many GPUs each; both reclaim.
pub(super) fn two_teams(gpus: i64) -> Vec<Queue> {
    let team = |name| with(queue(name, Some("lab"), Some(gpus / 2)), Within::Never, Reclaim::Any);
    vec![queue("lab", None, None), team("a"), team("b")]
}

/// Team a has one job after the other, a minute apart, of these GPUs, as far as they fit.
pub(super) fn filled(tree: &[Queue], clusters: &[(&str, i64)], gpus: &[i64]) -> World {
    let mut world = World::new(tree, clusters, 20);
    for (number, gpus) in (1..).zip(gpus) {
        world.submit(job_of("a", number, *gpus));
        world.step(i64::try_from(number).unwrap() * 60);
    }
    world
}

pub(super) fn sentence(plan: &crate::dispatch::Plan, number: u128) -> String {
    says(plan.blocked.iter().find(|one| one.job.0.as_u128() == number).unwrap())
}

#[test]
fn the_borrower_that_loses_least_stops_and_both_are_told() {
    let mut world = filled(&two_teams(8), &[("east", 8)], &[2, 2, 2, 2]);
    world.submit(job_of("b", 9, 2));
    let plan = world.step(HOUR);
    assert_eq!(stopped(&plan), [(4, 9)]);
    let making = &plan.making[0];
    assert_eq!(
        making.because,
        "asks job-4 of a (1 core, 1 GiB, 2 GPUs, loses 56 minutes) to stop on east, where that loses least work: b takes \
         back what it is guaranteed"
    );
    assert_eq!(
        making.stops[0].because,
        "stopped to make room for job job-9: b takes back what it is guaranteed, and a borrows it"
    );
    assert_eq!(plan.blocked[0].blockers[0].code, Cause::MakingRoom);
    let plan = world.step(HOUR + 12);
    assert_eq!(stopped(&plan), [], "its room is being made already");
    assert_eq!(
        sentence(&plan, 9),
        "queued in research: waits for job-4 to stop on east (stop asked 10 s ago); what comes free there is kept for it"
    );
}

#[test]
fn r12_room_and_quota_are_the_beneficiary_s_once_the_pods_are_gone_and_nobody_s_before() {
    let mut world = filled(&two_teams(8), &[("east", 8)], &[4, 4]);
    world.submit(job_of("b", 9, 4));
    assert_eq!(stopped(&world.step(HOUR)), [(2, 9)]);
    world.submit(job_of("b", 10, 1));
    let plan = world.step(HOUR + 19);
    assert_eq!((started(&plan), stopped(&plan)), (vec![], vec![]), "b has its half with job 9");
    assert_eq!(started(&world.step(HOUR + 20)), [9]);
    assert_eq!(stopped(&world.step(3 * HOUR)), [], "job 2 is older, and does not take it back");
}

#[test]
fn what_comes_free_while_some_still_leave_is_kept_and_what_is_beside_is_not() {
    let mut world = filled(&two_teams(8), &[("east", 8)], &[1, 1, 1, 1, 1, 1, 1]);
    world.submit(job_of("b", 9, 3));
    assert_eq!(stopped(&world.step(HOUR)), [(6, 9), (7, 9)]);
    world.submit(job_of("a", 10, 1));
    assert_eq!(started(&world.step(HOUR + 1)), [], "one GPU is free, and it is part of what job 9 needs");
    let id = world.input.clusters[0].attempts[0].id;
    world.input.clusters[0].attempts.retain(|held| held.id != id);
    world.submit(job_of("free", 11, 1));
    world.submit(job_of("b", 12, 1));
    let plan = world.step(HOUR + 2);
    assert_eq!(started(&plan), [11], "one ended by itself; quota is kept too, and free has none");
    assert_eq!(started(&world.step(HOUR + 20)), [9]);
}

#[test]
fn young_attempts_are_left_alone_and_longer_after_each_stop() {
    let mut world = filled(&two_teams(4), &[("east", 4)], &[2, 2]);
    world.submit(job_of("b", 9, 2));
    assert_eq!(stopped(&world.step(60 + 599)), []);
    let id = world.input.clusters[0].attempts[0].id;
    world.held(id).unwrap().stake.stops = 1;
    assert_eq!(stopped(&world.step(120 + 599)), []);
    assert_eq!(stopped(&world.step(120 + 600)), [(2, 9)], "job 1 was stopped before");
}

#[test]
fn a_gang_that_reaches_into_the_guarantee_of_its_queue_stays() {
    let mut world = filled(&two_teams(4), &[("east", 4)], &[3]);
    world.submit(job_of("b", 9, 2));
    assert_eq!(stopped(&world.step(9 * HOUR)), []);
}

#[test]
fn nothing_stops_for_a_queue_that_does_not_ask_for_it_or_that_would_borrow() {
    let mut tree = two_teams(8);
    tree[2].preemption = None;
    let mut world = filled(&tree, &[("east", 8)], &[4, 4]);
    world.submit(job_of("b", 9, 4));
    assert_eq!(stopped(&world.step(HOUR)), []);
    let mut world = filled(&two_teams(8), &[("east", 8)], &[4, 4]);
    world.submit(job_of("b", 9, 5));
    assert_eq!(stopped(&world.step(HOUR)), [], "five are more than its four");
}

#[test]
fn a_lower_priority_is_needed_where_the_queue_says_so() {
    let mut tree = two_teams(8);
    tree[2] = with(tree[2].clone(), Within::Never, Reclaim::LowerPriority);
    let mut world = filled(&tree, &[("east", 8)], &[4, 4]);
    world.submit(job_of("b", 9, 4));
    assert_eq!(stopped(&world.step(HOUR)), []);
    world.submit(Waiting { priority: 1, ..job_of("b", 10, 4) });
    assert_eq!(stopped(&world.step(HOUR + 1)), [(2, 10)]);
}

#[test]
fn an_urgent_job_stops_the_least_urgent_of_its_quota_and_an_older_one_the_newest() {
    let tree = |within| vec![with(queue("a", None, Some(4)), within, Reclaim::Never)];
    let mut world = World::new(&tree(Within::LowerPriority), &[("east", 4)], 20);
    world.submit(Waiting { priority: 5, ..job_of("a", 1, 2) });
    world.step(0);
    world.submit(job_of("a", 2, 2));
    world.step(60);
    world.submit(Waiting { priority: 5, ..job_of("a", 3, 2) });
    let plan = world.step(HOUR);
    assert_eq!(stopped(&plan), [(2, 3)]);
    assert_eq!(
        plan.making[0].stops[0].because,
        "stopped to make room for job job-3 of a, which is more urgent (priority 5, this one has 0)"
    );
    world.submit(Waiting { priority: 5, ..job_of("a", 4, 2) });
    assert_eq!(stopped(&world.step(HOUR + 1)), [], "who is as urgent stays");
    let mut again = World::new(&tree(Within::LowerOrNewerEqualPriority), &[("east", 4)], 20);
    again.submit(job_of("a", 9, 2));
    again.input.now = Timestamp(SECOND);
    again.submit(job_of("a", 1, 3));
    let older = again.input.waiting.remove(0);
    again.step(1);
    again.input.waiting.push(older);
    let plan = again.step(HOUR);
    assert_eq!(stopped(&plan), [(1, 9)]);
    assert!(plan.making[0].stops[0].because.ends_with("as urgent and was submitted earlier"));
}

#[test]
fn local_queues_of_one_quota_are_one_and_siblings_with_their_own_are_not() {
    let team = |name, gpus| with(queue(name, Some("lab"), gpus), Within::LowerPriority, Reclaim::Never);
    let tree = [
        queue("lab", None, None),
        team("team", Some(2)),
        queue("one", Some("team"), None),
        queue("two", Some("team"), None),
        team("other", Some(2)),
    ];
    let mut world = World::new(&tree, &[("east", 4)], 20);
    world.submit(job_of("one", 1, 2));
    world.submit(job_of("other", 2, 2));
    world.step(0);
    world.submit(Waiting { priority: 1, ..job_of("two", 3, 2) });
    assert_eq!(stopped(&world.step(HOUR)), [(1, 3)]);
}

#[test]
fn what_an_organisation_is_guaranteed_is_taken_back_from_others_and_not_from_its_own_teams() {
    let any = |queue| with(queue, Within::Never, Reclaim::Any);
    let tree = [
        queue("all", None, None),
        any(queue("org", Some("all"), Some(4))),
        any(queue("x", Some("org"), Some(0))),
        any(queue("y", Some("org"), Some(0))),
        any(queue("else", Some("all"), Some(4))),
    ];
    let mut world = World::new(&tree, &[("east", 8)], 20);
    world.submit(job_of("x", 1, 4));
    world.submit(job_of("else", 2, 4));
    world.step(0);
    world.submit(job_of("y", 3, 2));
    assert_eq!(stopped(&world.step(HOUR)), [], "the organisation has its four");
    let mut world = World::new(&tree, &[("east", 8)], 20);
    for number in 1..=4 {
        world.submit(job_of("else", number, 2));
    }
    world.step(0);
    world.submit(job_of("y", 9, 2));
    assert_eq!(stopped(&world.step(HOUR)), [(1, 9)]);
}

#[test]
fn one_cluster_is_chosen_and_the_job_that_saved_last_goes_first() {
    let mut world = filled(&two_teams(8), &[("east", 4), ("west", 4)], &[2, 2, 2, 2]);
    let id = world.input.clusters[0].attempts[0].id;
    let saved = Some(Timestamp((9 * HOUR - 30 * 60) * SECOND));
    let stake = &mut world.held(id).unwrap().stake;
    (stake.resumes, stake.saved) = (true, saved);
    world.submit(job_of("b", 9, 2));
    let plan = world.step(9 * HOUR);
    assert_eq!(stopped(&plan), [(id.job.0.as_u128(), 9)]);
    assert!(plan.making[0].because.contains("loses 30 minutes"), "{}", plan.making[0].because);
    world.submit(job_of("b", 10, 2));
    let plan = world.step(9 * HOUR + 1);
    assert_eq!(plan.making.len(), 1, "the second one makes room for job 10: {plan:?}");
}

#[test]
fn what_is_cancelled_already_is_room_to_come() {
    let mut world = filled(&two_teams(8), &[("east", 8)], &[4, 4]);
    let id = world.input.clusters[0].attempts[0].id;
    world.held(id).unwrap().stake.asked = Some(Asked { at: Timestamp(HOUR * SECOND), makes_room_for: None });
    world.submit(job_of("b", 9, 4));
    assert_eq!(stopped(&world.step(HOUR)), []);
}

#[test]
fn a_claim_on_a_cluster_that_fell_silent_is_dropped() {
    let mut world = filled(&two_teams(16), &[("east", 8), ("west", 8)], &[8, 8]);
    world.submit(job_of("b", 9, 8));
    let plan = world.step(HOUR);
    let cluster = plan.making[0].cluster;
    let site = world.input.clusters.iter_mut().find(|one| one.id == cluster).unwrap();
    site.standing = Standing::Silent { since: Timestamp(0) };
    let plan = world.step(HOUR + 1);
    assert_eq!(plan.dropped, [plan.blocked[0].job]);
    assert_eq!(world.input.claims, []);
}

/// Sixteen GPUs in each of four clusters; one team of `teams` floods them with jobs that never end.
fn flooded(teams: i64) -> World {
    let mut tree = vec![queue("lab", None, None)];
    for team in 0..teams {
        let queue = queue(&format!("team{team}"), Some("lab"), Some(64 / teams));
        tree.push(with(queue, Within::Never, Reclaim::Any));
    }
    let clusters = [("east", 16), ("north", 16), ("south", 16), ("west", 16)];
    let mut world = World::new(&tree, &clusters, 10);
    for number in 0..300 {
        world.submit(job_of("team0", number, 1 + i64::from(number % 7 == 0)));
    }
    world.step(0);
    assert_eq!(world.gpus_of("team0"), 64);
    world
}

#[test]
fn g11_each_newcomer_has_its_share_within_a_minute_and_keeps_it_to_five_percent_of_every_hour() {
    for teams in [2, 4, 8, 16] {
        let mut world = flooded(teams);
        let fair = 64 / teams;
        let mut had = vec![0; usize::try_from(teams).unwrap()];
        let mut shared = vec![None; had.len()];
        let came = |team: i64| 1_200 + team * 7;
        for second in 1_200..1_200 + HOUR + teams * 7 {
            for team in (1..teams).filter(|team| came(*team) == second) {
                world.input.now = Timestamp(second * SECOND);
                for number in 0..100 {
                    let id = 1_000 * u128::try_from(team).unwrap() + number;
                    world.submit(job_of(&format!("team{team}"), id, 1));
                }
            }
            // Between the first minutes nothing changes but the time.
            if second < 1_400 || second % 60 == 0 {
                world.step(second);
            }
            for team in 1..teams {
                let (at, has) = (usize::try_from(team).unwrap(), world.gpus_of(&format!("team{team}")));
                had[at] += if second >= came(team) && second < came(team) + HOUR { has } else { 0 };
                if shared[at].is_none() && has * 100 >= fair * 95 {
                    shared[at] = Some(second - came(team));
                }
            }
            assert!(world.gpus_of("team0") >= fair, "the flood keeps what it is guaranteed");
        }
        for team in 1..had.len() {
            let within = shared[team].unwrap();
            assert!(within <= 60, "{teams} teams: {within} s");
            assert!(had[team] * 100 >= fair * HOUR * 95, "{teams} teams: {} of {}", had[team], fair * HOUR);
        }
    }
}

#[test]
fn room_that_a_cancelled_job_still_leaves_is_waited_for_when_the_victims_are_gone() {
    let team = |name, gpus| with(queue(name, Some("lab"), Some(gpus)), Within::Never, Reclaim::Any);
    let tree = [queue("lab", None, None), team("a", 0), team("b", 16)];
    let mut world = filled(&tree, &[("east", 16)], &[8, 8]);
    let id = world.input.clusters[0].attempts[0].id;
    let asked = Asked { at: Timestamp((HOUR + 40) * SECOND), makes_room_for: None };
    world.held(id).unwrap().stake.asked = Some(asked);
    world.submit(job_of("b", 9, 16));
    assert_eq!(stopped(&world.step(HOUR)), [(2, 9)]);
    world.submit(job_of("a", 10, 4));
    let plan = world.step(HOUR + 30);
    assert_eq!((started(&plan), plan.dropped.len()), (vec![], 0), "what job 2 left is kept");
    assert!(sentence(&plan, 9).contains("waits for job-1 to stop on east"), "{}", sentence(&plan, 9));
    assert_eq!(started(&world.step(HOUR + 60)), [9]);
}

#[test]
fn who_never_goes_is_not_waited_for_for_ever() {
    let mut world = World::new(&two_teams(8), &[("east", 8)], 100 * HOUR);
    for number in 1..=2 {
        world.submit(job_of("a", number, 4));
        world.step(i64::try_from(number).unwrap() * 60);
    }
    world.submit(job_of("b", 9, 4));
    assert_eq!(stopped(&world.step(HOUR)), [(2, 9)]);
    assert_eq!(world.step(HOUR + 599).dropped, []);
    let plan = world.step(HOUR + 600);
    assert_eq!(plan.dropped.len(), 1);
    assert_eq!(stopped(&plan), [(1, 9)], "another borrower that can go");
}

#[test]
fn room_of_a_finished_job_whose_pods_are_kept_is_no_room_to_come() {
    let mut world = filled(&two_teams(8), &[("east", 8)], &[2, 2, 4]);
    let site = &mut world.input.clusters[0];
    let mut held = site.attempts.remove(2);
    held.stake.ended = Some(Timestamp(HOUR * SECOND));
    let requests = crate::dispatch::gang_total(&held.gang);
    let (node, role) = ("n0".to_owned(), "head".to_owned());
    site.pods.push(crate::dispatch::Pod {
        node,
        requests,
        attempt: Some(held.id),
        role,
        ..Default::default()
    });
    site.leaving.push(held);
    world.submit(job_of("b", 9, 2));
    assert_eq!(stopped(&world.step(HOUR + 119)), [], "its pods may be about to go");
    assert_eq!(stopped(&world.step(HOUR + 120)), [(2, 9)]);
}

#[test]
fn a_gang_for_which_a_cluster_is_kept_takes_back_what_it_is_guaranteed() {
    let mut tree = two_teams(8);
    tree.push(queue("c", Some("lab"), Some(4)));
    let mut world = filled(&tree, &[("east", 8)], &[4, 4]);
    let stops = |world: &mut World, stops| {
        world.input.clusters[0].attempts.iter_mut().for_each(|held| held.stake.stops = stops);
    };
    stops(&mut world, 10);
    world.submit(job_of("b", 9, 4));
    let plan = world.step(100 * HOUR);
    assert!(sentence(&plan, 9).ends_with("east is kept for it"), "{}", sentence(&plan, 9));
    stops(&mut world, 0);
    assert_eq!(stopped(&world.step(100 * HOUR + 1)), [(2, 9)]);
}
