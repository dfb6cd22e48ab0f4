//! What tests of the link need to see and to have.

use sqlx::Row;
use squadron_core::id::{AttemptId, ClusterId};

use super::fixture::queued;
use crate::Store;

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

/// A job whose first attempt the cluster should hold.
#[allow(clippy::missing_panics_doc, reason = "a test without its database cannot go on")]
pub async fn assigned(store: &Store, cluster: ClusterId, name: &str) -> AttemptId {
    let job = queued(store, name).await;
    let statements = [
        "insert into attempt (job_id, number, cluster_id, state, object_name, chosen_because, assigned_at)
         values ($2, 1, $1, 'assigned', 'object-1', 'it fits', now())",
        "update job set state = 'assigned' where id = $2 and $1::uuid is not null",
        "update cluster set desired_generation = desired_generation + 1 where id = $1 and $2::uuid is not null",
    ];
    for statement in statements {
        sqlx::query(statement).bind(cluster.0).bind(job.id.0).execute(store.pool()).await.expect("a row");
    }
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
