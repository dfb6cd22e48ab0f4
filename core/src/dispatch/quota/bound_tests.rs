//! What binds pods, on small fleets and on many drawn ones.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    dispatch::{
        Cause, Input, Node, Waiting, plan,
        policy_tests::{flavor, fleet, gpu_node, policy, queue},
        tests::{gang, res, waiting},
    },
    quota::{Policy, Queue},
};

const SPOT: &str = "kubernetes.azure.com/scalesetpriority";

fn node(name: &str, labels: &[(&str, &str)], taints: &[(&str, &str)]) -> Node {
    let mut node = gpu_node(name, 8);
    node.face.labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let taint = |(key, value): &(&str, &str)| Taint {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        effect: "NoSchedule".to_owned(),
    };
    node.face.taints = taints.iter().map(taint).collect();
    node
}

/// A standard and a spot node of one model, as AKS marks them, and a queue that may use only one of both, beside a node
/// without GPUs.
fn azure(of: &str) -> Input {
    let model = ("gpu", "h100");
    let mut team = queue("team", None, Some(16));
    let amounts = team.quotas.remove("h100").unwrap();
    team.quotas = [of, "system"].map(|name| (name.to_owned(), amounts.clone())).into();
    let flavors = vec![
        flavor("spot", &[model, (SPOT, "spot")]),
        flavor("standard", &[model]),
        flavor("system", &[("pool", "system")]),
    ];
    let mut input = fleet(Policy { flavors, queues: vec![team], ..Policy::default() }, &[("east", 8)]);
    let mut system = node("n2", &[("pool", "system")], &[]);
    system.allocatable.gpus = 0;
    input.clusters[0].nodes =
        vec![node("n0", &[model, (SPOT, "spot")], &[(SPOT, "spot")]), node("n1", &[model], &[]), system];
    input.waiting = vec![job(res(1, 1, 1))];
    lift(&mut input.clusters, &input.policy);
    input
}

fn job(worker: crate::resources::Resources) -> Waiting {
    Waiting { queue: "team".into(), ..waiting(1, gang(res(1, 1, 0), 2, worker)) }
}

fn shown(wish: &NodeWish) -> (Vec<Vec<String>>, Vec<String>) {
    let term = |term: &Vec<Requirement>| term.iter().map(ToString::to_string).collect();
    (wish.affinity.iter().map(term).collect(), wish.tolerations.iter().map(ToString::to_string).collect())
}

#[test]
fn pods_with_gpus_stay_with_the_flavor_that_was_charged_and_tolerate_its_spot_taint() {
    let spot = plan(&azure("spot")).assign.remove(0);
    assert_eq!(spot.bound.keys().collect::<Vec<_>>(), ["small"], "the head asks for no GPU");
    let clause = "; pods with GPUs stay on nodes of spot; team is charged 2 cores";
    assert!(spot.because.contains(clause), "{}", spot.because);
    let (terms, tolerations) = shown(&spot.bound["small"]);
    assert_eq!(terms, [["gpu In [h100]", "kubernetes.azure.com/scalesetpriority In [spot]"]]);
    assert_eq!(tolerations, ["kubernetes.azure.com/scalesetpriority=spot:NoSchedule"]);
    let standard = plan(&azure("standard")).assign.remove(0);
    let (terms, tolerations) = shown(&standard.bound["small"]);
    assert_eq!(terms, [["gpu In [h100]", "kubernetes.azure.com/scalesetpriority NotIn [spot]"]]);
    assert_eq!(tolerations, [""; 0]);
}

#[test]
fn a_taint_is_lifted_for_pods_with_gpus_alone_and_only_where_the_flavor_says_spot() {
    let mut input = azure("spot");
    input.waiting = vec![job(res(1, 1, 0))];
    let assign = plan(&input).assign.remove(0);
    assert_eq!(assign.usage.into_keys().collect::<Vec<_>>(), ["system"], "nothing adds their toleration");
    assert!(assign.bound.is_empty());
    let mut input = azure("spot");
    input.policy.flavors[0] = flavor("spot", &[("gpu", "h100")]);
    input.policy.flavors.remove(1);
    input.clusters[0].nodes.remove(1);
    lift(&mut input.clusters, &input.policy);
    assert_eq!(plan(&input).assign.len(), 0, "the flavor names no spot");
    input.policy.flavors[0].tolerations =
        vec![Toleration { operator: "Exists".into(), ..Toleration::default() }];
    lift(&mut input.clusters, &input.policy);
    let bound = plan(&input).assign.remove(0).bound;
    assert_eq!(shown(&bound["small"]).1, ["*"], "what the flavor declares is enough");
}

