//! What the dispatcher reads: the fleet with its nodes, pods and attempts, the policy, and the oldest jobs of each class.
//!
//! Invariant: a snapshot is of one moment. What is written about jobs that keep waiting is in [`super::class`].

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    desired,
    dispatch::{Cluster, Held, Input, Node, Pod, Standing, Usage, Vacancy},
    id::{AttemptId, ClusterId, JobId},
    placement::Face,
    silence::{Judge, Word},
};

use super::class::{self, ClassId};
use crate::{
    Result, Store,
    attempt::attempt_id,
    job::gang,
    resources::{ALLOCATABLE, PLAIN, resources},
    stamp, stamp_opt,
};

impl Store {
    /// Whether there is anything to place, or a class of which it is still said that it waits.
    pub async fn any_waiting(&self) -> Result<bool> {
        let query = "select exists (select 1 from job where state = 'queued')
                         or exists (select 1 from job_class where decided_at is not null)";
        Ok(sqlx::query_scalar(query).fetch_one(self.pool()).await?)
    }
}

/// Everything that one pass looks at.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub input: Input,
    /// Of the jobs that wait.
    pub classes: BTreeMap<JobId, ClassId>,
}

/// What one pass looks at, as it was at one moment. Call it first in its transaction.
pub async fn snapshot(db: &mut PgConnection, silence: Judge) -> Result<Snapshot> {
    let mut input = fleet(db, silence).await?;
    let heads = class::heads(db, &Vacancy::of(&input.clusters)).await?;
    let classes = heads.iter().map(|(job, class)| (job.job, *class)).collect();
    input.waiting = heads.into_iter().map(|(job, _)| job).collect();
    Ok(Snapshot { input, classes })
}

/// The same without the jobs that wait. Call it first in its transaction.
pub async fn fleet(db: &mut PgConnection, silence: Judge) -> Result<Input> {
    sqlx::query("set transaction isolation level repeatable read, read only").execute(&mut *db).await?;
    let mut clusters = clusters(db, silence).await?;
    add_sets(db, &mut clusters).await?;
    add_nodes(db, &mut clusters).await?;
    add_pods(db, &mut clusters).await?;
    add_attempts(db, &mut clusters).await?;
    add_leaving(db, &mut clusters).await?;
    let policy = crate::quota::policy(db).await?;
    let clusters = clusters.into_values().collect();
    Ok(Input { clusters, waiting: Vec::new(), policy, now: silence.now })
}

type Clusters = BTreeMap<ClusterId, Cluster>;

async fn clusters(db: &mut PgConnection, silence: Judge) -> Result<Clusters> {
    let rows = sqlx::query("select id, name, state, last_heard_at, accepted_at, created_at from cluster")
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
            let (nodes, pods, attempts, leaving) = (vec![], vec![], vec![], vec![]);
            let set = desired::Size::default();
            Ok((id, Cluster { id, name, standing, nodes, pods, attempts, leaving, set }))
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

/// Which attempts `a` are over while pods of them are still there.
macro_rules! leaving {
    () => {
        "a.ended_at is not null and (a.state <> 'lost' or a.proof = 'overlap_allowed')
           and (a.cluster_id, a.job_id, a.number) in (
               select cluster_id, job_id, attempt from pod
               where job_id is not null and not gone and finished_at is null and phase not in ('Succeeded', 'Failed'))"
    };
}
pub(crate) use leaving;

async fn add_attempts(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let rows = sqlx::query(
        "select a.cluster_id, a.job_id, a.number as attempt, j.gang, j.queue, a.usage, a.assigned_at
         from attempt a join job j on j.id = a.job_id where a.ended_at is null",
    )
    .fetch_all(db)
    .await?;
    hold(&rows, clusters, |cluster, held| cluster.attempts.push(held))
}

/// Attempts that are over while pods of them are still there. Of a lost one nothing runs, but for one that may run on beside
/// the next because its owner allowed that.
async fn add_leaving(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let rows = sqlx::query(concat!(
        "select a.cluster_id, a.job_id, a.number as attempt, j.gang, j.queue, a.usage, a.assigned_at
         from attempt a join job j on j.id = a.job_id where ",
        leaving!()
    ))
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
            keep(cluster, Held { id, gang: gang(row)?, queue, usage, assigned_at });
        }
    }
    Ok(())
}
