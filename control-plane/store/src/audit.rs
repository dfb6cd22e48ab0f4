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
    insert_all(db, &[entry]).await
}

/// Adds rows in the transaction of what they tell of.
pub async fn insert_all(db: &mut PgConnection, entries: &[&Entry]) -> Result<()> {
    fn each<'e, T>(entries: &'e [&'e Entry], of: impl Fn(&'e Entry) -> T) -> Vec<T> {
        entries.iter().map(|entry| of(entry)).collect()
    }
    sqlx::query(
        "insert into audit (id, at, actor, action, object, allowed, detail, request_id)
         select * from unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[],
                              $8::text[])",
    )
    .bind(each(entries, |entry| entry.id))
    .bind(each(entries, |entry| at(entry.at)))
    .bind(each(entries, |entry| entry.actor.as_str()))
    .bind(each(entries, |entry| entry.action.as_str()))
    .bind(each(entries, |entry| entry.object.as_str()))
    .bind(each(entries, |entry| entry.allowed))
    .bind(each(entries, |entry| entry.detail.as_str()))
    .bind(each(entries, |entry| entry.request_id.as_str()))
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
