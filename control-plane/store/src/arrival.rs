//! Arrivals: RayJobs that somebody put into a cluster for Squadron to run, and who may do so.
//!
//! Invariant: one row per cluster and uid, so an object becomes at most one job whatever is told again; the row and its
//! job are written in one transaction. A row is never removed: what was imported stays known.

mod rule;
#[cfg(test)]
mod tests;
mod told;

use sqlx::{PgConnection, Row, types::Json};
use squadron_core::{
    arrival::{Known, Refusal},
    fact::ArrivalFact,
    id::{ClusterId, JobId},
    time::Timestamp,
};

pub use self::{
    rule::{Rule, allow, disallow, is_allowed},
    told::{Page, Place, Source, ToldJob, ToldRow, UNREADABLE},
};
use crate::{Result, Store, at};

/// The constraint that refuses a rule for a queue that does not exist.
pub const NO_SUCH_QUEUE: &str = "arrival_rule_queue_fkey";

/// What is known of an object, locked until the transaction ends.
pub async fn lock(db: &mut PgConnection, cluster: ClusterId, uid: &str) -> Result<Known> {
    let row = sqlx::query(
        "select job_id, generation, queue from arrival where cluster_id = $1 and uid = $2 for update",
    )
    .bind(cluster.0)
    .bind(uid)
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(Known::Nothing) };
    Ok(match row.try_get::<Option<_>, _>("job_id")? {
        Some(job) => Known::Imported {
            job: JobId(job),
            generation: row.try_get("generation")?,
            queue: row.try_get("queue")?,
        },
        None => Known::Refused,
    })
}

/// The object became `job`, which the transaction inserted.
pub async fn imported(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &ArrivalFact,
    job: JobId,
    now: Timestamp,
) -> Result<()> {
    put(db, cluster, fact, Ok(job), now).await
}

/// The object is refused, until it or the permission changes.
pub async fn refused(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &ArrivalFact,
    why: &Refusal,
    now: Timestamp,
) -> Result<()> {
    put(db, cluster, fact, Err(why), now).await
}

async fn put(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &ArrivalFact,
    outcome: std::result::Result<JobId, &Refusal>,
    now: Timestamp,
) -> Result<()> {
    let (job, why) = (outcome.ok(), outcome.err());
    sqlx::query(
        "insert into arrival (cluster_id, uid, namespace, name, queue, generation, job_id, refusal, sentence, offer, first_seen_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         on conflict (cluster_id, uid) do update
         set queue = $5, generation = $6, job_id = $7, refusal = $8, sentence = $9, offer = $10, gone_at = null",
    )
    .bind(cluster.0)
    .bind(&fact.uid)
    .bind(&fact.namespace)
    .bind(&fact.name)
    .bind(&fact.queue)
    .bind(fact.generation)
    .bind(job.map(|job| job.0))
    .bind(why.map_or("", |why| why.reason))
    .bind(why.map_or("", |why| &why.sentence))
    .bind(why.map(|_| Json(fact)))
    .bind(at(now))
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that an imported object stands, whether it was changed since, and whether it tells the end of its job.
pub async fn stays(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &ArrivalFact,
    edited: bool,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "update arrival a set edited = $3, gone_at = null,
                settled_at = case when $4 and j.ended_at is not null then coalesce(a.settled_at, $5) end
         from job j where a.cluster_id = $1 and a.uid = $2 and j.id = a.job_id",
    )
    .bind(cluster.0)
    .bind(&fact.uid)
    .bind(edited)
    .bind(fact.settled)
    .bind(at(now))
    .execute(db)
    .await?;
    Ok(())
}

/// Notes that the object is gone. Answers the job that it had become, the first time.
pub async fn gone(
    db: &mut PgConnection,
    cluster: ClusterId,
    uid: &str,
    now: Timestamp,
) -> Result<Option<JobId>> {
    let row = sqlx::query(
        "update arrival set gone_at = $3, offer = null
         where cluster_id = $1 and uid = $2 and gone_at is null returning job_id",
    )
    .bind(cluster.0)
    .bind(uid)
    .bind(at(now))
    .fetch_optional(db)
    .await?;
    let job = row.map(|row| row.try_get::<Option<_>, _>("job_id")).transpose()?;
    Ok(job.flatten().map(JobId))
}

