//! Nodes as their newest facts show them.
//!
//! Invariant: an older fact never overwrites a newer one; a node that is gone stays gone, because its successor has
//! another uid. What a node had before its capacity changed is kept with its time, so that a bill does not change later.

mod nodes;

use sqlx::{PgConnection, Row};
use squadron_core::{id::ClusterId, resources::Resources, time::Timestamp};

pub use self::nodes::Nodes;
use crate::{
    Result, Store, at,
    cursor::Position,
    resources::{ALLOCATABLE, resources},
};

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
