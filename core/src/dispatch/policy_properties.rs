//! What must hold of a plan under any policy on any fleet.

#![allow(clippy::unwrap_used)]

use std::{borrow::Cow, collections::BTreeMap};

use proptest::{collection::vec, option, prelude::*};
use uuid::Uuid;

use super::{
    choose::{Candidate, best},
    plan::settled,
    policy_tests::{held_by, policy, queue},
    quota::{Flavors, Quotas},
    room::Room,
    site::open,
    tests::{cluster, res},
    *,
};
use crate::quota::{ORDINARY, Quota, Resource};

fn any_quota() -> impl Strategy<Value = crate::quota::FlavorQuota> {
    let one = |most: i64, unit: i64| {
        (0..=most, option::of(0..=most), option::of(0..=most)).prop_map(move |(nominal, borrow, lend)| {
            Quota {
                nominal: nominal * unit,
                borrowing_limit: borrow.map(|limit| limit * unit),
                lending_limit: lend.map(|limit| limit * unit),
            }
        })
    };
    let cpu = option::weighted(0.8, one(12, 1_000));
    (cpu, one(12, 1 << 30), one(6, 1)).prop_map(|(cpu, memory, gpu)| {
        let named = [(Resource::Memory, memory), (Resource::Gpu, gpu)];
        named.into_iter().chain(cpu.map(|cpu| (Resource::Cpu, cpu))).collect()
    })
}

fn any_queue(name: &'static str, parent: Option<&'static str>) -> impl Strategy<Value = crate::quota::Queue> {
    (option::of(any_quota()), option::of(any_quota()), 1_u32..4).prop_map(move |(a100, h100, weight)| {
        let quotas = [("a100", a100), ("h100", h100)];
        let quotas = quotas.into_iter().filter_map(|(name, quota)| Some((name.to_owned(), quota?)));
        let parent = parent.map(str::to_owned);
        crate::quota::Queue {
            name: name.into(),
            parent,
            weight: weight * 500,
            quotas: quotas.collect(),
            preemption: None,
        }
    })
}

pub(super) fn any_policy() -> impl Strategy<Value = Policy> {
    let tree = (any_queue("lab", None), any_queue("a", Some("lab")), any_queue("b", Some("lab")));
    (tree, any_queue("solo", None)).prop_map(|((lab, a, b), solo)| {
        // The weight of a root tells nobody apart, so it does for a flavor as well.
        let weights = [lab.weight, solo.weight];
        let mut policy = policy(&[lab, a, b, queue("project", Some("a"), None), solo]);
        policy.flavors.iter_mut().zip(weights).for_each(|(flavor, weight)| flavor.weight = weight);
        policy
    })
}

const QUEUES: [&str; 5] = ["a", "b", "project", "solo", "free"];

fn any_node() -> impl Strategy<Value = (Resources, Option<&'static str>, bool)> {
    let amount = (1_i64..8, 1_i64..8, 0_i64..4).prop_map(|(cpu, gib, gpus)| res(cpu, gib, gpus));
    (amount, option::of(prop_oneof![Just("a100"), Just("h100")]), prop::bool::weighted(0.8))
}

fn any_cluster(number: u128) -> impl Strategy<Value = Cluster> {
    let standing = prop_oneof![
        6 => Just(Standing::Heard),
        1 => Just(Standing::Silent { since: Timestamp(0) }),
        1 => Just(Standing::Untold),
        1 => Just(Standing::NotAccepted)
    ];
    let pods = vec((0_usize..4, 0_i64..3, 0_i64..3), 0..4);
    let attempts = vec((0_usize..5, 0_i64..3, any::<bool>()), 0..3);
    (vec(any_node(), 0..4), standing, pods, attempts).prop_map(move |(nodes, standing, pods, attempts)| {
        let sizes: Vec<Resources> = nodes.iter().map(|node| node.0).collect();
        let mut made = cluster(number, &format!("c{number}"), &sizes);
        made.standing = standing;
        for (node, (_, gpu, usable)) in made.nodes.iter_mut().zip(nodes) {
            node.usable = usable;
            node.face.labels = [("os".to_owned(), "linux".to_owned())].into();
            node.face.labels.extend(gpu.map(|gpu| ("gpu".to_owned(), gpu.to_owned())));
        }
        made.pods = pods
            .into_iter()
            .map(|(node, cpu, gpus)| Pod {
                node: format!("n{node}"),
                requests: res(cpu, cpu, gpus),
                ..Pod::default()
            })
            .collect();
        for (at, (queue, gpus, recorded)) in attempts.into_iter().enumerate() {
            let id = 1_000 * number + u128::try_from(at).unwrap();
            let mut held = held_by(id, QUEUES[queue], gpus);
            if !recorded {
                held.usage.clear();
            }
            made.attempts.push(held);
        }
        made
    })
}

