//! Sheets, splits and sums.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{fact::PodFact, resources::Resources, time::Timestamp};

const HOUR: i64 = 3_600_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn sheet(prices: &str) -> Result<Sheet, BadSheet> {
    Sheet::parse(&format!("name: default\ncurrency: EUR\nprices:\n{prices}"))
}

fn price(fields: &str) -> String {
    format!("- {{cluster: '*', cpu_hour: 0.1, memory_gib_hour: 0.01, gpu_hour: 3.9, {fields}}}\n")
}

fn problems(text: &str) -> Vec<String> {
    let bad = Sheet::parse(text).unwrap_err();
    bad.problems.iter().map(|problem| format!("{}: {}", problem.path, problem.problem)).collect()
}

fn refused(prices: &str) -> String {
    problems(&format!("name: default\ncurrency: EUR\nprices:\n{prices}")).join(" | ")
}

#[test]
fn prices_are_read_exactly() {
    let read = sheet(&price("from: 2026-01-01")).unwrap();
    let rate = read.for_node("east", "H100")[0].rate;
    assert_eq!(
        rate,
        Rate { cpu_hour: 1_000_000_000, memory_gib_hour: 100_000_000, gpu_hour: 39_000_000_000 }
    );
}

#[test]
fn the_most_special_price_holds() {
    let read = sheet(concat!(
        "- {cluster: '*', from: 2026-01-01, cpu_hour: 1, memory_gib_hour: 0, gpu_hour: 0}\n",
        "- {cluster: east, from: 2026-01-01, cpu_hour: 2, memory_gib_hour: 0, gpu_hour: 0}\n",
        "- {cluster: east, gpu_model: H100, from: 2026-01-01, cpu_hour: 3, memory_gib_hour: 0, gpu_hour: 0}\n",
        "- {cluster: '*', gpu_model: L40S, from: 2026-01-01, cpu_hour: 4, memory_gib_hour: 0, gpu_hour: 0}\n",
    ))
    .unwrap();
    let of = |cluster: &str, model: &str| read.for_node(cluster, model)[0].rate.cpu_hour / 10_000_000_000;
    assert_eq!((of("west", ""), of("east", ""), of("east", "H100"), of("west", "L40S")), (1, 2, 3, 4));
    assert_eq!(of("east", "L40S"), 2);
}

#[test]
fn gaps_and_overlaps_name_the_interval() {
    let gap = format!("{}{}", price("from: 2026-01-01, to: 2026-02-01"), price("from: 2026-03-01"));
    assert_eq!(
        refused(&gap),
        "prices[1]: prices for all clusters have a gap: nothing is in force from 2026-02-01T00:00:00Z (the end of prices[0]) \
         to 2026-03-01T00:00:00Z; let one interval begin where the one before it ends"
    );
    let overlap = format!("{}{}", price("from: 2026-01-01, to: 2026-02-01"), price("from: 2026-01-15"));
    assert!(refused(&overlap).contains("both in force from 2026-01-15T00:00:00Z to 2026-02-01T00:00:00Z"));
    let endless = format!("{}{}", price("from: 2026-01-01"), price("from: 2026-01-15"));
    assert!(refused(&endless).contains("prices[0] has no end, and prices[1] begins at 2026-01-15T00:00:00Z"));
    let meeting = format!("{}{}", price("from: 2026-02-01"), price("from: 2026-01-01, to: 2026-02-01"));
    assert_eq!(sheet(&meeting).unwrap().intervals(), 2);
}

