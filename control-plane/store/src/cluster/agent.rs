//! The agent of a cluster: which life is in charge, which key its pod holds, when it was heard.
//!
//! Invariant: the epoch never falls, and the first key of a pod stays.

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row};
use squadron_core::{
    fencing::{self, Claim, InCharge, Verdict},
    id::{ClusterId, Epoch},
    silence::{AHEAD_MS, Judge, Word},
    time::Timestamp,
};

use super::{Cluster, State, enrol::set_alarm, lock, parse_jwks, signed, unsigned};
use crate::{Result, Store, at, audit, stamp_opt};

/// No cluster's desired state changes this often.
const MOST_GENERATIONS: i64 = 1 << 53;

/// A hello whose token and signature were verified.
#[derive(Clone, Debug)]
pub struct Hello {
    pub cluster: ClusterId,
    pub epoch: Epoch,
    pub pod_uid: String,
    pub public_key: [u8; 32],
    pub agent_version: String,
    pub kubernetes_version: String,
    /// It stops by itself what must stop when its lease ends.
    pub holds_leases: bool,
    /// Renewals that its cluster's Lease object counts; none from an agent that does not count them.
    pub renewals: Option<u64>,
    /// Renewals that a true life may not have written down.
    pub slack: u64,
    /// When it came, and when an agent counts as gone.
    pub silence: Judge,
    pub audit: audit::Entry,
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Admitted {
    /// It is the life in charge.
    Welcome,
    /// The cluster is not active (any more).
    NotActive,
    /// Another key was seen first for this pod.
    OtherKey,
    Superseded {
        in_charge: Epoch,
    },
    Duplicate {
        /// The epoch above which it may come again; `None` while the agent in charge is heard, and for a copy of the past.
        above: Option<Epoch>,
        alarm: String,
    },
}

/// What link streams need to know of a cluster to notice that they must end or send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    pub name: String,
    pub active: bool,
    pub epoch: Epoch,
    pub desired_generation: u64,
}

/// One heartbeat, as noted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Beat {
    pub cluster: ClusterId,
    pub heard_at: Timestamp,
    /// Our clock minus the agent's, in milliseconds.
    pub skew_ms: i64,
    pub spool_bytes: i64,
    /// Newest desired state that the agent applied.
    pub applied_generation: u64,
}

impl Store {
    /// Lets the hello's life take or keep charge, or says why not.
    pub async fn admit(&self, hello: &Hello) -> Result<Admitted> {
        self.txn("cluster.admit", hello, |db, hello| {
            Box::pin(async move {
                let Some(cluster) = lock(db, hello.cluster).await? else { return Ok(Admitted::NotActive) };
                if cluster.state != State::Active {
                    return Ok(Admitted::NotActive);
                }
                if !holds_key(db, hello).await? {
                    return refuse_key(db, &cluster, hello).await;
                }
                fence(db, &cluster, hello).await
            })
        })
        .await
    }

    /// Notes heartbeats in one statement. Only the newest of a cluster counts; a word from after `now` was written by a
    /// clock that ran ahead and counts no more.
    pub async fn note_beats(&self, beats: &[Beat], now: Timestamp) -> Result<()> {
        let ids: Vec<_> = beats.iter().map(|beat| beat.cluster.0).collect();
        let heard: Vec<_> = beats.iter().map(|beat| at(beat.heard_at)).collect();
        let skews: Vec<_> = beats.iter().map(|beat| beat.skew_ms).collect();
        let spools: Vec<_> = beats.iter().map(|beat| beat.spool_bytes).collect();
        let applied: Vec<_> = beats.iter().map(|beat| signed(beat.applied_generation)).collect();
        sqlx::query(
            "with held as (select id from cluster where id = any ($1) order by id for no key update)
             update cluster c set last_heard_at = b.heard, clock_skew_ms = b.skew, spool_bytes = b.spool,
                applied_generation = greatest(c.applied_generation, b.applied)
             from unnest($1::uuid[], $2::timestamptz[], $3::bigint[], $4::bigint[], $5::bigint[])
                  as b (id, heard, skew, spool, applied) join held h on h.id = b.id
             where c.id = b.id and (c.last_heard_at is null or c.last_heard_at < b.heard or c.last_heard_at > $6)",
        )
        .bind(ids)
        .bind(heard)
        .bind(skews)
        .bind(spools)
        .bind(applied)
        .bind(at(now.plus_millis(AHEAD_MS)))
        .execute(self.pool())
        .await?;
        Ok(())
    }

