//! Preferences on small fleets, and what must hold of them on random ones.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, option, prelude::*};

use super::{
    plan::settled,
    policy_properties::any_fleet,
    room::Room,
    tests::{cluster, codes, gang, res, waiting},
    *,
};
use crate::{
    placement::{REGION_LABEL, SPOT_LABELS},
    preference::{Field, Texts, read},
};

const SHEET: &str = r#"
name: list
currency: EUR
prices:
  - {cluster: "*", from: 1970-01-01, cpu_hour: "1", memory_gib_hour: "0.25", gpu_hour: "4"}
  - {cluster: "*", gpu_model: H100, from: 1970-01-01, cpu_hour: "1", memory_gib_hour: "0.25", gpu_hour: "10"}
  - {cluster: c2, gpu_model: H100, from: 1970-01-01, cpu_hour: "1", memory_gib_hour: "0.25", gpu_hour: "7.50"}
"#;

fn sheet() -> Sheet {
    Sheet::parse(SHEET).unwrap()
}

pub(super) fn wishes(pairs: &[(Field, &str)]) -> Preferences {
    let mut texts = Texts::default();
    pairs.iter().for_each(|(field, text)| texts.set(*field, (*text).to_owned()));
    read(&texts).unwrap()
}

/// One pod of four cores, four GiB and a GPU.
fn job(pairs: &[(Field, &str)]) -> Waiting {
    let one = gang(res(4, 4, 1), 0, res(0, 0, 0));
    let mut job = Waiting { preferences: wishes(pairs), ..waiting(1, one) };
    for part in &mut job.gang {
        part.wish.no_spot = job.preferences.no_spot;
    }
    job
}

/// A cluster with two nodes of eight cores and a GPU each, with these labels of its own and of its nodes.
fn at(number: u128, name: &str, own: &[(&str, &str)], nodes: &[(&str, &str)]) -> Cluster {
    let mut made = cluster(number, name, &[res(8, 16, 1), res(8, 16, 1)]);
    let labels = |pairs: &[(&str, &str)]| -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    made.labels = labels(own);
    for node in &mut made.nodes {
        node.face.labels = labels(&[("kubernetes.io/os", "linux")]);
        node.face.labels.extend(labels(nodes));
    }
    made
}

fn planned(clusters: &[Cluster], job: &Waiting) -> Plan {
    let (clusters, waiting) = (clusters.to_vec(), vec![job.clone()]);
    plan(&Input { clusters, waiting, sheet: Some(sheet()), ..Input::default() })
}

fn goes_to(clusters: &[Cluster], job: &Waiting) -> u128 {
    planned(clusters, job).assign[0].cluster.0.as_u128()
}

fn told(plan: &Plan) -> Vec<(&str, &str)> {
    let blockers = plan.blocked[0].blockers.iter();
    blockers.map(|blocker| (blocker.sentence.as_str(), blocker.try_this.as_str())).collect()
}

#[test]
fn a_residency_takes_only_clusters_that_are_known_to_be_there() {
    let eu = &[(REGION_LABEL, "eu-west-1")];
    let home = job(&[(Field::Residency, "eu-west-1")]);
    let clusters = [at(1, "east", &[], &[(REGION_LABEL, "us-east-1")]), at(2, "west", &[], eu)];
    assert_eq!(goes_to(&clusters, &home), 2);
    assert_eq!(
        goes_to(&[at(1, "south", &[("region", "eu-west-1")], &[])], &home),
        1,
        "an operator's word is enough"
    );
    let mut mixed = at(3, "mixed", &[("region", "eu-west-1")], &[]);
    mixed.nodes[1].face.labels.insert(REGION_LABEL.into(), "us-east-1".into());
    let mut partly = at(5, "partly", &[], eu);
    partly.nodes[1].face.labels.remove(REGION_LABEL);
    let plan = planned(&[clusters[0].clone(), mixed, at(4, "north", &[], &[]), partly], &home);
    assert_eq!(codes(&plan.blocked[0]), ["RESIDENCY"; 4]);
    let north = "label its nodes with topology.kubernetes.io/region, or say it for the cluster: squadron cluster label north \
                 region=REGION";
    let other = "add a cluster there, or cancel the job and submit it with another --residency";
    assert_eq!(
        told(&plan),
        [
            ("east has nodes in us-east-1, and the job may run only in eu-west-1", other),
            ("mixed has nodes in us-east-1, and the job may run only in eu-west-1", other),
            (
                "the region of north is not known; its nodes report none, and the job may run only in eu-west-1",
                north
            ),
            (
                "the region of partly is not known for all of it; 1 node reports none, and the job may run only in eu-west-1",
                north.replace("north", "partly").as_str()
            ),
        ]
    );
}

