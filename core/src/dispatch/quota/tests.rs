//! Flavors, trees and shares.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{
    dispatch::{
        pack::Limits,
        policy_tests::{gpu_node, policy, queue},
        tests::res,
    },
    quota::Flavor,
};

fn quotas(queues: &[Queue]) -> Quotas {
    Quotas::new(&policy(queues), &[])
}

fn flavors_of(quotas: &Quotas, queue: &str) -> Vec<String> {
    match quotas.limits_by_name(quotas.limited(queue)) {
        Limits::None => vec!["any".to_owned()],
        Limits::Flavors(limits) => {
            limits.iter().map(|limit| quotas.flavors.name(limit.flavor).to_owned()).collect()
        }
    }
}

#[test]
fn a_node_has_the_first_flavor_by_name_whose_labels_it_has() {
    let any = Flavor { name: "any".into(), ..Flavor::default() };
    let later = Flavor { name: "zz".into(), ..Flavor::default() };
    let mut declared = policy(&[]);
    declared.flavors.extend([later, any.clone()]);
    let node = gpu_node("n0", 1);
    let name = |flavors: &Flavors| flavors.of(&node.face).map(|flavor| flavors.name(flavor).to_owned());
    assert_eq!(name(&Flavors::new(&declared.flavors)).as_deref(), Some("any"));
    declared.flavors.retain(|flavor| *flavor != any);
    assert_eq!(name(&Flavors::new(&declared.flavors)).as_deref(), Some("h100"));
}

#[test]
fn a_queue_uses_what_it_names_or_else_what_its_parent_may_use() {
    let mut b = queue("b", Some("lab"), Some(1));
    let only = b.quotas.remove("h100").unwrap();
    b.quotas.insert("a100".into(), only);
    let quotas = quotas(&[
        queue("lab", None, None),
        queue("a", Some("lab"), Some(1)),
        b,
        queue("c", Some("lab"), None),
    ]);
    assert_eq!(flavors_of(&quotas, "a"), ["h100"]);
    assert_eq!(flavors_of(&quotas, "b"), ["a100"]);
    assert_eq!(flavors_of(&quotas, "c"), ["a100", "h100"]);
    assert_eq!(flavors_of(&quotas, "unheard-of"), ["any"]);
}

#[test]
fn a_tree_without_quotas_limits_nothing_beside_one_that_does() {
    let quotas = quotas(&[queue("x", None, None), queue("y", Some("x"), None), queue("z", None, Some(1))]);
    assert!(quotas.limited("y").is_none() && quotas.limited("z").is_some());
}

#[test]
fn shares_are_of_what_is_borrowed_by_weight() {
    let mut heavy = queue("heavy", Some("lab"), Some(2));
    heavy.weight = 4_000;
    let mut quotas = quotas(&[queue("lab", None, Some(6)), heavy, queue("light", Some("lab"), Some(2))]);
    let share = |quotas: &Quotas, name: &str| {
        let place = quotas.limited(name).unwrap();
        quotas.share(place, place.node, &[(1, res(0, 0, 1))].into())
    };
    assert_eq!(share(&quotas, "light"), Share { borrowed: 0, used: 500_000 });
    for name in ["heavy", "light"] {
        let place = quotas.limited(name).unwrap();
        quotas.take(place, name, &[(1, res(0, 0, 2))].into());
    }
    assert_eq!(share(&quotas, "light").borrowed, 100_000, "one of the ten that could be lent");
    assert_eq!(share(&quotas, "heavy").borrowed, 25_000);
}

#[test]
fn queues_that_are_their_own_ancestors_hang_nobody_up() {
    let quotas =
        quotas(&[queue("a", Some("b"), Some(1)), queue("b", Some("a"), Some(1)), queue("c", None, Some(1))]);
    assert!(quotas.limited("a").is_none() && quotas.limited("c").is_some());
}

#[test]
fn the_share_that_is_shown_is_the_one_that_a_decision_compared() {
    let mut keeps = queue("b", Some("lab"), Some(6));
    for quota in keeps.quotas.get_mut("h100").unwrap().values_mut() {
        quota.lending_limit = Some(2);
    }
    keeps.weight = 500;
    let mut quotas = quotas(&[queue("lab", None, Some(1)), queue("a", Some("lab"), Some(3)), keeps]);
    let place = quotas.limited("a").unwrap();
    let charge = [(quotas.flavors.index("h100").unwrap(), res(1, 1, 5))].into();
    let compared = quotas.share(place, place.node, &charge);
    assert_eq!(compared.borrowed, 2 * 1_000_000 / 6);
    quotas.take(place, "a", &charge);
    assert_eq!(quotas.share_now(place), i64::try_from(compared.borrowed).unwrap() / 1_000);
}
