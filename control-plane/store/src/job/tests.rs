//! Jobs from submission to release, on a real database.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use squadron_core::{
    attempt::{Event, Job, Step, advance as decide},
    dispatch::{Standing, plan},
    fact::NodeFact,
    id::AttemptId,
    placement::{Face, Taint},
    silence::Judge,
};

use super::{advance, waiting, *};
use crate::{
    attempt,
    cursor::Position,
    testing::{
        self,
        fixture::{self, NOW, ONE},
    },
};

/// Decides and saves one event.
async fn tell(store: &Store, job: JobId, event: Event<'_>) -> Step {
    let mut db = store.pool().acquire().await.unwrap();
    let before = advance::lock(&mut db, job).await.unwrap().unwrap();
    let step = decide(&before, event, NOW.plus_millis(5_000)).unwrap();
    advance::save(&mut db, &step).await.unwrap();
    step
}

async fn assign(store: &Store, job: JobId, cluster: ClusterId) -> Step {
    tell(store, job, Event::Assigned { cluster, cluster_name: "east", because: "it has room" }).await
}

async fn reload(store: &Store, job: JobId) -> Job {
    let mut db = store.pool().acquire().await.unwrap();
    advance::lock(&mut db, job).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_step_comes_back_as_it_was_decided() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    let assigned = assign(&store, job.id, east).await;
    assert_eq!(reload(&store, job.id).await, assigned.job);
    let read = store.desired(east).await.unwrap();
    let desired = read.set;
    assert_eq!((read.moment.generation, desired.len()), (1, 1));
    assert_eq!(desired[0].manifest.as_deref(), Some(job.rayjob.as_str()));
    assert_eq!(desired[0].object_name, assigned.job.attempt.unwrap().object_name);
    let stopping = tell(&store, job.id, Event::CancelRequested { by: "ann", why: "wrong data" }).await;
    assert_eq!(reload(&store, job.id).await, stopping.job);
    let read = store.desired(east).await.unwrap();
    assert_eq!((read.moment.generation, read.set), (2, vec![]));
}

#[tokio::test]
async fn a_second_live_attempt_is_refused_by_the_database() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    let mut twice = assign(&store, job.id, east).await;
    twice.job.attempt.as_mut().unwrap().number = 2;
    let mut db = store.pool().acquire().await.unwrap();
    let refused = advance::save(&mut db, &twice).await.unwrap_err();
    assert!(refused.violates(advance::SECOND_LIVE_ATTEMPT), "{refused}");
}

#[tokio::test]
async fn who_waited_for_a_job_sees_the_attempt_that_was_made_meanwhile() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await.id;
    let mut first = store.pool().begin().await.unwrap();
    let before = advance::lock(&mut first, job).await.unwrap().unwrap();
    let event = Event::Assigned { cluster: east, cluster_name: "east", because: "it has room" };
    let step = decide(&before, event, NOW).unwrap();
    advance::save(&mut first, &step).await.unwrap();
    let second = tokio::spawn({
        let store = store.clone();
        async move { store.txn("test", &job, |db, job| Box::pin(advance::lock(db, *job))).await }
    });
    let waits = "select exists (select 1 from pg_locks where not granted and locktype = 'transactionid')";
    while !sqlx::query_scalar::<_, bool>(waits).fetch_one(store.pool()).await.unwrap() {
        assert!(!second.is_finished(), "it went on without the lock");
    }
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap(), Some(step.job));
}

#[tokio::test]
async fn many_steps_are_written_as_one_by_one() {
    let store = testing::store().await;
    let (east, west) = (fixture::cluster(&store, "east").await, fixture::cluster(&store, "west").await);
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(fixture::queued(&store, name).await.id);
    }
    let mut db = store.pool().acquire().await.unwrap();
    let jobs = advance::lock_all(&mut db, &ids).await.unwrap();
    let steps: Vec<Step> = [(0, east), (1, west), (2, west)]
        .map(|(n, cluster): (usize, _)| {
            let event = Event::Assigned { cluster, cluster_name: "there", because: "it has room" };
            decide(&jobs[&ids[n]], event, NOW).unwrap()
        })
        .into();
    let versions = advance::save_all(&mut db, &steps).await.unwrap();
    assert_eq!(versions, ids.iter().map(|id| (*id, 2)).collect());
    for (cluster, held) in [(east, 1), (west, 2)] {
        let read = store.desired(cluster).await.unwrap();
        assert_eq!((read.moment.generation, read.set.len()), (1, held), "one generation each");
    }
    let row = store.job("c").await.unwrap().unwrap();
    assert_eq!((row.state, row.cluster.as_deref()), (JobState::Assigned, Some("west")));
}

