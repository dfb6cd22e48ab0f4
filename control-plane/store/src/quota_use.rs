//! Use of quota: what the live attempts of every queue hold.
//!
//! Invariant: an attempt counts from its assignment until it has ended and its pods are gone, as it was charged when it was
//! admitted. One that was admitted while no flavor was declared counts with its whole gang, of an unknown flavor.

use std::collections::BTreeMap;

use sqlx::{Row, types::Json};
use squadron_core::{
    dispatch::{Usage, gang_total},
    quota::standing::Use,
};

use crate::{
    Result, Store,
    job::{gang, waiting::leaving},
};

impl Store {
    /// What each queue uses; queues that use nothing are left out.
    pub async fn quota_use(&self) -> Result<BTreeMap<String, Use>> {
        let query = concat!(
            "select j.queue, j.gang, a.usage from attempt a join job j on j.id = a.job_id
             where a.ended_at is null or ",
            leaving!()
        );
        let mut used = BTreeMap::<String, Use>::new();
        for row in &sqlx::query(query).fetch_all(self.pool()).await? {
            let held = used.entry(row.try_get("queue")?).or_default();
            let usage = row.try_get::<Json<Usage>, _>("usage")?.0;
            if usage.is_empty() {
                held.unknown = held.unknown + gang_total(&gang(row)?);
            }
            for (flavor, amount) in usage {
                let sum = held.by_flavor.entry(flavor).or_default();
                *sum = *sum + amount;
            }
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
