//! Rules: which namespace of which cluster may submit to which queue. What has no rule is refused.

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{id::ClusterId, time::Timestamp};

use crate::{Result, Store, at, stamp};

/// A permission.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    pub namespace: String,
    pub queue: String,
    pub created_at: Timestamp,
    pub created_by: String,
}

/// Adds a rule; one that is there stays as it is.
pub async fn allow(db: &mut PgConnection, cluster: ClusterId, rule: &Rule) -> Result<()> {
    sqlx::query(
        "insert into arrival_rule (cluster_id, namespace, queue, created_at, created_by) values ($1, $2, $3, $4, $5)
         on conflict (cluster_id, namespace, queue) do nothing",
    )
    .bind(cluster.0)
    .bind(&rule.namespace)
    .bind(&rule.queue)
    .bind(at(rule.created_at))
    .bind(&rule.created_by)
    .execute(db)
    .await?;
    Ok(())
}

/// Removes a rule. False when there was none.
pub async fn disallow(
    db: &mut PgConnection,
    cluster: ClusterId,
    namespace: &str,
    queue: &str,
) -> Result<bool> {
    let done =
        sqlx::query("delete from arrival_rule where cluster_id = $1 and namespace = $2 and queue = $3")
            .bind(cluster.0)
            .bind(namespace)
            .bind(queue)
            .execute(db)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether the namespace of that cluster may submit to the queue.
pub async fn is_allowed(
    db: &mut PgConnection,
    cluster: ClusterId,
    namespace: &str,
    queue: &str,
) -> Result<bool> {
    let row =
        sqlx::query("select 1 from arrival_rule where cluster_id = $1 and namespace = $2 and queue = $3")
            .bind(cluster.0)
            .bind(namespace)
            .bind(queue)
            .fetch_optional(db)
            .await?;
    Ok(row.is_some())
}

impl Store {
    /// The rules of a cluster, by namespace and queue.
    pub async fn arrival_rules(&self, cluster: ClusterId) -> Result<Vec<Rule>> {
        let rows = sqlx::query(
            "select namespace, queue, created_at, created_by from arrival_rule where cluster_id = $1
             order by namespace, queue",
        )
        .bind(cluster.0)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &PgRow) -> Result<Rule> {
    Ok(Rule {
        namespace: row.try_get("namespace")?,
        queue: row.try_get("queue")?,
        created_at: stamp(row.try_get("created_at")?),
        created_by: row.try_get("created_by")?,
    })
}
