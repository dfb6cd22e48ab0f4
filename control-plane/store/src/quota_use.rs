//! Use of quota: the declared policy, and what the live attempts of every cluster are charged.
//!
//! Invariant: an attempt counts from its assignment until it has ended and its pods are gone, as the dispatcher counts it.
//! Nodes and pods are read only when an attempt has no recorded charge, because it is older than the flavors.

use squadron_core::{dispatch::Input, silence::Judge};

use crate::{Result, Store, job::waiting};

impl Store {
    /// What the dispatcher would charge now, without the jobs that wait.
    pub async fn quota_use(&self, silence: Judge) -> Result<Input> {
        let held =
            self.txn("quota.held", &silence, |db, silence| Box::pin(waiting::held(db, *silence))).await?;
        if held.policy.flavors.is_empty() || all_recorded(&held) {
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

fn all_recorded(held: &Input) -> bool {
    let attempts = held.clusters.iter().flat_map(|cluster| cluster.attempts.iter().chain(&cluster.leaving));
    attempts.into_iter().all(|attempt| !attempt.usage.is_empty())
}