    /// Makes the cluster's desired state newer than generation `above`, which its agent holds already. True if it was
    /// not; then the number grew, and the state did not change. Numbers that no honest agent reaches are left alone.
    pub async fn raise_generation(&self, cluster: ClusterId, above: u64) -> Result<bool> {
        let Some(above) = i64::try_from(above).ok().filter(|above| *above < MOST_GENERATIONS) else {
            return Ok(false);
        };
        let raised = sqlx::query(
            "update cluster set desired_generation = $2 + 1 where id = $1 and desired_generation < $2",
        )
        .bind(cluster.0)
        .bind(above)
        .execute(self.pool())
        .await?;
        Ok(raised.rows_affected() == 1)
    }

    /// Every cluster's standing.
    pub async fn standings(&self) -> Result<BTreeMap<ClusterId, Standing>> {
        let rows = sqlx::query("select id, name, state, agent_epoch, desired_generation from cluster")
            .fetch_all(self.pool())
            .await?;
        rows.iter()
            .map(|row| {
                let standing = Standing {
                    name: row.try_get("name")?,
                    active: row.try_get::<&str, _>("state")? == State::Active.word(),
                    epoch: Epoch(unsigned(row.try_get("agent_epoch")?)),
                    desired_generation: unsigned(row.try_get("desired_generation")?),
                };
                Ok((ClusterId(row.try_get("id")?), standing))
            })
            .collect()
    }

    /// Active clusters that are not heard by this judge, by name. Asked with every page of a list, so no others are read.
    pub async fn unheard(&self, silence: Judge) -> Result<Vec<(String, Word)>> {
        let rows = sqlx::query(
            "select name, last_heard_at from cluster
             where state = $1 and (last_heard_at is null or last_heard_at < $2 or last_heard_at > $3) order by name",
        )
        .bind(State::Active.word())
        .bind(at(silence.now.plus_millis(-silence.after_ms)))
        .bind(at(silence.now.plus_millis(AHEAD_MS)))
        .fetch_all(self.pool())
        .await?;
        let judged = rows
            .iter()
            .map(|row| Ok((row.try_get("name")?, silence.word(stamp_opt(row.try_get("last_heard_at")?)))));
        judged.collect()
    }

    /// Replaces the cluster's key set, if it still is `before`.
    pub async fn rotate_keys(
        &self,
        id: ClusterId,
        before: &str,
        after: &str,
        entry: &audit::Entry,
    ) -> Result<()> {
        let (before, after) = (parse_jwks(before)?, parse_jwks(after)?);
        self.txn("cluster.keys", &(id, before, after, entry), |db, (id, before, after, entry)| {
            Box::pin(async move {
                let changed = sqlx::query(
                    "update cluster set jwks = $3, version = version + 1 where id = $1 and jwks = $2",
                )
                .bind(id.0)
                .bind(before)
                .bind(after)
                .execute(&mut *db)
                .await?;
                if changed.rows_affected() == 1 { audit::insert(db, entry).await } else { Ok(()) }
            })
        })
        .await
    }

    /// Sets the cluster's alarm, a sentence with a next step, and audits it.
    pub async fn alarm(&self, id: ClusterId, alarm: &str, entry: &audit::Entry) -> Result<()> {
        self.txn("cluster.alarm", &(id, alarm, entry), |db, (id, alarm, entry)| {
            Box::pin(async move {
                set_alarm(db, *id, alarm).await?;
                audit::insert(db, entry).await
            })
        })
        .await
    }
}