#[test]
fn a_maximum_price_is_kept_and_what_it_would_cost_is_told() {
    let h100 = &[("nvidia.com/gpu.product", "H100")];
    let clusters = [at(1, "c1", &[], h100), at(2, "c2", &[], h100)];
    // Four cores, four GiB and a GPU: 4 + 1 + 10 on c1, 4 + 1 + 7.50 on c2.
    assert_eq!(goes_to(&clusters, &job(&[(Field::MaxPrice, "12.50 EUR")])), 2);
    let placed = planned(&clusters, &job(&[(Field::MaxPrice, "20 EUR")]));
    let first = &placed.assign[0].choice.candidates[0];
    let price = first.terms.iter().find(|term| term.name == "price").unwrap();
    assert_eq!((first.cluster.as_str(), price.value, price.decided), ("c2", 125_000, true));
    assert_eq!(
        (price.unit.as_str(), price.clause.as_str()),
        ("EUR/10000 an hour", "it would cost 12.50 EUR an hour")
    );
    let plan = planned(&clusters, &job(&[(Field::MaxPrice, "12.4999 EUR")]));
    assert_eq!(codes(&plan.blocked[0]), ["MAX_PRICE", "MAX_PRICE"]);
    assert_eq!(
        told(&plan)[1],
        (
            "on c2 the job would cost 12.50 EUR an hour, and it may cost at most 12.4999 EUR",
            "cancel the job and submit it with a higher --max-price or without one"
        )
    );
    let plan = planned(&clusters, &job(&[(Field::MaxPrice, "20 USD")]));
    assert_eq!(told(&plan)[0].0, "prices are in EUR, and the job's maximum is 20.00 USD");
    let waiting = vec![job(&[(Field::MaxPrice, "20 EUR")])];
    let plan = super::plan(&Input { clusters: clusters.to_vec(), waiting, ..Input::default() });
    assert!(told(&plan)[0].0.starts_with("no price sheet is in force"), "{plan:?}");
}

#[test]
fn dearer_nodes_of_a_cluster_are_left_out_when_the_cheaper_ones_are_enough() {
    let mut mixed = at(1, "c1", &[], &[]);
    mixed.nodes[0].face.labels.insert("nvidia.com/gpu.product".into(), "H100".into());
    let placed = planned(&[mixed], &job(&[(Field::MaxPrice, "9 EUR")]));
    let terms = &placed.assign[0].choice.candidates[0].terms;
    assert_eq!(terms.iter().find(|term| term.name == "price").unwrap().value, 90_000);
}

#[test]
fn a_job_that_excludes_spot_keeps_off_spot_and_off_what_is_not_known() {
    let spot = &[("karpenter.sh/capacity-type", "spot")];
    let steady = job(&[(Field::Spot, "never")]);
    let clusters =
        [at(1, "east", &[], spot), at(2, "west", &[], &[("karpenter.sh/capacity-type", "on-demand")])];
    assert_eq!(goes_to(&clusters, &steady), 2);
    assert_eq!(goes_to(&clusters, &job(&[(Field::Spot, "allow")])), 1);
    let mut untold = at(3, "north", &[], &[]);
    untold.nodes.iter_mut().for_each(|node| node.face = Face::default());
    let plan = planned(&[clusters[0].clone(), untold], &steady);
    assert_eq!(codes(&plan.blocked[0]), ["NO_MATCHING_NODE", "NO_MATCHING_NODE"]);
    let sentences: Vec<&str> = told(&plan).into_iter().map(|told| told.0).collect();
    assert_eq!(
        sentences,
        [
            "every node of east that its head pod may use can be taken away, and it may not run on spot nodes",
            "whether nodes of north can be taken away is not known, and its head pod may not run on spot nodes",
        ]
    );
}

#[test]
fn soft_preferences_rank_in_their_order_and_are_told() {
    let near = at(1, "east", &[("data/imagenet", "near"), ("tier", "gold")], &[(REGION_LABEL, "us-east-1")]);
    let clusters = [near, at(2, "west", &[], &[(REGION_LABEL, "eu-west-1")]), at(3, "north", &[], &[])];
    let order = |pairs: &[(Field, &str)], name: &str| -> Vec<(String, i64)> {
        let placed = planned(&clusters, &job(pairs));
        let ranked = &placed.assign[0].choice.candidates;
        let value = |one: &Ranked| one.terms.iter().find(|term| term.name == name).unwrap().value;
        ranked.iter().map(|one| (one.cluster.clone(), value(one))).collect()
    };
    let pairs = |pairs: &[(&str, i64)]| -> Vec<(String, i64)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    };
    let wished = [(Field::Prefer, "north, region=eu-west-1"), (Field::Avoid, "tier=gold")];
    assert_eq!(order(&wished, "preference"), pairs(&[("north", 0), ("west", 1), ("east", 3)]));
    assert_eq!(order(&[(Field::Avoid, "east,north")], "preference")[0], ("west".to_owned(), 0));
    assert_eq!(order(&[(Field::Data, "imagenet,laion")], "data")[0], ("east".to_owned(), 1));
    let placed = planned(&clusters, &job(&[(Field::Data, "imagenet,laion")]));
    let because = &placed.assign[0].because;
    assert!(
        because.ends_with("1 of its 2 data sets not near it: laion, there 2 of its 2 data sets not near it: imagenet and laion"),
        "{because}"
    );
    assert!(order(&[], "fullness").len() == 3 && placed.assign[0].choice.candidates[0].terms.len() == 6);
}

