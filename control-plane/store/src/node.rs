//! Nodes as their newest facts show them.
//!
//! Invariant: an older fact never overwrites a newer one; a node that is gone stays gone, because its successor has
//! another uid. What a node had before its capacity changed is kept with its time, so that a bill does not change later.

use sqlx::{PgConnection, Row, types::Json};
use squadron_core::{fact::NodeFact, id::ClusterId, resources::Resources, time::Timestamp};

use crate::{
    Result, Store, at,
    cursor::Position,
    resources::{ALLOCATABLE, resources},
};

/// Shows the fact, observed at `seen`. Answers whether it was news.
pub async fn show(
    db: &mut PgConnection,
    cluster: ClusterId,
    node: &NodeFact,
    position: Position,
    seen: Timestamp,
) -> Result<bool> {
    keep_past(db, cluster, node, position, seen).await?;
    let done = sqlx::query(
        "insert into node as n (cluster_id, uid, name, ready, unschedulable, capacity_cpu_milli, capacity_memory_bytes,
                capacity_gpus, allocatable_cpu_milli, allocatable_memory_bytes, allocatable_gpus, gpu_model,
                instance_type, first_seen_at, gone_at, observed_at, epoch, seq, labels, taints)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, case when $15 then $14 end, $14, $16, $17,
                 $18, $19)
         on conflict (cluster_id, uid) do update
         set name = $3, ready = $4, unschedulable = $5, capacity_cpu_milli = $6, capacity_memory_bytes = $7,
             capacity_gpus = $8, allocatable_cpu_milli = $9, allocatable_memory_bytes = $10, allocatable_gpus = $11,
             gpu_model = $12, instance_type = $13, gone_at = coalesce(n.gone_at, case when $15 then $14 end),
             observed_at = $14, epoch = $16, seq = $17, labels = $18, taints = $19,
             capacity_since = case when (n.capacity_cpu_milli, n.capacity_memory_bytes, n.capacity_gpus,
                                         n.allocatable_cpu_milli, n.allocatable_memory_bytes, n.allocatable_gpus,
                                         n.gpu_model) = ($6, $7, $8, $9, $10, $11, $12) then n.capacity_since
                                   else greatest($14, coalesce(n.capacity_since, n.first_seen_at)) end
         where (n.epoch, n.seq) < ($16, $17)",
    )
    .bind(cluster.0)
    .bind(&node.uid)
    .bind(&node.name)
    .bind(node.ready)
    .bind(node.unschedulable)
    .bind(node.capacity.cpu_milli)
    .bind(node.capacity.memory_bytes)
    .bind(node.capacity.gpus)
    .bind(node.allocatable.cpu_milli)
    .bind(node.allocatable.memory_bytes)
    .bind(node.allocatable.gpus)
    .bind(&node.gpu_model)
    .bind(&node.instance_type)
    .bind(at(seen))
    .bind(node.gone)
    .bind(position.epoch)
    .bind(position.seq)
    .bind(Json(&node.face.labels))
    .bind(Json(&node.face.taints))
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps what the node had until `seen`, if the fact is newer and shows something else.
async fn keep_past(
    db: &mut PgConnection,
    cluster: ClusterId,
    node: &NodeFact,
    position: Position,
    seen: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into node_past (cluster_id, uid, from_at, to_at, capacity_cpu_milli, capacity_memory_bytes,
                capacity_gpus, allocatable_cpu_milli, allocatable_memory_bytes, allocatable_gpus, gpu_model)
         select cluster_id, uid, coalesce(capacity_since, first_seen_at), $3, capacity_cpu_milli,
                capacity_memory_bytes, capacity_gpus, allocatable_cpu_milli, allocatable_memory_bytes,
                allocatable_gpus, gpu_model
         from node
         where cluster_id = $1 and uid = $2 and gone_at is null and (epoch, seq) < ($4, $5)
           and coalesce(capacity_since, first_seen_at) < $3
           and (capacity_cpu_milli, capacity_memory_bytes, capacity_gpus, allocatable_cpu_milli,
                allocatable_memory_bytes, allocatable_gpus, gpu_model) <> ($6, $7, $8, $9, $10, $11, $12)
         on conflict (cluster_id, uid, from_at) do nothing",
    )
    .bind(cluster.0)
    .bind(&node.uid)
    .bind(at(seen))
    .bind(position.epoch)
    .bind(position.seq)
    .bind(node.capacity.cpu_milli)
    .bind(node.capacity.memory_bytes)
    .bind(node.capacity.gpus)
    .bind(node.allocatable.cpu_milli)
    .bind(node.allocatable.memory_bytes)
    .bind(node.allocatable.gpus)
    .bind(&node.gpu_model)
    .execute(db)
    .await?;
    Ok(())
}

/// Ends every node that a complete list does not hold. Answers how many ended.
/// The list is of uids from the first of `within` on and, unless that is empty, below the second, in the order of their
/// bytes; two empty ones mean all.
pub async fn keep_only(
    db: &mut PgConnection,
    cluster: ClusterId,
    within: (&str, &str),
    uids: &[String],
    position: Position,
    seen: Timestamp,
) -> Result<u64> {
    let done = sqlx::query(
        "update node set gone_at = $3, observed_at = $3, epoch = $4, seq = $5
         where cluster_id = $1 and gone_at is null and uid <> all ($2) and (epoch, seq) < ($4, $5)
                and uid collate \"C\" >= $6 and ($7::text = '' or uid collate \"C\" < $7)",
    )
    .bind(cluster.0)
    .bind(uids)
    .bind(at(seen))
    .bind(position.epoch)
    .bind(position.seq)
    .bind(within.0)
    .bind(within.1)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// What a cluster has and what pods leave free.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Capacity {
    pub nodes: u32,
    pub allocatable: Resources,
    pub free: Resources,
}

impl Store {
    /// Nodes of every cluster that exist, with their allocatable resources and what pods leave of them.
    pub async fn capacities(&self) -> Result<std::collections::BTreeMap<ClusterId, Capacity>> {
        let rows = sqlx::query(
            "select n.cluster_id, n.allocatable_cpu_milli, n.allocatable_memory_bytes, n.allocatable_gpus,
                    coalesce(sum(p.cpu_milli), 0)::bigint as cpu_milli,
                    coalesce(sum(p.memory_bytes), 0)::bigint as memory_bytes,
                    coalesce(sum(p.gpus), 0)::bigint as gpus
             from node n
             left join pod p on p.cluster_id = n.cluster_id and p.node = n.name and p.finished_at is null and not p.gone
                            and p.phase not in ('Succeeded', 'Failed')
             where n.gone_at is null group by n.cluster_id, n.uid",
        )
        .fetch_all(self.pool())
        .await?;
        let mut all = std::collections::BTreeMap::<ClusterId, Capacity>::new();
        for row in &rows {
            let entry = all.entry(ClusterId(row.try_get("cluster_id")?)).or_default();
            let allocatable = resources(row, ALLOCATABLE)?;
            let held = resources(row, crate::resources::PLAIN)?;
            entry.nodes += 1;
            entry.allocatable = entry.allocatable + allocatable;
            entry.free = entry.free + (allocatable - held).max(Resources::default());
        }
        Ok(all)
    }
}
