//! Idempotency keys: the same key with the same body is the same job.
//!
//! Invariant: the key's row and the job's row are committed together, so a repeat finds both or neither.

use sqlx::{PgConnection, Row};
use squadron_core::{id::JobId, time::Timestamp};

use crate::{Result, at};

/// A submission as its sender names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    pub owner: String,
    pub key: String,
    /// SHA-256 of the request.
    pub body: [u8; 32],
}

/// What a key stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    Nothing,
    /// The same request came before.
    Same(JobId),
    /// Another request came with the key.
    Other(JobId),
}

/// The constraint that refuses a second row of a key: two equal requests came at once.
pub const KEY_TAKEN: &str = "idempotency_pkey";

/// Looks a key up.
pub async fn find(db: &mut PgConnection, key: &Key) -> Result<Found> {
    let row = sqlx::query("select job_id, body_sha256 from idempotency where owner = $1 and key = $2")
        .bind(&key.owner)
        .bind(&key.key)
        .fetch_optional(db)
        .await?;
    let Some(row) = row else { return Ok(Found::Nothing) };
    let (job, body): (_, Vec<u8>) = (JobId(row.try_get("job_id")?), row.try_get("body_sha256")?);
    Ok(if body == key.body { Found::Same(job) } else { Found::Other(job) })
}

/// Ties a key to a job, in the transaction that inserts the job.
pub async fn insert(db: &mut PgConnection, key: &Key, job: JobId, now: Timestamp) -> Result<()> {
    sqlx::query(
        "insert into idempotency (owner, key, body_sha256, job_id, created_at) values ($1, $2, $3, $4, $5)",
    )
    .bind(&key.owner)
    .bind(&key.key)
    .bind(key.body.as_slice())
    .bind(job.0)
    .bind(at(now))
    .execute(db)
    .await?;
    Ok(())
}
