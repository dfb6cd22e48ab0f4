//! Reading on, following and putting aside, on a real database.

#![allow(clippy::unwrap_used)]

use squadron_core::fact::NodeFact;

use super::*;
use crate::testing::{self, fixture};

fn nodes(count: usize) -> Vec<Fact> {
    (0..count).map(|n| Fact::Node(NodeFact { name: format!("n{n}"), ..NodeFact::default() })).collect()
}

#[tokio::test]
async fn every_fact_is_consumed_once_and_in_order() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    fixture::facts(&store, east, nodes(5)).await;
    let mut seen = Vec::new();
    loop {
        let batches = store.next_facts("project", None, 2).await.unwrap();
        let [batch] = &batches[..] else { break };
        let mut db = store.pool().acquire().await.unwrap();
        assert_eq!(advance(&mut db, "project", &batches).await.unwrap(), BTreeSet::from([east]));
        assert_eq!(
            advance(&mut db, "project", &batches).await.unwrap(),
            BTreeSet::new(),
            "it is consumed once"
        );
        seen.extend(batch.facts.iter().map(|fact| fact.position.seq));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn cursors_of_many_clusters_move_together_but_for_one_that_was_moved_meanwhile() {
    let store = testing::store().await;
    let mut clusters = Vec::new();
    for name in ["east", "west", "north"] {
        let cluster = fixture::cluster(&store, name).await;
        fixture::facts(&store, cluster, nodes(3)).await;
        clusters.push(cluster);
    }
    let mut db = store.pool().acquire().await.unwrap();
    let first = store.next_facts("project", None, 2).await.unwrap();
    advance(&mut db, "project", &first[..2]).await.unwrap();
    let batches = store.next_facts("project", None, 10).await.unwrap();
    let seqs = |batch: &Batch| batch.facts.iter().map(|row| row.position.seq).collect::<Vec<_>>();
    let mut seen: Vec<_> = batches.iter().map(seqs).collect();
    seen.sort();
    assert_eq!(seen, [vec![1, 2, 3], vec![3], vec![3]]);
    advance(&mut db, "project", &batches[..1]).await.unwrap();
    let moved = advance(&mut db, "project", &batches).await.unwrap();
    assert_eq!(moved, batches[1..].iter().map(|batch| batch.cluster).collect());
    assert!(store.next_facts("project", None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_consumer_stays_behind_the_one_it_follows() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    fixture::facts(&store, east, nodes(3)).await;
    let next = async |kind| store.next_facts("correlate", Some(("project", &[kind])), 10).await.unwrap();
    assert!(next("node").await.is_empty());
    let batch = store.next_facts("project", None, 2).await.unwrap().remove(0);
    advance(&mut store.pool().acquire().await.unwrap(), "project", &[batch]).await.unwrap();
    for (kind, facts) in [("node", 2), ("kernel", 0)] {
        let behind = next(kind).await.remove(0);
        assert_eq!((behind.from, behind.to, behind.facts.len()), (0, 2, facts), "{kind}");
    }
}

#[tokio::test]
async fn a_number_without_a_fact_is_passed_over() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    fixture::facts(&store, east, nodes(2)).await;
    sqlx::query("delete from fact where seq = 2").execute(store.pool()).await.unwrap();
    sqlx::query("update fact set body = '{\"kind\": \"riddle\"}'").execute(store.pool()).await.unwrap();
    let batch = store.next_facts("project", None, 10).await.unwrap().remove(0);
    assert_eq!((batch.to, batch.facts.len()), (2, 1));
    assert!(batch.facts[0].fact.is_none());
}

#[tokio::test]
async fn a_fact_put_aside_keeps_its_first_reason() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    for reason in ["it broke", "it broke again"] {
        put_aside(&mut db, east, Position { epoch: 1, seq: 1 }, reason, fixture::NOW).await.unwrap();
    }
    let reasons: Vec<String> =
        sqlx::query_scalar("select reason from rejected_record").fetch_all(&mut *db).await.unwrap();
    assert_eq!(reasons, ["it broke"]);
}
