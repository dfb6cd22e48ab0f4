//! The rows of a batch, each kind in one statement.

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, types::Json};
use squadron_core::time::Timestamp;
use uuid::Uuid;

use super::{Batch, Chunk, Key, Placed};
use crate::{Result, at, cluster::signed};

/// The facts of all batches.
pub(super) async fn facts(db: &mut PgConnection, placed: &[Placed<'_>]) -> Result<()> {
    let facts: Vec<_> = placed
        .iter()
        .flat_map(|placed| placed.facts.iter().map(|(seq, at, fact)| (placed.batch, *seq, *at, *fact)))
        .collect();
    if facts.is_empty() {
        return Ok(());
    }
    let attempts: Vec<_> = facts.iter().map(|(.., fact)| fact.attempt()).collect();
    sqlx::query(
        "insert into fact (cluster_id, epoch, seq, day, observed_at, received_at, kind, job_id, attempt, body)
         select f.cluster, f.epoch, f.seq, (f.received at time zone 'UTC')::date, f.observed, f.received, f.kind, f.job,
                f.attempt, f.body
         from unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::bigint[], $5::timestamptz[], $6::text[], $7::uuid[],
                     $8::int[], $9::jsonb[])
              as f (cluster, epoch, received, seq, observed, kind, job, attempt, body)",
    )
    .bind(facts.iter().map(|(batch, ..)| batch.cluster.0).collect::<Vec<_>>())
    .bind(facts.iter().map(|(batch, ..)| signed(batch.epoch.0)).collect::<Vec<_>>())
    .bind(facts.iter().map(|(batch, ..)| at(batch.now)).collect::<Vec<_>>())
    .bind(facts.iter().map(|(_, seq, ..)| signed(*seq)).collect::<Vec<_>>())
    .bind(facts.iter().map(|(_, _, observed, _)| at(*observed)).collect::<Vec<_>>())
    .bind(facts.iter().map(|(.., fact)| fact.kind()).collect::<Vec<_>>())
    .bind(attempts.iter().map(|attempt| attempt.map(|id| id.job.0)).collect::<Vec<_>>())
    .bind(attempts.iter().map(|attempt| attempt.and_then(|id| i32::try_from(id.number).ok())).collect::<Vec<_>>())
    .bind(facts.iter().map(|(.., fact)| Json(*fact)).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

/// Bytes of logs that are kept of an attempt.
pub(super) const LOG_LIMIT: u64 = 256 << 20;

/// Chunks of attempts that this cluster holds, up to the limit of each; the others come back with a reason.
pub(super) async fn chunks(
    db: &mut PgConnection,
    batch: &Batch,
    chunks: &[(u64, &Chunk)],
) -> Result<Vec<(u64, String)>> {
    if chunks.is_empty() {
        return Ok(Vec::new());
    }
    let mut room = rooms(db, batch, chunks).await?;
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for (seq, chunk) in chunks {
        match room.get_mut(&(chunk.job.0, number(chunk))).map(|room| room.take(chunk)) {
            Some(Kept::Whole) => kept.push((*chunk).clone()),
            Some(Kept::Cut(mark)) => {
                kept.push(mark);
                refused.push((*seq, format!("the attempt's logs are longer than {} MiB", LOG_LIMIT >> 20)));
            }
            // The mark stands in the log, and one record tells of it.
            Some(Kept::Nothing) => {}
            None => refused.push((*seq, "the attempt does not run on this cluster".to_owned())),
        }
    }
    put(db, batch, &kept).await?;
    save_rooms(db, &room).await?;
    Ok(refused)
}

fn number(chunk: &Chunk) -> i32 {
    i32::try_from(chunk.attempt).unwrap_or(-1)
}

/// What an attempt's logs may still take.
struct Room {
    used: u64,
    cut: bool,
}

enum Kept {
    Whole,
    /// Nothing of it, and this in its place.
    Cut(Chunk),
    Nothing,
}

impl Room {
    fn take(&mut self, chunk: &Chunk) -> Kept {
        let used = self.used.saturating_add(chunk.data.len() as u64);
        if self.cut {
            return Kept::Nothing;
        }
        if used > LOG_LIMIT {
            self.cut = true;
            let mark = format!("\n[cut: logs of an attempt are kept up to {} MiB]\n", LOG_LIMIT >> 20);
            return Kept::Cut(Chunk { data: mark.into_bytes(), ..chunk.clone() });
        }
        self.used = used;
        Kept::Whole
    }
}

type Rooms = BTreeMap<(Uuid, i32), Room>;

/// Room of those of the chunks' attempts that this cluster holds, locked until the transaction ends.
async fn rooms(db: &mut PgConnection, batch: &Batch, chunks: &[(u64, &Chunk)]) -> Result<Rooms> {
    let jobs: Vec<_> = chunks.iter().map(|(_, chunk)| chunk.job.0).collect();
    let numbers: Vec<_> = chunks.iter().map(|(_, chunk)| number(chunk)).collect();
    sqlx::query(
        "insert into log_size (job_id, attempt)
         select job_id, number from attempt
         where cluster_id = $1 and (job_id, number) in (select * from unnest($2::uuid[], $3::int[]))
         order by job_id, number on conflict (job_id, attempt) do nothing",
    )
    .bind(batch.cluster.0)
    .bind(&jobs)
    .bind(&numbers)
    .execute(&mut *db)
    .await?;
    let rows = sqlx::query(
        "select l.job_id, l.attempt, l.bytes, l.cut
         from log_size l join attempt a on a.job_id = l.job_id and a.number = l.attempt
         where a.cluster_id = $1 and (l.job_id, l.attempt) in (select * from unnest($2::uuid[], $3::int[]))
         order by l.job_id, l.attempt for update of l",
    )
    .bind(batch.cluster.0)
    .bind(&jobs)
    .bind(&numbers)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            let used = u64::try_from(row.try_get::<i64, _>("bytes")?).unwrap_or(0);
            let room = Room { used, cut: row.try_get("cut")? };
            Ok(((row.try_get("job_id")?, row.try_get("attempt")?), room))
        })
        .collect()
}

