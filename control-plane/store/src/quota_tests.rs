//! Policies on a real Postgres: what is applied is what is read, and what has jobs stays.

#![allow(clippy::unwrap_used)]

use sqlx::Row;
use squadron_core::{
    placement::Toleration,
    quota::{Flavor, Policy, Preemption, PriorityClass, Queue, Quota, Reclaim, Resource, Within, diff},
};

use crate::{
    Result, Store,
    job::NewJob,
    quota::{self, JOBS_STAY, JobCount},
    testing::{self, fixture, fixture::NOW},
};

fn queue(name: &str, parent: Option<&str>, gpus: &[(&str, i64)]) -> Queue {
    let quota =
        |nominal| Quota { nominal, borrowing_limit: parent.map(|_| 4), lending_limit: parent.map(|_| 0) };
    Queue {
        preemption: parent.map(|_| Preemption { within: Within::LowerPriority, reclaim: Reclaim::Any }),
        name: name.to_owned(),
        parent: parent.map(str::to_owned),
        weight: 1_500,
        quotas: gpus
            .iter()
            .map(|(flavor, nominal)| ((*flavor).to_owned(), [(Resource::Gpu, quota(*nominal))].into()))
            .collect(),
    }
}

fn flavor(name: &str) -> Flavor {
    let node_labels = [("gpu".into(), name.into())].into();
    Flavor { name: name.into(), node_labels, ..Flavor::default() }
}

fn tolerates_spot() -> Toleration {
    let (key, operator, effect) = ("spot".into(), "Exists".into(), "NoSchedule".into());
    Toleration { key, operator, effect, ..Toleration::default() }
}

fn example() -> Policy {
    Policy {
        flavors: vec![
            Flavor { tolerations: vec![tolerates_spot()], weight: 2_500, ..flavor("a100") },
            flavor("h100"),
        ],
        queues: vec![
            queue("acme", None, &[]),
            queue("acme/text", Some("acme"), &[("a100", 4), ("h100", 8)]),
            queue("acme/vision", Some("acme"), &[("a100", 16)]),
        ],
        priority_classes: vec![
            PriorityClass { name: "high".into(), value: 1_000, description: "deadlines".into() },
            PriorityClass { name: "low".into(), value: -5, description: String::new() },
        ],
    }
}

async fn read(store: &Store) -> Policy {
    store.txn("test", &(), |db, ()| Box::pin(quota::policy(db))).await.unwrap()
}

async fn bring(store: &Store, target: &Policy) -> Result<i64> {
    store
        .txn("test", target, |db, target| {
            Box::pin(async move {
                quota::lock(db).await?;
                let changes = diff(&quota::policy(db).await?, target);
                quota::apply(db, target, &changes, NOW).await
            })
        })
        .await
}

#[tokio::test]
async fn a_policy_reads_as_it_was_applied_and_again_as_it_was_before() {
    let store = testing::store().await;
    let before = read(&store).await;
    assert!(before.flavors.is_empty() && before.priority_classes.is_empty());
    assert_eq!(bring(&store, &example()).await.unwrap(), 1);
    assert_eq!(read(&store).await, example());
    let mut other = example();
    other.queues[1] = queue("acme/text", None, &[("h100", 2)]);
    other.queues.remove(2);
    other.flavors.remove(0);
    other.flavors[0].weight = 4_000;
    other.priority_classes[0].value = 7;
    assert_eq!(bring(&store, &other).await.unwrap(), 2);
    assert_eq!(read(&store).await, other);
    bring(&store, &before).await.unwrap();
    assert_eq!(read(&store).await, before);
}

