//! Gaps and overlaps between the intervals of a sheet.

use std::collections::BTreeMap;

use crate::meter::{Price, SheetProblem};

/// Every gap and overlap, per cluster and GPU model. Intervals are in the order of their start.
pub(crate) fn problems(prices: &BTreeMap<(String, String), Vec<Price>>) -> Vec<SheetProblem> {
    prices
        .iter()
        .flat_map(|(key, intervals)| {
            intervals.windows(2).filter_map(move |pair| between(key, &pair[0], &pair[1]))
        })
        .collect()
}

fn between(key: &(String, String), before: &Price, after: &Price) -> Option<SheetProblem> {
    let whose = whose(key);
    let problem = match before.to {
        Some(end) if end == after.from => return None,
        Some(end) if end < after.from => format!(
            "{whose} have a gap: nothing is in force from {end} (the end of prices[{}]) to {}; let one interval begin where \
             the one before it ends",
            before.index, after.from
        ),
        Some(end) => format!(
            "{whose} overlap: prices[{}] and prices[{}] are both in force from {} to {}; let one interval begin where the \
             one before it ends",
            before.index,
            after.index,
            after.from,
            after.to.map_or(end, |to| to.min(end))
        ),
        None => format!(
            "{whose} overlap: prices[{}] has no end, and prices[{}] begins at {}; write that time as its `to`",
            before.index, after.index, after.from
        ),
    };
    Some(SheetProblem { path: format!("prices[{}]", after.index), problem })
}

fn whose((cluster, model): &(String, String)) -> String {
    let cluster = if cluster == "*" { "all clusters".to_owned() } else { format!("cluster {cluster}") };
    if model.is_empty() {
        format!("prices for {cluster}")
    } else {
        format!("prices for {cluster}, GPU model {model},")
    }
}
