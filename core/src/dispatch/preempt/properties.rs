//! What must hold of preemption under any policy on any fleet.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::{collection::vec, option, prelude::*};
use uuid::Uuid;

use super::{world::rules, *};
use crate::{
    dispatch::{
        Cluster, Held, Input, Plan, Standing, Waiting, gang_total, plan,
        policy_tests::{fleet, held_by, job_of, policy, queue},
        quota::Quotas,
        shape::tests::{copied, is_enough, oldest},
    },
    quota::{Queue, Reclaim, Resource, Within},
};

pub(super) const QUEUES: [&str; 5] = ["a", "b", "project", "c", "solo"];
pub(super) const MINUTE: i64 = 60_000_000;
pub(super) const NOW: Timestamp = Timestamp(1_000 * MINUTE);

fn any_queue(name: &'static str, parent: Option<&'static str>) -> impl Strategy<Value = Queue> {
    let limit = || option::weighted(0.3, 0_i64..5);
    (0_i64..6, limit(), limit(), 0_usize..3, 0_usize..3).prop_map(
        move |(gpus, borrow, lend, within, reclaim)| {
            let mut queue = queue(name, parent, Some(gpus));
            let quota = queue.quotas.get_mut("h100").unwrap().get_mut(&Resource::Gpu).unwrap();
            if parent.is_some() {
                (quota.borrowing_limit, quota.lending_limit) = (borrow, lend);
            }
            Queue { preemption: rules(Within::ALL[within], Reclaim::ALL[reclaim]), ..queue }
        },
    )
}

pub(super) fn any_tree() -> impl Strategy<Value = Vec<Queue>> {
    let all = (
        any_queue("lab", None),
        any_queue("org", Some("lab")),
        any_queue("a", Some("org")),
        any_queue("b", Some("org")),
        any_queue("c", Some("lab")),
        any_queue("solo", None),
    );
    all.prop_map(|(lab, org, a, b, c, solo)| vec![lab, org, a, b, c, queue("project", Some("a"), None), solo])
}

pub(super) type Running = (usize, i64, i64, i32, bool, u32, u8);

pub(super) fn any_running() -> impl Strategy<Value = Running> {
    (0_usize..5, 1_i64..4, 0_i64..90, 0_i32..3, any::<bool>(), 0_u32..3, 0_u8..12)
}

/// The attempt; one of twelve was asked to stop already.
pub(super) fn running(
    number: u128,
    (queue, gpus, minutes, priority, resumes, stops, asked): Running,
) -> Held {
    let began = Timestamp(NOW.0 - minutes * MINUTE);
    let stake = Stake {
        name: format!("job-{number}"),
        priority,
        submitted_at: Timestamp(began.0 - MINUTE),
        began: Some(began),
        resumes,
        saved: resumes.then_some(Timestamp(NOW.0 - minutes / 3 * MINUTE)),
        stops,
        asked: (asked == 0).then_some(Asked { at: NOW, makes_room_for: None }),
        expected_ms: None,
        ended: None,
    };
    Held { assigned_at: began, stake, ..held_by(number, QUEUES[queue], gpus) }
}

pub(super) fn any_crowd() -> impl Strategy<Value = Input> {
    let clusters = vec((1_i64..9, vec(any_running(), 0..8), 0_u8..10), 1..4);
    let waiting = vec((0_usize..5, 1_i64..5, 0_i32..3, 0_i64..90, option::weighted(0.2, 1_u128..4)), 1..6);
    (any_tree(), clusters, waiting).prop_map(|(tree, clusters, waiting)| {
        let sizes: Vec<(String, i64)> =
            (1..).zip(&clusters).map(|(number, one)| (format!("c{number}"), one.0)).collect();
        let sizes: Vec<(&str, i64)> = sizes.iter().map(|(name, gpus)| (name.as_str(), *gpus)).collect();
        let mut input = fleet(policy(&tree), &sizes);
        for (at, (_, attempts, standing)) in clusters.into_iter().enumerate() {
            let first = 1_000 * u128::try_from(at + 1).unwrap();
            let cluster = &mut input.clusters[at];
            let all = (first..).zip(attempts).map(|(number, one)| running(number, one));
            cluster.attempts = that_fit(all, cluster.nodes[0].allocatable.gpus);
            if standing == 0 {
                cluster.standing = Standing::Silent { since: Timestamp(0) };
            }
        }
        input.waiting = (1..)
            .zip(waiting)
            .map(|(number, (queue, gpus, priority, minutes, pin))| Waiting {
                priority,
                submitted_at: Timestamp(NOW.0 - minutes * MINUTE),
                pinned: pin.map(|pin| ClusterId(Uuid::from_u128(pin))),
                ..job_of(QUEUES[queue], number, gpus)
            })
            .collect();
        Input { now: NOW, ..input }
    })
}

