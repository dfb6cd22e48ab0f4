//! Ingest: numbered records in, once each.
//!
//! Invariant: records and watermark move in one transaction that holds the watermark's row, so a record that comes
//! twice, on two streams at once, or again after a lost acknowledgement takes effect once. Only streams of the life in
//! charge write. Records that cannot be taken are kept with their reason, and the watermark passes them.

mod rows;

use sqlx::{PgConnection, Row};
use squadron_core::{
    fact::Fact,
    id::{ClusterId, Epoch, JobId},
    time::Timestamp,
    watermark::{self, Arrival},
};

use crate::{Result, Store, cluster::signed};

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
    rows::facts(db, batch, &facts).await?;
    refused.extend(rows::chunks(db, batch, &chunks).await?);
    refused.sort();
    rows::rejected(db, batch.key(), batch.now, &refused).await?;
    advance(db, batch.key(), last).await?;
    Ok(Taken::Committed { watermark: last, refused })
}

/// One row stands for the whole range: it names the last number and tells the first.
async fn note_lost(db: &mut PgConnection, lost: &Lost, watermark: u64, last: u64) -> Result<Taken> {
    let reason = format!("records {} to {last} were lost: {}", watermark + 1, lost.reason);
    rows::rejected(db, lost.key(), lost.now, &[(last, reason)]).await?;
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