#[tokio::test]
async fn queues_that_exist_are_roots_without_quotas_and_keep_their_template() {
    let store = testing::store().await;
    let name = "research".parse().unwrap();
    store.ensure_queue(&name, NOW).await.unwrap();
    let mut db = store.pool().acquire().await.unwrap();
    crate::queue::set_template(&mut db, &name, "kind: RayJob").await.unwrap();
    drop(db);
    let mut policy = read(&store).await;
    let plain =
        Queue { name: "research".into(), parent: None, weight: 1_000, quotas: [].into(), preemption: None };
    assert!(policy.queues.contains(&plain));
    policy.queues.retain(|queue| queue.name != "research");
    policy.queues.extend(example().queues);
    policy.queues.push(queue("research", Some("acme"), &[("h100", 1)]));
    policy.flavors = example().flavors;
    bring(&store, &policy).await.unwrap();
    assert_eq!(store.queue_template(&name).await.unwrap().as_deref(), Some("kind: RayJob"));
}

#[tokio::test]
async fn a_queue_with_jobs_stays_and_nothing_else_of_the_change_happens() {
    let store = testing::store().await;
    let job = fixture::queued(&store, "train").await;
    let counted = [("research".to_owned(), JobCount { all: 1, unfinished: 1 })];
    let mut db = store.pool().acquire().await.unwrap();
    let names = ["research".to_owned(), "acme".to_owned()];
    assert_eq!(quota::jobs_in(&mut db, &names).await.unwrap(), counted.into());
    drop(db);
    let refused = bring(&store, &example()).await.unwrap_err();
    assert!(refused.violates(JOBS_STAY), "{refused}");
    assert!(read(&store).await.flavors.is_empty());
    assert!(store.job(&job.id.to_string()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_job_keeps_the_priority_that_its_class_had() {
    let store = testing::store().await;
    bring(&store, &Policy { queues: read(&store).await.queues, ..example() }).await.unwrap();
    let classes = store.priority_classes().await.unwrap();
    assert_eq!(classes.iter().map(|class| class.name.as_str()).collect::<Vec<_>>(), ["high", "low"]);
    let plain = fixture::queued(&store, "plain").await;
    let urgent = NewJob { priority: Some(classes[0].clone()), ..fixture::new_job("urgent") };
    fixture::insert(&store, &urgent).await;
    let mut db = store.pool().acquire().await.unwrap();
    let without = Policy { queues: read(&store).await.queues, ..Policy::default() };
    bring(&store, &without).await.unwrap();
    for (job, expected) in [(urgent.id, (Some("high"), 1_000)), (plain.id, (None, 0))] {
        let query = "select priority_class, priority from job where id = $1";
        let row = sqlx::query(query).bind(job.0).fetch_one(&mut *db).await.unwrap();
        assert_eq!((row.get::<Option<&str>, _>(0), row.get::<i32, _>(1)), expected);
    }
}

/// A policy from a number: queues that hang differently, quotas that come and go, flavors that are needed or not.
fn variant(seed: u64) -> Policy {
    let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let mut draw = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let flavors: Vec<Flavor> =
        ["a100", "h100", "l4"].into_iter().filter(|_| draw(3) > 0).map(flavor).collect();
    let mut queues: Vec<Queue> = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        if draw(4) == 0 {
            continue;
        }
        let parents = queues.len() as u64;
        let parent = if parents > 0 && draw(3) > 0 { queues.get(draw(parents) as usize) } else { None };
        let parent = parent.map(|queue| queue.name.clone());
        let mut named: Vec<(&str, i64)> = Vec::new();
        for flavor in &flavors {
            if draw(2) == 0 {
                named.push((&flavor.name, draw(64) as i64));
            }
        }
        queues.push(queue(name, parent.as_deref(), &named));
    }
    if draw(2) == 0 {
        // The other way round: children before their parents by name.
        let turned = |name: &str| char::from(b'a' + b'f' - name.as_bytes()[0]).to_string();
        for queue in &mut queues {
            queue.name = turned(&queue.name);
            queue.parent = queue.parent.as_deref().map(turned);
        }
        queues.sort_by(|a, b| a.name.cmp(&b.name));
    }
    Policy { flavors, queues, ..Policy::default() }
}

#[tokio::test]
async fn any_policy_is_reached_from_any_other() {
    let store = testing::store().await;
    for seed in 0..40 {
        let target = variant(seed);
        bring(&store, &target).await.unwrap();
        assert_eq!(read(&store).await, target, "seed {seed}");
    }
}
