//! What labels, expressions, tolerations and markets mean.

use super::*;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn taint(key: &str, value: &str, effect: &str) -> Taint {
    Taint { key: key.into(), value: value.into(), effect: effect.into() }
}

fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
    Toleration { key: key.into(), operator: operator.into(), value: value.into(), effect: effect.into() }
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> Requirement {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    Requirement { key: key.into(), operator: operator.into(), values }
}

fn face() -> Face {
    Face { labels: labels(&[("gpu", "h100"), ("rack", "7")]), ..Face::default() }
}

#[test]
fn expressions_mean_what_they_mean_in_kubernetes() {
    for (key, operator, values, expected) in [
        ("gpu", "In", vec!["a100", "h100"], true),
        ("gpu", "In", vec!["a100"], false),
        ("zone", "In", vec!["a"], false),
        ("gpu", "NotIn", vec!["h100"], false),
        ("zone", "NotIn", vec!["a"], true),
        ("gpu", "Exists", vec![], true),
        ("zone", "Exists", vec![], false),
        ("gpu", "DoesNotExist", vec![], false),
        ("zone", "DoesNotExist", vec![], true),
        ("rack", "Gt", vec!["6"], true),
        ("rack", "Gt", vec!["7"], false),
        ("rack", "Lt", vec!["8"], true),
        ("gpu", "Lt", vec!["8"], false),
        ("gpu", "InSomeLaterWay", vec!["x"], true),
    ] {
        let one = requirement(key, operator, &values);
        assert_eq!(one.holds(&face().labels), expected, "{one}");
    }
}

#[test]
fn any_term_is_enough_and_an_empty_one_matches_nothing() {
    let no = requirement("zone", "Exists", &[]);
    let yes = requirement("gpu", "Exists", &[]);
    let met =
        |affinity: Vec<Vec<Requirement>>| NodeWish { affinity, ..NodeWish::default() }.is_met_by(&face());
    assert!(met(vec![]));
    assert!(met(vec![vec![no.clone()], vec![yes.clone()]]));
    assert!(!met(vec![vec![no, yes]]));
    assert!(!met(vec![vec![]]));
}

#[test]
fn tolerations_cover_key_value_and_effect() {
    let tainted = taint("dedicated", "ml", "NoSchedule");
    for (one, expected) in [
        (toleration("dedicated", "", "ml", ""), true),
        (toleration("dedicated", "Equal", "ml", "NoSchedule"), true),
        (toleration("dedicated", "Equal", "web", ""), false),
        (toleration("dedicated", "Exists", "", "NoExecute"), false),
        (toleration("dedicated", "Exists", "", ""), true),
        (toleration("", "Exists", "", ""), true),
        (toleration("", "", "", ""), false),
        (toleration("other", "Exists", "", ""), false),
    ] {
        assert_eq!(one.tolerates(&tainted), expected, "{one:?}");
    }
}

#[test]
fn gpu_taint_keeps_off_only_pods_without_gpus() {
    let face = Face { taints: vec![taint("nvidia.com/gpu", "present", "NoSchedule")], ..face() };
    let wish = NodeWish::default();
    assert!(wish.accepts(&face, 1));
    assert_eq!(
        wish.kept_off_by(&face, 0).map(ToString::to_string).as_deref(),
        Some("nvidia.com/gpu=present:NoSchedule")
    );
}

#[test]
fn a_node_that_can_be_taken_away_is_known_by_its_label_and_an_unknown_one_may_be() {
    let wish = NodeWish { no_spot: true, ..NodeWish::default() };
    let with = |pairs: &[(&str, &str)]| Face { labels: labels(pairs), ..Face::default() };
    for (name, value) in SPOT_LABELS {
        assert!(!wish.accepts(&with(&[(name, value)]), 0), "{name}");
        assert!(NodeWish::default().accepts(&with(&[(name, value)]), 0));
    }
    assert!(wish.accepts(&with(&[("karpenter.sh/capacity-type", "on-demand")]), 0));
    assert!(!wish.accepts(&Face::default(), 0), "its labels were not told");
}

#[test]
fn labels_that_were_not_told_match() {
    let wish = NodeWish {
        labels: labels(&[("gpu", "h100")]),
        affinity: vec![vec![requirement("zone", "Exists", &[])]],
        ..NodeWish::default()
    };
    assert!(wish.accepts(&Face::default(), 0));
    assert!(!wish.accepts(&face(), 0), "the affinity");
    assert!(!wish.selects(&Face { labels: labels(&[("gpu", "a100")]), ..Face::default() }));
}

#[test]
fn what_is_bound_must_hold_beside_what_was_asked_for_and_what_matched_nothing_matches_nothing() {
    let has = |key: &str| vec![requirement(key, "Exists", &[])];
    let bound = |own: Vec<Vec<Requirement>>, other: Vec<Vec<Requirement>>| {
        let mut wish = NodeWish { affinity: own, ..NodeWish::default() };
        wish.bind(&NodeWish { affinity: other, ..NodeWish::default() });
        wish.is_met_by(&face())
    };
    assert!(bound(vec![has("zone"), has("gpu")], vec![has("rack")]));
    assert!(!bound(vec![has("gpu")], vec![has("zone")]));
    assert!(!bound(vec![vec![]], vec![has("gpu")]));
    assert!(bound(vec![], vec![has("gpu")]) && bound(vec![has("gpu")], vec![]));
    let own = toleration("a", "Exists", "", "");
    let mut wish = NodeWish { tolerations: vec![own.clone()], ..NodeWish::default() };
    let other = NodeWish { tolerations: vec![own, toleration("b", "Exists", "", "")], ..NodeWish::default() };
    wish.bind(&other);
    assert_eq!(wish.tolerations, other.tolerations);
}

#[test]
fn a_lifted_taint_keeps_off_only_pods_without_gpus() {
    let face =
        Face { lifted: vec![taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule")], ..face() };
    assert!(face.lifted[0].names_spot() && !taint("dedicated", "ml", "NoSchedule").names_spot());
    assert!(NodeWish::default().accepts(&face, 1) && !NodeWish::default().accepts(&face, 0));
}

#[test]
fn tolerations_are_told_as_taints_are() {
    let shown = |key, operator, value, effect| toleration(key, operator, value, effect).to_string();
    assert_eq!(shown("spot", "Equal", "true", "NoSchedule"), "spot=true:NoSchedule");
    assert_eq!(shown("spot", "Exists", "", "NoExecute"), "spot:NoExecute");
    assert_eq!(shown("", "Exists", "", ""), "*");
}
