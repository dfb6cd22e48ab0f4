//! Changes of desired sets, on a real database.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use squadron_core::{
    attempt::{Event, advance as decide},
    desired::Sender,
    id::{ClusterId, JobId},
};

use super::*;
use crate::{
    job::advance,
    testing::{
        self,
        fixture::{self, NOW},
    },
};

async fn tell(store: &Store, job: JobId, event: Event<'_>) {
    let mut db = store.pool().acquire().await.unwrap();
    let before = advance::lock(&mut db, job).await.unwrap().unwrap();
    let step = decide(&before, event, NOW.plus_millis(5_000)).unwrap();
    advance::save(&mut db, &step).await.unwrap();
}

async fn given(store: &Store, cluster: ClusterId, name: &str) -> AttemptId {
    let job = fixture::queued(store, name).await.id;
    tell(store, job, Event::Assigned { cluster, cluster_name: "east", because: "it has room" }).await;
    AttemptId { job, number: 1 }
}

/// A stream's next messages until it is up to date: for each whether it is whole, what it sets with or without manifest,
/// and what it takes out.
type Said = (bool, Vec<(AttemptId, bool)>, Vec<AttemptId>);

async fn follow(store: &Store, cluster: ClusterId, sender: &mut Sender) -> Vec<Said> {
    let mut said = Vec::new();
    let generation = async || store.standings().await.unwrap()[&cluster].desired_generation;
    while sender.wants(Some(generation().await)) {
        let read = store.desired_changes(&[(cluster, sender.ask())]).await.unwrap().remove(0).unwrap();
        let Some(head) = sender.take(read.moment, read.last, read.more) else { continue };
        let set = read.set.iter().map(|row| (row.id, row.manifest.is_some())).collect();
        said.push((head.base.is_none(), set, read.removed));
    }
    said
}

#[tokio::test]
async fn a_stream_gets_the_whole_set_once_and_then_what_changed() {
    let store = testing::store().await;
    let (east, west) = (fixture::cluster(&store, "east").await, fixture::cluster(&store, "west").await);
    let first = given(&store, east, "a").await;
    given(&store, west, "elsewhere").await;
    let mut sender = Sender::new(0);
    assert_eq!(follow(&store, east, &mut sender).await, [(true, vec![(first, true)], vec![])]);
    assert_eq!(follow(&store, east, &mut sender).await, []);
    let second = given(&store, east, "b").await;
    assert_eq!(follow(&store, east, &mut sender).await, [(false, vec![(second, true)], vec![])]);
    fixture::execute(&store, "update cluster set agent_epoch = $1 where name = 'east'", 3).await;
    assert!(testing::link::accept(&store, east, 3, &[first, second]).await);
    let mut both = vec![(first, false), (second, false)];
    both.sort_unstable();
    assert_eq!(follow(&store, east, &mut sender).await, [(false, both, vec![])], "manifests travel once");
    tell(&store, first.job, Event::CancelRequested { by: "ann", why: "" }).await;
    assert_eq!(follow(&store, east, &mut sender).await, [(false, vec![], vec![first])]);
    let mut anew = Sender::new(0);
    assert_eq!(follow(&store, east, &mut anew).await, [(true, vec![(second, true)], vec![])]);
}

#[tokio::test]
async fn a_writer_that_notes_nothing_makes_the_set_go_whole() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let first = given(&store, east, "a").await;
    let mut sender = Sender::new(0);
    follow(&store, east, &mut sender).await;
    let second = testing::link::assigned(&store, east, "b").await;
    let mut both = vec![(first, true), (second, true)];
    let said: Vec<Said> = follow(&store, east, &mut sender).await;
    let [(true, set, removed)] = said.as_slice() else { panic!("{said:?}") };
    both.sort_unstable();
    let set: BTreeMap<_, _> = set.iter().copied().collect();
    assert_eq!((set, removed.len()), (both.into_iter().collect(), 0));
    assert!(store.raise_generation(east, 50).await.unwrap());
    assert!(follow(&store, east, &mut sender).await[0].0, "so does a number that was raised");
}

