//! The control plane's own id, part of the audience of every agent token. Made once, never changed: the index
//! `control_plane_one` lets one row in.

use sqlx::Row;
use squadron_core::{id::ControlPlaneId, time::Timestamp};

use crate::{Result, Store, StoreError, at};

impl Store {
    /// The id of this installation. `candidate` becomes it when there is none yet.
    pub async fn control_plane_id(
        &self,
        candidate: ControlPlaneId,
        now: Timestamp,
    ) -> Result<ControlPlaneId> {
        self.txn("control_plane.id", &(candidate, now), |db, (candidate, now)| {
            Box::pin(async move {
                sqlx::query(
                    "insert into control_plane (id, created_at) values ($1, $2) on conflict do nothing",
                )
                .bind(candidate.0)
                .bind(at(*now))
                .execute(&mut *db)
                .await?;
                let row = sqlx::query("select id from control_plane")
                    .fetch_optional(&mut *db)
                    .await?
                    .ok_or_else(|| StoreError::corrupt("control_plane", "it is empty"))?;
                Ok(ControlPlaneId(row.try_get("id")?))
            })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use uuid::Uuid;

    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn the_first_candidate_stays() {
        let store = testing::store().await;
        let (first, second) = (ControlPlaneId(Uuid::now_v7()), ControlPlaneId(Uuid::now_v7()));
        assert_eq!(store.control_plane_id(first, Timestamp(1)).await.unwrap(), first);
        assert_eq!(store.control_plane_id(second, Timestamp(2)).await.unwrap(), first);
    }

    #[tokio::test]
    async fn first_starts_at_once_agree_on_one_identity() {
        let store = testing::store().await;
        let starts: Vec<_> = (0..8)
            .map(|at| {
                let store = store.clone();
                tokio::spawn(async move {
                    store.control_plane_id(ControlPlaneId(Uuid::now_v7()), Timestamp(at)).await.unwrap()
                })
            })
            .collect();
        let mut identities = std::collections::BTreeSet::new();
        for start in starts {
            identities.insert(start.await.unwrap().0);
        }
        assert_eq!(identities.len(), 1);
        // A start that is half done when another one looks.
        let second = sqlx::query("insert into control_plane (id, created_at) values ($1, now())")
            .bind(Uuid::now_v7())
            .execute(store.pool())
            .await;
        assert!(second.is_err(), "the database lets no second identity in");
    }
}
