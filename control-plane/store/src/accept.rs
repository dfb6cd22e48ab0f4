//! Accept: what agents are ready to start, and from which moment it may run.
//!
//! Invariant: an acceptance counts only for the life of the agent that is in charge, under the lock of its cluster's row, so a life
//! that takes over and an attempt that is let go of wait for it or are seen. Clusters are locked first and attempts after them,
//! each in their order. Acceptances of many clusters share a transaction.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row};
use squadron_core::id::{AttemptId, ClusterId, Epoch};

use crate::{
    Result, Store,
    cluster::{State, signed},
    desired::next_generations,
    failover::unsure,
    loss::columns,
};

/// The life `epoch` of the cluster's agent is ready to start these attempts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acceptance {
    pub cluster: ClusterId,
    pub epoch: Epoch,
    pub attempts: Vec<AttemptId>,
}

impl Store {
    /// From now on these attempts may run; answers the clusters for which that was news, whose desired sets say so. An attempt that
    /// is closed, let go of or made already is left out, and so is everything that a life says that is not in charge, and, while
    /// a cluster has yet to tell what it holds, every job that may run there.
    pub async fn accept(&self, said: &[Acceptance]) -> Result<BTreeSet<ClusterId>> {
        self.txn("attempt.accept", said, |db, said| {
            Box::pin(async move {
                let led = in_charge(db, said).await?;
                let leads = |one: &&Acceptance| led.get(&one.cluster) == Some(&signed(one.epoch.0));
                let news = write(db, &said.iter().filter(leads).collect::<Vec<_>>()).await?;
                next_generations(db, news.iter().copied()).await?;
                Ok(news)
            })
        })
        .await
    }
}

/// The lives in charge of those clusters that are active, which stay so until the commit.
async fn in_charge(db: &mut PgConnection, said: &[Acceptance]) -> Result<BTreeMap<ClusterId, i64>> {
    let rows = sqlx::query(
        "select id, agent_epoch from cluster where id = any ($1) and state = $2 order by id for no key update",
    )
    .bind(said.iter().map(|one| one.cluster.0).collect::<Vec<_>>())
    .bind(State::Active.word())
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok((ClusterId(row.try_get("id")?), row.try_get("agent_epoch")?))).collect()
}

/// The generation is the next one of each cluster: their rows are locked, and it is counted only where something changes.
async fn write(db: &mut PgConnection, said: &[&Acceptance]) -> Result<BTreeSet<ClusterId>> {
    let named: Vec<_> =
        said.iter().flat_map(|one| one.attempts.iter().map(|attempt| (*one, *attempt))).collect();
    if named.is_empty() {
        return Ok(BTreeSet::new());
    }
    let (jobs, numbers) = columns(&named.iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>());
    let rows = sqlx::query(concat!(
        "with held as (
             select a.job_id, a.number, s.epoch
             from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::integer[]) as s (cluster, epoch, job, number)
             join attempt a on a.job_id = s.job and a.number = s.number and a.cluster_id = s.cluster
             join job j on j.id = a.job_id
             where a.desired and a.ended_at is null and a.created_at is null and a.accepted_epoch is distinct from s.epoch
                   and (j.submitted_at <= ",
        unsure!(),
        ") is not true order by a.job_id, a.number for no key update of a
         )
         update attempt a set accepted_epoch = held.epoch, changed_generation = c.desired_generation + 1
         from held, cluster c
         where a.job_id = held.job_id and a.number = held.number and c.id = a.cluster_id returning a.cluster_id"
    ))
    .bind(named.iter().map(|(one, _)| one.cluster.0).collect::<Vec<_>>())
    .bind(named.iter().map(|(one, _)| signed(one.epoch.0)).collect::<Vec<_>>())
    .bind(jobs)
    .bind(numbers)
    .fetch_all(db)
    .await?;
    rows.iter().map(|row| Ok(ClusterId(row.try_get("cluster_id")?))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{self, fixture, link::assigned};

    #[tokio::test]
    async fn acceptances_of_many_clusters_are_committed_together_and_each_counts_for_its_own() {
        let store = testing::store().await;
        let mut fleet = Vec::new();
        for name in ["east", "west", "north"] {
            let cluster = fixture::cluster(&store, name).await;
            fleet.push((cluster, assigned(&store, cluster, name).await));
        }
        let [(east, at_east), (west, at_west), (north, at_north)] = fleet[..] else { panic!() };
        let says = |cluster, epoch, attempts: &[AttemptId]| Acceptance {
            cluster,
            epoch: Epoch(epoch),
            attempts: attempts.to_vec(),
        };
        let before = store.standings().await.unwrap();
        let said = [
            says(east, 1, &[at_east, at_west]),
            says(west, 2, &[at_west]),
            says(north, 1, &[at_north]),
            says(east, 1, &[at_east]),
            says(west, 1, &[]),
        ];
        let news = store.accept(&said).await.unwrap();
        assert_eq!(
            news,
            BTreeSet::from([east, north]),
            "west's life is not in charge, and nobody speaks for another"
        );
        let after = store.standings().await.unwrap();
        for (cluster, grew) in [(east, 1), (west, 0), (north, 1)] {
            let generations = [&after, &before].map(|all| all[&cluster].desired_generation);
            assert_eq!(generations[0] - generations[1], grew);
            let set = store.desired(cluster).await.unwrap().set;
            assert_eq!(set[0].accepted_by, (grew == 1).then_some(Epoch(1)));
        }
        assert_eq!(store.accept(&said).await.unwrap(), BTreeSet::new(), "said twice is no news");
        assert_eq!(store.accept(&[]).await.unwrap(), BTreeSet::new());
    }
}
