//! Queues as lists show them: with their place in the tree and where they stand with their quota.

use std::collections::BTreeMap;

use squadron_api::queue::{Queue, QueueQuota};
use squadron_core::{
    quota::{
        Policy, Resource,
        standing::{Line, Standing, Use, standings},
    },
    resources::Resources,
};
use squadron_store::queue;

use super::error::Result;
use crate::state::AppState;

/// All queues: roots by name, each followed by what stands below it.
pub async fn queues(app: &AppState) -> Result<Vec<Queue>> {
    let (rows, policy, used) =
        (app.store.queues().await?, app.store.policy().await?, app.store.quota_use().await?);
    Ok(shown(rows, &policy, &used))
}

fn shown(rows: Vec<queue::Queue>, policy: &Policy, used: &BTreeMap<String, Use>) -> Vec<Queue> {
    let mut standings = standings(policy, used);
    let mut rows: BTreeMap<String, queue::Queue> =
        rows.into_iter().map(|row| (row.name.clone(), row)).collect();
    let mut shown = Vec::new();
    for (depth, declared) in policy.in_order() {
        // A queue that was added between the two reads comes with the next one.
        let Some(row) = rows.remove(&declared.name) else { continue };
        let standing = standings.remove(&declared.name).unwrap_or_default();
        let held = used.get(&declared.name).map(Use::total).unwrap_or_default();
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
            quotas: lines(&standing),
        });
    }
    shown
}

fn lines(standing: &Standing) -> Vec<QueueQuota> {
    standing.lines.iter().map(|((flavor, resource), line)| quota(flavor, *resource, line)).collect()
}

fn quota(flavor: &str, resource: Resource, line: &Line) -> QueueQuota {
    QueueQuota {
        flavor: flavor.to_owned(),
        resource: resource.word().to_owned(),
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
        weight: 1_000,
        used: Resources::default(),
        share: None,
        quotas: Vec::new(),
    }
}