#[tokio::test]
async fn a_long_set_comes_in_parts_and_misses_nothing_that_changes_meanwhile() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(given(&store, east, &format!("j{number}")).await);
    }
    // Three manifests fill a read.
    let long = "update job set rayjob = repeat('x', $1::integer)";
    fixture::execute(&store, long, BYTES / 2).await;
    let mut sender = Sender::new(0);
    let mut held: BTreeMap<AttemptId, bool> = BTreeMap::new();
    let mut parts = 0;
    while sender.wants(None) {
        let read = store.desired_changes(&[(east, sender.ask())]).await.unwrap().remove(0).unwrap();
        assert!(read.set.len() <= 2, "{}", read.set.len());
        sender.take(read.moment, read.last, read.more).unwrap();
        held.extend(read.set.iter().map(|row| (row.id, row.manifest.is_some())));
        for gone in &read.removed {
            held.remove(gone);
        }
        parts += 1;
        if parts == 2 {
            tell(&store, ids[0].job, Event::CancelRequested { by: "ann", why: "" }).await;
        }
    }
    assert_eq!((parts, sender.sent()), (4, Some(8)));
    assert_eq!(held, ids[1..].iter().map(|id| (*id, true)).collect());
}

#[tokio::test]
async fn many_streams_are_read_at_once_and_one_of_no_cluster_gets_nothing() {
    let store = testing::store().await;
    let (east, west) = (fixture::cluster(&store, "east").await, fixture::cluster(&store, "west").await);
    let job = given(&store, west, "a").await;
    let ask = Sender::new(0).ask();
    let nobody = ClusterId(Uuid::from_u128(9));
    let reads = store.desired_changes(&[(east, ask), (nobody, ask), (west, ask)]).await.unwrap();
    let sets: Vec<_> = reads
        .iter()
        .map(|read| read.as_ref().map(|read| read.set.iter().map(|row| row.id).collect()))
        .collect();
    assert_eq!(sets, [Some(vec![]), None, Some(vec![job])]);
}

#[tokio::test]
async fn a_word_that_cannot_be_read_waits_and_keeps_nothing_else_from_being_read() {
    let store = testing::store().await;
    let (east, west) = (fixture::cluster(&store, "east").await, fixture::cluster(&store, "west").await);
    let broken = given(&store, east, "broken").await;
    let (beside, there) = (given(&store, east, "beside").await, given(&store, west, "there").await);
    let break_it = "update job set on_lost = repeat('x', $1::integer) where name = 'broken'";
    fixture::execute(&store, break_it, 3).await;
    let asks = [(east, Sender::new(0).ask()), (west, Sender::new(0).ask())];
    let reads = store.desired_changes(&asks).await.unwrap();
    let (here, elsewhere) = (reads[0].as_ref().unwrap(), reads[1].as_ref().unwrap());
    let policies: Vec<_> = here.set.iter().map(|row| (row.id, row.on_lost)).collect();
    assert_eq!(policies, [(broken, Policy::Wait), (beside, Policy::Wait)]);
    assert_eq!((here.unread.len(), here.unread[0].0, &elsewhere.unread), (1, broken, &vec![]));
    assert_eq!(elsewhere.set.iter().map(|row| row.id).collect::<Vec<_>>(), [there]);
    assert_eq!(store.desired(east).await.unwrap().set.len(), 2, "an agent that takes no changes");
    assert_eq!(store.held_by(&[east, west]).await.unwrap().len(), 3, "and whoever looks for lost clusters");
    let row = store.job(&broken.job.to_string()).await.unwrap().unwrap();
    assert_eq!(row.on_lost.policy, Policy::Wait);
    let why = "its word cannot be read by this version of the control plane: \"xxx\" is no policy for a lost cluster; \
               choose wait, fence or rerun";
    assert_eq!(row.on_lost.because, why, "people see it at the job");
}
