//! What the dispatcher reads and what it writes about jobs that keep waiting.

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    desired,
    dispatch::{Blocked, Cluster, Held, Input, Node, Pod, Stake, Standing, Usage, Waiting},
    id::{AttemptId, ClusterId, JobId},
    meter::Sheet,
    placement::Face,
    silence::{Judge, Word},
    time::Timestamp,
};

use crate::{
    Result, Store, at,
    attempt::attempt_id,
    job::gang,
    preempt,
    resources::{ALLOCATABLE, PLAIN, resources},
    stamp, stamp_opt,
};

/// Age of a decision that is written again although nothing changed, in milliseconds.
const REFRESH_MS: i64 = 10_000;

impl Store {
    /// Whether there is anything to place.
    pub async fn any_waiting(&self) -> Result<bool> {
        let query = "select exists (select 1 from job where state = 'queued')";
        Ok(sqlx::query_scalar(query).fetch_one(self.pool()).await?)
    }
}

/// Everything that one pass looks at, as it was at one moment. What stops would cost is left out where nothing may be
/// stopped. Call it first in its transaction.
pub async fn snapshot(db: &mut PgConnection, silence: Judge) -> Result<Input> {
    let input = fleet(db, silence).await?;
    let mut input = Input { waiting: waiting(db).await?, ..input };
    if input.policy.preempts() || !input.claims.is_empty() {
        preempt::add_stakes(db, &mut input.clusters).await?;
    }
    add_prices(db, &mut input).await?;
    Ok(input)
}

/// Adds the price sheet in force if a waiting job has a maximum price. One that cannot be read is none.
pub async fn add_prices(db: &mut PgConnection, input: &mut Input) -> Result<()> {
    if input.waiting.iter().any(|job| job.preferences.max_price.is_some()) {
        let body = crate::price::in_force(db).await?.map(|row| row.body);
        input.sheet = body.and_then(|body| Sheet::parse(&body).ok());
    }
    Ok(())
}

/// The clusters with their nodes as if nothing ran there, and the policy. Call it first in its transaction.
pub async fn ground(db: &mut PgConnection, silence: Judge) -> Result<Input> {
    sqlx::query("set transaction isolation level repeatable read, read only").execute(&mut *db).await?;
    let mut clusters = clusters(db, silence).await?;
    add_nodes(db, &mut clusters).await?;
    let (clusters, policy) = (clusters.into_values().collect(), crate::quota::policy(db).await?);
    Ok(Input { clusters, policy, now: silence.now, ..Input::default() })
}

/// The snapshot without the jobs that wait, and without what stops would cost. Call it first in its transaction.
pub async fn fleet(db: &mut PgConnection, silence: Judge) -> Result<Input> {
    let input = held(db, silence).await?;
    let mut clusters: Clusters = input.clusters.into_iter().map(|cluster| (cluster.id, cluster)).collect();
    add_sets(db, &mut clusters).await?;
    add_nodes(db, &mut clusters).await?;
    add_pods(db, &mut clusters).await?;
    Ok(Input { clusters: clusters.into_values().collect(), ..input })
}

/// The same without nodes and pods. Call it first in its transaction.
pub async fn held(db: &mut PgConnection, silence: Judge) -> Result<Input> {
    sqlx::query("set transaction isolation level repeatable read, read only").execute(&mut *db).await?;
    let mut clusters = clusters(db, silence).await?;
    add_attempts(db, &mut clusters).await?;
    add_leaving(db, &mut clusters).await?;
    let claims = preempt::claims(db).await?;
    let policy = crate::quota::policy(db).await?;
    let clusters = clusters.into_values().collect();
    Ok(Input { clusters, policy, claims, now: silence.now, ..Input::default() })
}

type Clusters = BTreeMap<ClusterId, Cluster>;

async fn clusters(db: &mut PgConnection, silence: Judge) -> Result<Clusters> {
    let rows =
        sqlx::query("select id, name, state, last_heard_at, accepted_at, created_at, labels from cluster")
            .fetch_all(db)
            .await?;
    rows.iter()
        .map(|row| {
            let id = ClusterId(row.try_get("id")?);
            let active = row.try_get::<&str, _>("state")? == "active";
            let heard = stamp_opt(row.try_get("last_heard_at")?);
            let accepted = stamp_opt(row.try_get("accepted_at")?);
            let created = stamp(row.try_get("created_at")?);
            let standing = match silence.word(heard) {
                _ if !active => Standing::NotAccepted,
                Word::Heard => Standing::Heard,
                Word::Silent { since } => Standing::Silent { since },
                Word::Never => Standing::Silent { since: accepted.unwrap_or(created) },
            };
            let name = row.try_get("name")?;
            let labels = row.try_get::<Json<_>, _>("labels")?.0;
            let (nodes, pods, attempts, leaving) = (vec![], vec![], vec![], vec![]);
            let set = desired::Size::default();
            Ok((id, Cluster { id, name, standing, labels, nodes, pods, attempts, leaving, set }))
        })
        .collect()
}

