//! Quota over passes of the dispatcher, on a real database.

#![allow(clippy::unwrap_used)]

use squadron_core::{
    attempt::{Event, advance as decide},
    desired::Sender,
    dispatch::{Assign, Blocked, Bound, Plan, Usage, plan},
    fact::{AttemptFact, AttemptStep, Fact, PodFact},
    id::{AttemptId, ClusterId, JobId},
    quota::{Flavor, Policy, Quota, Resource, diff},
    silence::Judge,
};
use uuid::Uuid;

use super::{
    NewJob,
    advance::{self, Charges},
    waiting,
};
use crate::{
    Store,
    cursor::Position,
    quota,
    testing::{
        self,
        fixture::{self, NOW, ONE},
    },
};

/// Every node has the flavor `any`, and research may use so many cores of it.
async fn declare(store: &Store, cores: i64) {
    bring(
        store,
        vec![Flavor { name: "any".into(), ..Flavor::default() }],
        "any",
        [cores * 1_000, 1 << 40, 0],
    )
    .await;
}

/// These flavors; of one of them research may use so much: thousandths of a core, bytes and GPUs.
async fn bring(store: &Store, flavors: Vec<Flavor>, of: &str, amounts: [i64; 3]) {
    let target = |before: &Policy| {
        let mut target = Policy { flavors: flavors.clone(), ..before.clone() };
        let amount = |nominal| Quota { nominal, ..Quota::default() };
        let named = [Resource::Cpu, Resource::Memory, Resource::Gpu].into_iter().zip(amounts.map(amount));
        let research = target.queues.iter_mut().find(|queue| queue.name == "research").unwrap();
        research.quotas = [(of.to_owned(), named.collect())].into();
        target
    };
    store
        .txn("test", &target, |db, target| {
            Box::pin(async move {
                quota::lock(db).await?;
                let before = quota::policy(db).await?;
                let target = target(&before);
                quota::apply(db, &target, &diff(&before, &target), NOW).await
            })
        })
        .await
        .unwrap();
}

