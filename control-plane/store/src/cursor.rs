//! Cursors: how far a consumer of facts has come in each cluster and epoch.
//!
//! Invariant: a cursor moves in the transaction of its effect and never backwards, so a fact takes effect exactly once
//! however often a consumer stops and starts. Facts of one cluster are read in the order (epoch, seq).

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, types::Json};
use squadron_core::{
    fact::Fact,
    id::{ClusterId, JobId},
    time::Timestamp,
};

use crate::{Result, Store, at, stamp};

/// Facts of all clusters that are read at a time, beside the least of each.
const MOST: i64 = 4_000;
/// A cluster gets no fewer facts at a time.
const LEAST: i64 = 8;

/// A place in a cluster's facts. Signed, as the database holds it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    pub epoch: i64,
    pub seq: i64,
}

/// A committed fact.
#[derive(Clone, Debug)]
pub struct FactRow {
    pub position: Position,
    /// By the agent's clock, but never later than it was received here.
    pub at: Timestamp,
    /// None when this version cannot read it; it is passed over.
    pub fact: Option<Fact>,
}

/// Facts that a consumer has not consumed, of one epoch of one cluster.
#[derive(Clone, Debug)]
pub struct Batch {
    pub cluster: ClusterId,
    pub epoch: i64,
    /// The cursor before.
    pub from: i64,
    /// The cursor after; facts up to here are in the batch, and no others exist of the kinds that were asked for.
    pub to: i64,
    pub facts: Vec<FactRow>,
}

impl Batch {
    /// The same facts in batches of one, whose cursors lead from one to the next.
    pub fn singles(&self) -> Vec<Batch> {
        let mut from = self.from;
        let count = self.facts.len();
        let single = |(index, row): (usize, &FactRow)| {
            let to = if index + 1 == count { self.to } else { row.position.seq };
            let one = Batch { from, to, facts: vec![row.clone()], ..*self };
            from = to;
            one
        };
        self.facts.iter().enumerate().map(single).collect()
    }
}

impl Store {
    /// The next facts for `consumer`, at most `limit` of a cluster and fewer where many have some, the oldest epoch of each
    /// cluster only. With `behind`, nothing that this other consumer has not consumed yet, and facts of these kinds are read alone.
    pub async fn next_facts(
        &self,
        consumer: &str,
        behind: Option<(&str, &[&str])>,
        limit: i64,
    ) -> Result<Vec<Batch>> {
        let (behind, kinds) = behind.unzip();
        let rows = sqlx::query(
            "select distinct on (w.cluster_id) w.cluster_id, w.epoch, coalesce(c.seq, 0) as from_seq,
                    case when $2::text is null then w.seq else coalesce(b.seq, 0) end as to_seq
             from ingest_watermark w
             left join consumer_cursor c on c.consumer = $1 and c.cluster_id = w.cluster_id and c.epoch = w.epoch
             left join consumer_cursor b on b.consumer = $2 and b.cluster_id = w.cluster_id and b.epoch = w.epoch
             where w.class = 1
               and case when $2::text is null then w.seq else coalesce(b.seq, 0) end > coalesce(c.seq, 0)
             order by w.cluster_id, w.epoch",
        )
        .bind(consumer)
        .bind(behind)
        .fetch_all(self.pool())
        .await?;
        let mut batches = Vec::with_capacity(rows.len());
        for row in &rows {
            let cluster = ClusterId(row.try_get("cluster_id")?);
            let (epoch, from, to) = (row.try_get("epoch")?, row.try_get("from_seq")?, row.try_get("to_seq")?);
            batches.push(Batch { cluster, epoch, from, to, facts: Vec::new() });
        }
        self.fill(&mut batches, kinds, limit).await?;
        Ok(batches)
    }

