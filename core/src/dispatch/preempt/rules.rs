//! Rules: what each queue may have stopped, and which queues share a quota.

use std::collections::BTreeMap;

use crate::quota::{Policy, Preemption, Queue};

/// What holds for the jobs of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rule<'a> {
    pub(super) says: Preemption,
    /// The queue whose quota they use: the nearest on the way up that names any, as Kueue's local queues use that of their
    /// cluster queue; else their own.
    pub(super) quota_of: &'a str,
}

/// The rules of all queues that are declared.
pub(super) struct Rules<'a>(BTreeMap<&'a str, Rule<'a>>);

impl<'a> Rules<'a> {
    /// Nothing, if no queue may ever have anything stopped.
    pub(super) fn of(policy: &'a Policy) -> Rules<'a> {
        if !policy.preempts() {
            return Rules(BTreeMap::new());
        }
        let queues: BTreeMap<&str, &Queue> =
            policy.queues.iter().map(|queue| (queue.name.as_str(), queue)).collect();
        let rule = |queue: &'a Queue| {
            let way = way_up(&queues, queue);
            let says = way.iter().find_map(|queue| queue.preemption).unwrap_or_default();
            let quota_of = way.iter().find(|queue| !queue.quotas.is_empty()).unwrap_or(&queue);
            (queue.name.as_str(), Rule { says, quota_of: &quota_of.name })
        };
        Rules(policy.queues.iter().map(rule).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, queue: &str) -> Option<Rule<'a>> {
        self.0.get(queue).copied()
    }
}

/// The queue and all above it; a circle ends where it closes.
fn way_up<'a>(queues: &BTreeMap<&str, &'a Queue>, queue: &'a Queue) -> Vec<&'a Queue> {
    let mut way = vec![queue];
    let mut next = queue.parent.as_deref();
    while let Some(above) = next.and_then(|name| queues.get(name)).filter(|_| way.len() <= queues.len()) {
        way.push(above);
        next = above.parent.as_deref();
    }
    way
}
