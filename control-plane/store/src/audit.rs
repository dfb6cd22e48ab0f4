//! The audit log: who did what, and what was refused. Rows are only ever added.
//!
//! Invariant: a change and its row are committed together, so the row is written through the change's connection.

use sqlx::{PgConnection, Row};
use squadron_core::time::Timestamp;
use uuid::Uuid;

use crate::{Result, Store, at, stamp};

/// One row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub id: Uuid,
    pub at: Timestamp,
    pub actor: String,
    /// For example `job.submit`.
    pub action: String,
    pub object: String,
    pub allowed: bool,
    pub detail: String,
    pub request_id: String,
}

/// Adds the row in the transaction of what it tells of.
pub async fn insert(db: &mut PgConnection, entry: &Entry) -> Result<()> {
    sqlx::query(
        "insert into audit (id, at, actor, action, object, allowed, detail, request_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(entry.id)
    .bind(at(entry.at))
    .bind(&entry.actor)
    .bind(&entry.action)
    .bind(&entry.object)
    .bind(entry.allowed)
    .bind(&entry.detail)
    .bind(&entry.request_id)
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// Adds a row that stands alone, such as a refusal.
    pub async fn audit(&self, entry: &Entry) -> Result<()> {
        let mut connection = self.pool().acquire().await?;
        insert(&mut connection, entry).await
    }

    /// The newest rows older than `before` (a row's id), at most `limit`.
    pub async fn audit_page(&self, before: Option<Uuid>, limit: i64) -> Result<Vec<Entry>> {
        let rows = sqlx::query(
            "select id, at, actor, action, object, allowed, detail, request_id from audit
             where $1::uuid is null or id < $1 order by id desc limit $2",
        )
        .bind(before)
        .bind(limit)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &sqlx::postgres::PgRow) -> Result<Entry> {
    Ok(Entry {
        id: row.try_get("id")?,
        at: stamp(row.try_get("at")?),
        actor: row.try_get("actor")?,
        action: row.try_get("action")?,
        object: row.try_get("object")?,
        allowed: row.try_get("allowed")?,
        detail: row.try_get("detail")?,
        request_id: row.try_get("request_id")?,
    })
}