#[test]
fn what_the_template_tolerates_is_not_said_twice() {
    let mut input = azure("spot");
    let own = Toleration { key: SPOT.into(), operator: "Exists".into(), ..Toleration::default() };
    input.waiting[0].gang[1].wish.tolerations = vec![own];
    assert_eq!(plan(&input).assign[0].bound["small"].tolerations, []);
}

#[test]
fn a_template_that_contradicts_the_flavors_of_its_queue_is_refused_with_a_reason() {
    let mut input = fleet(policy(&[queue("team", None, Some(16))]), &[("east", 8)]);
    input.clusters[0].nodes.push(node("n1", &[("gpu", "a100")], &[]));
    let mut picky = job(res(1, 1, 1));
    picky.gang[0].wish.labels = [("gpu".to_owned(), "h100".to_owned())].into();
    picky.gang[1].wish.labels = [("gpu".to_owned(), "a100".to_owned())].into();
    input.waiting = vec![picky];
    let plan = plan(&input);
    let first = &plan.blocked[0].blockers[0];
    assert_eq!(first.code, Cause::NoFlavor, "{plan:?}");
    assert!(first.sentence.contains("a100"), "{}", first.sentence);
}

#[test]
fn pods_of_a_queue_without_limits_stay_with_all_flavors_that_they_were_placed_on() {
    let mut input = fleet(policy(&[]), &[("east", 1)]);
    input.clusters[0].nodes.push(Node { name: "n1".into(), ..node("n1", &[("gpu", "a100")], &[]) });
    input.waiting = vec![job(res(1, 1, 1))];
    let assign = plan(&input).assign.remove(0);
    assert_eq!(shown(&assign.bound["small"]).0, [["gpu In [a100]"], ["gpu In [h100]"]]);
    input.clusters[0].nodes[1].face.labels = [("gpu".to_owned(), "unknown".to_owned())].into();
    assert!(plan(&input).assign[0].bound.is_empty(), "one of them is on a node without a flavor");
}

#[test]
fn nothing_is_bound_where_no_flavor_is_declared_or_one_is_of_all_nodes() {
    let mut input = fleet(Policy::default(), &[("east", 8)]);
    input.waiting = vec![job(res(1, 1, 1))];
    assert!(plan(&input).assign[0].bound.is_empty());
    input.policy.flavors = vec![flavor("any", &[])];
    assert!(plan(&input).assign[0].bound.is_empty());
}

type Labels = Vec<(u8, u8)>;

fn drawn(labels: &Labels) -> crate::placement::Labels {
    labels.iter().map(|(key, value)| (format!("k{key}"), format!("v{value}"))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_affinity_of_a_flavor_is_met_by_its_nodes_and_by_no_other(
        declared in vec(vec((0u8..3, 0u8..2), 0..3), 1..5), nodes in vec(vec((0u8..3, 0u8..2), 1..4), 1..6)
    ) {
        let flavors = (0..).zip(&declared).map(|(number, labels)| crate::quota::Flavor {
            name: format!("f{number}"), node_labels: drawn(labels), ..crate::quota::Flavor::default()
        });
        let flavors = Flavors::new(&flavors.collect::<Vec<_>>());
        let mut east = fleet(Policy { queues: Vec::<Queue>::new(), ..Policy::default() }, &[("east", 1)]).clusters.remove(0);
        east.nodes = nodes.iter().map(|labels| {
            let mut node = node("n", &[], &[]);
            node.face.labels = drawn(labels);
            node
        }).collect();
        for (flavor, wish) in flavors.binds(&east) {
            for face in east.nodes.iter().map(|node| &node.face) {
                prop_assert_eq!(wish.is_met_by(face), flavors.of(face) == Some(flavor), "{:?} {:?}", wish, face);
            }
        }
    }
}