fn any_job() -> impl Strategy<Value = Waiting> {
    let pod = || (0_i64..3, 0_i64..3).prop_map(|(cpu, gpus)| res(cpu, cpu, gpus));
    let wish =
        prop_oneof![4 => Just(None), 1 => Just(Some("h100")), 1 => Just(Some("a100")), 1 => Just(Some("t4"))];
    let pin = prop_oneof![4 => Just(None), 1 => (1_u128..4).prop_map(Some)];
    (pod(), 0_u32..4, pod(), 0_usize..5, wish, pin, 0_i32..2).prop_map(
        |(head, workers, worker, queue, wish, pin, priority)| {
            let mut gang = tests::gang(head, workers, worker);
            gang[1].wish.labels.extend(wish.map(|gpu| ("gpu".to_owned(), gpu.to_owned())));
            let pinned = pin.map(|pin| ClusterId(Uuid::from_u128(pin)));
            Waiting { queue: QUEUES[queue].into(), pinned, priority, ..tests::waiting(1, gang) }
        },
    )
}

/// Some of the jobs are equal, so that groups matter.
fn any_jobs() -> impl Strategy<Value = Vec<Waiting>> {
    vec((any_job(), 1_usize..3), 0..6).prop_map(|kinds| {
        let jobs = kinds.into_iter().flat_map(|(job, times)| vec![job; times]);
        (1..)
            .zip(jobs)
            .map(|(number, job)| {
                let id = tests::waiting(number, Vec::new());
                Waiting { job: id.job, name: id.name, submitted_at: id.submitted_at, ..job }
            })
            .collect()
    })
}

pub(super) fn any_fleet() -> impl Strategy<Value = Input> {
    let clusters = [1, 2, 3].map(|number| any_cluster(number).boxed());
    (clusters, any_policy().boxed(), any_jobs().boxed()).prop_map(|([a, b, c], policy, waiting)| Input {
        clusters: vec![a, b, c],
        waiting,
        policy,
        ..Input::default()
    })
}

/// The fleet as a pass left it: what it placed is there, and nothing else will come.
pub(super) fn frozen(input: &Input) -> Input {
    let pass = settled(input);
    let mut left = input.clone();
    left.waiting.retain(|job| pass.assign.iter().all(|assign| assign.job != job.job));
    left.clusters = pass
        .sites
        .iter()
        .map(|site| {
            let mut cluster = site.cluster.clone();
            let usable =
                |name: &String| site.cluster.nodes.iter().any(|node| node.usable && node.name == *name);
            cluster.pods.retain(|pod| !usable(&pod.node) && !pod.node.is_empty());
            for ((name, free), (_, all)) in site.free.nodes.iter().zip(&site.empty.nodes) {
                let (node, requests) = (name.to_string(), *all - *free);
                cluster.pods.push(Pod { node, requests, ..Pod::default() });
            }
            let held = site.cluster.attempts.iter().map(|held| {
                let usage = pass.quotas.usage(&pass.quotas.charge_of(site.cluster, held));
                Held { usage, ..held.clone() }
            });
            let placed = pass.assign.iter().filter(|assign| assign.cluster == cluster.id).map(|assign| {
                let job = input.waiting.iter().find(|job| job.job == assign.job).unwrap();
                Held {
                    usage: assign.usage.clone(),
                    queue: job.queue.clone(),
                    ..held_by(job.job.0.as_u128(), "", 0)
                }
            });
            cluster.leaving = held.chain(placed).filter(|held| !held.usage.is_empty()).collect();
            cluster.attempts.clear();
            cluster
        })
        .collect();
    left
}

