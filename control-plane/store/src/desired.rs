//! What clusters should hold: the set, and what changed in it.
//!
//! Invariant: whoever changes the set counts the cluster's generation up under the lock of its row and writes the new number to
//! the attempts that it changed, so at any moment all changes up to the generation are there and none above. A writer that counts
//! the generation and notes nothing (an older control plane, a restored number) shows in `unmarked`. What cannot be read of a row
//! is taken for what harms least and told in `unread`; many clusters are read together, and none of them waits for one row.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    desired::{Ask, Moment, Place},
    dispatch::{Bound, soft::Caps},
    id::{AttemptId, ClusterId, Epoch},
    lease::Policy,
};
use uuid::Uuid;

use crate::{
    Result, Store,
    attempt::{accepted_by, attempt_id},
    cluster::{signed, unsigned},
    failover::unsure,
    job::policy,
    term::history,
};

/// Attempts of one cluster that are read at a time.
const MOST: i64 = 500;
/// Bytes of manifests of one cluster that are read at a time, beside the last.
const BYTES: i64 = 1 << 20;

/// An attempt that a cluster should hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DesiredRow {
    pub id: AttemptId,
    pub queue: String,
    /// Name of the RayJob object.
    pub object_name: String,
    pub namespace: String,
    /// The RayJob as JSON; absent where the stream carried it before.
    pub manifest: Option<String>,
    /// What its pods are bound to beside what the manifest says.
    pub bound: Bound,
    /// How far its worker groups may grow, where that is less than they ask for.
    pub caps: Caps,
    /// What the job wants when the cluster is lost.
    pub on_lost: Policy,
    /// The life of the agent whose acceptance was committed.
    pub accepted_by: Option<Epoch>,
    /// The agent said that the RayJob exists, when the attempt changed last.
    pub created: bool,
    /// Why the attempt before this one ended; empty for the first.
    pub before: String,
}

/// What was read of one ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    pub moment: Moment,
    pub set: Vec<DesiredRow>,
    /// Attempts that the cluster should hold no more.
    pub removed: Vec<AttemptId>,
    pub last: Option<Place>,
    /// There is more behind the last.
    pub more: bool,
    /// What of the set cannot be read, and what it is taken for.
    pub unread: Vec<(AttemptId, String)>,
    /// The cluster has yet to tell what it holds, because the database may have forgotten some of it: this is not for it.
    pub withheld: bool,
}

impl Read {
    /// Nothing, as of this moment.
    pub fn of(moment: Moment) -> Read {
        let (set, removed, unread) = Default::default();
        Read { moment, set, removed, last: None, more: false, unread, withheld: false }
    }
}

/// The new generations of clusters.
pub(crate) type Generations = BTreeMap<ClusterId, i64>;

/// Counts the generations of these clusters up, in the order of their ids; the caller writes the numbers to the attempts that it
/// changes.
pub(crate) async fn next_generations(
    db: &mut PgConnection,
    clusters: impl Iterator<Item = ClusterId>,
) -> Result<Generations> {
    let changed: BTreeSet<_> = clusters.collect();
    if changed.is_empty() {
        return Ok(Generations::new());
    }
    let rows = sqlx::query(
        "with held as (select id from cluster where id = any ($1) order by id for no key update)
         update cluster c set desired_generation = desired_generation + 1, marked_generation = marked_generation + 1
         from held where c.id = held.id returning c.id, c.desired_generation",
    )
    .bind(changed.iter().map(|cluster| cluster.0).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok((ClusterId(row.try_get("id")?), row.try_get("desired_generation")?))).collect()
}

impl Store {
    /// What these streams ask for, in their order, all as of one moment; nothing for a cluster that is gone.
    pub async fn desired_changes(&self, asks: &[(ClusterId, Ask)]) -> Result<Vec<Option<Read>>> {
        let numbers: Vec<i32> = (0..).take(asks.len()).collect();
        let clusters: Vec<Uuid> = asks.iter().map(|(cluster, _)| cluster.0).collect();
        let column = |of: fn(&Ask) -> i64| asks.iter().map(|(_, ask)| of(ask)).collect::<Vec<i64>>();
        let behind = |ask: &Ask| ask.behind.map(|(_, attempt)| attempt);
        let jobs: Vec<Uuid> =
            asks.iter().map(|(_, ask)| behind(ask).map_or(Uuid::nil(), |attempt| attempt.job.0)).collect();
        let attempts: Vec<i32> =
            asks.iter().map(|(_, ask)| behind(ask).map_or(0, |attempt| small(attempt.number))).collect();
        let rows = sqlx::query(CHANGES)
            .bind(numbers)
            .bind(clusters)
            .bind(column(|ask| ask.base.map_or(-1, signed)))
            .bind(column(|ask| ask.behind.map_or(-1, |(generation, _)| signed(generation))))
            .bind(jobs)
            .bind(attempts)
            .bind(column(|ask| ask.removed_above.map_or(i64::MAX, signed)))
            .bind(MOST)
            .bind(BYTES)
            .fetch_all(self.pool())
            .await?;
        let mut reads = vec![None; asks.len()];
        for row in &rows {
            let number = usize::try_from(row.try_get::<i32, _>("ask")?).unwrap_or(usize::MAX);
            if let Some(read) = reads.get_mut(number) {
                add(read, row)?;
            }
        }
        Ok(reads)
    }

