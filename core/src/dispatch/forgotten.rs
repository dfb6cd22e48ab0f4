//! Forgotten: after a failover that lost the database's newest commits, who may not start yet.
//!
//! Owns who is held back: a job that was submitted by then may run where nobody knows of it, so it starts nowhere until every
//! cluster has told what it holds (R4, R10), whatever its policy. Invariant: it is told why it waits, and a job that came later
//! is placed as ever. Repaired by the agents, which are asked with every heartbeat, or by an operator's word on a dead cluster.

use std::sync::Arc;

use crate::{
    dispatch::{Blocked, Blocker, Cause, Input, Plan, Waiting},
    lease::{Failover, Policy, Terms},
    time::Timestamp,
};

/// A failover after which some clusters have not told yet what they hold.
#[derive(Clone, Debug)]
pub struct Forgotten {
    /// The newest submission that was known then.
    pub before: Timestamp,
    pub clusters: Failover,
}

impl Forgotten {
    /// Why the job starts nowhere yet; `None` if it may.
    fn objection(&self, job: &Waiting) -> Option<String> {
        if job.submitted_at > self.before {
            return None;
        }
        self.clusters.may_start(Policy::Wait, &Terms::default()).err()
    }

    /// The plan of those who may start, and why the others do not.
    pub(super) fn around(&self, input: &Input, plan: impl FnOnce(&Input) -> Plan) -> Plan {
        let mut free = Input { forgotten: None, ..input.clone() };
        let mut held = Vec::new();
        free.waiting.retain(|job| match self.objection(job) {
            Some(sentence) => {
                held.push(blocked(job, sentence));
                false
            }
            None => true,
        });
        let mut made = plan(&free);
        made.blocked.extend(held);
        made
    }
}

fn blocked(job: &Waiting, sentence: String) -> Blocked {
    let try_this = "squadron cluster list shows which clusters are untold; if one is gone for good, say so: squadron cluster \
                    declare-dead NAME --reason WHY. One that is heard and does not tell needs a newer agent";
    let blocker = Blocker {
        code: Cause::Failover,
        cluster: String::new(),
        sentence,
        try_this: try_this.to_owned(),
        with: Vec::new(),
    };
    Blocked { job: job.job, blockers: Arc::new(vec![blocker]), borrows: false, note: String::new() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{
        dispatch::{
            plan,
            tests::{cluster, codes, gang, res, waiting},
        },
        id::ClusterId,
        lease::Told,
    };

    fn input(told: &[Told]) -> Input {
        let clusters = vec![cluster(1, "east", &[res(8, 8, 0)])];
        let waiting = (1..=3).map(|n| waiting(n, gang(res(1, 1, 0), 0, res(0, 0, 0)))).collect();
        let known = (1..).map(|n| ClusterId(uuid::Uuid::from_u128(n))).zip(told.iter().copied());
        let clusters_told = Failover { clusters: known.collect() };
        let forgotten = Some(Forgotten { before: Timestamp(2), clusters: clusters_told });
        Input { clusters, waiting, forgotten, ..Input::default() }
    }

    #[test]
    fn only_what_came_after_a_failover_starts_until_every_cluster_has_told() {
        let (told, silent) = (Told { inventory: true, ..Told::default() }, Told::default());
        let made = plan(&input(&[told, silent]));
        let placed: Vec<u128> = made.assign.iter().map(|assign| assign.job.0.as_u128()).collect();
        assert_eq!((placed.as_slice(), made.blocked.len()), (&[3][..], 2), "{made:?}");
        assert_eq!(codes(&made.blocked[0]), ["FAILOVER"]);
        assert!(made.blocked[0].blockers[0].sentence.contains("1 cluster did not tell since"), "{made:?}");
        for all in [[told, told], [told, Told { vouched: true, ..silent }]] {
            let made = plan(&input(&all));
            assert_eq!((made.assign.len(), made.blocked.len()), (3, 0), "{made:?}");
        }
    }
}
