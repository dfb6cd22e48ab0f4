//! Amounts: of flavors that exist, not negative, within 64 bits together, and with limits that limit something.

use std::collections::{BTreeMap, BTreeSet};

use crate::quota::{
    FlavorQuota, Noun, Queue, Quota, Resource, amount,
    check::{Fault, unknown},
};

pub(super) fn check(queues: &[Queue], flavors: &BTreeSet<&str>) -> Vec<Fault> {
    let mut faults: Vec<Fault> = missing(queues, flavors);
    for queue in queues {
        for (flavor, amounts) in &queue.quotas {
            if amounts.is_empty() {
                let problem = "names no resource; write cpu, memory or gpu, or leave it out";
                faults.push(Fault::queue(queue, format!("quotas.{flavor}"), problem));
            }
            faults.extend(of_flavor(queue, flavor, amounts));
        }
    }
    faults
}

/// Quotas of flavors that do not exist.
fn missing(queues: &[Queue], flavors: &BTreeSet<&str>) -> Vec<Fault> {
    let named = queues.iter().flat_map(|queue| queue.quotas.keys().map(move |flavor| (queue, flavor)));
    let astray = named.filter(|(_, flavor)| !flavors.contains(flavor.as_str())).enumerate();
    astray
        .map(|(nth, (queue, flavor))| {
            let problem = unknown(Noun::Flavor, flavor, flavors.iter().copied(), nth);
            Fault { missing: true, ..Fault::queue(queue, format!("quotas.{flavor}"), problem) }
        })
        .collect()
}

fn of_flavor(queue: &Queue, flavor: &str, amounts: &FlavorQuota) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (resource, quota) in amounts {
        for (field, value) in fields(*quota) {
            let path = format!("quotas.{flavor}.{}.{field}", resource.word());
            if let Some(problem) = value.and_then(|value| problem(queue, *resource, field, value)) {
                faults.push(Fault::queue(queue, path, problem));
            }
        }
    }
    faults
}

fn fields(quota: Quota) -> [(&'static str, Option<i64>); 3] {
    [
        ("nominalQuota", Some(quota.nominal)),
        ("borrowingLimit", quota.borrowing_limit),
        ("lendingLimit", quota.lending_limit),
    ]
}

fn problem(queue: &Queue, resource: Resource, field: &str, value: i64) -> Option<String> {
    if value < 0 {
        return Some(format!("is {}, which is negative", amount::text(resource, value)));
    }
    let is_limit = field != "nominalQuota";
    (is_limit && queue.parent.is_none())
        .then(|| "has no meaning without a parent: nobody is there to borrow from or to lend to".to_owned())
}

/// Only for a policy that is a tree and otherwise without faults.
pub(super) fn check_sums(queues: &[Queue]) -> Vec<Fault> {
    let by_name: BTreeMap<&str, &Queue> = queues.iter().map(|queue| (queue.name.as_str(), queue)).collect();
    let sums = sums(queues, &by_name);
    sums.iter()
        .filter_map(|((queue, flavor, resource), sum)| {
            let queue = by_name.get(queue)?;
            of_sum(queue, flavor, *resource, *sum)
        })
        .collect()
}

/// Nominal quota of each queue with all that stands below it, by flavor and resource.
type Sums<'a> = BTreeMap<(&'a str, &'a str, Resource), i128>;

fn sums<'a>(queues: &'a [Queue], by_name: &BTreeMap<&'a str, &'a Queue>) -> Sums<'a> {
    let mut sums = Sums::new();
    for queue in queues {
        let named = queue.quotas.iter().flat_map(|(flavor, all)| all.iter().map(move |one| (flavor, one)));
        for (flavor, (resource, quota)) in named {
            let mut at = Some(queue);
            while let Some(queue) = at {
                *sums.entry((&queue.name, flavor, *resource)).or_default() += i128::from(quota.nominal);
                at = queue.parent.as_deref().and_then(|parent| by_name.get(parent)).copied();
            }
        }
    }
    sums
}

/// What could be used below a queue must be countable, and a lending limit must be less than all.
fn of_sum(queue: &Queue, flavor: &str, resource: Resource, sum: i128) -> Option<Fault> {
    let path = |field: &str| format!("quotas.{flavor}.{}.{field}", resource.word());
    let quota = queue.quotas.get(flavor).and_then(|all| all.get(&resource)).copied().unwrap_or_default();
    let with_loans = sum + i128::from(quota.borrowing_limit.unwrap_or(0));
    if with_loans > i128::from(i64::MAX) {
        let problem = "with what stands below it, and what it may borrow, is more than can be counted";
        return Some(Fault::queue(queue, path("nominalQuota"), problem));
    }
    quota.lending_limit.filter(|limit| i128::from(*limit) > sum)?;
    let sum = amount::text(resource, i64::try_from(sum).unwrap_or(i64::MAX));
    let problem = format!("limits nothing: the queue has {sum} to lend at most; write less, or leave it out");
    Some(Fault { missing: true, ..Fault::queue(queue, path("lendingLimit"), problem) })
}