/// How much the clusters should hold.
async fn add_sets(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let rows = sqlx::query(
        "select a.cluster_id, count(*) as attempts, sum(octet_length(j.rayjob))::bigint as bytes
         from attempt a join job j on j.id = a.job_id where a.desired group by a.cluster_id",
    )
    .fetch_all(db)
    .await?;
    for row in &rows {
        if let Some(cluster) = clusters.get_mut(&ClusterId(row.try_get("cluster_id")?)) {
            cluster.set.attempts = unsigned(row.try_get("attempts")?);
            cluster.set.bytes = unsigned(row.try_get("bytes")?);
        }
    }
    Ok(())
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

async fn add_nodes(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let rows = sqlx::query(
        "select cluster_id, name, ready and not unschedulable as usable,
                allocatable_cpu_milli, allocatable_memory_bytes, allocatable_gpus, labels, taints
         from node where gone_at is null",
    )
    .fetch_all(db)
    .await?;
    for row in &rows {
        if let Some(cluster) = clusters.get_mut(&ClusterId(row.try_get("cluster_id")?)) {
            let allocatable = resources(row, ALLOCATABLE)?;
            cluster.nodes.push(Node {
                name: row.try_get("name")?,
                usable: row.try_get("usable")?,
                allocatable,
                face: Face {
                    labels: row.try_get::<Json<_>, _>("labels")?.0,
                    taints: row.try_get::<Json<_>, _>("taints")?.0,
                },
            });
        }
    }
    Ok(())
}

/// Pods that hold or wait for room, and finished submitters of live attempts, which are not expected again.
async fn add_pods(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let rows = sqlx::query(
        "select cluster_id, node, cpu_milli, memory_bytes, gpus, job_id, attempt, role, worker_group,
                phase = 'Succeeded' as succeeded
         from pod where not gone and (finished_at is null and phase not in ('Succeeded', 'Failed')
                                      or phase = 'Succeeded' and role = 'submitter')",
    )
    .fetch_all(db)
    .await?;
    for row in &rows {
        let Some(cluster) = clusters.get_mut(&ClusterId(row.try_get("cluster_id")?)) else { continue };
        let (role, group): (String, String) = (row.try_get("role")?, row.try_get("worker_group")?);
        let done: bool = row.try_get("succeeded")?;
        let requests = resources(row, PLAIN)?;
        cluster.pods.push(Pod {
            node: if done { "-".to_owned() } else { row.try_get("node")? },
            requests,
            attempt: attempt_id(row)?,
            role: if role == "worker" { group } else { role },
        });
    }
    Ok(())
}

async fn add_attempts(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let rows = sqlx::query(
        "select a.cluster_id, a.job_id, a.number as attempt, j.gang, j.queue, a.usage, a.assigned_at,
                coalesce(a.end_learnt_at, a.ended_at) as ended, coalesce(j.preferences->>'spread', '') as spread
         from attempt a join job j on j.id = a.job_id where a.ended_at is null",
    )
    .fetch_all(db)
    .await?;
    hold(&rows, clusters, |cluster, held| cluster.attempts.push(held))
}

/// Attempts that are over while pods of them are still there. Of a lost one nothing runs, but for one that may run on beside
/// the next because its owner allowed that.
async fn add_leaving(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let rows = sqlx::query(
        "select a.cluster_id, a.job_id, a.number as attempt, j.gang, j.queue, a.usage, a.assigned_at,
                coalesce(a.end_learnt_at, a.ended_at) as ended, coalesce(j.preferences->>'spread', '') as spread
         from attempt a join job j on j.id = a.job_id
         where a.ended_at is not null and (a.state <> 'lost' or a.proof = 'overlap_allowed')
           and (a.cluster_id, a.job_id, a.number) in (
               select cluster_id, job_id, attempt from pod
               where job_id is not null and not gone and finished_at is null and phase not in ('Succeeded', 'Failed'))",
    )
    .fetch_all(db)
    .await?;
    hold(&rows, clusters, |cluster, held| cluster.leaving.push(held))
}

fn hold(rows: &[PgRow], clusters: &mut Clusters, keep: fn(&mut Cluster, Held)) -> Result<()> {
    for row in rows {
        let id: Option<AttemptId> = attempt_id(row)?;
        let cluster = clusters.get_mut(&ClusterId(row.try_get("cluster_id")?));
        if let (Some(id), Some(cluster)) = (id, cluster) {
            let usage = row.try_get::<Json<Usage>, _>("usage")?.0;
            let (queue, assigned_at) = (row.try_get("queue")?, stamp(row.try_get("assigned_at")?));
            let spread = row.try_get("spread")?;
            let stake = Stake { ended: stamp_opt(row.try_get("ended")?), ..Stake::default() };
            keep(cluster, Held { id, gang: gang(row)?, queue, usage, spread, assigned_at, stake });
        }
    }
    Ok(())
}

/// Jobs of each queue that a pass looks at: the most urgent, then the oldest. A queue that is flooded hides no other.
const OF_A_QUEUE: i64 = 10_000;

async fn waiting(db: &mut PgConnection) -> Result<Vec<Waiting>> {
    let rows = sqlx::query(
        "select j.* from queue q cross join lateral (
             select id, name, queue, submitted_at, gang, pinned_cluster, priority, preferences,
                    octet_length(rayjob)::bigint as manifest from job
             where queue = q.name and state = 'queued' order by priority desc, submitted_at, id limit $1) j
         order by j.submitted_at, j.id",
    )
    .bind(OF_A_QUEUE)
    .fetch_all(&mut *db)
    .await?;
    let mut waiting = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    if let Some(oldest) = waiting.first() {
        let placed = placed_since(db, oldest.submitted_at).await?;
        for job in &mut waiting {
            let later = placed.get(&job.queue).map_or(0, |all| {
                all.len() - all.partition_point(|other| *other <= (job.submitted_at, job.job))
            });
            job.overtaken = u32::try_from(later).unwrap_or(u32::MAX);
        }
    }
    Ok(waiting)
}