fn that_fit(all: impl Iterator<Item = Held>, mut gpus: i64) -> Vec<Held> {
    all.filter(|held| {
        let asked = gang_total(&held.gang).gpus;
        let fits = asked <= gpus;
        gpus -= if fits { asked } else { 0 };
        fits
    })
    .collect()
}

fn cluster_of(input: &Input, id: ClusterId) -> &Cluster {
    input.clusters.iter().find(|cluster| cluster.id == id).unwrap()
}

fn held_of(input: &Input, id: AttemptId) -> &Held {
    input.clusters.iter().flat_map(|cluster| &cluster.attempts).find(|held| held.id == id).unwrap()
}

fn job_in(input: &Input, id: JobId) -> &Waiting {
    input.waiting.iter().find(|job| job.job == id).unwrap()
}

/// What the plan placed runs, and these and everybody on the way out are gone.
pub(super) fn after(input: &Input, plan: &Plan, gone: &BTreeSet<AttemptId>) -> Input {
    let mut after = input.clone();
    for cluster in &mut after.clusters {
        cluster.attempts.retain(|held| held.stake.asked.is_none() && !gone.contains(&held.id));
    }
    for assign in &plan.assign {
        let job = job_in(input, assign.job);
        let held = Held {
            gang: job.gang.clone(),
            usage: assign.usage.clone(),
            assigned_at: NOW,
            ..held_by(job.job.0.as_u128(), &job.queue, 0)
        };
        after.clusters.iter_mut().find(|one| one.id == assign.cluster).unwrap().attempts.push(held);
        after.waiting.retain(|job| job.job != assign.job);
    }
    after
}

