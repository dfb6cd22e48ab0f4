//! Flavors, trees and shares.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    dispatch::{
        pack::Limits,
        policy_tests::{gpu_node, policy, queue},
        tests::res,
    },
    quota::{Flavor, ORDINARY, check::MOST_WEIGHT},
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
fn a_node_has_the_flavor_with_the_most_labels_that_it_has_and_then_the_first_by_name() {
    let of = |declared: &[Flavor]| {
        let flavors = Flavors::new(declared);
        let own = flavors.of(&gpu_node("n0", 1).face).map(|flavor| flavors.name(flavor).to_owned());
        own.unwrap_or_default()
    };
    let default = Flavor { name: "default-flavor".into(), ..Flavor::default() };
    let h100 = policy(&[]).flavors.into_iter().find(|flavor| flavor.name == "h100").unwrap();
    let twin = Flavor { name: "aa".into(), ..h100.clone() };
    assert_eq!(of(std::slice::from_ref(&default)), "default-flavor");
    assert_eq!(of(&[default.clone(), h100.clone()]), "h100");
    assert_eq!(of(&[default, h100, twin]), "aa");
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

/// Two queues that borrow of the lab, which has so much of both flavors and no more than GPUs.
fn borrowers(weights: [u32; 2]) -> Quotas {
    let mut lab = queue("lab", None, Some(20));
    lab.quotas.insert("a100".into(), lab.quotas["h100"].clone());
    let mut declared = policy(&[lab, queue("a", Some("lab"), None), queue("b", Some("lab"), None)]);
    for (flavor, weight) in declared.flavors.iter_mut().zip(weights) {
        flavor.weight = weight;
    }
    Quotas::new(&declared, &[])
}

#[test]
fn what_is_borrowed_counts_by_the_weight_of_its_flavor() {
    let mut quotas = borrowers([3_000, 1_000]);
    let (a100, h100) = (quotas.flavors.index("a100").unwrap(), quotas.flavors.index("h100").unwrap());
    let (a, b) = (quotas.limited("a").unwrap(), quotas.limited("b").unwrap());
    quotas.take(a, "a", &[(h100, res(0, 0, 8))].into());
    quotas.take(b, "b", &[(a100, res(0, 0, 8))].into());
    assert_eq!((quotas.share_now(a), quotas.share_now(b)), (300, 100), "24 and 8 of 80");
    let both = [(a100, res(0, 0, 2)), (h100, res(0, 0, 2))].into();
    let share = |place: Place| quotas.share(place, place.node, &both).borrowed;
    assert_eq!((share(a), share(b)), (400_000, 200_000), "32 and 16 of 80");
}

#[test]
fn where_nothing_can_be_lent_shares_are_told_as_if_a_unit_could() {
    let mut quotas = quotas(&[queue("lab", None, Some(0)), queue("a", Some("lab"), Some(0))]);
    let a = quotas.limited("a").unwrap();
    quotas.take(a, "a", &[(quotas.flavors.index("h100").unwrap(), res(0, 0, 2))].into());
    assert_eq!(quotas.share_now(a), 2_000);
}

proptest! {
    /// Flavors that weigh alike are summed as they are, whatever they weigh.
    #[test]
    fn one_weight_for_all_flavors_changes_no_share(
        weight in 1_u32..=MOST_WEIGHT, amounts in vec(0_i64..=20, 4), asks in vec(0_i64..=9, 2)
    ) {
        let shares = |weight: u32| {
            let mut quotas = borrowers([weight, weight]);
            let (a, b) = (quotas.limited("a").unwrap(), quotas.limited("b").unwrap());
            let both = |gpus: &[i64]| [(0, res(0, 0, gpus[0])), (1, res(0, 0, gpus[1]))].into();
            quotas.take(a, "a", &both(&amounts[..2]));
            quotas.take(b, "b", &both(&amounts[2..]));
            [a, b].map(|place| (quotas.share_now(place), quotas.share(place, place.node, &both(&asks))))
        };
        prop_assert_eq!(shares(weight), shares(ORDINARY));
        let plain = (amounts[0] + amounts[1]) * 1_000 / 40;
        prop_assert_eq!(shares(ORDINARY)[0].0, plain);
    }
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