    /// Reads the facts, or those of these kinds, of batches of different clusters. A batch that gets as many as it may ends at the last of them.
    async fn fill(&self, batches: &mut [Batch], kinds: Option<&[&str]>, limit: i64) -> Result<()> {
        if batches.is_empty() {
            return Ok(());
        }
        let count = i64::try_from(batches.len()).unwrap_or(i64::MAX);
        let limit = limit.min((MOST / count).max(LEAST));
        let column = |of: fn(&Batch) -> i64| batches.iter().map(of).collect::<Vec<_>>();
        let rows = sqlx::query(
            "select f.* from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) as k (cluster_id, epoch, since, until)
             cross join lateral (
                 select cluster_id, epoch, seq, least(observed_at, received_at) as at, body from fact
                 where cluster_id = k.cluster_id and epoch = k.epoch and seq > k.since and seq <= k.until
                    and ($6::text[] is null or kind = any ($6))
                 order by seq limit $5) f",
        )
        .bind(batches.iter().map(|batch| batch.cluster.0).collect::<Vec<_>>())
        .bind(column(|batch| batch.epoch))
        .bind(column(|batch| batch.from))
        .bind(column(|batch| batch.to))
        .bind(limit)
        .bind(kinds)
        .fetch_all(self.pool())
        .await?;
        let mut facts = BTreeMap::<ClusterId, Vec<FactRow>>::new();
        for row in &rows {
            facts.entry(ClusterId(row.try_get("cluster_id")?)).or_default().push(read(row)?);
        }
        for batch in batches {
            batch.facts = facts.remove(&batch.cluster).unwrap_or_default();
            batch.facts.sort_by_key(|row| row.position);
            let full = i64::try_from(batch.facts.len()).is_ok_and(|count| count == limit);
            batch.to = batch.facts.last().filter(|_| full).map_or(batch.to, |last| last.position.seq);
        }
        Ok(())
    }

    /// The newest facts about a job, the oldest of them first.
    pub async fn facts_of_job(&self, job: JobId, limit: i64) -> Result<Vec<FactRow>> {
        let rows = sqlx::query(
            "select * from (select epoch, seq, least(observed_at, received_at) as at, body from fact
                            where job_id = $1 order by observed_at desc, epoch desc, seq desc limit $2) newest
             order by at, epoch, seq",
        )
        .bind(job.0)
        .bind(limit)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &sqlx::postgres::PgRow) -> Result<FactRow> {
    let position = Position { epoch: row.try_get("epoch")?, seq: row.try_get("seq")? };
    let fact = row
        .try_get::<Json<Fact>, _>("body")
        .map(|body| body.0)
        .inspect_err(|error| tracing::warn!(?position, %error, "a fact cannot be read and is passed over"))
        .ok();
    Ok(FactRow { position, at: stamp(row.try_get("at")?), fact })
}

/// Keeps a fact that cannot take effect, with the reason; the caller moves the cursor over it.
pub async fn put_aside(
    db: &mut PgConnection,
    cluster: ClusterId,
    position: Position,
    reason: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into rejected_record (cluster_id, epoch, class, seq, at, reason) values ($1, $2, 1, $3, $4, $5)
         on conflict (cluster_id, epoch, class, seq) do nothing",
    )
    .bind(cluster.0)
    .bind(position.epoch)
    .bind(position.seq)
    .bind(at(now))
    .bind(reason)
    .execute(db)
    .await?;
    Ok(())
}

/// Moves the cursors over batches of different clusters. Answers the clusters whose cursors moved; of the others somebody else
/// moved them meanwhile, and nothing of their batches may be committed.
pub async fn advance(
    db: &mut PgConnection,
    consumer: &str,
    batches: &[Batch],
) -> Result<BTreeSet<ClusterId>> {
    let column = |of: fn(&Batch) -> i64| batches.iter().map(of).collect::<Vec<_>>();
    let moved = sqlx::query_scalar(
        "with given as (select * from unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[])
                                          as g (cluster_id, epoch, since, until)),
              moved as (update consumer_cursor c set seq = g.until from given g
                        where c.consumer = $1 and c.cluster_id = g.cluster_id and c.epoch = g.epoch and c.seq = g.since
                        returning c.cluster_id),
              begun as (insert into consumer_cursor (consumer, cluster_id, epoch, seq)
                        select $1, cluster_id, epoch, until from given where since = 0
                        on conflict (consumer, cluster_id, epoch) do nothing returning cluster_id)
         select cluster_id from moved union select cluster_id from begun",
    )
    .bind(consumer)
    .bind(batches.iter().map(|batch| batch.cluster.0).collect::<Vec<_>>())
    .bind(column(|batch| batch.epoch))
    .bind(column(|batch| batch.from))
    .bind(column(|batch| batch.to))
    .fetch_all(db)
    .await?;
    Ok(moved.into_iter().map(ClusterId).collect())
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
