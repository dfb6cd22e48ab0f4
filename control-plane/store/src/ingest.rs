//! Ingest: numbered records in, once each.
//!
//! Invariant: records and watermark move in one transaction that holds the watermark's row, so a record that comes
//! twice, on two streams at once, or again after a lost acknowledgement takes effect once. Only streams of the life in
//! charge write. Records that cannot be taken are kept with their reason, and the watermark passes them.

use sqlx::{PgConnection, Row, types::Json};
use squadron_core::{
    fact::Fact,
    id::{ClusterId, Epoch, JobId},
    time::Timestamp,
    watermark::{self, Arrival},
};

use crate::{Result, Store, at, cluster::signed};

/// A class of records, numbered on its own within an epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    Fact,
    Log,
}

impl Class {
    pub fn code(self) -> i16 {
        match self {
            Class::Fact => 1,
            Class::Log => 2,
        }
    }
}

/// One record that was read.
#[derive(Clone, Debug)]
pub enum Payload {
    Fact(Box<Fact>),
    Log(Chunk),
    /// It cannot be taken, for this reason.
    Rejected(String),
}

/// A piece of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunk {
    pub job: JobId,
    pub attempt: u32,
    pub stream: String,
    /// Of the first byte.
    pub offset: u64,
    pub data: Vec<u8>,
}

/// A record with the agent's time.
#[derive(Clone, Debug)]
pub struct Record {
    pub observed_at: Timestamp,
    pub payload: Payload,
}

/// Contiguous records of one class and epoch, on a stream of the life `stream_epoch`.
#[derive(Clone, Debug)]
pub struct Batch {
    pub cluster: ClusterId,
    pub stream_epoch: Epoch,
    pub epoch: Epoch,
    pub class: Class,
    pub first: u64,
    pub records: Vec<Record>,
    pub now: Timestamp,
}

/// Records that the agent lost and will never send.
#[derive(Clone, Debug)]
pub struct Lost {
    pub cluster: ClusterId,
    pub stream_epoch: Epoch,
    pub epoch: Epoch,
    pub class: Class,
    pub first: u64,
    pub last: u64,
    pub reason: String,
    pub now: Timestamp,
}

/// What became of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taken {
    /// Everything up to here is committed; `refused` records were put aside, with their reasons.
    Committed {
        watermark: u64,
        refused: Vec<(u64, String)>,
    },
    /// Something before it is missing.
    Gap {
        watermark: u64,
    },
    Malformed,
    /// The stream's life is not in charge (any more), or the cluster is not active.
    Fenced,
}

/// A watermark row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watermark {
    pub epoch: Epoch,
    pub class: Class,
    pub seq: u64,
}

/// Where a locked watermark stands.
enum Locked {
    At(u64),
    Fenced,
}

impl Store {
    /// Commits what is new in the batch.
    pub async fn ingest(&self, batch: &Batch) -> Result<Taken> {
        self.txn("ingest", batch, |db, batch| {
            Box::pin(async move {
                let Locked::At(watermark) = lock(db, batch.key()).await? else { return Ok(Taken::Fenced) };
                match watermark::place(watermark, batch.first, batch.records.len() as u64) {
                    Arrival::Malformed => Ok(Taken::Malformed),
                    Arrival::Gap => Ok(Taken::Gap { watermark }),
                    Arrival::Old => Ok(Taken::Committed { watermark, refused: Vec::new() }),
                    Arrival::New { skip, last } => commit(db, batch, skip, last).await,
                }
            })
        })
        .await
    }

    /// Moves the watermark over records that are lost, with the reason.
    pub async fn pass_over(&self, lost: &Lost) -> Result<Taken> {
        self.txn("ingest.gap", lost, |db, lost| {
            Box::pin(async move {
                let Locked::At(watermark) = lock(db, lost.key()).await? else { return Ok(Taken::Fenced) };
                let count = lost.last.saturating_sub(lost.first).saturating_add(1);
                match watermark::place(watermark, lost.first, count) {
                    Arrival::Malformed => Ok(Taken::Malformed),
                    Arrival::Gap => Ok(Taken::Gap { watermark }),
                    Arrival::Old => Ok(Taken::Committed { watermark, refused: Vec::new() }),
                    Arrival::New { last, .. } => note_lost(db, lost, watermark, last).await,
                }
            })
        })
        .await
    }

