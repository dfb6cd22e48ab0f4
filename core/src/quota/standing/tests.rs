//! Trees with known loans, and random ones in which nothing is lent twice.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, option, prelude::*};

use uuid::Uuid;

use super::*;
use crate::{
    desired::Size,
    dispatch::{Held, Stake, Standing as Word},
    id::{AttemptId, ClusterId, JobId},
    quota::{Flavor, Queue, Quota},
    resources::Resources,
    time::Timestamp,
};

fn queue(name: &str, parent: Option<&str>, gpus: Option<Quota>) -> Queue {
    let quotas = gpus.map(|quota| ("h100".to_owned(), [(Resource::Gpu, quota)].into()));
    Queue {
        preemption: None,
        name: name.to_owned(),
        parent: parent.map(str::to_owned),
        weight: 1_000,
        quotas: quotas.into_iter().collect(),
    }
}

fn quota(nominal: i64, borrowing_limit: Option<i64>, lending_limit: Option<i64>) -> Option<Quota> {
    Some(Quota { nominal, borrowing_limit, lending_limit })
}

fn gpus(gpus: i64) -> Resources {
    Resources { gpus, ..Resources::default() }
}

/// One cluster with an attempt of each queue, charged to h100.
fn used(by_queue: &[(&str, i64)]) -> Vec<Cluster> {
    let one = |(number, (queue, amount)): (u128, &(&str, i64))| Held {
        id: AttemptId { job: JobId(Uuid::from_u128(number)), number: 1 },
        gang: Vec::new(),
        queue: (*queue).to_owned(),
        usage: [("h100".to_owned(), gpus(*amount))].into(),
        spread: String::new(),
        assigned_at: Timestamp(0),
        stake: Stake::default(),
        capped: None,
    };
    vec![Cluster {
        id: ClusterId(Uuid::from_u128(1)),
        name: "east".into(),
        standing: Word::Heard,
        labels: BTreeMap::new(),
        nodes: Vec::new(),
        pods: Vec::new(),
        attempts: (1..).zip(by_queue).map(one).collect(),
        leaving: Vec::new(),
        set: Size::default(),
    }]
}

fn policy(queues: Vec<Queue>) -> Policy {
    let h100 = Flavor { name: "h100".into(), ..Flavor::default() };
    Policy { flavors: vec![h100], queues, ..Policy::default() }
}

/// Total, used, borrowed and lent.
fn told(standings: &BTreeMap<String, Standing>, name: &str) -> (i64, Option<i64>, Option<i64>, Option<i64>) {
    let line = standings[name].lines[&("h100".to_owned(), Resource::Gpu)];
    (line.total, line.used, line.borrowed, line.lent)
}

fn company() -> Policy {
    policy(vec![
        queue("acme", None, quota(4, None, None)),
        queue("text", Some("acme"), quota(8, None, None)),
        queue("vision", Some("acme"), quota(8, None, Some(6))),
        queue("audio", Some("acme"), quota(2, None, Some(2))),
        queue("audio/team", Some("audio"), None),
    ])
}

#[test]
fn what_is_borrowed_comes_from_the_common_pool_first_and_then_from_who_has_most_unused() {
    let standings = standings(&company(), &used(&[("text", 16), ("vision", 1), ("audio/team", 0)]));
    assert_eq!(told(&standings, "acme"), (22, Some(17), Some(0), Some(0)));
    assert_eq!(told(&standings, "text"), (8, Some(16), Some(8), Some(0)));
    assert_eq!(told(&standings, "vision"), (8, Some(1), Some(0), Some(3)));
    assert_eq!(told(&standings, "audio"), (2, Some(0), Some(0), Some(1)));
    assert_eq!(told(&standings, "audio/team"), (0, Some(0), Some(0), Some(0)));
    assert_eq!(standings["text"].share, Some(8 * 1_000 / 20), "vision keeps two of its eight to itself");
    assert_eq!((standings["vision"].share, standings["acme"].share), (Some(0), None));
}

#[test]
fn a_queue_without_quotas_borrows_everything_from_its_parent() {
    let standings = standings(&company(), &used(&[("audio/team", 3)]));
    assert_eq!(told(&standings, "audio/team"), (0, Some(3), Some(3), Some(0)));
    assert_eq!(told(&standings, "audio"), (2, Some(3), Some(1), Some(0)));
    assert_eq!(told(&standings, "vision").3, Some(0), "the pool of the root is enough");
}

#[test]
fn the_share_is_of_what_the_parent_could_lend_with_what_it_may_borrow() {
    let mut queues = company().queues;
    queues[0].parent = Some("group".into());
    queues.push(queue("group", None, quota(10, None, None)));
    let standings = standings(&policy(queues), &used(&[("text", 16)]));
    assert_eq!(standings["text"].share, Some(8 * 1_000 / 30));
    assert_eq!(standings["acme"].share, Some(0));
}

#[test]
fn the_weights_of_flavors_are_told_with_the_lines() {
    let mut policy = company();
    policy.flavors[0].weight = 2_500;
    let standings = standings(&policy, &[]);
    assert_eq!(standings["text"].weights, [("h100".to_owned(), 2_500)].into());
}

#[test]
fn a_tree_without_quotas_has_no_lines() {
    let standings = standings(&policy(vec![queue("default", None, None)]), &used(&[("default", 5)]));
    assert_eq!(standings["default"], Standing::default());
}

type Leaf = (i64, Option<i64>, Option<i64>, i64);

proptest! {
    /// Among siblings, what is borrowed is lent by others or taken from the pool, and nobody lends what they use or keep.
    #[test]
    fn loans_add_up(
        pool in 0i64..20,
        leaves in vec((0i64..20, option::of(0i64..20), option::of(0i64..20), 0i64..30), 1..6),
    ) {
        let names: Vec<String> = (0..leaves.len()).map(|index| format!("q{index}")).collect();
        let mut queues = vec![queue("root", None, quota(pool, None, None))];
        let leaf = |(name, (nominal, borrowing, lending, _)): (&String, &Leaf)| {
            queue(name, Some("root"), quota(*nominal, *borrowing, *lending))
        };
        queues.extend(names.iter().zip(&leaves).map(leaf));
        let amounts: Vec<(&str, i64)> = names.iter().map(String::as_str).zip(leaves.iter().map(|leaf| leaf.3)).collect();
        let standings = standings(&policy(queues), &used(&amounts));
        let (mut borrowed, mut lent, mut spare) = (0, 0, 0);
        for (name, (nominal, _, lending, used)) in names.iter().zip(&leaves) {
            let (total, told_used, told_borrowed, told_lent) = told(&standings, name);
            let (told_borrowed, told_lent) = (told_borrowed.unwrap(), told_lent.unwrap());
            prop_assert_eq!((total, told_used), (*nominal, Some(*used)));
            prop_assert_eq!(told_borrowed, (used - nominal).max(0));
            prop_assert!(told_lent <= (nominal - used).max(0) && told_lent <= lending.unwrap_or(i64::MAX));
            borrowed += told_borrowed;
            lent += told_lent;
            spare += (nominal - used).max(0).min(lending.unwrap_or(i64::MAX));
        }
        prop_assert_eq!(lent, (borrowed - pool).clamp(0, spare));
        prop_assert_eq!(told(&standings, "root").2, Some((borrowed - pool - spare).max(0)));
    }
}
