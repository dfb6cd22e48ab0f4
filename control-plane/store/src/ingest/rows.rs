//! The rows of a batch, each kind in one statement.

use sqlx::{PgConnection, types::Json};
use squadron_core::{fact::Fact, time::Timestamp};

use super::{Batch, Chunk, Key};
use crate::{Result, at, cluster::signed};

pub(super) async fn facts(
    db: &mut PgConnection,
    batch: &Batch,
    facts: &[(u64, Timestamp, &Fact)],
) -> Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    let attempts: Vec<_> = facts.iter().map(|(_, _, fact)| fact.attempt()).collect();
    sqlx::query(
        "insert into fact (cluster_id, epoch, seq, day, observed_at, received_at, kind, job_id, attempt, body)
         select $1, $2, f.seq, ($3 at time zone 'UTC')::date, f.observed, $3, f.kind, f.job, f.attempt, f.body
         from unnest($4::bigint[], $5::timestamptz[], $6::text[], $7::uuid[], $8::int[], $9::jsonb[])
              as f (seq, observed, kind, job, attempt, body)",
    )
    .bind(batch.cluster.0)
    .bind(signed(batch.epoch.0))
    .bind(at(batch.now))
    .bind(facts.iter().map(|(seq, _, _)| signed(*seq)).collect::<Vec<_>>())
    .bind(facts.iter().map(|(_, observed, _)| at(*observed)).collect::<Vec<_>>())
    .bind(facts.iter().map(|(_, _, fact)| fact.kind()).collect::<Vec<_>>())
    .bind(attempts.iter().map(|attempt| attempt.map(|id| id.job.0)).collect::<Vec<_>>())
    .bind(attempts.iter().map(|attempt| attempt.and_then(|id| i32::try_from(id.number).ok())).collect::<Vec<_>>())
    .bind(facts.iter().map(|(_, _, fact)| Json(*fact)).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

/// Chunks of attempts that this cluster holds; the others come back with a reason.
pub(super) async fn chunks(
    db: &mut PgConnection,
    batch: &Batch,
    chunks: &[(u64, &Chunk)],
) -> Result<Vec<(u64, String)>> {
    if chunks.is_empty() {
        return Ok(Vec::new());
    }
    let taken: Vec<i64> = sqlx::query_scalar(
        "with c as (select * from unnest($2::bigint[], $3::uuid[], $4::int[], $5::text[], $6::bigint[], $7::bytea[])
                    as c (seq, job, attempt, stream, start, data)),
              ours as (select c.* from c join attempt a on a.job_id = c.job and a.number = c.attempt
                       where a.cluster_id = $1),
              put as (insert into log_chunk (cluster_id, job_id, attempt, stream, start_offset, data, received_at)
                      select distinct on (job, attempt, stream, start)
                             $1, job, attempt, stream, start, data, $8 from ours
                      order by job, attempt, stream, start, length(data) desc
                      on conflict (job_id, attempt, stream, start_offset) do update set data = excluded.data
                      where length(excluded.data) > length(log_chunk.data))
         select seq from ours",
    )
    .bind(batch.cluster.0)
    .bind(chunks.iter().map(|(seq, _)| signed(*seq)).collect::<Vec<_>>())
    .bind(chunks.iter().map(|(_, chunk)| chunk.job.0).collect::<Vec<_>>())
    .bind(chunks.iter().map(|(_, chunk)| i32::try_from(chunk.attempt).unwrap_or(-1)).collect::<Vec<_>>())
    .bind(chunks.iter().map(|(_, chunk)| chunk.stream.as_str()).collect::<Vec<_>>())
    .bind(chunks.iter().map(|(_, chunk)| signed(chunk.offset)).collect::<Vec<_>>())
    .bind(chunks.iter().map(|(_, chunk)| chunk.data.as_slice()).collect::<Vec<_>>())
    .bind(at(batch.now))
    .fetch_all(db)
    .await?;
    let strange = chunks.iter().filter(|(seq, _)| !taken.contains(&signed(*seq)));
    Ok(strange.map(|(seq, _)| (*seq, "the attempt does not run on this cluster".to_owned())).collect())
}

pub(super) async fn rejected(
    db: &mut PgConnection,
    key: Key,
    now: Timestamp,
    refused: &[(u64, String)],
) -> Result<()> {
    if refused.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "insert into rejected_record (cluster_id, epoch, class, seq, at, reason)
         select $1, $2, $3, r.seq, $4, r.reason from unnest($5::bigint[], $6::text[]) as r (seq, reason)
         on conflict (cluster_id, epoch, class, seq) do nothing",
    )
    .bind(key.cluster.0)
    .bind(signed(key.epoch.0))
    .bind(key.class.code())
    .bind(at(now))
    .bind(refused.iter().map(|(seq, _)| signed(*seq)).collect::<Vec<_>>())
    .bind(refused.iter().map(|(_, reason)| reason.as_str()).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}