/// What every queue and all below it use, by flavor and resource, and what is declared; counted without the dispatcher.
struct Ledger<'a> {
    policy: &'a Policy,
    used: BTreeMap<(String, String), Resources>,
}

impl Ledger<'_> {
    fn of<'a>(policy: &'a Policy, clusters: &[Cluster]) -> Ledger<'a> {
        let mut used: BTreeMap<(String, String), Resources> = BTreeMap::new();
        for held in clusters.iter().flat_map(|cluster| &cluster.leaving) {
            for (flavor, amount) in &held.usage {
                let sum = used.entry((held.queue.clone(), flavor.clone())).or_default();
                *sum = *sum + *amount;
            }
        }
        Ledger { policy, used }
    }

    fn quota(&self, queue: &str, flavor: &str, resource: Resource) -> Quota {
        let found = self.policy.queues.iter().find(|one| one.name == queue).unwrap();
        found.quotas.get(flavor).and_then(|quota| quota.get(&resource)).copied().unwrap_or_default()
    }

    fn children(&self, queue: &str) -> Vec<&str> {
        let of = self.policy.queues.iter().filter(|one| one.parent.as_deref() == Some(queue));
        of.map(|one| one.name.as_str()).collect()
    }

    /// Its own quota and what its children lend, as Kueue counts it.
    fn capacity(&self, queue: &str, flavor: &str, resource: Resource) -> i64 {
        let lent = self.children(queue).into_iter().map(|child| {
            let all = self.capacity(child, flavor, resource);
            self.quota(child, flavor, resource).lending_limit.map_or(all, |limit| all.min(limit))
        });
        self.quota(queue, flavor, resource).nominal + lent.sum::<i64>()
    }

    /// Its own use and what its children take beyond what they keep for themselves.
    fn usage(&self, queue: &str, flavor: &str, resource: Resource) -> i64 {
        let own = self.used.get(&(queue.to_owned(), flavor.to_owned())).copied().unwrap_or_default();
        let passed = self.children(queue).into_iter().map(|child| {
            let capacity = self.capacity(child, flavor, resource);
            let kept = self
                .quota(child, flavor, resource)
                .lending_limit
                .map_or(0, |limit| (capacity - limit).max(0));
            (self.usage(child, flavor, resource) - kept).max(0)
        });
        quota_part(own, resource) + passed.sum::<i64>()
    }

    /// Whether anything is declared in its tree.
    fn is_limited(&self, queue: &crate::quota::Queue) -> bool {
        let root = |queue: &crate::quota::Queue| match queue.name.as_str() {
            "solo" => "solo",
            _ => "lab",
        };
        self.policy.queues.iter().any(|other| root(other) == root(queue) && !other.quotas.is_empty())
    }

    /// Use beyond what the queue may use, with what it may borrow.
    fn beyond(&self, queue: &crate::quota::Queue, flavor: &str, resource: Resource) -> i64 {
        let capacity = self.capacity(&queue.name, flavor, resource);
        let most = match (&queue.parent, self.quota(&queue.name, flavor, resource).borrowing_limit) {
            (None, _) => capacity,
            (Some(_), Some(limit)) => capacity + limit,
            (Some(_), None) => i64::MAX,
        };
        (self.usage(&queue.name, flavor, resource) - most).max(0)
    }
}

fn quota_part(amount: Resources, resource: Resource) -> i64 {
    match resource {
        Resource::Cpu => amount.cpu_milli,
        Resource::Memory => amount.memory_bytes,
        Resource::Gpu => amount.gpus,
    }
}

