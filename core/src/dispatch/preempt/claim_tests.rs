//! Whose room is whose while several jobs wait for others to stop.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::{collection::vec, option, prelude::*};
use uuid::Uuid;

use super::{
    properties::{NOW, QUEUES, Running, any_running, any_tree, running},
    world::{any_gang, spread, with},
    *,
};
use crate::{
    dispatch::{
        Cluster, GangPart, Input, Plan, Waiting, plan,
        policy_tests::{fleet, gpu_node, held_by, job_of, policy, queue},
        tests::res,
    },
    quota::{Reclaim, Within},
};

const SECOND: i64 = 1_000_000;

fn job(number: u128) -> JobId {
    JobId(Uuid::from_u128(number))
}

fn claim(number: u128, cluster: u128, since: Timestamp) -> Claim {
    Claim { job: job(number), cluster: ClusterId(Uuid::from_u128(cluster)), since }
}

/// Puts an attempt of so many GPUs on a node.
fn put(cluster: &mut Cluster, number: u128, node: usize, asked: Option<Asked>) {
    let mut held = held_by(number, "a", 0);
    held.stake.asked = asked;
    let (held, pods) = spread(held, (2, 1, node, 1), 2);
    cluster.attempts.push(held);
    cluster.pods.extend(pods);
}

#[test]
fn a_younger_claim_whose_room_is_there_takes_no_node_that_an_older_one_waits_for() {
    let team = |name| with(queue(name, Some("lab"), Some(8)), Within::Never, Reclaim::Any);
    let mut input = fleet(policy(&[queue("lab", None, None), team("a"), team("b")]), &[("east", 4)]);
    input.now = Timestamp(3_600 * SECOND);
    let cluster = &mut input.clusters[0];
    cluster.nodes.push(gpu_node("n1", 4));
    // Of four GPUs on the first node, two are free; two on the second, too, where the other two stay.
    let asked = Asked { at: input.now, makes_room_for: Some(job(1)) };
    put(cluster, 90, 0, Some(asked));
    put(cluster, 91, 1, None);
    input.waiting = vec![job_of("b", 1, 4), job_of("b", 2, 2)];
    input.claims =
        vec![claim(2, 1, Timestamp(input.now.0 - SECOND)), claim(1, 1, Timestamp(input.now.0 - 2 * SECOND))];
    let decided = plan(&input);
    assert_eq!(decided.dropped, [], "the older one can still start");
    assert_eq!(decided.assign.iter().map(|assign| assign.job).collect::<Vec<_>>(), [job(2)]);
    let turned =
        [claim(1, 1, Timestamp(input.now.0 - SECOND)), claim(2, 1, Timestamp(input.now.0 - 2 * SECOND))];
    let decided = plan(&Input { claims: turned.to_vec(), ..input });
    assert_eq!(decided.dropped, [job(1)], "who was there first has the first node");
}

/// A running attempt with its pods, and the job that it was asked to stop for.
type Spread = (Running, (i64, u32, usize, u32), Option<u128>);

fn any_spread() -> impl Strategy<Value = Spread> {
    (any_running(), any_gang(), option::weighted(0.5, 1_u128..6))
}

/// Clusters of several nodes, of whose attempts many were asked to stop for jobs that wait.
pub(super) fn any_claims() -> impl Strategy<Value = Input> {
    let clusters = vec((vec(1_i64..9, 1..4), vec(any_spread(), 0..7)), 1..3);
    let waiting = vec((0_usize..5, 1_i64..5, 1_u32..3, 0_i32..3), 5);
    let claims = vec((1_u128..6, 1_u128..3, 0_i64..9), 0..6);
    (any_tree(), clusters, waiting, claims).prop_map(|(tree, clusters, waiting, claims)| {
        let mut input = Input { now: NOW, ..fleet(policy(&tree), &vec![("c", 1); clusters.len()]) };
        for (at, (sizes, attempts)) in clusters.into_iter().enumerate() {
            let cluster = &mut input.clusters[at];
            cluster.name = format!("c{at}");
            cluster.nodes =
                (0..).zip(&sizes).map(|(at, gpus): (u32, _)| gpu_node(&format!("n{at}"), *gpus)).collect();
            for (number, (one, gang, asked)) in (1_000 * u128::try_from(at + 1).unwrap()..).zip(attempts) {
                let (mut held, pods) = spread(running(number, one), gang, sizes.len());
                held.stake.asked = asked.map(|number| Asked { at: NOW, makes_room_for: Some(job(number)) });
                cluster.attempts.push(held);
                cluster.pods.extend(pods);
            }
        }
        let part = |gpus, count| GangPart {
            role: "head".into(),
            count,
            requests: res(1, 1, gpus),
            ..GangPart::default()
        };
        input.waiting = (1..)
            .zip(waiting)
            .map(|(number, (queue, gpus, count, priority))| Waiting {
                priority,
                submitted_at: NOW,
                gang: vec![part(gpus, count)],
                ..job_of(QUEUES[queue], number, 0)
            })
            .collect();
        let claims: BTreeMap<JobId, Claim> = claims
            .into_iter()
            .map(|(number, cluster, minutes)| {
                (job(number), claim(number, cluster, NOW.plus_millis(-60_000 * minutes)))
            })
            .collect();
        input.claims = claims.into_values().collect();
        input
    })
}

/// Whether the claim is dropped, and else whether its job starts.
fn fate(plan: &Plan, claim: &Claim) -> (bool, bool) {
    let dropped = plan.dropped.contains(&claim.job);
    (dropped, !dropped && plan.assign.iter().any(|assign| assign.job == claim.job))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_claim_is_worse_off_for_a_younger_one(input in any_claims()) {
        let mut claims = input.claims.clone();
        claims.sort_by_key(|claim| (claim.since, claim.job));
        let all = plan(&input);
        for count in 1..=claims.len() {
            let without = plan(&Input { claims: claims[..count].to_vec(), ..input.clone() });
            let last = &claims[count - 1];
            prop_assert_eq!(fate(&all, last), fate(&without, last), "{:?}", last);
        }
    }

    #[test]
    fn the_order_of_claims_in_the_snapshot_does_not_matter(input in any_claims()) {
        let mut turned = input.clone();
        turned.claims.reverse();
        prop_assert_eq!(plan(&input), plan(&turned));
    }
}