/// Whether the job, alone, starts on this cluster.
pub(super) fn starts(mut input: Input, job: JobId, cluster: ClusterId) -> bool {
    input.waiting.retain(|one| one.job == job);
    input.waiting[0].pinned = Some(cluster);
    plan(&input).assign.len() == 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn only_those_stop_that_may_and_each_once_and_on_one_cluster(input in any_crowd()) {
        let plan = plan(&input);
        let mut seen = BTreeSet::new();
        for making in &plan.making {
            let job = job_in(&input, making.job);
            let rule = Rules::of(&input.policy).get(&job.queue).unwrap().says;
            prop_assert!(!making.stops.is_empty());
            prop_assert!(job.pinned.is_none_or(|pin| pin == making.cluster));
            let cluster = cluster_of(&input, making.cluster);
            prop_assert_eq!(cluster.standing, Standing::Heard);
            for stop in &making.stops {
                prop_assert!(seen.insert(stop.attempt), "{:?} stops twice", stop);
                prop_assert!(cluster.attempts.iter().any(|held| held.id == stop.attempt));
                let held = held_of(&input, stop.attempt);
                let minutes = NOW.millis_since(held.stake.began.unwrap()) / 60_000;
                prop_assert!(minutes >= 10 << held.stake.stops && held.stake.asked.is_none());
                match stop.kind {
                    Kind::Reclaim => prop_assert!(rule.reclaim != Reclaim::Never && held.queue != job.queue),
                    Kind::Shrink => prop_assert!(false, "nothing may grow here"),
                    Kind::Priority => prop_assert!(held.stake.priority <= job.priority),
                }
            }
        }
        prop_assert_eq!(plan.assign.len() + plan.blocked.len(), input.waiting.len());
    }

    /// Queue by queue, in the order of the plans: what borrows may lose, and never what it is guaranteed.
    #[test]
    fn nobody_is_pushed_below_its_nominal(input in any_crowd()) {
        let plan = plan(&input);
        let settled = after(&input, &plan, &BTreeSet::new());
        let mut quotas = Quotas::new(&settled.policy, &settled.clusters);
        for making in &plan.making {
            let job = job_in(&input, making.job);
            for stop in &making.stops {
                let held = held_of(&input, stop.attempt);
                let place = quotas.limited(&held.queue).unwrap();
                let before = quotas.clone();
                let charge = quotas.charge_of(cluster_of(&input, making.cluster), held);
                quotas.give_back(place, &held.queue, &charge);
                let of = quotas.limited(&job.queue).unwrap();
                let (was, is) = (&before.trees[place.tree], &quotas.trees[place.tree]);
                for node in (0..is.len()).filter(|_| stop.kind == Kind::Reclaim) {
                    if of.tree == place.tree && is.is_below(of.node, node) {
                        continue;
                    }
                    let (was, is) = (was.book(1, Resource::Gpu).unwrap(), is.book(1, Resource::Gpu).unwrap());
                    prop_assert!(is.used(node) >= is.nominal(node) || was.used(node) == is.used(node));
                }
            }
            let place = quotas.limited(&job.queue).unwrap();
            quotas.take(place, &job.queue, &[(1, gang_total(&job.gang))].into());
        }
    }

    /// Of the first plan: with all of them gone the job starts there, and without any one of them it does not.
    #[test]
    fn the_oldest_of_each_class_are_enough_to_choose_who_stops(input in any_crowd(), copies in 1_u128..6) {
        let whole = copied(&input, copies);
        let all = plan(&whole);
        let part = oldest(&whole, all.making.len() + 1);
        is_enough((&whole, &all), (&part, &plan(&part)))?;
    }

    #[test]
    fn no_more_stops_than_is_needed(input in any_crowd()) {
        let mut input = input;
        // Room that comes anyway may be meant for somebody before.
        for held in input.clusters.iter_mut().flat_map(|cluster| &mut cluster.attempts) {
            held.stake.asked = None;
        }
        let plan = plan(&input);
        let Some(making) = plan.making.first() else { return Ok(()) };
        let all: BTreeSet<AttemptId> = making.stops.iter().map(|stop| stop.attempt).collect();
        prop_assert!(starts(after(&input, &plan, &all), making.job, making.cluster));
        for one in &all {
            let but_one: BTreeSet<AttemptId> = all.iter().copied().filter(|id| id != one).collect();
            prop_assert!(!starts(after(&input, &plan, &but_one), making.job, making.cluster), "{one} is needless");
        }
    }

    /// While they leave nobody else stops for the job; when they are gone it starts there, whoever else waits; and then
    /// none of those that left has it stopped in turn.
    #[test]
    fn the_beneficiary_starts_when_the_others_left_and_is_not_stopped_for_them(input in any_crowd()) {
        let first = plan(&input);
        let Some(making) = first.making.first() else { return Ok(()) };
        let stops: BTreeSet<AttemptId> = making.stops.iter().map(|stop| stop.attempt).collect();
        let mut leaving = after(&input, &first, &BTreeSet::new());
        leaving.claims = vec![Claim { job: making.job, cluster: making.cluster, since: NOW }];
        for held in leaving.clusters.iter_mut().flat_map(|cluster| &mut cluster.attempts) {
            if stops.contains(&held.id) {
                held.stake.asked = Some(Asked { at: NOW, makes_room_for: Some(making.job) });
            }
        }
        let meanwhile = plan(&leaving);
        prop_assert!(meanwhile.making.iter().all(|other| other.job != making.job));
        prop_assert!(meanwhile.assign.iter().all(|assign| assign.job != making.job));
        prop_assert_eq!(&meanwhile.dropped, &Vec::<JobId>::new());
        let mut gone = leaving.clone();
        for cluster in &mut gone.clusters {
            cluster.attempts.retain(|held| !stops.contains(&held.id));
        }
        let back = stops.iter().map(|id| {
            let held = held_of(&input, *id);
            let number = id.job.0.as_u128();
            let job = job_of(&held.queue, number, gang_total(&held.gang).gpus);
            Waiting { priority: held.stake.priority, submitted_at: held.stake.submitted_at, ..job }
        });
        gone.waiting.extend(back);
        let then = plan(&gone);
        let placed = then.assign.iter().find(|assign| assign.job == making.job);
        prop_assert_eq!(placed.map(|assign| assign.cluster), Some(making.cluster));
        let mut later = after(&gone, &then, &BTreeSet::new());
        later.claims.clear();
        let victims: BTreeSet<JobId> = stops.iter().map(|id| id.job).collect();
        let started = AttemptId { job: making.job, number: 1 };
        for held in later.clusters.iter_mut().flat_map(|cluster| &mut cluster.attempts) {
            if held.id == started {
                let job = job_in(&input, making.job);
                held.stake.priority = job.priority;
                held.stake.submitted_at = job.submitted_at;
                held.assigned_at = Timestamp(0);
            }
        }
        let again = plan(&later);
        let back = again.making.iter().filter(|other| victims.contains(&other.job));
        prop_assert!(back.flat_map(|other| &other.stops).all(|stop| stop.attempt != started));
    }

    #[test]
    fn the_order_of_the_snapshot_does_not_matter(input in any_crowd()) {
        let mut turned = input.clone();
        turned.clusters.reverse();
        turned.waiting.reverse();
        turned.policy.queues.reverse();
        for cluster in &mut turned.clusters {
            cluster.attempts.reverse();
        }
        prop_assert_eq!(plan(&input), plan(&turned));
    }
}
