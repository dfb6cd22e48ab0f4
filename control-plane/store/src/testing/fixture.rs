//! Rows that tests begin with: an active cluster, a queued job, committed facts.

#![allow(clippy::missing_panics_doc, reason = "a test without its rows cannot go on")]

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, PgConnection, Row, types::Json};
use squadron_core::{
    dispatch::{GangPart, Usage},
    fact::{Fact, NodeFact, PodFact},
    id::{AttemptId, ClusterId, Epoch, JobId},
    lease::{Chosen, Policy},
    preference::Preferences,
    quota::PriorityClass,
    resources::Resources,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{
    Result, Store, at,
    cursor::Position,
    ingest::{Batch, Class, Payload, Record, Taken},
    job::{self, NewJob},
    node::Nodes,
    pod::Pods,
};

/// The moment at which tests happen.
pub const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

/// One core and one GiB.
pub const ONE: Resources = Resources { cpu_milli: 1_000, memory_bytes: 1 << 30, gpus: 0 };

/// An active cluster whose agent has the epoch 1 and was heard now.
pub async fn cluster(store: &Store, name: &str) -> ClusterId {
    let id = ClusterId(Uuid::now_v7());
    sqlx::query(
        "insert into cluster (id, name, state, created_at, accepted_at, last_heard_at, agent_epoch, subject)
         values ($1, $2, 'active', $3, $3, $3, 1, 'system:serviceaccount:squadron:squadron-agent')",
    )
    .bind(id.0)
    .bind(name)
    .bind(at(NOW))
    .execute(store.pool())
    .await
    .expect("a cluster row");
    id
}

/// A job that is not stored yet: one head of one core and one GiB, in the queue `research`.
pub fn new_job(name: &str) -> NewJob {
    NewJob {
        id: JobId(Uuid::now_v7()),
        name: name.to_owned(),
        namespace: "default".to_owned(),
        queue: "research".to_owned(),
        owner: "ann".to_owned(),
        manifest: "kind: RayJob".to_owned(),
        rayjob: r#"{"kind":"RayJob"}"#.to_owned(),
        gang: vec![GangPart { role: "head".to_owned(), count: 1, requests: ONE, ..GangPart::default() }],
        pinned: None,
        preferences: Preferences::default(),
        priority: None,
        on_lost: Chosen { policy: Policy::Wait, because: "a test".to_owned() },
        submitted_at: NOW,
        sentence: "queued in research".to_owned(),
    }
}

/// A priority class.
pub fn priority(name: &str, value: i32) -> PriorityClass {
    PriorityClass { name: name.to_owned(), value, description: String::new() }
}

/// A queued job in the queue `research`, which is made if need be.
pub async fn queued(store: &Store, name: &str) -> NewJob {
    let job = new_job(name);
    store.ensure_queue(&job.queue.parse().expect("a legal name"), NOW).await.expect("a queue row");
    insert(store, &job).await;
    job
}

/// Stores a job.
pub async fn insert(store: &Store, new: &NewJob) {
    let mut db = store.pool().acquire().await.expect("a connection");
    job::insert(&mut db, new).await.expect("a job row");
}

/// A ready node of four cores and eight GiB.
pub fn node(name: &str) -> NodeFact {
    let size = Resources { cpu_milli: 4_000, memory_bytes: 8 << 30, gpus: 0 };
    NodeFact {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        ready: true,
        capacity: size,
        allocatable: size,
        ..NodeFact::default()
    }
}

/// A running head pod of one core and one GiB on node `n1`.
pub fn pod(name: &str, attempt: Option<AttemptId>) -> PodFact {
    PodFact {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        node: "n1".to_owned(),
        phase: "Running".to_owned(),
        ready: true,
        requests: ONE,
        bound_at: Some(NOW),
        attempt,
        role: if attempt.is_some() { "head".to_owned() } else { String::new() },
        ..PodFact::default()
    }
}

/// Shows one fact of a node as the projector does. Answers whether it was news.
pub async fn show_node(
    db: &mut PgConnection,
    cluster: ClusterId,
    node: &NodeFact,
    position: Position,
    seen: Timestamp,
) -> Result<bool> {
    let mut nodes = Nodes::read(db, &BTreeSet::from([(cluster, node.uid.as_str())])).await?;
    let news = nodes.show(cluster, node, position, seen);
    nodes.save(db).await?;
    Ok(news)
}

/// Shows one fact of a pod as the projector does. Answers whether it was news.
pub async fn show_pod(
    db: &mut PgConnection,
    cluster: ClusterId,
    pod: &PodFact,
    position: Position,
    seen: Timestamp,
) -> Result<bool> {
    let these = BTreeSet::from([(cluster, pod.uid.as_str())]);
    let mut pods = Pods::read(db, &these, &BTreeSet::new()).await?;
    let news = pods.show(cluster, pod, position, seen);
    pods.save(db).await?;
    Ok(news)
}

/// Commits facts of epoch 1, one second apart, behind those that are committed already.
pub async fn facts(store: &Store, cluster: ClusterId, facts: Vec<Fact>) {
    let row = sqlx::query(
        "select coalesce(max(seq), 0) as seq from ingest_watermark where cluster_id = $1 and class = 1 and epoch = 1",
    )
    .bind(cluster.0)
    .fetch_one(store.pool())
    .await
    .expect("a watermark");
    let before: i64 = row.try_get("seq").expect("a number");
    let records = (before + 1..)
        .zip(facts)
        .map(|(seq, fact)| Record {
            observed_at: NOW.plus_millis(seq * 1_000),
            payload: Payload::Fact(Box::new(fact)),
        })
        .collect();
    let batch = Batch {
        cluster,
        stream_epoch: Epoch(1),
        epoch: Epoch(1),
        class: Class::Fact,
        first: u64::try_from(before + 1).unwrap_or(1),
        records,
        now: NOW.plus_millis(86_400_000),
    };
    let taken = store.ingest(&batch).await.expect("an ingest");
    assert!(matches!(&taken, Taken::Committed { refused, .. } if refused.is_empty()), "{taken:?}");
}

/// Gives a job its first attempt, on a cluster that should hold it.
pub async fn attempt(store: &Store, job: JobId, cluster: ClusterId, now: Timestamp) {
    sqlx::query(
        "insert into attempt (job_id, number, cluster_id, state, object_name, chosen_because, assigned_at)
         values ($1, 1, $2, 'assigned', 'o', 'a test', $3)",
    )
    .bind(job.0)
    .bind(cluster.0)
    .bind(at(now))
    .execute(store.pool())
    .await
    .expect("an attempt row");
}

/// The attempt's queue is charged this.
pub async fn charge(store: &Store, attempt: AttemptId, usage: &Usage) {
    sqlx::query("update attempt set usage = $3 where job_id = $1 and number = $2")
        .bind(attempt.job.0)
        .bind(i32::try_from(attempt.number).expect("a small number"))
        .bind(Json(usage))
        .execute(store.pool())
        .await
        .expect("an attempt row");
}

/// Stores a driver's log from its first byte.
pub async fn log(store: &Store, cluster: ClusterId, attempt: AttemptId, text: &str) {
    sqlx::query(
        "insert into log_chunk (cluster_id, job_id, attempt, stream, start_offset, data, received_at)
         values ($1, $2, $3, 'driver', 0, $4, $5)",
    )
    .bind(cluster.0)
    .bind(attempt.job.0)
    .bind(i32::try_from(attempt.number).expect("a small number"))
    .bind(text.as_bytes())
    .bind(at(NOW))
    .execute(store.pool())
    .await
    .expect("a log chunk");
}

/// Runs a statement with one number, for what no fact can bring about.
pub async fn execute(store: &Store, statement: &'static str, number: i64) {
    sqlx::query(statement).bind(number).execute(store.pool()).await.expect("the statement");
}

/// The number that a query gives.
pub async fn number(store: &Store, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(store.pool()).await.expect("a number")
}

/// Makes every insert into `table` and every update of it fail with this SQLSTATE while `condition` holds for the new row, until [`heal`].
pub async fn break_writes(store: &Store, table: &str, condition: &str, code: &str) {
    let statements = format!(
        "create function broken() returns trigger language plpgsql as $$
         begin raise exception 'broken by the test' using errcode = '{code}'; end $$;
         create trigger broken before insert or update on {table} for each row when ({condition}) execute function broken()"
    );
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(store.pool()).await.expect("a trigger");
}

/// Ends what [`break_writes`] began.
pub async fn heal(store: &Store) {
    sqlx::raw_sql("drop function broken() cascade").execute(store.pool()).await.expect("no trigger");
}