#[test]
fn jobs_of_a_group_keep_apart_also_from_those_that_run() {
    let mut clusters = vec![at(1, "east", &[], &[]), at(2, "west", &[], &[]), at(3, "north", &[], &[])];
    let runs = AttemptId { job: JobId(uuid::Uuid::from_u128(9)), number: 1 };
    let group = gang(res(1, 1, 0), 0, res(0, 0, 0));
    clusters[0].attempts = vec![Held { spread: "sweep".into(), ..tests::held(runs, group.clone()) }];
    // Three jobs of somebody else, so that the number of jobs there would say otherwise.
    clusters[1].attempts = (10..13)
        .map(|n| tests::held(AttemptId { job: JobId(uuid::Uuid::from_u128(n)), number: 1 }, Vec::new()))
        .collect();
    let waiting: Vec<Waiting> = (1..=2)
        .map(|n| Waiting { preferences: wishes(&[(Field::Spread, "sweep")]), ..waiting(n, group.clone()) })
        .collect();
    let plan = plan(&Input { clusters, waiting, ..Input::default() });
    let places: Vec<u128> = plan.assign.iter().map(|assign| assign.cluster.0.as_u128()).collect();
    assert_eq!(places, [3, 2], "{plan:?}");
    assert!(
        plan.assign[1].because.contains("it runs 0 jobs of group sweep, there it runs 1 job of group sweep")
    );
}

/// What people might wish; the prices lie around what small jobs cost.
fn any_wishes() -> impl Strategy<Value = Preferences> {
    let soft = (0_u8..4, 0_u8..3, 0_u8..2);
    let hard = (0_u8..4, option::weighted(0.4, 0_i64..40), prop::bool::weighted(0.2));
    (soft, hard).prop_map(|((prefer, avoid, spread), (residency, price, no_spot))| {
        let mut pairs = Vec::new();
        let price = price.map(|price| format!("{price} EUR"));
        match prefer {
            1 => pairs.push((Field::Prefer, "c2, region=eu")),
            2 => pairs.push((Field::Prefer, "region=us")),
            _ => {}
        }
        pairs.extend((avoid == 1).then_some((Field::Avoid, "c1")));
        pairs.extend((spread == 1).then_some((Field::Spread, "sweep")));
        match residency {
            1 => pairs.push((Field::Residency, "eu")),
            2 => pairs.push((Field::Residency, "eu,us")),
            _ => {}
        }
        pairs.extend(price.as_deref().map(|price| (Field::MaxPrice, price)));
        pairs.extend(no_spot.then_some((Field::Spot, "never")));
        wishes(&pairs)
    })
}

/// What is told of the places: the cluster's region, then region, market and model of each node.
type Places = Vec<(Option<bool>, Vec<(Option<bool>, bool, bool)>)>;

fn any_places() -> impl Strategy<Value = Places> {
    let node = (option::weighted(0.7, prop::bool::weighted(0.8)), prop::bool::weighted(0.3), any::<bool>());
    vec((option::of(any::<bool>()), vec(node, 4..5)), 3..4)
}

/// Random fleets whose clusters are somewhere and whose jobs wish something.
pub(super) fn any_wishing_fleet() -> impl Strategy<Value = Input> {
    let region = |eu: bool| if eu { "eu" } else { "us" }.to_owned();
    (any_fleet(), any_places(), vec(any_wishes(), 12..13)).prop_map(move |(mut input, places, wishes)| {
        for (cluster, (own, nodes)) in input.clusters.iter_mut().zip(places) {
            cluster.labels.extend(own.map(|eu| ("region".to_owned(), region(eu))));
            for (node, (eu, spot, h100)) in cluster.nodes.iter_mut().zip(nodes) {
                let labels = &mut node.face.labels;
                labels.extend(eu.map(|eu| (REGION_LABEL.to_owned(), region(eu))));
                labels.extend(spot.then(|| (SPOT_LABELS[1].0.to_owned(), SPOT_LABELS[1].1.to_owned())));
                labels.extend(h100.then(|| ("nvidia.com/gpu.product".to_owned(), "H100".to_owned())));
            }
        }
        for (job, wishes) in input.waiting.iter_mut().zip(wishes) {
            job.gang.iter_mut().for_each(|part| part.wish.no_spot = wishes.no_spot);
            job.preferences = wishes;
        }
        Input { sheet: Some(sheet()), ..input }
    })
}

