//! Nodes, pods, usage and prices on a real database.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use squadron_core::{
    fact::{NodeFact, PodFact},
    meter::Owner,
};

use crate::{
    Store,
    cursor::Position,
    node, pod, price,
    testing::{
        self,
        fixture::{self, NOW, ONE},
    },
};

fn number(seq: i64) -> Position {
    Position { epoch: 1, seq }
}

async fn spans(store: &Store) -> crate::usage::Spans {
    store.spans(NOW, NOW.plus_millis(3_600_000), None).await.unwrap()
}

#[tokio::test]
async fn an_older_fact_never_overwrites_a_newer_one() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    let later = NOW.plus_millis(5_000);
    let gone = NodeFact { gone: true, ..fixture::node("n1") };
    assert!(fixture::show_node(&mut db, east, &fixture::node("n1"), number(1), NOW).await.unwrap());
    assert!(fixture::show_node(&mut db, east, &gone, number(3), later).await.unwrap());
    assert!(!fixture::show_node(&mut db, east, &fixture::node("n1"), number(2), later).await.unwrap());
    let ended = PodFact { gone: true, ..fixture::pod("p", None) };
    assert!(fixture::show_pod(&mut db, east, &fixture::pod("p", None), number(4), NOW).await.unwrap());
    assert!(fixture::show_pod(&mut db, east, &ended, number(6), later).await.unwrap());
    assert!(!fixture::show_pod(&mut db, east, &fixture::pod("p", None), number(5), later).await.unwrap());
    let found = spans(&store).await;
    assert_eq!((found.nodes[0].from, found.nodes[0].to), (NOW, Some(later)));
    assert_eq!((found.pods[0].from, found.pods[0].to, found.open_pods), (NOW, Some(later), 0));
    let next_life = Position { epoch: 2, seq: 1 };
    assert!(
        fixture::show_pod(&mut db, east, &ended, next_life, later).await.unwrap(),
        "a later epoch is newer"
    );
}

#[tokio::test]
async fn what_a_complete_list_misses_has_ended_and_pods_ends_are_estimates() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    for (seq, name) in (1..).zip(["n1", "n2"]) {
        fixture::show_node(&mut db, east, &fixture::node(name), number(seq), NOW).await.unwrap();
    }
    fixture::show_pod(&mut db, east, &fixture::pod("p", None), number(3), NOW).await.unwrap();
    let later = NOW.plus_millis(60_000);
    assert_eq!(
        node::keep_only(&mut db, east, ("", ""), &["uid-n1".into()], number(4), later).await.unwrap(),
        1
    );
    assert_eq!(pod::keep_only(&mut db, east, ("", ""), &[], number(4), later).await.unwrap(), 1);
    assert_eq!(pod::keep_only(&mut db, east, ("", ""), &[], number(5), later).await.unwrap(), 0);
    let found = spans(&store).await;
    assert_eq!((found.estimated_ends, found.pods[0].to), (1, Some(later)));
    let known = PodFact { finished_at: Some(NOW.plus_millis(9)), gone: true, ..fixture::pod("p", None) };
    fixture::show_pod(&mut db, east, &known, number(6), later).await.unwrap();
    assert_eq!(
        (spans(&store).await.estimated_ends, spans(&store).await.pods[0].to),
        (0, Some(NOW.plus_millis(9)))
    );
    let capacity = store.capacities().await.unwrap()[&east];
    assert_eq!((capacity.nodes, capacity.free), (1, capacity.allocatable));
}

#[tokio::test]
async fn a_part_of_a_list_ends_only_what_lies_within_it() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    for (seq, name) in (1..).zip(["a", "b", "c", "d"]) {
        fixture::show_node(&mut db, east, &fixture::node(name), number(seq), NOW).await.unwrap();
    }
    let within = ("uid-b", "uid-d");
    let listed = ["uid-c".to_owned()];
    let ended = node::keep_only(&mut db, east, within, &listed, number(5), NOW).await.unwrap();
    assert_eq!(ended, 1, "b; neither a nor d lies within");
    let ended = node::keep_only(&mut db, east, ("uid-d", ""), &[], number(6), NOW).await.unwrap();
    assert_eq!(ended, 1, "d; the last part has no end");
    assert_eq!(pod::keep_only(&mut db, east, ("", ""), &[], number(7), NOW).await.unwrap(), 0);
}