#[tokio::test]
async fn an_attempt_that_was_never_made_is_found_once_the_agent_let_go() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    assign(&store, job.id, east).await;
    tell(&store, job.id, Event::CancelRequested { by: "ann", why: "" }).await;
    let applied = async |generation: i64| {
        let update = "update cluster set applied_generation = $1";
        sqlx::query(update).bind(generation).execute(store.pool()).await.unwrap();
        store.never_created().await.unwrap()
    };
    assert_eq!(applied(1).await, []);
    assert_eq!(applied(2).await, [job.id]);
    let ended = tell(&store, job.id, Event::NeverCreated).await;
    assert_eq!(reload(&store, job.id).await, ended.job);
    assert_eq!(applied(3).await, []);
}

#[tokio::test]
async fn ended_attempts_are_held_until_their_retention_is_over() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    let mut ended = assign(&store, job.id, east).await;
    let end = Some(NOW.plus_millis(1_000));
    ended.desired_changed = None;
    (ended.job.state, ended.job.ended_at) = (JobState::Succeeded, end);
    let attempt = ended.job.attempt.as_mut().unwrap();
    (attempt.state, attempt.ended_at) = (squadron_core::attempt::AttemptState::Succeeded, end);
    let mut db = store.pool().acquire().await.unwrap();
    advance::save(&mut db, &ended).await.unwrap();
    assert_eq!(store.retention_over(NOW).await.unwrap(), []);
    assert_eq!(store.retention_over(NOW.plus_millis(1_000)).await.unwrap(), [job.id]);
    tell(&store, job.id, Event::RetentionOver).await;
    assert_eq!(store.retention_over(NOW.plus_millis(1_000)).await.unwrap(), []);
    assert_eq!(store.attempts(job.id).await.unwrap()[0].state, "succeeded");
}

#[tokio::test]
async fn lists_are_filtered_paged_and_name_the_newest() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let old = fixture::queued(&store, "train").await;
    let new = NewJob { submitted_at: NOW.plus_millis(1), owner: "bob".into(), ..fixture::new_job("train") };
    fixture::insert(&store, &new).await;
    assign(&store, old.id, east).await;
    assert_eq!(store.job("train").await.unwrap().unwrap().id, new.id);
    assert_eq!(store.job(&old.id.to_string()).await.unwrap().unwrap().cluster.as_deref(), Some("east"));
    assert_eq!(store.job("nothing").await.unwrap(), None);
    let ids = async |filter: Filter| {
        let jobs = store.jobs(&Filter { limit: 10, ..filter }).await.unwrap();
        jobs.iter().map(|job| job.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(Filter::default()).await, [new.id, old.id]);
    assert_eq!(ids(Filter { states: vec!["queued".into()], ..Filter::default() }).await, [new.id]);
    assert_eq!(ids(Filter { cluster: Some("east".into()), ..Filter::default() }).await, [old.id]);
    assert_eq!(ids(Filter { owner: Some("bob".into()), ..Filter::default() }).await, [new.id]);
    assert_eq!(ids(Filter { queue: Some("other".into()), ..Filter::default() }).await, []);
    let both = Filter {
        states: vec!["assigned".into(), "queued".into()],
        queue: Some("research".into()),
        ..Filter::default()
    };
    assert_eq!(ids(both.clone()).await, [new.id, old.id], "states are merged in the order of the list");
    let one = store.jobs(&Filter { limit: 1, ..both.clone() }).await.unwrap();
    assert_eq!(one.iter().map(|job| job.id).collect::<Vec<_>>(), [new.id]);
    let after = Some((new.submitted_at, new.id.0));
    assert_eq!(ids(Filter { after, owner: Some("ann".into()), ..both }).await, [old.id]);
    assert_eq!(
        ids(Filter { after: Some((new.submitted_at, new.id.0)), ..Filter::default() }).await,
        [old.id]
    );
    assert_eq!(store.manifest(new.id).await.unwrap().as_deref(), Some("kind: RayJob"));
    for (priority, expected) in [(-1, 2), (0, 2), (1, 1)] {
        let later = LineKey::new(Part::Unlooked, priority, 0.0, NOW.plus_millis(2), JobId(Uuid::max()));
        let place = store.place_of_new("research", later, NOW).await.unwrap();
        assert_eq!(place.position, expected, "priority {priority}");
    }
}

