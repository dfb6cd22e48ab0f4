//! Placement by labels and taints, and what is said when no node will do.

#![allow(clippy::unwrap_used)]

use uuid::Uuid;

use super::{
    tests::{cluster, codes, gang, res, waiting},
    *,
};
use crate::placement::{Requirement, Taint, Toleration};

/// A cluster whose nodes of four cores have these labels each.
fn labelled(number: u128, name: &str, nodes: &[&[(&str, &str)]]) -> Cluster {
    let mut made = cluster(number, name, &vec![res(4, 16, 0); nodes.len()]);
    for (node, labels) in made.nodes.iter_mut().zip(nodes) {
        let all = labels.iter().chain([&("kubernetes.io/os", "linux")]);
        node.face.labels = all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    }
    made
}

fn tainted(mut cluster: Cluster, node: usize, key: &str) -> Cluster {
    let taint = Taint { key: key.into(), value: "ml".into(), effect: "NoSchedule".into() };
    cluster.nodes[node].face.taints.push(taint);
    cluster
}

/// One worker of two cores with this wish, beside a head that goes anywhere.
fn picky(wish: NodeWish) -> Waiting {
    let mut gang = gang(res(1, 1, 0), 1, res(2, 1, 0));
    gang[1].wish = wish;
    waiting(1, gang)
}

fn wants(labels: &[(&str, &str)]) -> NodeWish {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    NodeWish { labels, ..NodeWish::default() }
}

fn planned(clusters: Vec<Cluster>, job: Waiting) -> Plan {
    plan(&Input { clusters, waiting: vec![job], ..Input::default() })
}

fn first(plan: &Plan) -> (&str, &str) {
    let blocker = &plan.blocked[0].blockers[0];
    (&blocker.sentence, &blocker.try_this)
}

#[test]
fn a_job_goes_where_a_node_has_the_label_that_it_asks_for() {
    let clusters = vec![labelled(1, "east", &[&[], &[]]), labelled(2, "west", &[&[], &[("gpu", "h100")]])];
    let plan = planned(clusters, picky(wants(&[("gpu", "h100")])));
    assert_eq!(plan.assign[0].cluster.0.as_u128(), 2);
}

#[test]
fn a_label_that_no_node_has_is_named_with_the_way_out() {
    let clusters = vec![labelled(1, "east", &[&[("gpu", "a100")]]), labelled(2, "west", &[&[]])];
    let plan = planned(clusters, picky(wants(&[("gpu", "h100")])));
    assert_eq!(codes(&plan.blocked[0]), ["NO_MATCHING_NODE", "NO_MATCHING_NODE"]);
    let (sentence, next) = first(&plan);
    assert_eq!(
        sentence,
        "no node of east has the label gpu=h100 that its pod of worker group small asks for"
    );
    assert!(next.starts_with("kubectl label node NODE gpu=h100, or correct the nodeSelector"), "{next}");
}

#[test]
fn labels_that_no_node_has_together_are_told_together() {
    let apart = labelled(1, "east", &[&[("gpu", "h100")], &[("zone", "a")]]);
    let plan = planned(vec![apart], picky(wants(&[("gpu", "h100"), ("zone", "a")])));
    let (sentence, _) = first(&plan);
    assert!(
        sentence.starts_with("no node of east has all the labels gpu=h100 and zone=a that"),
        "{sentence}"
    );
}

