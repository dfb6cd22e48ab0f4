//! What the meter reads: when nodes existed, and which pods held what on them.

use sqlx::Row;
use squadron_core::{
    id::JobId,
    meter::{NodeSpan, Owner, PodSpan},
    time::Timestamp,
};

use crate::{
    Result, Store, at,
    resources::{ALLOCATABLE, CAPACITY, PLAIN, resources},
    stamp, stamp_opt,
};

/// Everything that bears on a time span.
#[derive(Clone, Default, Debug)]
pub struct Spans {
    pub nodes: Vec<NodeSpan>,
    pub pods: Vec<PodSpan>,
    /// Pods in the span that still hold their requests.
    pub open_pods: u32,
    /// Pods in the span whose end was missed and is an estimate.
    pub estimated_ends: u32,
}

impl Store {
    /// Nodes and pods that existed at some time in `[from, to)`, of the clusters that the job ran on, or of all. All pods
    /// of a cluster come, since a node's time is split among all of them.
    pub async fn spans(&self, from: Timestamp, to: Timestamp, job: Option<JobId>) -> Result<Spans> {
        let nodes = self.node_spans(from, to, job).await?;
        let rows = sqlx::query(
            "select p.uid, p.namespace, p.node, s.cpu_milli, s.memory_bytes, s.gpus, s.from_at, s.to_at,
                    p.end_estimated and s.is_last as end_estimated, c.name as cluster, c.subject, p.job_id, j.queue
             from pod p join cluster c on c.id = p.cluster_id left join job j on j.id = p.job_id
             cross join lateral (
                 select p.cpu_milli, p.memory_bytes, p.gpus, coalesce(p.requests_since, p.bound_at) as from_at,
                        p.finished_at as to_at, true as is_last
                 union all
                 select h.cpu_milli, h.memory_bytes, h.gpus, h.from_at, h.to_at, false from pod_past h
                 where h.cluster_id = p.cluster_id and h.uid = p.uid) s
             where p.bound_at < $2 and (p.finished_at is null or p.finished_at > $1)
               and s.from_at < $2 and (s.to_at is null or s.to_at > $1)
               and ($3::uuid is null or p.cluster_id in (select cluster_id from attempt where job_id = $3))",
        )
        .bind(at(from))
        .bind(at(to))
        .bind(job.map(|job| job.0))
        .fetch_all(self.pool())
        .await?;
        let mut spans = Spans { nodes, ..Spans::default() };
        for row in &rows {
            let pod = pod_span(row)?;
            spans.open_pods += u32::from(pod.to.is_none());
            spans.estimated_ends += u32::from(row.try_get::<bool, _>("end_estimated")?);
            spans.pods.push(pod);
        }
        Ok(spans)
    }

    async fn node_spans(&self, from: Timestamp, to: Timestamp, job: Option<JobId>) -> Result<Vec<NodeSpan>> {
        let rows = sqlx::query(
            "select n.uid, n.name, s.*, c.name as cluster from node n join cluster c on c.id = n.cluster_id
             cross join lateral (
                 select coalesce(n.capacity_since, n.first_seen_at) as from_at, n.gone_at as to_at,
                        n.capacity_cpu_milli, n.capacity_memory_bytes, n.capacity_gpus, n.allocatable_cpu_milli,
                        n.allocatable_memory_bytes, n.allocatable_gpus, n.gpu_model
                 union all
                 select h.from_at, h.to_at, h.capacity_cpu_milli, h.capacity_memory_bytes, h.capacity_gpus,
                        h.allocatable_cpu_milli, h.allocatable_memory_bytes, h.allocatable_gpus, h.gpu_model
                 from node_past h where h.cluster_id = n.cluster_id and h.uid = n.uid) s
             where n.first_seen_at < $2 and (n.gone_at is null or n.gone_at > $1)
               and s.from_at < $2 and (s.to_at is null or s.to_at > $1)
               and ($3::uuid is null or n.cluster_id in (select cluster_id from attempt where job_id = $3))",
        )
        .bind(at(from))
        .bind(at(to))
        .bind(job.map(|job| job.0))
        .fetch_all(self.pool())
        .await?;
        rows.iter()
            .map(|row| {
                Ok(NodeSpan {
                    cluster: row.try_get("cluster")?,
                    uid: row.try_get("uid")?,
                    name: row.try_get("name")?,
                    gpu_model: row.try_get("gpu_model")?,
                    capacity: resources(row, CAPACITY)?,
                    allocatable: resources(row, ALLOCATABLE)?,
                    from: stamp(row.try_get("from_at")?),
                    to: stamp_opt(row.try_get("to_at")?),
                })
            })
            .collect()
    }
}

fn pod_span(row: &sqlx::postgres::PgRow) -> Result<PodSpan> {
    Ok(PodSpan {
        cluster: row.try_get("cluster")?,
        uid: row.try_get("uid")?,
        node: row.try_get("node")?,
        requests: resources(row, PLAIN)?,
        from: stamp(row.try_get("from_at")?),
        to: stamp_opt(row.try_get("to_at")?),
        owner: owner(row)?,
    })
}

fn owner(row: &sqlx::postgres::PgRow) -> Result<Owner> {
    let (job, queue): (Option<_>, Option<String>) = (row.try_get("job_id")?, row.try_get("queue")?);
    let job = queue.zip(job).map(|(team, job)| (team, JobId(job).to_string()));
    Ok(Owner::of(job, row.try_get("namespace")?, row.try_get("subject")?))
}