/// Regions of a cluster's nodes, read without the dispatcher; `None` where nobody told.
fn regions(cluster: &Cluster) -> Vec<Option<&String>> {
    let own = cluster.labels.get("region");
    cluster.nodes.iter().map(|node| node.face.labels.get(REGION_LABEL).or(own)).collect()
}

/// The least that the gang can cost on the cluster, in 10⁻⁴ EUR, read from [`SHEET`].
fn least(cluster: &Cluster, gang: &[GangPart]) -> i128 {
    let gpu = |node: &Node| match (node.face.gpu_model(), cluster.name.as_str()) {
        ("", _) => 40_000,
        (_, "c2") => 75_000,
        _ => 100_000,
    };
    let all = gang_total(gang);
    let gpus = cluster.nodes.iter().map(gpu).min().unwrap_or(0) * i128::from(all.gpus);
    i128::from(all.cpu_milli) * 10 + i128::from(all.memory_bytes) * 2_500 / (1 << 30) + gpus
}

fn pods(gang: &[GangPart]) -> Vec<&GangPart> {
    gang.iter().flat_map(|part| (0..part.count).map(move |_| part)).collect()
}

/// Whether some order of nodes takes the pods; all of them are tried, because a packing that holds beside others need not
/// be the one that the dispatcher would find on empty nodes.
fn somehow(room: &mut Room, pods: &[&GangPart]) -> bool {
    let Some((pod, rest)) = pods.split_first() else { return true };
    (0..room.nodes.len()).any(|at| {
        let free = room.nodes[at].1;
        if !pod.requests.fits(free) || !pod.wish.accepts(&room.faces[at], pod.requests.gpus) {
            return false;
        }
        room.nodes[at].1 = free - pod.requests;
        let found = somehow(room, rest);
        room.nodes[at].1 = free;
        found
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Who is placed is in a region that it allows, on nodes that cannot be taken away, at a price that it may cost.
    #[test]
    fn a_hard_preference_is_never_violated(input in any_wishing_fleet()) {
        for assign in plan(&input).assign {
            let job = input.waiting.iter().find(|job| job.job == assign.job).unwrap();
            let cluster = input.clusters.iter().find(|one| one.id == assign.cluster).unwrap();
            let wished = &job.preferences;
            if !wished.residency.is_empty() {
                let there = regions(cluster);
                let allowed = there.iter().all(|one| one.is_some_and(|one| wished.residency.contains(one)));
                prop_assert!(allowed && !there.is_empty(), "{:?} of {there:?}", wished.residency);
            }
            if wished.no_spot {
                let mut steady = cluster.clone();
                steady.nodes.retain(|node| !node.face.may_be_spot());
                prop_assert!(somehow(&mut Room::empty(&steady), &pods(&job.gang)), "{} of {steady:?}", job.name);
            }
            if let Some(most) = &wished.max_price {
                let term = assign.choice.candidates[0].terms.iter().find(|term| term.name == "price").unwrap();
                prop_assert!(term.value <= most.amount, "{} of {most}", term.value);
                prop_assert!(i128::from(term.value) >= least(cluster, &job.gang), "{term:?}");
            }
        }
    }

    /// Whoever waits at the end fits nowhere that it may go, whatever it and others prefer.
    #[test]
    fn no_soft_preference_makes_a_job_wait_that_could_start(input in any_wishing_fleet()) {
        let pass = settled(&input);
        for group in &pass.groups {
            let Some(job) = group.head() else { continue };
            let limits = pass.quotas.limits(group.place);
            for site in pass.sites.iter().filter(|site| site.takes(job)) {
                let packing = site.pack(&site.free, job, &limits, pass.prices());
                prop_assert!(packing.is_err(), "{} fits on {}", job.name, site.cluster.name);
            }
        }
        for job in &input.waiting {
            let alone = |preferences: Preferences| {
                let waiting = vec![Waiting { preferences, ..job.clone() }];
                plan(&Input { waiting, ..input.clone() }).assign.len()
            };
            let hard = Preferences {
                residency: job.preferences.residency.clone(),
                max_price: job.preferences.max_price.clone(),
                no_spot: job.preferences.no_spot,
                ..Preferences::default()
            };
            prop_assert_eq!(alone(job.preferences.clone()), alone(hard));
        }
    }

    #[test]
    fn the_order_of_a_wishing_snapshot_does_not_matter(input in any_wishing_fleet()) {
        let mut turned = input.clone();
        turned.clusters.reverse();
        turned.waiting.reverse();
        turned.clusters.iter_mut().for_each(|cluster| cluster.nodes.reverse());
        prop_assert_eq!(plan(&input), plan(&turned));
    }
}