async fn save_rooms(db: &mut PgConnection, rooms: &Rooms) -> Result<()> {
    sqlx::query(
        "update log_size l set bytes = r.used, cut = r.cut
         from unnest($1::uuid[], $2::int[], $3::bigint[], $4::boolean[]) as r (job, number, used, cut)
         where l.job_id = r.job and l.attempt = r.number",
    )
    .bind(rooms.keys().map(|(job, _)| *job).collect::<Vec<_>>())
    .bind(rooms.keys().map(|(_, number)| *number).collect::<Vec<_>>())
    .bind(rooms.values().map(|room| signed(room.used)).collect::<Vec<_>>())
    .bind(rooms.values().map(|room| room.cut).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

async fn put(db: &mut PgConnection, batch: &Batch, chunks: &[Chunk]) -> Result<()> {
    sqlx::query(
        "insert into log_chunk (cluster_id, job_id, attempt, stream, start_offset, data, received_at)
         select distinct on (job, attempt, stream, start) $1, job, attempt, stream, start, data, $7
         from unnest($2::uuid[], $3::int[], $4::text[], $5::bigint[], $6::bytea[])
              as c (job, attempt, stream, start, data)
         order by job, attempt, stream, start, length(data) desc
         on conflict (job_id, attempt, stream, start_offset) do update set data = excluded.data
         where length(excluded.data) > length(log_chunk.data)",
    )
    .bind(batch.cluster.0)
    .bind(chunks.iter().map(|chunk| chunk.job.0).collect::<Vec<_>>())
    .bind(chunks.iter().map(number).collect::<Vec<_>>())
    .bind(chunks.iter().map(|chunk| chunk.stream.as_str()).collect::<Vec<_>>())
    .bind(chunks.iter().map(|chunk| signed(chunk.offset)).collect::<Vec<_>>())
    .bind(chunks.iter().map(|chunk| chunk.data.as_slice()).collect::<Vec<_>>())
    .bind(at(batch.now))
    .execute(db)
    .await?;
    Ok(())
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