#[test]
fn every_bad_value_gets_its_own_sentence() {
    let bad = "- {cluster: East, from: soon, to: 2026-01-01, cpu_hour: -1, memory_gib_hour: 0.12345678901, gpu_hour: 1e3}\n";
    let text = refused(bad);
    for part in [
        "prices[0].cluster: cluster name \"East\" must be lower-case",
        "prices[0].from: \"soon\" is no time",
        "prices[0].cpu_hour: -1 is negative",
        "prices[0].memory_gib_hour: 0.12345678901 has 11 decimals; at most 10 are kept",
        "prices[0].gpu_hour: \"1e3\" is no decimal number",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let empty = price("from: 2026-01-01, to: 2026-01-01");
    assert!(refused(&empty).contains("the interval is empty"));
    assert!(
        refused(&price("from: 2026-01-01, gpu_hours: 1"))
            .starts_with("line 4: prices[0]: unknown field `gpu_hours`")
    );
    assert_eq!(problems("name: default\ncurrency: EUX\nprices: []\n").len(), 2);
    assert!(problems("name: [").join("").starts_with("line "));
}

fn node(capacity: Resources, from: i64, to: Option<i64>) -> NodeSpan {
    NodeSpan {
        cluster: "east".into(),
        uid: "n".into(),
        name: "n1".into(),
        gpu_model: String::new(),
        capacity,
        allocatable: capacity,
        from: at(from),
        to: to.map(at),
    }
}

fn pod(uid: &str, requests: Resources, from: i64, to: Option<i64>, owner: Owner) -> PodSpan {
    PodSpan {
        cluster: "east".into(),
        uid: uid.into(),
        node: "n1".into(),
        requests,
        from: at(from),
        to: to.map(at),
        owner,
    }
}

fn team(name: &str) -> Owner {
    Owner::Job { team: name.into(), job: format!("{name}-job") }
}

fn gpus(number: i64) -> Resources {
    Resources { gpus: number, ..Resources::default() }
}

/// Money per kind and team, in cents.
fn cents(report: &Report) -> Vec<(String, String)> {
    let values: Vec<i128> = report.rows.values().map(|row| row.amount.0).collect();
    let (texts, _) = Column::money(2).apportion(&values).unwrap();
    report
        .rows
        .keys()
        .map(|key| format!("{} {}", key.kind.word(), key.team).trim().to_owned())
        .zip(texts)
        .collect()
}

fn gpu_prices(change: Option<i64>) -> Sheet {
    let epoch = |millis: i64| at(millis).to_string();
    let row = |from: i64, to: Option<i64>, price: &str| {
        let to = to.map_or(String::new(), |to| format!("to: '{}', ", epoch(to)));
        format!(
            "- {{cluster: '*', from: '{}', {to}cpu_hour: 0, memory_gib_hour: 0, gpu_hour: {price}}}\n",
            epoch(from)
        )
    };
    let text = match change {
        None => row(0, None, "3.90"),
        Some(change) => format!("{}{}", row(0, Some(change), "3.90"), row(change, None, "4.20")),
    };
    sheet(&text).unwrap()
}

#[test]
fn a_plain_hour_and_a_price_change_come_to_the_known_amounts() {
    let nodes = [node(gpus(8), 0, None)];
    let pods =
        [pod("a", gpus(4), 0, None, team("a")), pod("b", gpus(2), HOUR / 6, Some(HOUR * 2 / 3), team("b"))];
    let plain = usage(&nodes, &pods, Some(&gpu_prices(None)), at(0), at(HOUR)).unwrap();
    let expected = [("team a", "15.60"), ("team b", "3.90"), ("overhead", "0.00"), ("idle", "11.70")];
    assert_eq!(cents(&plain), expected.map(|(kind, text)| (kind.to_owned(), text.to_owned())));
    let changed = usage(&nodes, &pods, Some(&gpu_prices(Some(HOUR / 3))), at(0), at(HOUR)).unwrap();
    let expected = [("team a", "16.40"), ("team b", "4.10"), ("overhead", "0.00"), ("idle", "12.30")];
    assert_eq!(cents(&changed), expected.map(|(kind, text)| (kind.to_owned(), text.to_owned())));
}

#[test]
fn a_node_that_comes_again_under_its_name_is_another_interval() {
    let mut again = node(gpus(1), HOUR / 2 + 60_000, None);
    again.uid = "m".into();
    let nodes = [node(gpus(1), 0, Some(HOUR / 2)), again];
    let pods = [pod("a", gpus(1), 0, None, team("a"))];
    let report = usage(&nodes, &pods, None, at(0), at(HOUR)).unwrap();
    assert_eq!(report.capacity.quantity.gpu_ms, i128::from(HOUR - 60_000));
    assert_eq!(report.rows.iter().find(|(key, _)| key.kind == Kind::Idle).unwrap().1.quantity.gpu_ms, 0);
}

#[test]
fn what_is_not_known_is_noted() {
    let pods = [
        pod("a", gpus(9), 0, None, team("a")),
        PodSpan { node: "n7".into(), ..pod("b", gpus(1), 0, None, Owner::Shared) },
    ];
    let early = usage(
        &[node(gpus(8), 0, None)],
        &pods,
        Some(&sheet(&price("from: 2030-01-01")).unwrap()),
        at(0),
        at(HOUR),
    )
    .unwrap();
    let notes: Vec<&String> = early.notes.iter().collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(
        notes[0].contains("node n7 of east is not known") && notes[1].contains("asked for more than it has")
    );
    assert!(notes[2].contains("no price for nodes of east"));
}

#[test]
fn rows_sum_to_the_total_and_ties_go_to_the_first() {
    let (rows, total) = Column::money(2).apportion(&[AMOUNT_UNIT / 30; 3]).unwrap();
    assert_eq!((rows.join(" "), total.as_str()), ("0.04 0.03 0.03".to_owned(), "0.10"));
    assert_eq!(Column::money(0).apportion(&[AMOUNT_UNIT / 2]).unwrap().1, "0");
    assert_eq!(decimals(-5, 2), "-0.05");
}

#[test]
fn an_amount_beyond_exact_numbers_is_refused() {
    let huge = Resources { memory_bytes: i64::MAX, ..Resources::default() };
    let dear = "- {cluster: '*', from: 1970-01-01, cpu_hour: 0, memory_gib_hour: 10000, gpu_hour: 0}\n";
    let report = usage(&[node(huge, 0, None)], &[], Some(&sheet(dear).unwrap()), at(0), at(HOUR * 1_000_000));
    assert_eq!(report, Err(TooLarge));
}

#[test]
fn jobs_own_their_pods_and_the_system_is_overhead() {
    let agent = "system:serviceaccount:squadron:squadron-agent";
    let job = Some(("research".to_owned(), "j1".to_owned()));
    assert_eq!(Owner::of(job, "kube-system", agent), team_job("research", "j1"));
    for system in ["kube-system", "squadron"] {
        assert_eq!(Owner::of(None, system, agent), Owner::System);
    }
    assert_eq!(Owner::of(None, "default", agent), Owner::Shared);
    assert_eq!(Owner::of(None, "", ""), Owner::Shared, "a cluster without an agent has no namespace of it");
}

fn team_job(team: &str, job: &str) -> Owner {
    Owner::Job { team: team.into(), job: job.into() }
}

#[test]
fn a_pod_holds_from_its_binding_to_its_end_and_never_backwards() {
    let pod = |bound: Option<i64>, finished: Option<i64>, gone| PodFact {
        node: "n1".into(),
        bound_at: bound.map(at),
        finished_at: finished.map(at),
        gone,
        ..PodFact::default()
    };
    assert_eq!(held(&pod(Some(5), None, false), at(9)), (Some(at(5)), None));
    assert_eq!(held(&pod(Some(50), None, true), at(9)), (Some(at(9)), Some(at(9))), "its clock is ahead");
    assert_eq!(held(&pod(Some(5), Some(3), true), at(9)), (Some(at(5)), Some(at(5))));
    assert_eq!(held(&PodFact::default(), at(9)), (None, None), "it is on no node");
}

/// A node through which 30,000 short pods went: each is looked at when it comes and when it goes, not at every cut.
#[test]
fn many_short_pods_are_swept_once() {
    let one = Resources { cpu_milli: 1, ..Resources::default() };
    let pods: Vec<PodSpan> =
        (0..30_000).map(|i| pod(&format!("p{i:05}"), one, i, Some(i + 10), Owner::Shared)).collect();
    let whole = Resources { cpu_milli: 100, ..Resources::default() };
    let report = usage(&[node(whole, 0, None)], &pods, None, at(0), at(40_000)).unwrap();
    let shared: i128 = report
        .rows
        .iter()
        .filter(|(key, _)| key.kind == Kind::Shared)
        .map(|(_, row)| row.quantity.cpu_milli_ms)
        .sum();
    assert_eq!((shared, summed(&report)), (300_000, report.capacity));
}

fn any_resources() -> impl Strategy<Value = Resources> {
    (0_i64..64_000, 0_i64..1 << 38, 0_i64..9).prop_map(|(cpu_milli, memory_bytes, gpus)| Resources {
        cpu_milli,
        memory_bytes,
        gpus,
    })
}

fn any_nodes() -> impl Strategy<Value = Vec<NodeSpan>> {
    let one = (any_resources(), any_resources(), 0_i64..10_000, prop::option::of(0_i64..10_000), 0_u8..3);
    vec(one, 0..4).prop_map(|nodes| {
        let made =
            nodes.into_iter().enumerate().map(|(i, (capacity, allocatable, from, to, name))| NodeSpan {
                uid: format!("n{i}"),
                name: format!("n{name}"),
                allocatable,
                ..node(capacity, from, to)
            });
        made.collect()
    })
}

fn any_pods() -> impl Strategy<Value = Vec<PodSpan>> {
    let owner = prop_oneof![Just(team("a")), Just(team("b")), Just(Owner::Shared), Just(Owner::System)];
    let one = (any_resources(), 0_i64..10_000, prop::option::of(0_i64..10_000), owner, 0_u8..4);
    vec(one, 0..12).prop_map(|pods| {
        let made = pods.into_iter().enumerate().map(|(i, (requests, from, to, owner, name))| PodSpan {
            node: format!("n{name}"),
            ..pod(&format!("p{i}"), requests, from, to, owner)
        });
        made.collect()
    })
}

fn summed(report: &Report) -> Priced {
    let mut sum = Priced::default();
    report.rows.values().for_each(|row| sum.add(*row).unwrap());
    sum
}

proptest! {
    #[test]
    fn the_parts_are_the_whole(
        nodes in any_nodes(), pods in any_pods(), from in 0_i64..5_000, length in 0_i64..10_000, change in 1_i64..9_000,
    ) {
        let sheet = gpu_prices(Some(change));
        let report = usage(&nodes, &pods, Some(&sheet), at(from), at(from + length)).unwrap();
        prop_assert_eq!(summed(&report), report.capacity);
        for (key, row) in &report.rows {
            let quantity = row.quantity;
            prop_assert!(quantity.cpu_milli_ms >= 0 && quantity.memory_byte_ms >= 0 && quantity.gpu_ms >= 0, "{:?}", key);
        }
    }

    #[test]
    fn a_time_cut_in_two_costs_the_same(
        nodes in any_nodes(), pods in any_pods(), first in 0_i64..4_000, second in 0_i64..4_000, third in 0_i64..4_000,
    ) {
        let sheet = gpu_prices(Some(3_333));
        let (a, b, c) = (at(first), at(first + second), at(first + second + third));
        let mut halves = usage(&nodes, &pods, Some(&sheet), a, b).unwrap();
        for (key, row) in usage(&nodes, &pods, Some(&sheet), b, c).unwrap().rows {
            halves.rows.entry(key).or_default().add(row).unwrap();
        }
        let whole = usage(&nodes, &pods, Some(&sheet), a, c).unwrap();
        halves.rows.retain(|_, row| *row != Priced::default());
        let kept: std::collections::BTreeMap<_, _> =
            whole.rows.into_iter().filter(|(_, row)| *row != Priced::default()).collect();
        prop_assert_eq!(halves.rows, kept);
    }

    #[test]
    fn the_order_of_rows_does_not_matter(nodes in any_nodes(), pods in any_pods()) {
        let (mut turned_nodes, mut turned_pods) = (nodes.clone(), pods.clone());
        turned_nodes.reverse();
        turned_pods.reverse();
        turned_pods.extend(pods.first().cloned());
        prop_assert_eq!(
            usage(&nodes, &pods, None, at(0), at(9_000)),
            usage(&turned_nodes, &turned_pods, None, at(0), at(9_000))
        );
    }

    #[test]
    fn rounded_rows_sum_to_the_rounded_total(values in vec(0_i128..1 << 90, 0..12), digits in 0_u32..4) {
        let (rows, total) = Column::money(digits).apportion(&values).unwrap();
        let number = |text: &String| text.replace('.', "").parse::<i128>().unwrap();
        prop_assert_eq!(rows.iter().map(number).sum::<i128>(), number(&total));
    }
}
