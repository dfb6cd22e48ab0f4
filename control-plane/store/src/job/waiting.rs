//! What the dispatcher reads: the fleet with its nodes, pods and attempts, the policy, and the oldest jobs of each class.
//!
//! Invariant: a snapshot is of one moment. What is written about jobs that keep waiting is in
//! [`super::verdict`] and [`super::own_wait`].

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, types::Json};
use squadron_core::{
    desired,
    dispatch::{Cluster, Held, Input, Node, Pod, Standing, Waiting, quota::lift},
    id::{ClusterId, JobId},
    meter::Sheet,
    placement::Face,
    silence::{Judge, Word},
};

use super::{
    class::ClassId,
    heads::{self, Heads, Lost, Turn},
    held,
};
use crate::{
    Result, Store, at,
    attempt::attempt_id,
    failover, preempt, queue_owed, queue_use,
    resources::{ALLOCATABLE, PLAIN, resources},
    run_time, stamp, stamp_opt,
};

impl Store {
    /// Whether there is anything to place, something of which it is still said that it waits, or a worker group that is kept small.
    pub async fn any_waiting(&self) -> Result<bool> {
        // In the order of an index, because a planner that expects many looks through the whole table for the first.
        let query = "select (select queue from job where state = 'queued' order by queue limit 1) is not null
                         or exists (select 1 from job_class where borrows is not null) or exists (select 1 from own_wait)
                         or (select job_id from attempt where ended_at is null and caps <> '{}' order by job_id limit 1)
                                is not null";
        Ok(sqlx::query_scalar(query).fetch_one(self.pool()).await?)
    }
}

/// Everything that one pass looks at.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub input: Input,
    /// Of the jobs that wait.
    pub classes: BTreeMap<JobId, ClassId>,
    /// Classes to be made anew, with [`super::class::restore`].
    pub lost: Vec<Lost>,
    /// What comes next where not all classes were looked at, for [`heads::turned`].
    pub turns: Vec<Turn>,
}

/// What one pass looks at, as it was at one moment. What stops would cost is left out where nothing may be stopped. Call it
/// first in its transaction.
pub async fn snapshot(db: &mut PgConnection, silence: Judge) -> Result<Snapshot> {
    let mut input = fleet(db, silence).await?;
    let elastic = input.clusters.iter().flat_map(|cluster| &cluster.attempts).any(Held::is_elastic);
    if input.policy.preempts() || !input.claims.is_empty() || elastic {
        preempt::add_stakes(db, &mut input.clusters).await?;
    }
    let Heads { jobs, lost, turns } = heads::heads(db, &input).await?;
    let classes = jobs.iter().map(|(job, class)| (job.job, *class)).collect();
    input.waiting = jobs.into_iter().map(|(job, _)| job).collect();
    run_time::expect(db, &mut input.waiting).await?;
    if input.policy.preempts() {
        run_time::outlast(db, &mut input.waiting).await?;
    }
    add_prices(db, &mut input).await?;
    Ok(Snapshot { input, classes, lost, turns })
}

/// Counts the jobs that wait behind those that were read and are equal to them. Call it in the snapshot's transaction.
pub async fn count_behind(db: &mut PgConnection, snapshot: &mut Snapshot) -> Result<()> {
    let Snapshot { input, classes, .. } = snapshot;
    let mut last: Vec<&mut Waiting> = input.waiting.iter_mut().filter(|job| job.behind > 0).collect();
    let counts: Vec<i64> = sqlx::query_scalar(
        "select (select count(*) from job where queue = s.queue and class_id = s.class_id and (state = 'queued') is true
                 and (submitted_at, id) > (s.submitted_at, s.id))
         from unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::uuid[]) with ordinality
             as s (queue, class_id, submitted_at, id, place) order by s.place",
    )
    .bind(last.iter().map(|job| job.queue.as_str()).collect::<Vec<_>>())
    .bind(last.iter().map(|job| classes.get(&job.job).copied()).collect::<Vec<_>>())
    .bind(last.iter().map(|job| at(job.submitted_at)).collect::<Vec<_>>())
    .bind(last.iter().map(|job| job.job.0).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    for (job, count) in last.iter_mut().zip(counts) {
        job.behind = u32::try_from(count).unwrap_or(u32::MAX);
    }
    Ok(())
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
    let policy = crate::quota::policy(db).await?;
    let mut clusters: Vec<Cluster> = clusters.into_values().collect();
    lift(&mut clusters, &policy);
    Ok(Input { clusters, policy, now: silence.now, ..Input::default() })
}

/// The snapshot without the jobs that wait, and without what stops would cost. Call it first in its transaction.
pub async fn fleet(db: &mut PgConnection, silence: Judge) -> Result<Input> {
    let input = held(db, silence).await?;
    let mut clusters: Clusters = input.clusters.into_iter().map(|cluster| (cluster.id, cluster)).collect();
    add_sets(db, &mut clusters).await?;
    add_nodes(db, &mut clusters).await?;
    add_pods(db, &mut clusters).await?;
    let mut clusters: Vec<Cluster> = clusters.into_values().collect();
    lift(&mut clusters, &input.policy);
    Ok(Input { clusters, ..input })
}

/// The same without nodes and pods. Call it first in its transaction.
pub async fn held(db: &mut PgConnection, silence: Judge) -> Result<Input> {
    sqlx::query("set transaction isolation level repeatable read, read only").execute(&mut *db).await?;
    let mut clusters = clusters(db, silence).await?;
    held::add(db, &mut clusters).await?;
    let claims = preempt::claims(db).await?;
    let policy = crate::quota::policy(db).await?;
    let lately = queue_use::read(db).await?;
    let owed = if policy.preempts() { queue_owed::read(db).await? } else { BTreeMap::new() };
    let forgotten = failover::open(db).await?;
    let clusters = clusters.into_values().collect();
    Ok(Input { clusters, policy, claims, lately, owed, forgotten, now: silence.now, ..Input::default() })
}

pub(super) type Clusters = BTreeMap<ClusterId, Cluster>;

async fn clusters(db: &mut PgConnection, silence: Judge) -> Result<Clusters> {
    let rows =
        sqlx::query(
            "select id, name, state, last_heard_at, accepted_at, created_at, labels, untold_since is not null as untold from cluster",
        )
            .fetch_all(db)
            .await?;
    rows.iter()
        .map(|row| {
            let id = ClusterId(row.try_get("id")?);
            let active = row.try_get::<&str, _>("state")? == "active";
            let heard = stamp_opt(row.try_get("last_heard_at")?);
            let accepted = stamp_opt(row.try_get("accepted_at")?);
            let created = stamp(row.try_get("created_at")?);
            let untold = row.try_get("untold")?;
            let standing = match silence.word(heard) {
                _ if !active => Standing::NotAccepted,
                Word::Heard if untold => Standing::Untold,
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
        "select cluster_id, count(*) as attempts,
                sum(coalesce(manifest_bytes, (select octet_length(rayjob) from job where id = job_id)))::bigint as bytes
         from attempt where desired group by cluster_id",
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
                    ..Face::default()
                },
            });
        }
    }
    Ok(())
}

/// Pods that hold or wait for room, and finished submitters of live attempts, which are not expected again.
async fn add_pods(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let rows = sqlx::query(
        "select cluster_id, name, node, cpu_milli, memory_bytes, gpus, job_id, attempt, role, worker_group,
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
            name: row.try_get("name")?,
        });
    }
    Ok(())
}
