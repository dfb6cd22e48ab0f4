//! Failovers: histories of the database, and the clusters that have yet to tell what a later one may have forgotten.
//!
//! Invariant: the first one who works in a history that nobody met notes it before anything is decided in it, under a timeline that
//! is higher than any that an agent may have heard of (the time in milliseconds, which also a database knows that forgot when it
//! failed over), and marks every active cluster that an agent ever spoke for; the mark goes only with the cluster's whole word, or an operator's. Until then
//! nothing is sent to the cluster that would make it let go of what was forgotten, and until the last one has told, no cluster
//! starts an attempt from before, because the next one may run on a cluster that has yet to tell. The first history ever met is
//! none.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row};
use squadron_core::{
    dispatch::Forgotten,
    fact::HoldingsFact,
    id::{AttemptId, ClusterId, JobId},
    lease::{Failover, Told},
    time::Timestamp,
};

use crate::{
    Result, Store, at,
    cluster::{signed, unsigned},
    loss::columns,
    stamp,
    term::{self, Term, history},
};

/// The newest submission of which the database may have forgotten where it runs: jobs up to it are unsure. Null when every
/// cluster told. In SQL.
macro_rules! unsure {
    () => {
        "(select max(before) from failover where told_at is null)"
    };
}
pub(crate) use unsure;

impl Store {
    /// Notes the database's history if nobody met it before. Answers what is new: the timeline of a failover.
    pub async fn meet_history(&self, term: &Term, now: Timestamp) -> Result<Option<i64>> {
        let known = concat!("select exists (select 1 from failover where history = ", history!(), ")");
        if sqlx::query_scalar(known).fetch_one(self.pool()).await? {
            return Ok(None);
        }
        self.txn("failover.meet", &(term, now), |db, (term, now)| Box::pin(meet(db, term, *now))).await
    }

    /// Notes that every cluster has told what it holds, if that is news: attempts from before may start, so every cluster gets
    /// its set whole again.
    pub async fn end_failover(&self, term: &Term, now: Timestamp) -> Result<bool> {
        let open = "select exists (select 1 from failover where before is not null and told_at is null)
                        and not exists (select 1 from cluster where untold_since is not null)";
        if !sqlx::query_scalar::<_, bool>(open).fetch_one(self.pool()).await? {
            return Ok(false);
        }
        self.txn("failover.end", &(term, now), |db, (term, now)| Box::pin(end(db, term, *now))).await
    }
}

async fn end(db: &mut PgConnection, term: &Term, now: Timestamp) -> Result<bool> {
    term::check(db, term).await?;
    // Nobody notes what such a generation changed, so streams begin anew.
    sqlx::query(
        "with held as (select id from cluster where agent_epoch > 0 order by id for no key update)
         update cluster set desired_generation = desired_generation + 1 from held where cluster.id = held.id",
    )
    .execute(&mut *db)
    .await?;
    let over = sqlx::query("update failover set told_at = $1 where told_at is null")
        .bind(at(now))
        .execute(db)
        .await?;
    Ok(over.rows_affected() > 0)
}

async fn meet(db: &mut PgConnection, term: &Term, now: Timestamp) -> Result<Option<i64>> {
    term::check(db, term).await?;
    let met = sqlx::query(concat!(
        "insert into failover (timeline, history, before, met_at)
         select case when newest is null then 1 else greatest(newest + 1, $2) end, ",
        history!(),
        ", case when newest is not null then (select max(submitted_at) from job) end, $1
         from (select max(timeline) as newest from failover) f
         on conflict do nothing returning timeline, before is not null as forgets"
    ))
    .bind(at(now))
    .bind(now.millis())
    .fetch_optional(&mut *db)
    .await?;
    let Some(met) = met else { return Ok(None) };
    if !met.try_get::<bool, _>("forgets")? {
        return Ok(None);
    }
    let timeline: i64 = met.try_get("timeline")?;
    sqlx::query(
        "with held as (select id from cluster where agent_epoch > 0 and state = 'active' order by id for no key update)
         update cluster set untold_since = $1 from held where cluster.id = held.id",
    )
    .bind(timeline)
    .execute(db)
    .await?;
    Ok(Some(timeline))
}

