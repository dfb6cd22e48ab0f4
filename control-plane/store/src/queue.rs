//! Queues.

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{
    lease::{Policy, QueueLease},
    name::QueueName,
    time::Timestamp,
};

use crate::{Result, Store, at, job::place::EXACT};

/// A queue with what is in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    pub name: String,
    pub queued: u32,
    /// Jobs that hold or wait for a place in a cluster.
    pub running: u32,
    /// RayJob (YAML) that submissions by Ray's API are made from; empty for the default one.
    pub template: String,
    /// What it says about jobs whose cluster is lost.
    pub lease: QueueLease,
}

/// The constraint that refuses a second queue of a name.
pub const NAME_TAKEN: &str = "queue_pkey";

/// Adds a queue.
pub async fn insert(db: &mut PgConnection, name: &QueueName, now: Timestamp) -> Result<()> {
    sqlx::query("insert into queue (name, created_at) values ($1, $2)")
        .bind(name.as_str())
        .bind(at(now))
        .execute(db)
        .await?;
    Ok(())
}

/// Sets a queue's template. False when there is no such queue.
pub async fn set_template(db: &mut PgConnection, name: &QueueName, template: &str) -> Result<bool> {
    let done = sqlx::query("update queue set template = $2 where name = $1")
        .bind(name.as_str())
        .bind(template)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// What a queue says about jobs whose cluster is lost. `None` when there is no such queue.
pub async fn lease(db: &mut PgConnection, name: &str) -> Result<Option<QueueLease>> {
    let row = sqlx::query("select on_lost, allows_overlap from queue where name = $1")
        .bind(name)
        .fetch_optional(db)
        .await?;
    row.as_ref().map(lease_of).transpose()
}

/// Queues that name this one as their parent, by name; at most ten.
pub async fn below(db: &mut PgConnection, name: &str) -> Result<Vec<String>> {
    let query = "select name from queue where parent = $1 order by name limit 10";
    Ok(sqlx::query_scalar(query).bind(name).fetch_all(db).await?)
}

fn lease_of(row: &PgRow) -> Result<QueueLease> {
    Ok(QueueLease {
        default: row.try_get::<&str, _>("on_lost")?.parse::<Policy>().ok(),
        allows_overlap: row.try_get("allows_overlap")?,
    })
}

impl Store {
    /// Makes the queue unless it exists.
    pub async fn ensure_queue(&self, name: &QueueName, now: Timestamp) -> Result<()> {
        sqlx::query("insert into queue (name, created_at) values ($1, $2) on conflict (name) do nothing")
            .bind(name.as_str())
            .bind(at(now))
            .execute(self.pool())
            .await?;
        Ok(())
    }

    /// The queue's template; empty for the default one, `None` when there is no such queue.
    pub async fn queue_template(&self, name: &QueueName) -> Result<Option<String>> {
        Ok(sqlx::query_scalar("select template from queue where name = $1")
            .bind(name.as_str())
            .fetch_optional(self.pool())
            .await?)
    }

    /// Queues that name this one as their parent, by name; at most ten.
    pub async fn queues_below(&self, name: &QueueName) -> Result<Vec<String>> {
        below(&mut *self.pool().acquire().await?, name.as_str()).await
    }

    /// What a queue says about jobs whose cluster is lost. `None` when there is no such queue.
    pub async fn queue_lease(&self, name: &str) -> Result<Option<QueueLease>> {
        lease(&mut *self.pool().acquire().await?, name).await
    }

    /// All queues by name. Jobs that wait are counted one by one up to [`EXACT`]; of a long line they are as of its last count.
    pub async fn queues(&self) -> Result<Vec<Queue>> {
        let rows = sqlx::query(
            "select q.name, q.template, q.on_lost, q.allows_overlap,
                    coalesce((select l.sum from line, lateral (select sum(n)::bigint from unnest(lengths) n) l
                              where queue = q.name),
                             (select count(*) from (select 1 from job where queue = q.name and state = 'queued'
                                                    order by -(priority::bigint), submitted_at, id limit $1 + 1) first))
                        as queued,
                    (select count(*) from job j where j.queue = q.name
                     and j.state in ('assigned', 'starting', 'running', 'stopping')) as running
             from queue q order by q.name",
        )
        .bind(EXACT)
        .fetch_all(self.pool())
        .await?;
        let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
        rows.iter()
            .map(|row| {
                Ok(Queue {
                    name: row.try_get("name")?,
                    queued: number(row.try_get("queued")?),
                    running: number(row.try_get("running")?),
                    template: row.try_get("template")?,
                    lease: lease_of(row)?,
                })
            })
            .collect()
    }
}
