//! Leases of clusters: the newest renewal, as promised and as judged.
//!
//! Invariant: a renewal counts only for the life of the agent that is in charge, and only if it is newer than the newest;
//! a lease is promised only after its renewal was committed here, so whoever gives an attempt up sees it.

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{
    id::{ClusterId, Epoch},
    lease::Renewal,
};

use super::{signed, unsigned};
use crate::{
    Result, Store, failover,
    loss::{LastWord, lock_last_word},
    term::history,
};

/// No cluster's agent has noted more.
const MOST_RENEWALS: u64 = 1 << 53;

/// A renewal that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked {
    pub renewal: Renewal,
    /// Renewals of its cluster that the agent has noted; none from one that does not count them.
    pub noted: Option<u64>,
}

/// A committed renewal, with what the cluster should hold at that moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    pub renewal: Renewal,
    /// Renewals of the cluster so far.
    pub renewals: u64,
    /// Generation of the desired set.
    pub generation: u64,
    /// Of the database's history: a failover begins a higher one; 0 before any was met.
    pub timeline: u64,
    /// The cluster has yet to tell what it holds under this timeline.
    pub wants_holdings: bool,
}

impl Store {
    /// Commits renewals in one statement; answers those that were news. What is missing in the answer gets no lease; after a
    /// failover that is all until a dispatcher met it. They are
    /// counted by the rule of [`counted`](squadron_core::fencing::counted).
    pub async fn renew(&self, asked: &[(ClusterId, Asked)]) -> Result<BTreeMap<ClusterId, Promise>> {
        let ids: Vec<_> = asked.iter().map(|(cluster, _)| cluster.0).collect();
        let column = |of: fn(&Renewal) -> u64| -> Vec<i64> {
            asked.iter().map(|(_, asked)| signed(of(&asked.renewal))).collect()
        };
        let noted: Vec<Option<i64>> = asked
            .iter()
            .map(|(_, asked)| asked.noted.map(|noted| signed(noted.min(MOST_RENEWALS))))
            .collect();
        let rows = sqlx::query(concat!(
            "with held as (select id from cluster where id = any ($1) order by id for no key update)
             update cluster c set lease_epoch = r.epoch, lease_number = r.number, lease_ms = r.ttl,
                renewals = greatest(c.renewals, least(coalesce(r.noted + 1, 0), c.renewals + 1))
             from held, unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                as r (id, epoch, number, ttl, noted),
                (select (select timeline from failover where history = ",
            history!(),
            ") as timeline, exists (select 1 from failover) as is_any) now
             where (now.timeline is not null or not now.is_any) and c.id = held.id and c.id = r.id and c.state = 'active' and c.agent_epoch = r.epoch
                   and (r.epoch, r.number) > (c.lease_epoch, c.lease_number)
             returning c.id, c.lease_epoch, c.lease_number, c.lease_ms, c.renewals, c.desired_generation,
                       c.untold_since is not null as wants_holdings,
                       coalesce(now.timeline, 0) as timeline"
        ))
        .bind(ids)
        .bind(column(|renewal| renewal.epoch.0))
        .bind(column(|renewal| renewal.number))
        .bind(column(|renewal| renewal.ttl))
        .bind(noted)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(|row| Ok((ClusterId(row.try_get("id")?), promise(row)?))).collect()
    }

    /// A person says that the cluster is dead: the next life of its agent is let in whatever it has counted, and nothing that a
    /// failover forgot runs there. False, and nothing changes, if the cluster was heard since `before`.
    pub async fn forget_renewals(&self, cluster: ClusterId, before: LastWord) -> Result<bool> {
        self.txn("cluster.forget_renewals", &(cluster, before), |db, (cluster, before)| {
            Box::pin(async move {
                if lock_last_word(db, *cluster).await? != *before {
                    return Ok(false);
                }
                sqlx::query("update cluster set renewals = 0 where id = $1")
                    .bind(cluster.0)
                    .execute(&mut *db)
                    .await?;
                failover::settled(db, *cluster).await?;
                Ok(true)
            })
        })
        .await
    }

    /// The newest renewal of every cluster that ever had one.
    pub async fn renewals(&self) -> Result<BTreeMap<ClusterId, Renewal>> {
        let rows =
            sqlx::query("select id, lease_epoch, lease_number, lease_ms from cluster where agent_epoch > 0")
                .fetch_all(self.pool())
                .await?;
        rows.iter().map(|row| Ok((ClusterId(row.try_get("id")?), renewal(row)?))).collect()
    }
}

/// The newest renewal; no newer one is committed until the transaction ends.
pub async fn lock_renewal(db: &mut PgConnection, cluster: ClusterId) -> Result<Renewal> {
    let row = sqlx::query(
        "select lease_epoch, lease_number, lease_ms from cluster where id = $1 for no key update",
    )
    .bind(cluster.0)
    .fetch_one(db)
    .await?;
    renewal(&row)
}

/// A life of the agent takes over. One that holds no lease stops nothing by itself, so nothing may be concluded from its
/// silence, and what is sent to it may run at once.
pub(super) async fn taken_over(db: &mut PgConnection, cluster: ClusterId, holds_leases: bool) -> Result<()> {
    if holds_leases {
        return Ok(());
    }
    sqlx::query("update cluster set lease_ms = 0 where id = $1").bind(cluster.0).execute(&mut *db).await?;
    Ok(())
}

fn promise(row: &PgRow) -> Result<Promise> {
    Ok(Promise {
        renewal: renewal(row)?,
        renewals: unsigned(row.try_get("renewals")?),
        generation: unsigned(row.try_get("desired_generation")?),
        timeline: unsigned(row.try_get("timeline")?),
        wants_holdings: row.try_get("wants_holdings")?,
    })
}

fn renewal(row: &PgRow) -> Result<Renewal> {
    Ok(Renewal {
        epoch: Epoch(unsigned(row.try_get("lease_epoch")?)),
        number: unsigned(row.try_get("lease_number")?),
        ttl: unsigned(row.try_get("lease_ms")?),
    })
}