#[tokio::test]
async fn a_job_needs_a_queue_that_exists() {
    let store = testing::store().await;
    let mut db = store.pool().acquire().await.unwrap();
    let refused = insert(&mut db, &fixture::new_job("train")).await.unwrap_err();
    assert!(refused.violates(NO_SUCH_QUEUE), "{refused}");
}

#[tokio::test]
async fn the_snapshot_shows_room_holders_and_waiting_jobs() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let (waits, held) = (fixture::queued(&store, "waits").await, fixture::queued(&store, "held").await);
    assign(&store, held.id, east).await;
    let id = AttemptId { job: held.id, number: 1 };
    let mut db = store.pool().acquire().await.unwrap();
    let taint = Taint { key: "dedicated".into(), value: "ml".into(), effect: "NoExecute".into() };
    let face =
        Face { labels: [("gpu".into(), "h100".into())].into(), taints: vec![taint], ..Face::default() };
    let labelled = NodeFact { face: face.clone(), ..fixture::node("n1") };
    for (seq, node) in [(1, fixture::node("n1")), (3, labelled)] {
        fixture::show_node(&mut db, east, &node, Position { epoch: 1, seq }, NOW).await.unwrap();
    }
    fixture::show_pod(&mut db, east, &fixture::pod("h", Some(id)), Position { epoch: 1, seq: 2 }, NOW)
        .await
        .unwrap();
    let named = BTreeSet::from([(east, id)]);
    assert_eq!(attempt::held(&mut db, &named).await.unwrap(), named);
    let both = [east, ClusterId(Uuid::now_v7())].into();
    assert_eq!(advance::taking_jobs(&mut db, &both).await.unwrap(), [east].into());
    let input = store
        .txn("test", &NOW, |db, now| Box::pin(waiting::snapshot(db, Judge { now: *now, after_ms: 1 })))
        .await
        .unwrap()
        .input;
    assert!(store.any_waiting().await.unwrap());
    let cluster = &input.clusters[0];
    assert_eq!((cluster.standing, cluster.nodes.len(), cluster.pods.len()), (Standing::Heard, 1, 1));
    assert_eq!(cluster.nodes[0].face, face);
    assert_eq!((cluster.pods[0].requests, cluster.attempts[0].id), (ONE, id));
    assert_eq!(input.waiting.iter().map(|job| job.job).collect::<Vec<_>>(), [waits.id]);
    let key = LineKey::new(Part::Unlooked, 0, 0.0, waits.submitted_at, waits.id);
    assert_eq!(store.overtakers("research", key, 5).await.unwrap(), 1, "held came later and was placed");
    assert!(plan(&input).assign.is_empty(), "the taint keeps the job off");
    let mut untainted = input.clone();
    untainted.clusters[0].nodes[0].face.taints.clear();
    assert_eq!(plan(&untainted).assign[0].cluster, east);
    let silent = store
        .txn("test", &NOW, |db, now| {
            Box::pin(waiting::snapshot(db, Judge { now: now.plus_millis(2), after_ms: 1 }))
        })
        .await
        .unwrap()
        .input;
    assert_eq!(silent.clusters[0].standing, Standing::Silent { since: NOW });
    let ground = store
        .txn("test", &NOW, |db, now| Box::pin(waiting::ground(db, Judge { now: *now, after_ms: 1 })))
        .await
        .unwrap();
    let cluster = &ground.clusters[0];
    assert_eq!((cluster.nodes.len(), cluster.pods.len(), cluster.attempts.len()), (1, 0, 0), "nothing runs");
}

