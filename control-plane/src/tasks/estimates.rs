//! Says how long jobs will wait whenever their place in the queue has halved, so that it can be compared with what comes.
//!
//! Invariant: a job that waits for a repair gets no estimate and is no
//! sample; what it waits for does not end when other jobs do.

use std::collections::{BTreeMap, btree_map::Entry};

use squadron_core::{
    dispatch::estimate::{Ask, Estimate, Past, estimate as decide, passes_with_time},
    time::Timestamp,
};
use squadron_store::{
    PgConnection, Result,
    estimate::{self, Due, Given},
};

/// Estimates the time of the jobs that are due.
pub async fn give(db: &mut PgConnection, now: Timestamp) -> Result<()> {
    let mut histories: BTreeMap<String, Vec<Past>> = BTreeMap::new();
    let mut given = Vec::new();
    for due in estimate::due(db, now).await?.into_iter().filter(|due| passes_with_time(&due.blockers)) {
        let history = match histories.entry(due.queue.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(estimate::history(db, &due.queue).await?),
        };
        given.push(Given { quantiles: quantiles(&due, history), due });
    }
    if given.is_empty() {
        return Ok(());
    }
    estimate::give(db, &given, now).await
}

fn quantiles(due: &Due, history: &[Past]) -> Option<(i64, i64)> {
    let ask = Ask { class: due.class, position: due.position, waited_ms: 0 };
    match decide(&due.blockers, history, ask) {
        Estimate::Known { p50_ms, p90_ms, .. } => Some((p50_ms, p90_ms)),
        Estimate::Unknown { .. } | Estimate::Never { .. } => None,
    }
}