/// What may be forgotten at this moment; nothing when every cluster has told what it holds. One that was revoked since can tell no
/// more; what it holds is not known for that. One that was revoked before was given nothing since, and its end is not forgotten.
pub async fn open(db: &mut PgConnection) -> Result<Option<Forgotten>> {
    let rows = sqlx::query(
        "select c.id, f.before from cluster c, (select before from failover order by timeline desc limit 1) f
         where c.untold_since is not null and f.before is not null",
    )
    .fetch_all(db)
    .await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let before = stamp(first.try_get("before")?);
    let told = |row: &sqlx::postgres::PgRow| Ok((ClusterId(row.try_get("id")?), Told::default()));
    let clusters = rows.iter().map(told).collect::<Result<_>>()?;
    Ok(Some(Forgotten { before, clusters: Failover { clusters } }))
}

/// Whether the cluster has yet to tell what it holds under this timeline; answers its name.
pub async fn awaited(db: &mut PgConnection, cluster: ClusterId, timeline: u64) -> Result<Option<String>> {
    let query = "select name from cluster where id = $1 and untold_since = $2 for no key update";
    let name = sqlx::query_scalar(query).bind(cluster.0).bind(signed(timeline)).fetch_optional(db).await?;
    Ok(name)
}

/// Which of these clusters have yet to tell what they hold, and under which timeline.
pub async fn untold(
    db: &mut PgConnection,
    clusters: &BTreeSet<ClusterId>,
) -> Result<BTreeMap<ClusterId, u64>> {
    let rows =
        sqlx::query("select id, untold_since from cluster where id = any ($1) and untold_since is not null")
            .bind(clusters.iter().map(|cluster| cluster.0).collect::<Vec<_>>())
            .fetch_all(db)
            .await?;
    rows.iter()
        .map(|row| Ok((ClusterId(row.try_get("id")?), unsigned(row.try_get("untold_since")?))))
        .collect()
}

/// Those of these jobs whose live attempt was named by its own cluster under this timeline.
pub async fn named(db: &mut PgConnection, jobs: &[JobId], timeline: u64) -> Result<BTreeSet<JobId>> {
    let query =
        "select job_id from attempt where job_id = any ($1) and ended_at is null and named_under = $2";
    let ids = jobs.iter().map(|job| job.0).collect::<Vec<_>>();
    let named = sqlx::query_scalar(query).bind(ids).bind(signed(timeline)).fetch_all(db).await?;
    Ok(named.into_iter().map(JobId).collect())
}

/// Jobs with a live attempt on these clusters that is to stop.
pub async fn stopping(
    db: &mut PgConnection,
    clusters: &[ClusterId],
) -> Result<BTreeMap<ClusterId, Vec<JobId>>> {
    let rows = sqlx::query(
        "select cluster_id, job_id from attempt
         where cluster_id = any ($1) and ended_at is null and state = 'stopping' and not desired",
    )
    .bind(clusters.iter().map(|cluster| cluster.0).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    let mut stopping: BTreeMap<ClusterId, Vec<JobId>> = BTreeMap::new();
    for row in &rows {
        let cluster = ClusterId(row.try_get("cluster_id")?);
        stopping.entry(cluster).or_default().push(JobId(row.try_get("job_id")?));
    }
    Ok(stopping)
}

/// Notes which live attempts the cluster named. Each of them was accepted, by a life that is not known.
pub async fn name(db: &mut PgConnection, cluster: ClusterId, told: &HoldingsFact) -> Result<()> {
    let all: Vec<AttemptId> = told.held.iter().chain(&told.accepted).copied().collect();
    let (jobs, numbers) = columns(&all);
    sqlx::query(
        "update attempt a set named_under = $2, accepted_epoch = coalesce(a.accepted_epoch, 0) from unnest($3::uuid[], $4::integer[]) as s (job, number)
         where a.job_id = s.job and a.number = s.number and a.cluster_id = $1 and a.ended_at is null",
    )
    .bind(cluster.0)
    .bind(signed(told.timeline))
    .bind(jobs)
    .bind(numbers)
    .execute(db)
    .await?;
    Ok(())
}

/// Everything that the cluster holds is known, or nothing runs there any more. What it said of generations counts no more: they
/// may have been of sets that are forgotten.
pub async fn settled(db: &mut PgConnection, cluster: ClusterId) -> Result<()> {
    sqlx::query(
        "update cluster set untold_since = null, applied_generation = 0 where id = $1 and untold_since is not null",
    )
    .bind(cluster.0)
    .execute(db)
    .await?;
    Ok(())
}