    /// The whole set of a cluster, as of one moment; empty if there is none.
    pub async fn desired(&self, cluster: ClusterId) -> Result<Read> {
        self.txn("desired.whole", &cluster, |db, cluster| Box::pin(whole(db, *cluster))).await
    }
}

/// The timeline of the database's history, whether it is one of a failover that no dispatcher met yet, and up to which submission
/// jobs are unsure, in SQL.
macro_rules! now {
    () => {
        concat!(
            "(select f.timeline, f.timeline is null and exists (select 1 from failover) as is_new, ",
            unsure!(),
            " as unsure from (select ",
            history!(),
            " as history) h left join failover f on f.history = h.history) now"
        )
    };
}

/// Whether the cluster may hear of the live attempt `a` of an unsure job that is said to be made: only if it named it. One that
/// hears of another says that it is gone, while the next attempt may run on a cluster that has yet to tell.
macro_rules! is_sure {
    () => {
        "(now.unsure is null or a.created_at is null or a.ended_at is not null or a.named_under = now.timeline
          or (select submitted_at from job where id = a.job_id) > now.unsure)"
    };
}

/// The life that may start the attempt `a` of the job `j`; none for one of an unsure job that is not made, whatever was accepted.
macro_rules! accepted_epoch {
    () => {
        "case when a.created_at is null and a.ended_at is null and j.submitted_at <= now.unsure then null
              else a.accepted_epoch end as accepted_epoch"
    };
}

