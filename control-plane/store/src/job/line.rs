//! The line of a queue: its waiting jobs in the order in which the dispatcher looks at them.
//!
//! Owns no order of its own: the more urgent goes first, then the older, as in the dispatcher, and the index has the same
//! order. A page begins behind a job's key, so jobs that leave the line or join it move nobody from one page to another.

use sqlx::{Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{Blocker, gang_total},
    id::JobId,
    resources::Resources,
    time::Timestamp,
};

use super::place::LineKey;
use crate::{Result, Store, at, job::gang, stamp};

/// A waiting job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InLine {
    pub id: JobId,
    pub name: String,
    pub owner: String,
    pub requests: Resources,
    pub submitted_at: Timestamp,
    pub key: LineKey,
    /// Empty until the dispatcher has looked at jobs like it.
    pub blockers: Vec<Blocker>,
    /// Since when it waits for these causes.
    pub since: Option<Timestamp>,
}

impl Store {
    /// Waiting jobs of the queue behind `after`.
    pub async fn line(&self, queue: &str, after: Option<LineKey>, limit: i64) -> Result<Vec<InLine>> {
        let rows = sqlx::query(
            "select j.id, j.name, j.owner, j.gang, j.submitted_at, j.priority, coalesce(c.blockers, '[]') as blockers,
                    greatest(c.since, j.submitted_at) as since, c.decided_at is not null as decided
             from job j left join job_class c on c.id = j.class_id
             where j.queue = $1 and j.state = 'queued'
               and (-(j.priority::bigint), j.submitted_at, j.id) > ($2, $3, $4)
             order by -(j.priority::bigint), j.submitted_at, j.id limit $5",
        )
        .bind(queue)
        .bind(after.map_or(i64::MIN, |key| key.negated))
        .bind(at(after.map_or(Timestamp(i64::MIN), |key| key.submitted_at)))
        .bind(after.map_or(uuid::Uuid::nil(), |key| key.job.0))
        .bind(limit)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }

    /// The first jobs of the queue that stand before this key.
    pub async fn ahead(&self, queue: &str, key: LineKey, limit: i64) -> Result<Vec<InLine>> {
        let mut first = self.line(queue, None, limit).await?;
        first.retain(|job| job.key < key);
        Ok(first)
    }
}

fn read(row: &PgRow) -> Result<InLine> {
    let (id, submitted_at) = (JobId(row.try_get("id")?), stamp(row.try_get("submitted_at")?));
    let since = crate::stamp_opt(row.try_get("since")?);
    Ok(InLine {
        id,
        name: row.try_get("name")?,
        owner: row.try_get("owner")?,
        requests: gang_total(&gang(row)?),
        submitted_at,
        key: LineKey::new(row.try_get("priority")?, submitted_at, id),
        blockers: row.try_get::<Json<Vec<Blocker>>, _>("blockers")?.0,
        since: since.filter(|_| row.try_get("decided").unwrap_or(false)),
    })
}