#[test]
fn an_affinity_that_no_node_meets_is_told_as_it_stands() {
    let zone = |operator: &str, values: &[&str]| Requirement {
        key: "zone".into(),
        operator: operator.into(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let east = || vec![labelled(1, "east", &[&[("zone", "a")]])];
    for (term, fits) in [
        (zone("In", &["a", "b"]), true),
        (zone("NotIn", &["b"]), true),
        (zone("Exists", &[]), true),
        (zone("DoesNotExist", &[]), false),
        (zone("In", &["b"]), false),
    ] {
        let affinity = vec![vec![term.clone()]];
        let plan = planned(east(), picky(NodeWish { affinity, ..NodeWish::default() }));
        assert_eq!(plan.assign.len() == 1, fits, "{term}");
    }
    let affinity = vec![vec![zone("In", &["b", "c"])], vec![zone("DoesNotExist", &[])]];
    let plan = planned(east(), picky(NodeWish { affinity, ..NodeWish::default() }));
    assert!(first(&plan).0.contains("(zone In [b, c]; or zone DoesNotExist)"), "{plan:?}");
}

#[test]
fn a_taint_keeps_pods_away_that_do_not_tolerate_it() {
    let east = || tainted(labelled(1, "east", &[&[]]), 0, "dedicated");
    let plan = planned(vec![east()], picky(NodeWish::default()));
    assert_eq!(codes(&plan.blocked[0]), ["NO_MATCHING_NODE"]);
    assert_eq!(
        first(&plan).0,
        "every node of east that its pod of worker group small may use is tainted with dedicated=ml:NoSchedule, which \
         it does not tolerate"
    );
    assert!(first(&plan).1.starts_with("add a toleration of dedicated=ml:NoSchedule"), "{plan:?}");
    let tolerates =
        Toleration { key: "dedicated".into(), operator: "Exists".into(), ..Toleration::default() };
    let wish = NodeWish { tolerations: vec![tolerates], ..NodeWish::default() };
    let mut tolerant = picky(wish.clone());
    tolerant.gang[0].wish = wish;
    assert_eq!(planned(vec![east()], tolerant).assign.len(), 1);
}

#[test]
fn a_condition_of_a_node_is_no_lasting_mismatch() {
    let mut east = tainted(labelled(1, "east", &[&[]]), 0, "node.kubernetes.io/disk-pressure");
    east.nodes[0].usable = true;
    let plan = planned(vec![east], picky(NodeWish::default()));
    assert_eq!(codes(&plan.blocked[0]), ["NO_READY_NODE"]);
    assert!(first(&plan).0.contains("disk-pressure"), "{plan:?}");
}

#[test]
fn a_matching_node_that_is_full_is_told_apart_from_others_that_have_room() {
    let mut east = labelled(1, "east", &[&[("gpu", "h100")], &[]]);
    east.pods = vec![Pod { node: "n0".into(), requests: res(3, 1, 0), ..Pod::default() }];
    let plan = planned(vec![east], picky(wants(&[("gpu", "h100")])));
    assert_eq!(codes(&plan.blocked[0]), ["CLUSTER_FULL"]);
    assert!(
        first(&plan)
            .0
            .ends_with("no node that it may use has 2 cores left for its pod of worker group small"),
        "{plan:?}"
    );
}

#[test]
fn too_big_is_measured_against_the_nodes_that_would_do() {
    let mut east = labelled(1, "east", &[&[("gpu", "h100")], &[]]);
    east.nodes[1].allocatable = res(64, 64, 0);
    let mut big = picky(wants(&[("gpu", "h100")]));
    big.gang[1].requests = res(8, 1, 0);
    let plan = planned(vec![east], big);
    assert_eq!(codes(&plan.blocked[0]), ["TOO_BIG"]);
    assert!(first(&plan).0.contains("largest node that it may use, in east, has 4 cores"), "{plan:?}");
}

#[test]
fn room_for_pods_to_come_is_held_where_they_may_go() {
    let mut east = labelled(1, "east", &[&[], &[("gpu", "h100")]]);
    let id = AttemptId { job: JobId(Uuid::from_u128(100)), number: 1 };
    let mut held = gang(res(0, 0, 0), 1, res(4, 1, 0));
    held[1].wish = wants(&[("gpu", "h100")]);
    east.attempts = vec![super::tests::held(id, held)];
    let plan = planned(vec![east.clone()], picky(NodeWish::default()));
    assert_eq!(plan.assign.len(), 1, "the node without the label is free: {plan:?}");
    let plan = planned(vec![east], picky(wants(&[("gpu", "h100")])));
    assert_eq!(codes(&plan.blocked[0]), ["CLUSTER_FULL"], "{plan:?}");
}