/// One row more than the limit of an ask shows that there is more; so does one behind the limit of bytes, which comes without
/// its manifest.
const CHANGES: &str = concat!(
    "
    select k.ask, c.desired_generation, c.desired_generation - c.marked_generation as unmarked, now.timeline,
           w.withheld,
           a.job_id, a.attempt, a.changed_generation, a.desired, a.object_name, a.accepted_epoch, a.created_at is not null as created, a.bound, a.caps, a.queue, a.namespace,
           a.on_lost, a.before, a.bytes_before, case when a.is_new and a.bytes_before < $9 then a.rayjob end as manifest
    from unnest($1::integer[], $2::uuid[], $3::bigint[], $4::bigint[], $5::uuid[], $6::integer[], $7::bigint[])
         as k (ask, cluster, base, behind, behind_job, behind_number, removed_above)
    cross join ",
    now!(),
    " join cluster c on c.id = k.cluster
    cross join lateral (select c.untold_since is not null or now.is_new as withheld) w
    left join lateral (
        select a.job_id, a.attempt, a.changed_generation, a.desired, a.object_name, a.created_at, a.bound, a.caps, ",
    accepted_epoch!(),
    ", a.is_new, j.queue, j.namespace, j.on_lost, j.rayjob, coalesce(before.ended_because, '') as before,
               coalesce(sum(case when a.is_new then octet_length(j.rayjob) else 0 end)
                   over (order by a.changed_generation, a.job_id, a.attempt
                         rows between unbounded preceding and 1 preceding), 0)::bigint as bytes_before
        from (
            (select changed_generation, job_id, number as attempt, object_name, accepted_epoch, created_at, ended_at, bound, caps,
                    desired, first_generation > k.base as is_new
             from attempt a where not w.withheld and cluster_id = k.cluster and desired
                and (changed_generation, job_id, number) > (k.behind, k.behind_job, k.behind_number) and ",
    is_sure!(),
    " order by changed_generation, job_id, number limit $8 + 1)
            union all
            (select changed_generation, job_id, number, object_name, accepted_epoch, null, ended_at, bound, caps, desired, false
             from attempt where not w.withheld and cluster_id = k.cluster and not desired and changed_generation > k.removed_above
                and (changed_generation, job_id, number) > (k.behind, k.behind_job, k.behind_number)
             order by changed_generation, job_id, number limit $8 + 1)
            order by changed_generation, job_id, attempt limit $8 + 1
        ) a
        join job j on j.id = a.job_id
        left join attempt before on before.job_id = a.job_id and before.number = a.attempt - 1
    ) a on true
    order by k.ask, a.changed_generation, a.job_id, a.attempt"
);

/// Adds a row to what was read of its ask.
fn add(read: &mut Option<Read>, row: &PgRow) -> Result<()> {
    let moment = Moment {
        generation: unsigned(row.try_get("desired_generation")?),
        unmarked: unsigned(row.try_get("unmarked")?),
        timeline: row.try_get::<Option<i64>, _>("timeline")?.map_or(0, unsigned),
    };
    let withheld = row.try_get("withheld")?;
    let read = read.get_or_insert_with(|| Read { withheld, ..Read::of(moment) });
    let Some(id) = attempt_id(row)? else { return Ok(()) };
    let taken = i64::try_from(read.set.len() + read.removed.len()).unwrap_or(i64::MAX);
    if read.more || taken >= MOST || row.try_get::<i64, _>("bytes_before")? >= BYTES {
        read.more = true;
        return Ok(());
    }
    read.last = Some((unsigned(row.try_get("changed_generation")?), id));
    if row.try_get("desired")? {
        let (desired, unread) = desired(id, row, row.try_get("manifest")?)?;
        read.unread.extend(unread.map(|unread| (id, unread)));
        read.set.push(desired);
    } else {
        read.removed.push(id);
    }
    Ok(())
}

/// The row, and what of it cannot be read.
fn desired(id: AttemptId, row: &PgRow, manifest: Option<String>) -> Result<(DesiredRow, Option<String>)> {
    let (on_lost, unread) = policy(row.try_get("on_lost")?);
    let row = DesiredRow {
        id,
        queue: row.try_get("queue")?,
        object_name: row.try_get("object_name")?,
        namespace: row.try_get("namespace")?,
        manifest,
        bound: row.try_get::<Json<_>, _>("bound")?.0,
        caps: row.try_get::<Json<_>, _>("caps")?.0,
        on_lost,
        accepted_by: accepted_by(row)?,
        created: row.try_get("created")?,
        before: row.try_get("before")?,
    };
    Ok((row, unread))
}

/// For an integer column; what does not fit stays at its edge.
fn small(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

async fn whole(db: &mut PgConnection, cluster: ClusterId) -> Result<Read> {
    sqlx::query("set transaction isolation level repeatable read, read only").execute(&mut *db).await?;
    let mut read = head(db, cluster).await?;
    let rows = sqlx::query(concat!(
        "select a.job_id, a.number as attempt, a.object_name, ",
        accepted_epoch!(),
        ", a.created_at is not null as created, a.bound, a.caps,
                j.queue, j.namespace, j.rayjob, j.on_lost, coalesce(before.ended_because, '') as before
         from attempt a join job j on j.id = a.job_id
         left join attempt before on before.job_id = a.job_id and before.number = a.number - 1 cross join ",
        now!(),
        " where a.cluster_id = $1 and a.desired and ",
        is_sure!(),
        " order by a.job_id, a.number"
    ))
    .bind(cluster.0)
    .fetch_all(db)
    .await?;
    for row in &rows {
        let Some(id) = attempt_id(row)? else { continue };
        read.set.push(desired(id, row, row.try_get("rayjob")?)?.0);
    }
    Ok(read)
}

/// How the set stands, without the set.
async fn head(db: &mut PgConnection, cluster: ClusterId) -> Result<Read> {
    let row = sqlx::query(concat!(
        "select c.desired_generation, c.untold_since is not null or now.is_new as withheld, now.timeline
         from ",
        now!(),
        " left join cluster c on c.id = $1"
    ))
    .bind(cluster.0)
    .fetch_one(db)
    .await?;
    let generation = row.try_get::<Option<i64>, _>("desired_generation")?.map_or(0, unsigned);
    let moment = Moment {
        generation,
        unmarked: 0,
        timeline: row.try_get::<Option<i64>, _>("timeline")?.map_or(0, unsigned),
    };
    Ok(Read { withheld: row.try_get::<Option<bool>, _>("withheld")?.unwrap_or_default(), ..Read::of(moment) })
}

#[cfg(test)]
#[path = "desired_tests.rs"]
mod tests;