fn read(row: &PgRow) -> Result<Waiting> {
    Ok(Waiting {
        job: JobId(row.try_get("id")?),
        name: row.try_get("name")?,
        queue: row.try_get("queue")?,
        submitted_at: stamp(row.try_get("submitted_at")?),
        gang: gang(row)?,
        pinned: row.try_get::<Option<_>, _>("pinned_cluster")?.map(ClusterId),
        preferences: row.try_get::<Json<_>, _>("preferences")?.0,
        overtaken: 0,
        priority: row.try_get("priority")?,
        manifest: desired::rounded(unsigned(row.try_get("manifest")?)),
    })
}

/// Jobs that were submitted from `oldest` on and were placed, by queue, in the order of submission.
async fn placed_since(
    db: &mut PgConnection,
    oldest: Timestamp,
) -> Result<BTreeMap<String, Vec<(Timestamp, JobId)>>> {
    let rows = sqlx::query(
        "select id, queue, submitted_at from job j
         where submitted_at >= $1 and state <> 'queued' and exists (select 1 from attempt where job_id = j.id)
         order by submitted_at, id limit 10000",
    )
    .bind(at(oldest))
    .fetch_all(db)
    .await?;
    let mut placed = BTreeMap::<String, Vec<_>>::new();
    for row in &rows {
        let key = (stamp(row.try_get("submitted_at")?), JobId(row.try_get("id")?));
        placed.entry(row.try_get("queue")?).or_default().push(key);
    }
    Ok(placed)
}

/// Writes why a job keeps waiting. Answers the new version if people would see a difference.
pub async fn save_blocked(db: &mut PgConnection, blocked: &Blocked, now: Timestamp) -> Result<Option<i64>> {
    let row = sqlx::query(
        "with old as (select id, (sentence, queue_position, queue_length, blockers)
                             is distinct from ($2::text, $3::integer, $4::integer, $5::jsonb) as differs
                      from job where id = $1 and state = 'queued' for update)
         update job set sentence = $2, queue_position = $3, queue_length = $4, blockers = $5, reason = $6,
                decided_at = $7, version = version + case when old.differs then 1 else 0 end
         from old where job.id = old.id and (old.differs or job.decided_at is null or job.decided_at <= $8)
         returning version, old.differs",
    )
    .bind(blocked.job.0)
    .bind(&blocked.sentence)
    .bind(i32::try_from(blocked.position).unwrap_or(i32::MAX))
    .bind(i32::try_from(blocked.queue_length).unwrap_or(i32::MAX))
    .bind(Json(blocked.blockers.as_ref()))
    .bind(blocked.blockers.first().map_or("", |blocker| blocker.code.word()))
    .bind(at(now))
    .bind(at(now.plus_millis(-REFRESH_MS)))
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(if row.try_get("differs")? { Some(row.try_get("version")?) } else { None })
}
