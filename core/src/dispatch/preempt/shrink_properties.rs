//! What must hold of shrinking under any policy on any fleet.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};

use super::properties::any_crowd;
use crate::{
    dispatch::{GangPart, Input, Plan, Pod, gang_total, plan, preempt::Making, tests::res},
    id::{AttemptId, ClusterId, JobId},
};

/// A crowd of which some attempts have pods of one GPU beyond their gangs, as far as they fit.
fn any_elastic() -> impl Strategy<Value = Input> {
    (any_crowd(), vec((0_u32..3, 0_u32..5), 24)).prop_map(|(mut input, groups)| {
        let mut groups = groups.into_iter().cycle();
        for cluster in &mut input.clusters {
            let held: i64 = cluster.attempts.iter().map(|held| gang_total(&held.gang).gpus).sum();
            let mut free = cluster.nodes[0].allocatable.gpus - held;
            for held in &mut cluster.attempts {
                let (least, beyond) = groups.next().unwrap();
                let there = i64::from(least + beyond);
                if beyond == 0 || there > free {
                    continue;
                }
                free -= there;
                let (role, requests) = ("w".to_owned(), res(0, 0, 1));
                held.gang.push(GangPart {
                    role,
                    count: least,
                    most: Some(9),
                    requests,
                    ..GangPart::default()
                });
                cluster.pods.extend((0..there).map(|at| Pod {
                    node: cluster.nodes[0].name.clone(),
                    requests,
                    attempt: Some(held.id),
                    role: "w".into(),
                    name: format!("{}-{at}", held.id),
                }));
            }
        }
        input
    })
}

/// What the plan placed runs, these attempts and pods are gone, and nobody is on the way out.
fn after(input: &Input, plan: &Plan, gone: &BTreeSet<AttemptId>, pods: &BTreeSet<String>) -> Input {
    let mut after = super::properties::after(input, plan, gone);
    for cluster in &mut after.clusters {
        let here: BTreeSet<AttemptId> = cluster.attempts.iter().map(|held| held.id).collect();
        let stays = |pod: &Pod| pod.attempt.is_none_or(|id| here.contains(&id)) && !pods.contains(&pod.name);
        cluster.pods.retain(stays);
    }
    after
}

fn starts(input: Input, job: JobId, cluster: ClusterId) -> bool {
    super::properties::starts(input, job, cluster)
}

fn stops(making: &Making) -> BTreeSet<AttemptId> {
    making.stops.iter().map(|stop| stop.attempt).collect()
}

fn leaves(making: &Making) -> BTreeSet<String> {
    let caps = making.shrinks.iter().flat_map(|shrink| shrink.caps.values());
    caps.flat_map(|cap| cap.leaves.iter().cloned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn minima_stay_on_the_one_cluster_and_who_stops_does_not_shrink(input in any_elastic()) {
        for making in &plan(&input).making {
            let cluster = input.clusters.iter().find(|one| one.id == making.cluster).unwrap();
            prop_assert!(!making.stops.is_empty() || !making.shrinks.is_empty());
            for shrink in &making.shrinks {
                prop_assert!(!stops(making).contains(&shrink.attempt));
                let held = cluster.attempts.iter().find(|held| held.id == shrink.attempt).unwrap();
                let part = held.gang.iter().find(|part| part.role == "w").unwrap();
                let there = cluster.pods.iter().filter(|pod| pod.attempt == Some(held.id)).count();
                let cap = &shrink.caps["w"];
                prop_assert!(cap.most >= part.count && shrink.pods > 0);
                prop_assert_eq!(cap.leaves.len() + usize::try_from(cap.most).unwrap(), there);
            }
        }
    }

    /// Of the first plan: with all of it gone the job starts there, and without any one part of it it does not.
    #[test]
    fn no_more_goes_than_is_needed(input in any_elastic()) {
        let mut input = input;
        for held in input.clusters.iter_mut().flat_map(|cluster| &mut cluster.attempts) {
            held.stake.asked = None;
        }
        let plan = plan(&input);
        let Some(making) = plan.making.first() else { return Ok(()) };
        let (gone, pods) = (stops(making), leaves(making));
        prop_assert!(starts(after(&input, &plan, &gone, &pods), making.job, making.cluster));
        for one in &gone {
            let but_one = gone.iter().copied().filter(|id| id != one).collect();
            prop_assert!(!starts(after(&input, &plan, &but_one, &pods), making.job, making.cluster), "{one} stays");
        }
        for one in &pods {
            let but_one = pods.iter().filter(|name| *name != one).cloned().collect();
            prop_assert!(!starts(after(&input, &plan, &gone, &but_one), making.job, making.cluster), "{one} stays");
        }
    }

    /// If anybody stops, then what the beneficiary's own queue has beyond gangs of no more urgent jobs would not do instead.
    #[test]
    fn nobody_stops_where_shrinking_is_enough(input in any_elastic()) {
        let mut input = input;
        for held in input.clusters.iter_mut().flat_map(|cluster| &mut cluster.attempts) {
            held.stake.asked = None;
        }
        let plan = plan(&input);
        let Some(making) = plan.making.first().filter(|making| !making.stops.is_empty()) else { return Ok(()) };
        let job = input.waiting.iter().find(|job| job.job == making.job).unwrap();
        for cluster in &input.clusters {
            let yields = cluster.attempts.iter().filter(|held| {
                held.queue == job.queue && held.stake.priority <= job.priority
            });
            let mut pods = BTreeSet::new();
            for held in yields {
                let least = held.gang.iter().find(|part| part.role == "w").map_or(0, |part| part.count);
                let all = cluster.pods.iter().filter(|pod| pod.attempt == Some(held.id)).map(|pod| pod.name.clone());
                pods.extend(all.skip(usize::try_from(least).unwrap()));
            }
            if job.pinned.is_none_or(|pin| pin == cluster.id) {
                prop_assert!(!starts(after(&input, &plan, &BTreeSet::new(), &pods), job.job, cluster.id));
            }
        }
    }

    #[test]
    fn the_order_of_the_snapshot_does_not_matter(input in any_elastic()) {
        let mut turned = input.clone();
        turned.clusters.reverse();
        turned.waiting.reverse();
        turned.policy.queues.reverse();
        for cluster in &mut turned.clusters {
            cluster.attempts.reverse();
            cluster.pods.reverse();
        }
        prop_assert_eq!(plan(&input), plan(&turned));
    }
}