/// A cluster with four cores.
async fn east(store: &Store) -> ClusterId {
    let east = fixture::cluster(store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    fixture::show_node(&mut db, east, &fixture::node("n1"), Position { epoch: 1, seq: 1 }, NOW)
        .await
        .unwrap();
    east
}

/// One pass, committed as the dispatcher commits it.
async fn pass(store: &Store) -> Plan {
    let input = store
        .txn("test", &(), |db, ()| Box::pin(waiting::snapshot(db, Judge { now: NOW, after_ms: 1 })))
        .await
        .unwrap()
        .input;
    let plan = plan(&input);
    for assign in &plan.assign {
        commit(store, assign).await;
    }
    plan
}

async fn commit(store: &Store, assign: &Assign) {
    let (cluster, because) = (assign.cluster, assign.because.as_str());
    let event = Event::Assigned { cluster, cluster_name: "east", because };
    save(store, assign.job, event, [(assign.job, (&assign.usage, &assign.bound))].into()).await;
}

async fn tell(store: &Store, job: JobId, event: Event<'_>) -> AttemptId {
    save(store, job, event, Charges::new()).await
}

async fn save(store: &Store, job: JobId, event: Event<'_>, charges: Charges<'_>) -> AttemptId {
    let mut db = store.pool().acquire().await.unwrap();
    let before = advance::lock(&mut db, job).await.unwrap().unwrap();
    let step = decide(&before, event, NOW).unwrap();
    advance::save_charged(&mut db, std::slice::from_ref(&step), &charges).await.unwrap();
    step.job.attempt_id().unwrap()
}

async fn show_pod(store: &Store, cluster: ClusterId, fact: &PodFact, seq: i64) {
    let mut db = store.pool().acquire().await.unwrap();
    fixture::show_pod(&mut db, cluster, fact, Position { epoch: 1, seq }, NOW).await.unwrap();
}

fn jobs(plan: &Plan) -> Vec<JobId> {
    plan.assign.iter().map(|assign| assign.job).collect()
}

fn first(blocked: &[Blocked]) -> (&str, &str) {
    let blocker = &blocked[0].blockers[0];
    (blocker.code.word(), &blocker.sentence)
}

#[tokio::test]
async fn quota_is_free_again_when_the_attempt_is_over_and_its_pods_are_gone() {
    let store = testing::store().await;
    let east = east(&store).await;
    let ids = [fixture::queued(&store, "a").await.id, fixture::queued(&store, "b").await.id];
    declare(&store, 1).await;
    let one = pass(&store).await;
    assert_eq!(jobs(&one), [ids[0]]);
    assert_eq!(one.assign[0].usage, Usage::from([("any".to_owned(), ONE)]));
    let again = pass(&store).await;
    assert_eq!((jobs(&again), first(&again.blocked).0), (vec![], "QUOTA_EXHAUSTED"));
    let running = AttemptId { job: ids[0], number: 1 };
    show_pod(&store, east, &fixture::pod("h", Some(running)), 2).await;
    tell(&store, ids[0], Event::CancelRequested { by: "ann", why: "" }).await;
    assert_eq!(jobs(&pass(&store).await), [], "it is asked to stop, and not gone");
    let step = AttemptFact { attempt: running, step: AttemptStep::Removed, message: String::new() };
    tell(&store, ids[0], Event::Fact { from: east, fact: &Fact::Attempt(step), pods: &[] }).await;
    assert_eq!(jobs(&pass(&store).await), [], "its RayJob is gone, and a pod is there");
    let gone = PodFact { gone: true, ..fixture::pod("h", Some(running)) };
    show_pod(&store, east, &gone, 3).await;
    assert_eq!(jobs(&pass(&store).await), [ids[1]]);
}

#[tokio::test]
async fn a_quota_that_is_cut_stops_nothing_and_lets_nobody_new_start() {
    let store = testing::store().await;
    let east = east(&store).await;
    for name in ["a", "b", "c"] {
        fixture::queued(&store, name).await;
    }
    declare(&store, 2).await;
    assert_eq!(pass(&store).await.assign.len(), 2);
    declare(&store, 1).await;
    let cut = pass(&store).await;
    assert_eq!(jobs(&cut), []);
    assert_eq!(
        first(&cut.blocked),
        (
            "QUOTA_EXHAUSTED",
            "research may use 1 core of any and uses 2 cores (research 2 cores); the job asks for 1 core; that is more \
             than its quota since that was lowered, and nothing is stopped for it"
        )
    );
    assert_eq!(store.desired(east).await.unwrap().set.len(), 2, "both are still wanted");
    declare(&store, 3).await;
    assert_eq!(pass(&store).await.assign.len(), 1);
}

#[tokio::test]
async fn attempts_from_before_there_were_quotas_count_as_well() {
    let store = testing::store().await;
    east(&store).await;
    for name in ["a", "b"] {
        fixture::queued(&store, name).await;
    }
    let before = pass(&store).await;
    assert!(before.assign.iter().all(|assign| assign.usage.is_empty()));
    let late = fixture::queued(&store, "late").await;
    declare(&store, 2).await;
    assert_eq!(jobs(&pass(&store).await), []);
    declare(&store, 3).await;
    assert_eq!(jobs(&pass(&store).await), [late.id]);
}

#[tokio::test]
async fn what_pods_are_bound_to_goes_down_with_the_attempt_and_counts_when_room_is_counted() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let mut db = store.pool().acquire().await.unwrap();
    let flavor = |gpu: &str| Flavor {
        name: gpu.into(),
        node_labels: [("gpu".into(), gpu.into())].into(),
        ..Flavor::default()
    };
    for (seq, gpu) in [(1, "a100"), (2, "h100")] {
        let mut node = fixture::node(gpu);
        node.allocatable.gpus = 1;
        node.face.labels = flavor(gpu).node_labels;
        fixture::show_node(&mut db, east, &node, Position { epoch: 1, seq }, NOW).await.unwrap();
    }
    let mut new = fixture::queued(&store, "old").await;
    let before = pass(&store).await;
    assert!(before.assign[0].bound.is_empty(), "nothing was declared");
    bring(&store, ["a100", "h100"].map(flavor).into(), "h100", [4_000, 1 << 40, 1]).await;
    new.gang[0].requests.gpus = 1;
    let new = NewJob { id: JobId(Uuid::now_v7()), name: "new".into(), ..new };
    fixture::insert(&store, &new).await;
    let bound = pass(&store).await.assign.remove(0).bound;
    assert_eq!(bound["head"].affinity[0][0].to_string(), "gpu In [h100]");
    let ask = Sender::new(0).ask();
    let rows = [
        store.desired(east).await.unwrap().set,
        store.desired_changes(&[(east, ask)]).await.unwrap().remove(0).unwrap().set,
    ];
    for rows in rows {
        let of = |job| &rows.iter().find(|row| row.id.job == job).unwrap().bound;
        assert_eq!((of(new.id), of(before.assign[0].job)), (&bound, &Bound::new()));
    }
    let input = store
        .txn("test", &(), |db, ()| Box::pin(waiting::fleet(db, Judge { now: NOW, after_ms: 1 })))
        .await
        .unwrap();
    let held = input.clusters[0].attempts.iter().find(|held| held.id.job == new.id).unwrap();
    assert_eq!(held.gang[0].wish, bound["head"]);
}