#[tokio::test]
async fn owners_and_room_follow_from_the_rows() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    let mut db = store.pool().acquire().await.unwrap();
    let id = squadron_core::id::AttemptId { job: job.id, number: 1 };
    fixture::show_node(&mut db, east, &fixture::node("n1"), number(1), NOW).await.unwrap();
    let pods = [
        fixture::pod("a", Some(id)),
        fixture::pod("b", None),
        PodFact { namespace: "kube-system".into(), ..fixture::pod("c", None) },
        PodFact { namespace: "squadron".into(), ..fixture::pod("d", None) },
        PodFact { node: String::new(), bound_at: None, ..fixture::pod("unbound", None) },
    ];
    for (seq, each) in (2..).zip(&pods) {
        fixture::show_pod(&mut db, east, each, number(seq), NOW).await.unwrap();
    }
    let mut found = spans(&store).await.pods;
    found.sort_by(|a, b| a.uid.cmp(&b.uid));
    let owners: Vec<Owner> = found.into_iter().map(|pod| pod.owner).collect();
    let team = Owner::Job { team: "research".into(), job: job.id.to_string() };
    assert_eq!(owners, [team, Owner::Shared, Owner::System, Owner::System]);
    let of_job = store.spans(NOW, NOW.plus_millis(1), Some(job.id)).await.unwrap();
    assert_eq!((of_job.nodes.len(), of_job.pods.len()), (0, 0), "no attempt of it ran on a cluster");
    assert_eq!(store.job_names(&[job.id]).await.unwrap()[&job.id], "train");
    let capacity = store.capacities().await.unwrap()[&east];
    assert_eq!(capacity.free, capacity.allocatable - ONE * 4);
    assert_eq!(store.pods_of_job(job.id).await.unwrap(), [fixture::pod("a", Some(id))]);
    let of_attempt = pod::Pods::read(&mut db, &BTreeSet::new(), &BTreeSet::from([id])).await.unwrap();
    assert_eq!(of_attempt.of_attempt(id), [fixture::pod("a", Some(id))]);
}

#[tokio::test]
async fn the_newest_sheet_is_in_force_and_the_same_text_is_the_same_version() {
    let store = testing::store().await;
    assert_eq!(store.price_sheet().await.unwrap(), None);
    let mut db = store.pool().acquire().await.unwrap();
    let sheet = |body: &str, at: i64| price::NewSheet {
        name: "default".into(),
        currency: "EUR".into(),
        body: body.into(),
        created_at: NOW.plus_millis(at),
        created_by: "fin".into(),
    };
    assert_eq!(price::insert(&mut db, &sheet("one", 0)).await.unwrap(), 1);
    assert_eq!(price::insert(&mut db, &sheet("one", 1)).await.unwrap(), 1);
    assert_eq!(price::insert(&mut db, &sheet("two", 2)).await.unwrap(), 2);
    assert_eq!(store.price_sheet().await.unwrap().unwrap().body, "two");
    price::insert(&mut db, &sheet("written by a clock that was ahead", 3_600_000)).await.unwrap();
    assert_eq!(price::insert(&mut db, &sheet("three", 3)).await.unwrap(), 4);
    assert_eq!(store.price_sheet().await.unwrap().unwrap().body, "three", "the one that came last");
}

#[tokio::test]
async fn a_capacity_that_changes_cuts_the_bill_and_rewrites_none_of_it() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    let gpus = |count: i64| {
        let mut node = fixture::node("n1");
        (node.capacity.gpus, node.allocatable.gpus) = (8, count);
        node
    };
    let minute = |n: i64| NOW.plus_millis(n * 60_000);
    for (seq, count, at) in [(1, 8, 0), (2, 8, 5), (3, 0, 10), (4, 8, 11)] {
        assert!(fixture::show_node(&mut db, east, &gpus(count), number(seq), minute(at)).await.unwrap());
    }
    assert!(
        !fixture::show_node(&mut db, east, &gpus(3), number(2), minute(20)).await.unwrap(),
        "an old fact"
    );
    let mut nodes = spans(&store).await.nodes;
    nodes.sort_by_key(|node| node.from);
    let seen: Vec<_> = nodes.iter().map(|node| (node.allocatable.gpus, node.from, node.to)).collect();
    let (first, gap) = ((8, minute(0), Some(minute(10))), (0, minute(10), Some(minute(11))));
    assert_eq!(seen, [first, gap, (8, minute(11), None)]);
    let resized = |cpu_milli: i64| {
        let mut pod = fixture::pod("p", None);
        pod.requests.cpu_milli = cpu_milli;
        pod
    };
    for (seq, cpu_milli, at) in [(5, 1_000, 0), (6, 2_000, 10), (7, 2_000, 15)] {
        fixture::show_pod(&mut db, east, &resized(cpu_milli), number(seq), minute(at)).await.unwrap();
    }
    let found = spans(&store).await;
    let mut held: Vec<_> = found.pods.iter().map(|pod| (pod.from, pod.to, pod.requests.cpu_milli)).collect();
    held.sort();
    assert_eq!(held, [(minute(0), Some(minute(10)), 1_000), (minute(10), None, 2_000)]);
    assert_eq!(found.open_pods, 1);
}
