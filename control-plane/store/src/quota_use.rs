//! Use of quota: what the live attempts of every queue hold.
//!
//! Invariant: an attempt counts from its assignment until it has ended, with the whole gang, as it was admitted.

use std::collections::BTreeMap;

use sqlx::Row;
use squadron_core::{dispatch::gang_total, quota::standing::Use};

use crate::{Result, Store, job::gang};

impl Store {
    /// What each queue uses; queues that use nothing are left out. Attempts do not say their flavor, so all of it is
    /// unknown here, and counts where only one flavor is possible.
    pub async fn quota_use(&self) -> Result<BTreeMap<String, Use>> {
        let query =
            "select j.queue, j.gang from attempt a join job j on j.id = a.job_id where a.ended_at is null";
        let mut used = BTreeMap::<String, Use>::new();
        for row in &sqlx::query(query).fetch_all(self.pool()).await? {
            let held = used.entry(row.try_get("queue")?).or_default();
            held.unknown = held.unknown + gang_total(&gang(row)?);
        }
        Ok(used)
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
