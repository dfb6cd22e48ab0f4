//! Queues as lists show them: with their place in the tree and where they stand with their quota.

use std::collections::BTreeMap;

use squadron_api::queue::{Queue, QueueQuota};
use squadron_core::{
    dispatch::{
        Input, gang_total,
        lately::{self, Lately},
        soft,
    },
    quota::{
        ORDINARY, Resource,
        standing::{Line, Standing, standings},
    },
    resources::Resources,
};
use squadron_store::queue;

use super::{error::Result, page};
use crate::state::AppState;

/// All queues: roots by name, each followed by what stands below it.
pub async fn queues(app: &AppState) -> Result<Vec<Queue>> {
    let (rows, input) = (app.store.queues().await?, app.store.quota_use(page::silence(app)).await?);
    Ok(shown(rows, &input))
}

fn shown(rows: Vec<queue::Queue>, input: &Input) -> Vec<Queue> {
    let (mut standings, used) = (standings(&input.policy, &input.clusters), used(input));
    let lately = lately::used(input);
    let mut rows: BTreeMap<String, queue::Queue> =
        rows.into_iter().map(|row| (row.name.clone(), row)).collect();
    let mut shown = Vec::new();
    for (depth, declared) in input.policy.in_order() {
        // A queue that was added between the two reads comes with the next one.
        let Some(row) = rows.remove(&declared.name) else { continue };
        let standing = standings.remove(&declared.name).unwrap_or_default();
        let held = used.get(declared.name.as_str()).copied().unwrap_or_default();
        shown.push(Queue {
            name: row.name,
            queued: row.queued,
            running: row.running,
            template: row.template,
            on_lost: row.lease.default.map_or(String::new(), |policy| policy.word().to_owned()),
            allows_overlap: row.lease.allows_overlap,
            parent: declared.parent.clone(),
            depth: u32::try_from(depth).unwrap_or(u32::MAX),
            weight: declared.weight,
            used: held,
            share: standing.share,
            used_lately: lately.get(&declared.name).map_or(0, Lately::whole_gpu_seconds),
            quotas: lines(&standing),
        });
    }
    shown
}

/// What the live attempts of each queue hold: as charged, or all that they asked for where that was not recorded, and what they
/// have beyond that.
fn used(input: &Input) -> BTreeMap<&str, Resources> {
    let mut used = BTreeMap::<&str, Resources>::new();
    for held in input.clusters.iter().flat_map(|cluster| cluster.attempts.iter().chain(&cluster.leaving)) {
        let sum = used.entry(held.queue.as_str()).or_default();
        let charged = held.usage.values().copied().sum();
        *sum = *sum + if held.usage.is_empty() { gang_total(&held.gang) } else { charged };
    }
    for (queue, amount) in input.clusters.iter().flat_map(soft::beyond) {
        let sum = used.entry(queue).or_default();
        *sum = *sum + amount;
    }
    used
}

/// The lines of a standing, by flavor and resource.
pub fn lines(standing: &Standing) -> Vec<QueueQuota> {
    let quota = |((flavor, resource), line): (&(String, Resource), &Line)| {
        let weight = standing.weights.get(flavor).copied().unwrap_or(ORDINARY);
        quota(flavor, weight, *resource, line)
    };
    standing.lines.iter().map(quota).collect()
}

fn quota(flavor: &str, flavor_weight: u32, resource: Resource, line: &Line) -> QueueQuota {
    QueueQuota {
        flavor: flavor.to_owned(),
        flavor_weight,
        resource: resource.word().to_owned(),
        declared: line.declared,
        nominal: line.nominal,
        total: line.total,
        borrowing_limit: line.borrowing_limit,
        lending_limit: line.lending_limit,
        used: line.used,
        borrowed: line.borrowed,
        lent: line.lent,
    }
}

/// A queue that was just added.
pub fn new(name: String) -> Queue {
    Queue {
        name,
        queued: 0,
        running: 0,
        template: String::new(),
        on_lost: String::new(),
        allows_overlap: false,
        parent: None,
        depth: 0,
        weight: ORDINARY,
        used: Resources::default(),
        share: None,
        used_lately: 0,
        quotas: Vec::new(),
    }
}