#[tokio::test]
async fn what_attempts_hold_is_read_from_their_class_and_from_the_job_where_it_is_not_there() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "a").await;
    assign(&store, job.id, east).await;
    let held = async || {
        let judge = Judge { now: NOW, after_ms: 1 };
        let input = store.txn("test", &(), |db, ()| Box::pin(waiting::held(db, judge))).await.unwrap();
        input.clusters[0].attempts[0].gang.clone()
    };
    fixture::execute(&store, "update job set gang = jsonb_set(gang, '{0,count}', to_jsonb($1))", 7).await;
    assert_eq!(held().await, job.gang, "the job's own is not read");
    fixture::execute(&store, "delete from job_class where $1 > 0", 1).await;
    assert_eq!(held().await[0].count, 7, "its class was removed");
    fixture::execute(&store, "update job set class_id = null where $1 > 0", 1).await;
    assert_eq!(held().await[0].count, 7, "it never had one");
}

#[tokio::test]
async fn the_size_of_a_set_is_counted_without_the_jobs() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "a").await;
    assign(&store, job.id, east).await;
    fixture::execute(&store, "update job set rayjob = '' where $1 > 0", 1).await;
    let bytes = async || {
        let judge = Judge { now: NOW, after_ms: 1 };
        let input = store.txn("test", &(), |db, ()| Box::pin(waiting::fleet(db, judge))).await.unwrap();
        (input.clusters[0].set.attempts, input.clusters[0].set.bytes)
    };
    assert_eq!(bytes().await, (1, job.rayjob.len() as u64));
    fixture::execute(&store, "update attempt set manifest_bytes = null where $1 > 0", 1).await;
    assert_eq!(bytes().await, (1, 0), "an older version placed it, so the job is asked");
}

#[tokio::test]
async fn of_those_that_came_later_the_newest_are_looked_at_for_whether_they_went_first() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    super::class_tests::flood(&store, "flood", place::LOOKED_AT + 1).await;
    fixture::execute(&store, "update job set state = 'cancelled' where $1 > 0", 1).await;
    let oldest = store.job("f1").await.unwrap().unwrap().id;
    fixture::attempt(&store, oldest, east, NOW).await;
    let key = LineKey::new(Part::Unlooked, 0, 0.0, Timestamp(0), JobId(Uuid::nil()));
    assert_eq!(store.overtakers("flood", key, 5).await.unwrap(), 0, "10,000 later ones never got a place");
    fixture::execute(&store, "delete from job where name = 'f' || $1", place::LOOKED_AT + 1).await;
    assert_eq!(store.overtakers("flood", key, 5).await.unwrap(), 1);
}

#[tokio::test]
async fn a_key_stands_for_one_body() {
    use crate::idempotency::{Found, Key, find_all, insert_all};
    let store = testing::store().await;
    let job = fixture::queued(&store, "train").await;
    let key = |body| Key { owner: "ann".into(), key: "k1".into(), body: [body; 32] };
    let mut db = store.pool().acquire().await.unwrap();
    let other = Key { key: "k2".into(), ..key(1) };
    let asked = [&key(1), &other, &key(2)];
    assert_eq!(find_all(&mut db, &asked).await.unwrap(), [Found::Nothing; 3]);
    insert_all(&mut db, &[(&key(1), job.id, NOW)]).await.unwrap();
    let found = [Found::Same(job.id), Found::Nothing, Found::Other(job.id)];
    assert_eq!(find_all(&mut db, &asked).await.unwrap(), found);
    let twice = insert_all(&mut db, &[(&other, job.id, NOW), (&key(1), job.id, NOW)]).await.unwrap_err();
    assert!(twice.violates(crate::idempotency::KEY_TAKEN));
}

#[tokio::test]
async fn queues_count_what_is_in_them() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    fixture::queued(&store, "waits").await;
    assign(&store, job.id, east).await;
    let queue = crate::queue::Queue {
        name: "research".into(),
        queued: 1,
        running: 1,
        template: String::new(),
        lease: Default::default(),
    };
    assert_eq!(store.queues().await.unwrap().into_iter().find(|q| q.name == "research"), Some(queue));
    let mut db = store.pool().acquire().await.unwrap();
    let twice = crate::queue::insert(&mut db, &"research".parse().unwrap(), NOW).await.unwrap_err();
    assert!(twice.violates(crate::queue::NAME_TAKEN));
}