/// Whether the pod's key is the first that was seen; an unseen pod's key becomes it.
async fn holds_key(db: &mut PgConnection, hello: &Hello) -> Result<bool> {
    sqlx::query(
        "insert into agent_key (cluster_id, pod_uid, public_key, first_seen_at) values ($1, $2, $3, $4)
         on conflict (cluster_id, pod_uid) do nothing",
    )
    .bind(hello.cluster.0)
    .bind(&hello.pod_uid)
    .bind(hello.public_key.as_slice())
    .bind(at(hello.silence.now))
    .execute(&mut *db)
    .await?;
    let first: Vec<u8> =
        sqlx::query_scalar("select public_key from agent_key where cluster_id = $1 and pod_uid = $2")
            .bind(hello.cluster.0)
            .bind(&hello.pod_uid)
            .fetch_one(db)
            .await?;
    Ok(first == hello.public_key)
}

async fn refuse_key(db: &mut PgConnection, cluster: &Cluster, hello: &Hello) -> Result<Admitted> {
    let alarm = format!(
        "somebody showed a token of the agent's pod {} with another key than the pod holds; it was refused; if the pod \
         was not tampered with, delete it so that a new one starts, then run `squadron cluster clear-alarm {}`",
        hello.pod_uid, cluster.name
    );
    set_alarm(db, cluster.id, &alarm).await?;
    refused(db, hello, "another key than the pod's first").await?;
    Ok(Admitted::OtherKey)
}

async fn fence(db: &mut PgConnection, cluster: &Cluster, hello: &Hello) -> Result<Admitted> {
    let in_charge = InCharge {
        cluster: cluster.name.clone(),
        epoch: Epoch(cluster.agent_epoch),
        pod_uid: cluster.agent_pod_uid.clone(),
        last_heard_at: cluster.last_heard_at,
        renewals: cluster.renewals,
    };
    let claim = Claim {
        epoch: hello.epoch,
        pod_uid: &hello.pod_uid,
        renewals: hello.renewals,
        slack: hello.slack,
        silence: hello.silence,
    };
    match fencing::judge(&in_charge, claim) {
        Verdict::TakesOver => take_over(db, hello).await,
        Verdict::Same => Ok(Admitted::Welcome),
        Verdict::Superseded => Ok(Admitted::Superseded { in_charge: in_charge.epoch }),
        Verdict::Duplicate { alarm, may_follow } => {
            set_alarm(db, cluster.id, &alarm).await?;
            refused(db, hello, &alarm).await?;
            Ok(Admitted::Duplicate { above: may_follow.then_some(in_charge.epoch), alarm })
        }
        Verdict::Copy { alarm } => {
            set_alarm(db, cluster.id, &alarm).await?;
            refused(db, hello, &alarm).await?;
            Ok(Admitted::Duplicate { above: None, alarm })
        }
    }
}

/// A hello is a word of the agent, as a heartbeat is.
async fn take_over(db: &mut PgConnection, hello: &Hello) -> Result<Admitted> {
    sqlx::query(
        "update cluster set agent_epoch = $2, agent_pod_uid = $3, agent_version = $4, kubernetes_version = $5,
            last_heard_at = $6, version = version + 1 where id = $1",
    )
    .bind(hello.cluster.0)
    .bind(signed(hello.epoch.0))
    .bind(&hello.pod_uid)
    .bind(&hello.agent_version)
    .bind(&hello.kubernetes_version)
    .bind(at(hello.silence.now))
    .execute(&mut *db)
    .await?;
    super::lease::taken_over(db, hello.cluster, hello.holds_leases).await?;
    audit::insert(db, &hello.audit).await?;
    Ok(Admitted::Welcome)
}

async fn refused(db: &mut PgConnection, hello: &Hello, why: &str) -> Result<()> {
    audit::insert(db, &audit::Entry { allowed: false, detail: why.to_owned(), ..hello.audit.clone() }).await
}
