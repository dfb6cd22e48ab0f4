//! Nodes: the rows that a batch of facts is about, in memory between one read and one write.
//!
//! Invariant: what a row becomes by facts in their order is what the database would show after each of them; nobody else
//! writes nodes meanwhile, because the caller's transaction holds its term. Lost with the transaction, which changes nothing
//! then.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{
    PgConnection, Postgres, Row,
    postgres::{PgArguments, PgRow},
    query::Query,
    types::Json,
};
use squadron_core::{fact::NodeFact, id::ClusterId, resources::Resources, time::Timestamp};

use crate::{
    Result, at, at_opt,
    cursor::Position,
    resources::{ALLOCATABLE, CAPACITY, resources},
    stamp, stamp_opt,
};

/// A node of a cluster, by its uid.
type Key = (ClusterId, String);

/// What a bill looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Size {
    capacity: Resources,
    allocatable: Resources,
    gpu_model: String,
}

/// A node's row; `shown` is the fact that it shows, where a batch brought one.
#[derive(Clone, Debug)]
struct Kept {
    shown: Option<NodeFact>,
    size: Size,
    first_seen_at: Timestamp,
    gone_at: Option<Timestamp>,
    /// Since when it has what it has, where that changed.
    capacity_since: Option<Timestamp>,
    observed_at: Timestamp,
    position: Position,
}

/// What a node had before its capacity changed.
#[derive(Clone, Debug)]
struct Past {
    from: Timestamp,
    to: Timestamp,
    size: Size,
}

/// Nodes as they are known at some fact of a batch.
#[derive(Default)]
pub struct Nodes {
    kept: BTreeMap<Key, Kept>,
    past: Vec<(Key, Past)>,
}

impl Nodes {
    /// These nodes.
    pub async fn read(db: &mut PgConnection, nodes: &BTreeSet<(ClusterId, &str)>) -> Result<Nodes> {
        if nodes.is_empty() {
            return Ok(Nodes::default());
        }
        let rows = sqlx::query(
            "select n.* from node n join unnest($1::uuid[], $2::text[]) as k (cluster_id, uid)
                on n.cluster_id = k.cluster_id and n.uid = k.uid",
        )
        .bind(nodes.iter().map(|(cluster, _)| cluster.0).collect::<Vec<_>>())
        .bind(nodes.iter().map(|(_, uid)| *uid).collect::<Vec<_>>())
        .fetch_all(db)
        .await?;
        let kept = rows
            .iter()
            .map(|row| Ok(((ClusterId(row.try_get("cluster_id")?), row.try_get("uid")?), kept(row)?)));
        Ok(Nodes { kept: kept.collect::<Result<_>>()?, past: Vec::new() })
    }

    /// Shows a fact, observed at `seen`. Answers whether it was news.
    pub fn show(&mut self, cluster: ClusterId, node: &NodeFact, position: Position, seen: Timestamp) -> bool {
        let key = (cluster, node.uid.clone());
        let size = Size {
            capacity: node.capacity,
            allocatable: node.allocatable,
            gpu_model: node.gpu_model.clone(),
        };
        let gone_at = node.gone.then_some(seen);
        let Some(before) = self.kept.get(&key) else {
            let first = Kept {
                shown: Some(node.clone()),
                size,
                first_seen_at: seen,
                gone_at,
                capacity_since: None,
                observed_at: seen,
                position,
            };
            self.kept.insert(key, first);
            return true;
        };
        if before.position >= position {
            return false;
        }
        let since = before.capacity_since.unwrap_or(before.first_seen_at);
        let resized = before.size != size;
        if resized && before.gone_at.is_none() && since < seen {
            self.past.push((key.clone(), Past { from: since, to: seen, size: before.size.clone() }));
        }
        let next = Kept {
            shown: Some(node.clone()),
            size,
            first_seen_at: before.first_seen_at,
            gone_at: before.gone_at.or(gone_at),
            capacity_since: if resized { Some(since.max(seen)) } else { before.capacity_since },
            observed_at: seen,
            position,
        };
        self.kept.insert(key, next);
        true
    }

    /// Writes what was shown.
    pub async fn save(&self, db: &mut PgConnection) -> Result<()> {
        if !self.past.is_empty() {
            save_past(db, &self.past).await?;
        }
        let changed: Vec<_> =
            self.kept.iter().filter_map(|(key, kept)| Some((key, kept, kept.shown.as_ref()?))).collect();
        if changed.is_empty() { Ok(()) } else { save(db, &changed).await }
    }
}

fn kept(row: &PgRow) -> Result<Kept> {
    Ok(Kept {
        shown: None,
        size: Size {
            capacity: resources(row, CAPACITY)?,
            allocatable: resources(row, ALLOCATABLE)?,
            gpu_model: row.try_get("gpu_model")?,
        },
        first_seen_at: stamp(row.try_get("first_seen_at")?),
        gone_at: stamp_opt(row.try_get("gone_at")?),
        capacity_since: stamp_opt(row.try_get("capacity_since")?),
        observed_at: stamp(row.try_get("observed_at")?),
        position: Position { epoch: row.try_get("epoch")?, seq: row.try_get("seq")? },
    })
}