/// Which refused objects `a` may by now be imported: the rule, the cluster, the class or the leaf that they lacked is there.
macro_rules! allowed_since {
    () => {
        "a.gone_at is null and a.offer is not null and (
             a.refusal = 'NOT_ALLOWED' and exists (
                 select 1 from arrival_rule r
                 where r.cluster_id = a.cluster_id and r.namespace = a.namespace and r.queue = a.queue)
             or a.refusal = 'UNKNOWN_CLUSTER' and exists (
                 select 1 from cluster c where a.offer->>'cluster' in (c.name, c.id::text))
             or a.refusal = 'UNKNOWN_PRIORITY_CLASS' and exists (
                 select 1 from priority_class p where p.name = a.offer->>'priority_class')
             or a.refusal = 'INNER_QUEUE' and not exists (select 1 from queue q where q.parent = a.queue))"
    };
}

/// The jobs that these objects became.
pub async fn jobs(db: &mut PgConnection, objects: &[(ClusterId, &str)]) -> Result<Vec<JobId>> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let (clusters, uids): (Vec<_>, Vec<_>) = objects.iter().map(|(cluster, uid)| (cluster.0, *uid)).unzip();
    let ids = sqlx::query_scalar(
        "select a.job_id from arrival a join unnest($1::uuid[], $2::text[]) as k (cluster_id, uid)
             on a.cluster_id = k.cluster_id and a.uid = k.uid where a.job_id is not null",
    )
    .bind(clusters)
    .bind(uids)
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(JobId).collect())
}

/// A refused object that by now may be imported and is none of `tried`, locked until the transaction ends, with the
/// cluster it stands in.
pub async fn allowed_since(
    db: &mut PgConnection,
    tried: &[(ClusterId, String)],
) -> Result<Option<(ClusterId, ArrivalFact)>> {
    let (clusters, uids): (Vec<_>, Vec<_>) =
        tried.iter().map(|(cluster, uid)| (cluster.0, uid.as_str())).unzip();
    let row = sqlx::query(concat!(
        "select a.cluster_id, a.offer from arrival a where ",
        allowed_since!(),
        " and not exists (select 1 from unnest($1::uuid[], $2::text[]) t (cluster_id, uid)
              where t.cluster_id = a.cluster_id and t.uid = a.uid)
          order by a.first_seen_at, a.uid limit 1 for update of a"
    ))
    .bind(clusters)
    .bind(uids)
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let Json(offer) = row.try_get::<Json<ArrivalFact>, _>("offer")?;
    Ok(Some((ClusterId(row.try_get("cluster_id")?), offer)))
}

impl Store {
    /// Whether some refused object may by now be imported.
    pub async fn any_allowed_since(&self) -> Result<bool> {
        let query = concat!("select exists (select 1 from arrival a where ", allowed_since!(), ")");
        Ok(sqlx::query_scalar(query).fetch_one(self.pool()).await?)
    }
}

/// The name of a cluster; empty when there is no such.
pub async fn cluster_name(db: &mut PgConnection, cluster: ClusterId) -> Result<String> {
    let name: Option<String> = sqlx::query_scalar("select name from cluster where id = $1")
        .bind(cluster.0)
        .fetch_optional(db)
        .await?;
    Ok(name.unwrap_or_default())
}

/// The id of the cluster with this name or id.
pub async fn cluster_id(db: &mut PgConnection, name: &str) -> Result<Option<ClusterId>> {
    let id = sqlx::query_scalar("select id from cluster where name = $1 or id::text = $1")
        .bind(name)
        .fetch_optional(db)
        .await?;
    Ok(id.map(ClusterId))
}