/// The order of before: the oldest first, each to the best cluster with room, and whoever failed once more, because first fit may
/// succeed in less room.
fn by_age(input: &Input) -> Vec<(JobId, ClusterId)> {
    let mut sites = open(&input.clusters, &Flavors::new(&[]));
    let mut waiting: Vec<&Waiting> = input.waiting.iter().collect();
    waiting.sort_by_key(|job| (job.submitted_at, job.job));
    let mut placed = Vec::new();
    for job in waiting.iter().chain(&waiting) {
        if placed.iter().any(|(id, _)| *id == job.job) {
            continue;
        }
        let chosen = {
            let takes = sites.iter().filter(|site| site.takes(job));
            let packed = takes.filter_map(|site| Some((site, site.free.pack(&job.gang).ok()?)));
            let candidates =
                packed.map(|(site, packing)| Candidate::new(site, job, Cow::Owned(packing), false));
            best(candidates.collect(), job)
        };
        if let Some(chosen) = chosen {
            let site = sites.iter_mut().find(|one| one.cluster.id == chosen.cluster).unwrap();
            (site.free, site.attempts) = (chosen.packing.left, site.attempts + 1);
            placed.push((job.job, chosen.cluster));
        }
    }
    placed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn nobody_is_beyond_its_limits_and_no_cluster_beyond_its_capacity(input in any_fleet()) {
        let plan = plan(&input);
        prop_assert_eq!(plan.assign.len() + plan.blocked.len(), input.waiting.len());
        prop_assert!(plan.blocked.iter().all(|blocked| !blocked.blockers.is_empty()));
        let nothing = Input { waiting: Vec::new(), ..input.clone() };
        let (before, after) = (frozen(&nothing), frozen(&input));
        let (before, after) = (Ledger::of(&input.policy, &before.clusters), Ledger::of(&input.policy, &after.clusters));
        let limited = input.policy.queues.iter().filter(|queue| after.is_limited(queue));
        for (queue, flavor) in limited.flat_map(|queue| [(queue, "a100"), (queue, "h100")]) {
            for resource in [Resource::Cpu, Resource::Memory, Resource::Gpu] {
                let (was, is) = (before.beyond(queue, flavor, resource), after.beyond(queue, flavor, resource));
                prop_assert!(is <= was, "{} of {flavor} {resource:?} is {is} beyond, was {was}", queue.name);
            }
        }
        for cluster in &input.clusters {
            let given = plan.assign.iter().filter(|assign| assign.cluster == cluster.id);
            let jobs = given.map(|assign| input.waiting.iter().find(|job| job.job == assign.job).unwrap());
            let asked: Resources = jobs.map(|job| gang_total(&job.gang)).sum();
            prop_assert!(asked == Resources::default() || asked.fits(Room::free(cluster).total()));
        }
    }

    /// G13: who fits a cluster and its quota has been placed; nobody waits behind one that fits nowhere.
    #[test]
    fn no_job_waits_that_fits_a_cluster_and_its_quota(input in any_fleet()) {
        let pass = settled(&input);
        for group in &pass.groups {
            let Some(job) = group.head() else { continue };
            let limits = pass.quotas.limits(group.place);
            for site in pass.sites.iter().filter(|site| site.takes(job)) {
                let packing = site.free.pack_within(&site.kinds, &job.gang, &limits);
                prop_assert!(packing.is_err(), "{} fits on {}", job.name, site.cluster.name);
            }
        }
    }

    #[test]
    fn the_order_of_snapshot_and_policy_does_not_matter(input in any_fleet(), turn in 0_usize..8) {
        let mut turned = input.clone();
        turned.clusters.reverse();
        turned.policy.queues.reverse();
        turned.policy.flavors.reverse();
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
    fn without_quotas_priorities_and_weights_the_plan_is_that_of_before(input in any_fleet(), declared in any::<bool>()) {
        let mut input = input;
        input.policy.queues.iter_mut().for_each(|queue| queue.quotas.clear());
        input.policy.flavors.iter_mut().for_each(|flavor| flavor.weight = ORDINARY);
        input.waiting.iter_mut().for_each(|job| job.priority = 0);
        if !declared {
            input.policy = Policy::default();
        }
        let assigned: Vec<_> = plan(&input).assign.iter().map(|one| (one.job, one.cluster)).collect();
        prop_assert_eq!(assigned, by_age(&input));
    }

    #[test]
    fn taking_and_giving_back_leaves_quotas_as_they_were(input in any_fleet()) {
        let mut quotas = Quotas::new(&input.policy, &input.clusters);
        let before = format!("{:?}", quotas.limits(quotas.limited("project")));
        for place in quotas.limited("project").into_iter().chain(quotas.limited("b")) {
            let charge = [(0, res(3, 3, 3)), (1, res(1, 0, 2))].into();
            quotas.take(place, "project", &charge);
            quotas.give_back(place, "project", &charge);
        }
        prop_assert_eq!(before, format!("{:?}", quotas.limits(quotas.limited("project"))));
    }
}