    /// All watermarks of a cluster.
    pub async fn watermarks(&self, cluster: ClusterId) -> Result<Vec<Watermark>> {
        let rows = sqlx::query(
            "select epoch, class, seq from ingest_watermark where cluster_id = $1 order by epoch, class",
        )
        .bind(cluster.0)
        .fetch_all(self.pool())
        .await?;
        rows.iter()
            .map(|row| {
                let class = if row.try_get::<i16, _>("class")? == 1 { Class::Fact } else { Class::Log };
                let number = |name: &str| {
                    Ok::<_, sqlx::Error>(u64::try_from(row.try_get::<i64, _>(name)?).unwrap_or(0))
                };
                Ok(Watermark { epoch: Epoch(number("epoch")?), class, seq: number("seq")? })
            })
            .collect()
    }
}

/// What names a watermark, and the life that wants to move it.
#[derive(Clone, Copy)]
struct Key {
    cluster: ClusterId,
    stream_epoch: Epoch,
    epoch: Epoch,
    class: Class,
}

impl Batch {
    fn key(&self) -> Key {
        Key { cluster: self.cluster, stream_epoch: self.stream_epoch, epoch: self.epoch, class: self.class }
    }
}

impl Lost {
    fn key(&self) -> Key {
        Key { cluster: self.cluster, stream_epoch: self.stream_epoch, epoch: self.epoch, class: self.class }
    }
}

async fn lock(db: &mut PgConnection, key: Key) -> Result<Locked> {
    let in_charge: Option<i64> =
        sqlx::query_scalar("select agent_epoch from cluster where id = $1 and state = 'active' for share")
            .bind(key.cluster.0)
            .fetch_optional(&mut *db)
            .await?;
    if in_charge != Some(signed(key.stream_epoch.0)) || key.epoch > key.stream_epoch {
        return Ok(Locked::Fenced);
    }
    sqlx::query(
        "insert into ingest_watermark (cluster_id, epoch, class, seq) values ($1, $2, $3, 0)
         on conflict (cluster_id, epoch, class) do nothing",
    )
    .bind(key.cluster.0)
    .bind(signed(key.epoch.0))
    .bind(key.class.code())
    .execute(&mut *db)
    .await?;
    let seq: i64 = sqlx::query_scalar(
        "select seq from ingest_watermark where cluster_id = $1 and epoch = $2 and class = $3 for update",
    )
    .bind(key.cluster.0)
    .bind(signed(key.epoch.0))
    .bind(key.class.code())
    .fetch_one(db)
    .await?;
    Ok(Locked::At(u64::try_from(seq).unwrap_or(0)))
}

async fn commit(db: &mut PgConnection, batch: &Batch, skip: u64, last: u64) -> Result<Taken> {
    let mut facts = Vec::new();
    let mut chunks = Vec::new();
    let mut refused = Vec::new();
    let numbered = (batch.first..).zip(&batch.records).skip(usize::try_from(skip).unwrap_or(usize::MAX));
    for (seq, record) in numbered {
        match &record.payload {
            Payload::Fact(fact) => facts.push((seq, record.observed_at, fact.as_ref())),
            Payload::Log(chunk) => chunks.push((seq, chunk)),
            Payload::Rejected(reason) => refused.push((seq, reason.clone())),
        }
    }
    insert_facts(db, batch, &facts).await?;
    refused.extend(insert_chunks(db, batch, &chunks).await?);
    refused.sort();
    insert_rejected(db, batch.key(), batch.now, &refused).await?;
    advance(db, batch.key(), last).await?;
    Ok(Taken::Committed { watermark: last, refused })
}

async fn insert_facts(db: &mut PgConnection, batch: &Batch, facts: &[(u64, Timestamp, &Fact)]) -> Result<()> {
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
async fn insert_chunks(
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
                      select $1, job, attempt, stream, start, data, $8 from ours
                      on conflict (job_id, attempt, stream, start_offset) do nothing)
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

async fn insert_rejected(
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

/// One row stands for the whole range: it names the last number and tells the first.
async fn note_lost(db: &mut PgConnection, lost: &Lost, watermark: u64, last: u64) -> Result<Taken> {
    let reason = format!("records {} to {last} were lost: {}", watermark + 1, lost.reason);
    insert_rejected(db, lost.key(), lost.now, &[(last, reason)]).await?;
    advance(db, lost.key(), last).await?;
    Ok(Taken::Committed { watermark: last, refused: Vec::new() })
}

async fn advance(db: &mut PgConnection, key: Key, last: u64) -> Result<()> {
    sqlx::query("update ingest_watermark set seq = $4 where cluster_id = $1 and epoch = $2 and class = $3")
        .bind(key.cluster.0)
        .bind(signed(key.epoch.0))
        .bind(key.class.code())
        .bind(signed(last))
        .execute(db)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
