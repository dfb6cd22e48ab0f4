//! Idempotency keys: the same key with the same body is the same job.
//!
//! Invariant: the key's row and the job's row are committed together, so a repeat finds both or neither.

use sqlx::{PgConnection, Row, postgres::PgRow};
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

/// Looks keys up; the answers are in the order of the keys.
pub async fn find_all(db: &mut PgConnection, keys: &[&Key]) -> Result<Vec<Found>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query(
        "select i.job_id, i.body_sha256 from unnest($1::text[], $2::text[]) with ordinality as s (owner, key, place)
         left join idempotency i on i.owner = s.owner and i.key = s.key order by s.place",
    )
    .bind(keys.iter().map(|key| key.owner.as_str()).collect::<Vec<_>>())
    .bind(keys.iter().map(|key| key.key.as_str()).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    rows.iter().zip(keys).map(|(row, key)| found(row, key)).collect()
}

fn found(row: &PgRow, key: &Key) -> Result<Found> {
    let job = row.try_get::<Option<_>, _>("job_id")?.map(JobId);
    let body: Option<Vec<u8>> = row.try_get("body_sha256")?;
    Ok(match job {
        None => Found::Nothing,
        Some(job) if body.as_deref() == Some(key.body.as_slice()) => Found::Same(job),
        Some(job) => Found::Other(job),
    })
}

/// Ties keys to jobs at these times, in the transaction that inserts the jobs.
pub async fn insert_all(db: &mut PgConnection, rows: &[(&Key, JobId, Timestamp)]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "insert into idempotency (owner, key, body_sha256, job_id, created_at)
         select * from unnest($1::text[], $2::text[], $3::bytea[], $4::uuid[], $5::timestamptz[])",
    )
    .bind(rows.iter().map(|(key, ..)| key.owner.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(key, ..)| key.key.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(key, ..)| key.body.as_slice()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, job, _)| job.0).collect::<Vec<_>>())
    .bind(rows.iter().map(|(.., now)| at(*now)).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}
