//! Ingest: numbered records in, once each.
//!
//! Invariant: records and watermark move in one transaction that holds the watermark's row, so a record that comes
//! twice, on two streams at once, or again after a lost acknowledgement takes effect once. Only streams of the life in
//! charge write. Records that cannot be taken are kept with their reason, and the watermark passes them. Batches of many clusters
//! share a transaction and its statements; clusters are locked first and watermarks after them, each in their order.

mod rows;

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, postgres::PgRow};
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

impl Store {
    /// Commits what is new in the batch.
    pub async fn ingest(&self, batch: &Batch) -> Result<Taken> {
        Ok(self.ingest_all(&[batch]).await?.pop().unwrap_or(Taken::Malformed))
    }

    /// Commits what is new in each of these batches; answers in their order.
    pub async fn ingest_all(&self, batches: &[&Batch]) -> Result<Vec<Taken>> {
        self.txn("ingest", batches, |db, batches| {
            Box::pin(async move {
                let mut marks = lock(db, batches.iter().map(|batch| batch.key())).await?;
                let placed: Vec<Placed<'_>> =
                    batches.iter().map(|batch| Placed::at(batch, &mut marks)).collect();
                commit(db, placed).await
            })
        })
        .await
    }

    /// Moves the watermark over records that are lost, with the reason.
    pub async fn pass_over(&self, lost: &Lost) -> Result<Taken> {
        self.txn("ingest.gap", lost, |db, lost| {
            Box::pin(async move {
                let marks = lock(db, [lost.key()].into_iter()).await?;
                let Some(watermark) = marks.get(&lost.key()).copied() else { return Ok(Taken::Fenced) };
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
        rows.iter().map(mark).collect()
    }
}

fn mark(row: &PgRow) -> Result<Watermark> {
    let class = if row.try_get::<i16, _>("class")? == 1 { Class::Fact } else { Class::Log };
    let number = |name: &str| Ok::<_, sqlx::Error>(u64::try_from(row.try_get::<i64, _>(name)?).unwrap_or(0));
    Ok(Watermark { epoch: Epoch(number("epoch")?), class, seq: number("seq")? })
}

/// What names a watermark, and the life that wants to move it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    cluster: ClusterId,
    epoch: Epoch,
    class: Class,
    stream_epoch: Epoch,
}

/// Where locked watermarks stand.
type Marks = BTreeMap<Key, u64>;

/// A batch beside its watermark.
struct Placed<'a> {
    batch: &'a Batch,
    taken: Taken,
    facts: Vec<(u64, Timestamp, &'a Fact)>,
    chunks: Vec<(u64, &'a Chunk)>,
}

impl<'a> Placed<'a> {
    /// Takes what is new of the batch and moves the mark; one without a mark is fenced.
    fn at(batch: &'a Batch, marks: &mut Marks) -> Placed<'a> {
        let mut placed = Placed { batch, taken: Taken::Fenced, facts: Vec::new(), chunks: Vec::new() };
        let Some(mark) = marks.get_mut(&batch.key()) else { return placed };
        placed.taken = match watermark::place(*mark, batch.first, batch.records.len() as u64) {
            Arrival::Malformed => Taken::Malformed,
            Arrival::Gap => Taken::Gap { watermark: *mark },
            Arrival::Old => Taken::Committed { watermark: *mark, refused: Vec::new() },
            Arrival::New { skip, last } => {
                *mark = last;
                Taken::Committed { watermark: last, refused: placed.sort(skip) }
            }
        };
        placed
    }

    /// The new records by their kinds; answers those that are refused.
    fn sort(&mut self, skip: u64) -> Vec<(u64, String)> {
        let mut refused = Vec::new();
        let numbered = (self.batch.first..).zip(&self.batch.records);
        for (seq, record) in numbered.skip(usize::try_from(skip).unwrap_or(usize::MAX)) {
            match &record.payload {
                Payload::Fact(fact) => self.facts.push((seq, record.observed_at, fact.as_ref())),
                Payload::Log(chunk) => self.chunks.push((seq, chunk)),
                Payload::Rejected(reason) => refused.push((seq, reason.clone())),
            }
        }
        refused
    }
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

/// Locks the watermarks of those of these that may move them: streams of the lives in charge. Another life, or the end of the
/// cluster, waits until the commit, because it locks the row whole; whoever only counts in it does not.
async fn lock(db: &mut PgConnection, keys: impl Iterator<Item = Key>) -> Result<Marks> {
    let mut keys: BTreeSet<Key> = keys.collect();
    let in_charge: BTreeMap<ClusterId, i64> = sqlx::query(
        "select id, agent_epoch from cluster where id = any ($1) and state = 'active' order by id for key share",
    )
    .bind(keys.iter().map(|key| key.cluster.0).collect::<Vec<_>>())
    .fetch_all(&mut *db)
    .await?
    .iter()
    .map(|row| Ok((ClusterId(row.try_get("id")?), row.try_get("agent_epoch")?)))
    .collect::<Result<_>>()?;
    let leads = |key: &Key| in_charge.get(&key.cluster) == Some(&signed(key.stream_epoch.0));
    keys.retain(|key| leads(key) && key.epoch <= key.stream_epoch);
    let mut marks = marks(db, &keys).await?;
    if marks.len() < keys.len() {
        begin(db, &keys).await?;
        marks = self::marks(db, &keys).await?;
    }
    Ok(marks)
}

type Columns = (Vec<uuid::Uuid>, Vec<i64>, Vec<i16>);

fn columns<'k>(keys: impl Iterator<Item = &'k Key> + Clone) -> Columns {
    let clusters = keys.clone().map(|key| key.cluster.0).collect();
    let epochs = keys.clone().map(|key| signed(key.epoch.0)).collect();
    (clusters, epochs, keys.map(|key| key.class.code()).collect())
}

/// Those of these watermarks that are there, locked.
async fn marks(db: &mut PgConnection, keys: &BTreeSet<Key>) -> Result<Marks> {
    let (clusters, epochs, classes) = columns(keys.iter());
    let rows = sqlx::query(
        "select w.cluster_id, w.epoch, w.class, w.seq from ingest_watermark w
         join unnest($1::uuid[], $2::bigint[], $3::smallint[]) as k (cluster_id, epoch, class)
             using (cluster_id, epoch, class)
         order by w.cluster_id, w.epoch, w.class for update of w",
    )
    .bind(clusters)
    .bind(epochs)
    .bind(classes)
    .fetch_all(db)
    .await?;
    let found = rows.iter().map(|row| {
        let mark = mark(row)?;
        Ok(((row.try_get::<uuid::Uuid, _>("cluster_id")?, mark.epoch, mark.class), mark.seq))
    });
    let found = found.collect::<Result<BTreeMap<_, _>>>()?;
    let of = |key: &Key| found.get(&(key.cluster.0, key.epoch, key.class)).map(|seq| (*key, *seq));
    Ok(keys.iter().filter_map(of).collect())
}

/// Makes those of these watermarks that are not there.
async fn begin(db: &mut PgConnection, keys: &BTreeSet<Key>) -> Result<()> {
    let (clusters, epochs, classes) = columns(keys.iter());
    sqlx::query(
        "insert into ingest_watermark (cluster_id, epoch, class, seq)
         select cluster_id, epoch, class, 0 from unnest($1::uuid[], $2::bigint[], $3::smallint[]) as k (cluster_id, epoch, class)
         order by cluster_id, epoch, class on conflict (cluster_id, epoch, class) do nothing",
    )
    .bind(clusters)
    .bind(epochs)
    .bind(classes)
    .execute(db)
    .await?;
    Ok(())
}

async fn commit(db: &mut PgConnection, mut placed: Vec<Placed<'_>>) -> Result<Vec<Taken>> {
    rows::facts(db, &placed).await?;
    let mut moved = BTreeMap::new();
    for Placed { batch, taken, chunks, .. } in &mut placed {
        let Taken::Committed { watermark, refused } = taken else { continue };
        refused.extend(rows::chunks(db, batch, chunks).await?);
        refused.sort();
        rows::rejected(db, batch.key(), batch.now, refused).await?;
        moved.insert(batch.key(), *watermark);
    }
    advance(db, &moved).await?;
    Ok(placed.into_iter().map(|placed| placed.taken).collect())
}

/// One row stands for the whole range: it names the last number and tells the first.
async fn note_lost(db: &mut PgConnection, lost: &Lost, watermark: u64, last: u64) -> Result<Taken> {
    let reason = format!("records {} to {last} were lost: {}", watermark + 1, lost.reason);
    rows::rejected(db, lost.key(), lost.now, &[(last, reason)]).await?;
    advance(db, &Marks::from([(lost.key(), last)])).await?;
    Ok(Taken::Committed { watermark: last, refused: Vec::new() })
}

async fn advance(db: &mut PgConnection, marks: &Marks) -> Result<()> {
    let (clusters, epochs, classes) = columns(marks.keys());
    sqlx::query(
        "update ingest_watermark w set seq = k.seq
         from unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::bigint[]) as k (cluster_id, epoch, class, seq)
         where w.cluster_id = k.cluster_id and w.epoch = k.epoch and w.class = k.class and w.seq < k.seq",
    )
    .bind(clusters)
    .bind(epochs)
    .bind(classes)
    .bind(marks.values().map(|seq| signed(*seq)).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