async fn save(db: &mut PgConnection, rows: &[(&Key, &Kept, &NodeFact)]) -> Result<()> {
    let query = sqlx::query(
        "insert into node (cluster_id, uid, name, ready, unschedulable, capacity_cpu_milli, capacity_memory_bytes,
                capacity_gpus, allocatable_cpu_milli, allocatable_memory_bytes, allocatable_gpus, gpu_model,
                instance_type, first_seen_at, gone_at, observed_at, epoch, seq, labels, taints, capacity_since)
         select * from unnest($1::uuid[], $2::text[], $3::text[], $4::boolean[], $5::boolean[], $6::bigint[], $7::bigint[],
                $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::timestamptz[],
                $15::timestamptz[], $16::timestamptz[], $17::bigint[], $18::bigint[], $19::jsonb[], $20::jsonb[],
                $21::timestamptz[])
         on conflict (cluster_id, uid) do update
         set name = excluded.name, ready = excluded.ready, unschedulable = excluded.unschedulable,
             capacity_cpu_milli = excluded.capacity_cpu_milli, capacity_memory_bytes = excluded.capacity_memory_bytes,
             capacity_gpus = excluded.capacity_gpus, allocatable_cpu_milli = excluded.allocatable_cpu_milli,
             allocatable_memory_bytes = excluded.allocatable_memory_bytes, allocatable_gpus = excluded.allocatable_gpus,
             gpu_model = excluded.gpu_model, instance_type = excluded.instance_type, gone_at = excluded.gone_at,
             observed_at = excluded.observed_at, epoch = excluded.epoch, seq = excluded.seq, labels = excluded.labels,
             taints = excluded.taints, capacity_since = excluded.capacity_since",
    )
    .bind(rows.iter().map(|((cluster, _), ..)| cluster.0).collect::<Vec<_>>())
    .bind(rows.iter().map(|((_, uid), ..)| uid.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(.., node)| node.name.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(.., node)| node.ready).collect::<Vec<_>>())
    .bind(rows.iter().map(|(.., node)| node.unschedulable).collect::<Vec<_>>());
    let sizes: Vec<&Size> = rows.iter().map(|(_, kept, _)| &kept.size).collect();
    with_sizes(query, &sizes)
        .bind(rows.iter().map(|(.., node)| node.instance_type.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, kept, _)| at(kept.first_seen_at)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, kept, _)| at_opt(kept.gone_at)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, kept, _)| at(kept.observed_at)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, kept, _)| kept.position.epoch).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, kept, _)| kept.position.seq).collect::<Vec<_>>())
        .bind(rows.iter().map(|(.., node)| Json(&node.face.labels)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(.., node)| Json(&node.face.taints)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, kept, _)| at_opt(kept.capacity_since)).collect::<Vec<_>>())
        .execute(db)
        .await?;
    Ok(())
}

async fn save_past(db: &mut PgConnection, past: &[(Key, Past)]) -> Result<()> {
    let query = sqlx::query(
        "insert into node_past (cluster_id, uid, from_at, to_at, capacity_cpu_milli, capacity_memory_bytes,
                capacity_gpus, allocatable_cpu_milli, allocatable_memory_bytes, allocatable_gpus, gpu_model)
         select * from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::bigint[],
                $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[])
         on conflict (cluster_id, uid, from_at) do nothing",
    )
    .bind(past.iter().map(|((cluster, _), _)| cluster.0).collect::<Vec<_>>())
    .bind(past.iter().map(|((_, uid), _)| uid.as_str()).collect::<Vec<_>>())
    .bind(past.iter().map(|(_, past)| at(past.from)).collect::<Vec<_>>())
    .bind(past.iter().map(|(_, past)| at(past.to)).collect::<Vec<_>>());
    let sizes: Vec<&Size> = past.iter().map(|(_, past)| &past.size).collect();
    with_sizes(query, &sizes).execute(db).await?;
    Ok(())
}

/// The query with the columns of these sizes, which come one after the other.
fn with_sizes<'q>(
    query: Query<'q, Postgres, PgArguments>,
    sizes: &[&'q Size],
) -> Query<'q, Postgres, PgArguments> {
    let column = |of: fn(&Size) -> i64| sizes.iter().map(|size| of(size)).collect::<Vec<_>>();
    query
        .bind(column(|size| size.capacity.cpu_milli))
        .bind(column(|size| size.capacity.memory_bytes))
        .bind(column(|size| size.capacity.gpus))
        .bind(column(|size| size.allocatable.cpu_milli))
        .bind(column(|size| size.allocatable.memory_bytes))
        .bind(column(|size| size.allocatable.gpus))
        .bind(sizes.iter().map(|size| size.gpu_model.as_str()).collect::<Vec<_>>())
}
