//! What tests of the link need to see and to have.

use sqlx::Row;
use squadron_core::id::{AttemptId, ClusterId, Epoch};

use super::fixture::queued;
use crate::{Store, accept::Acceptance};

/// Record number and kernel line of every fact of an epoch, by number.
#[allow(clippy::missing_panics_doc, reason = "a test without its database cannot go on")]
pub async fn kernel_lines(store: &Store, epoch: i64) -> Vec<(i64, String)> {
    let rows = sqlx::query("select seq, body ->> 'line' as line from fact where epoch = $1 order by seq")
        .bind(epoch)
        .fetch_all(store.pool())
        .await
        .expect("facts");
    rows.iter().map(|row| (row.get("seq"), row.get("line"))).collect()
}

/// What makes job `$2` an attempt of cluster `$1`, by a writer that does not note what it changed.
const ASSIGN: [&str; 3] = [
    "insert into attempt (job_id, number, cluster_id, state, object_name, chosen_because, assigned_at)
     values ($2, 1, $1, 'assigned', 'object-1', 'it fits', now())",
    "update job set state = 'assigned' where id = $2 and $1::uuid is not null",
    "update cluster set desired_generation = desired_generation + 1 where id = $1 and $2::uuid is not null",
];
/// What notes it.
const NOTE: [&str; 2] = [
    "update cluster set marked_generation = marked_generation + 1 where id = $1 and $2::uuid is not null",
    "update attempt set changed_generation = c.desired_generation, first_generation = c.desired_generation
     from cluster c where c.id = $1 and job_id = $2",
];

/// Whether it is news that a life of the cluster's agent is ready to start these attempts.
#[allow(clippy::missing_panics_doc, reason = "a test without its database cannot go on")]
pub async fn accept(store: &Store, cluster: ClusterId, epoch: u64, attempts: &[AttemptId]) -> bool {
    let said = Acceptance { cluster, epoch: Epoch(epoch), attempts: attempts.to_vec() };
    store.accept(&[said]).await.expect("an acceptance").contains(&cluster)
}

/// A job whose first attempt the cluster should hold; what changed is not noted, as older control planes do.
pub async fn assigned(store: &Store, cluster: ClusterId, name: &str) -> AttemptId {
    give(store, cluster, name, &ASSIGN).await
}

/// A job whose first attempt the cluster should hold.
pub async fn marked(store: &Store, cluster: ClusterId, name: &str) -> AttemptId {
    give(store, cluster, name, &[ASSIGN.as_slice(), NOTE.as_slice()].concat()).await
}

#[allow(clippy::missing_panics_doc, reason = "a test without its database cannot go on")]
async fn give(store: &Store, cluster: ClusterId, name: &str, statements: &[&'static str]) -> AttemptId {
    let job = queued(store, name).await;
    let mut transaction = store.pool().begin().await.expect("a transaction");
    for statement in statements {
        let query = sqlx::query(*statement).bind(cluster.0).bind(job.id.0);
        query.execute(&mut *transaction).await.expect("a row");
    }
    transaction.commit().await.expect("a commit");
    AttemptId { job: job.id, number: 1 }
}

/// The attempt succeeded just now.
#[allow(clippy::missing_panics_doc, reason = "a test without its database cannot go on")]
pub async fn ended(store: &Store, attempt: AttemptId) {
    sqlx::query("update attempt set state = 'succeeded', ended_at = now() where job_id = $1 and number = $2")
        .bind(attempt.job.0)
        .bind(i32::try_from(attempt.number).expect("a small number"))
        .execute(store.pool())
        .await
        .expect("an attempt");
}

/// Waits until a transaction waits for another one's lock.
#[allow(clippy::missing_panics_doc, reason = "a test without its database cannot go on")]
pub async fn someone_waits(store: &Store) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let waiting: i64 = sqlx::query_scalar("select count(*) from pg_locks l join pg_stat_activity a using (pid) where a.datname = current_database() and not l.granted")
            .fetch_one(store.pool())
            .await
            .expect("the locks");
        if waiting > 0 {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "nobody waits for a lock");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
