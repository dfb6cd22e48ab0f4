//! Use of quota: the declared policy, and what the live attempts of every cluster are charged.
//!
//! Invariant: an attempt counts from its assignment until it has ended and its pods are gone, as the dispatcher counts it.
//! Nodes and pods are read only when an attempt may have more than it was charged for, or has no recorded charge, because it is
//! older than the flavors.

use squadron_core::{
    dispatch::{Held, Input},
    silence::Judge,
};

use crate::{Result, Store, job::waiting};

impl Store {
    /// What the dispatcher would charge now, without the jobs that wait.
    pub async fn quota_use(&self, silence: Judge) -> Result<Input> {
        let held =
            self.txn("quota.held", &silence, |db, silence| Box::pin(waiting::held(db, *silence))).await?;
        if !needs_pods(&held) {
            return Ok(held);
        }
        self.txn("quota.fleet", &silence, |db, silence| Box::pin(waiting::fleet(db, *silence))).await
    }

    /// The policy as it is at this moment.
    pub async fn policy(&self) -> Result<squadron_core::quota::Policy> {
        self.txn("policy.read", &(), |db, ()| {
            Box::pin(async move {
                sqlx::query("set transaction isolation level repeatable read, read only")
                    .execute(&mut *db)
                    .await?;
                crate::quota::policy(db).await
            })
        })
        .await
    }
}

fn needs_pods(held: &Input) -> bool {
    let live = held.clusters.iter().flat_map(|cluster| &cluster.attempts);
    let all = held.clusters.iter().flat_map(|cluster| cluster.attempts.iter().chain(&cluster.leaving));
    let (elastic, unrecorded) = (live.into_iter().any(Held::is_elastic), |held: &Held| held.usage.is_empty());
    elastic || !held.policy.flavors.is_empty() && all.into_iter().any(unrecorded)
}
