//! What administrators do to clusters: invite, accept, clear an alarm, revoke.
//!
//! Invariant: an identity comes into force only by the word of somebody who saw that very identity; clearing an alarm never
//! accepts anything.

use sqlx::PgConnection;
use squadron_core::{id::ClusterId, time::Timestamp};

use super::{Cluster, Identity, State, lock, parse_jwks};
use crate::{Result, Store, at, audit, token::Digest};

/// A new cluster, or a new code for one that never offered itself.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Of the cluster, if it is new.
    pub id: ClusterId,
    pub name: String,
    pub code_sha256: Digest,
    pub code_expires_at: Timestamp,
    pub audit: audit::Entry,
}

/// What became of an administrator's word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decided {
    Done(Box<Cluster>),
    /// Its state forbids it.
    Refused(Box<Cluster>),
    /// Another identity waits than the one that was looked at, or none.
    OtherIdentity(Box<Cluster>),
    Missing,
}

impl Store {
    /// Invites the cluster. `None` when the name belongs to one that has offered its identity already.
    pub async fn invite(&self, invitation: &Invitation) -> Result<Option<Cluster>> {
        self.txn("cluster.invite", invitation, |db, invitation| {
            Box::pin(async move {
                let id = upsert(db, invitation).await?;
                let Some(id) = id else { return Ok(None) };
                audit::insert(db, &invitation.audit).await?;
                lock(db, id).await
            })
        })
        .await
    }

    /// Accepts the identity `seen`: the first that the cluster offered, or the one that an active cluster offered anew.
    /// Burns the code; of alarms it clears only that of the offer itself.
    pub async fn accept_cluster(
        &self,
        id: ClusterId,
        seen: &Identity,
        now: Timestamp,
        entry: &audit::Entry,
    ) -> Result<Decided> {
        self.txn("cluster.accept", &(id, seen, now, entry), |db, (id, seen, now, entry)| {
            Box::pin(async move {
                let Some(cluster) = lock(db, *id).await? else { return Ok(Decided::Missing) };
                if !matches!(cluster.state, State::Pending | State::Active) {
                    return Ok(Decided::Refused(Box::new(cluster)));
                }
                if cluster.waiting() != Some(*seen) {
                    let is_in_force = cluster.reoffer.is_none() && cluster.identity.as_ref() == Some(*seen);
                    let cluster = Box::new(cluster);
                    return Ok(if is_in_force {
                        Decided::Done(cluster)
                    } else {
                        Decided::OtherIdentity(cluster)
                    });
                }
                if let (Some(offered), Some(known)) = (&cluster.reoffer, &cluster.identity) {
                    // The keys may have been renewed since the offer.
                    let identity = Identity { jwks: known.jwks.clone(), ..offered.clone() };
                    write_identity(db, *id, &identity).await?;
                }
                activate(db, *id, *now, &entry.actor).await?;
                audit::insert(db, entry).await?;
                done(db, *id).await
            })
        })
        .await
    }

    /// Clears the alarm. An identity that was offered anew and that nobody accepted is turned away with it.
    pub async fn clear_alarm(&self, id: ClusterId, entry: &audit::Entry) -> Result<Decided> {
        self.txn("cluster.clear_alarm", &(id, entry), |db, (id, entry)| {
            Box::pin(async move {
                sqlx::query(
                    "update cluster set alarm = '', reoffer = null, version = version + 1
                     where id = $1 and (alarm <> '' or reoffer is not null)",
                )
                .bind(id.0)
                .execute(&mut *db)
                .await?;
                audit::insert(db, entry).await?;
                done(db, *id).await
            })
        })
        .await
    }

    /// Revokes the cluster: its agent's streams end, its tokens open nothing, its enrolled keys are forgotten.
    pub async fn revoke_cluster(&self, id: ClusterId, entry: &audit::Entry) -> Result<Decided> {
        self.txn("cluster.revoke", &(id, entry), |db, (id, entry)| {
            Box::pin(async move {
                lock(db, *id).await?;
                sqlx::query(
                    "update cluster set state = 'revoked', jwks = null, reoffer = null, code_sha256 = null,
                        alarm = '', version = version + 1 where id = $1",
                )
                .bind(id.0)
                .execute(&mut *db)
                .await?;
                audit::insert(db, entry).await?;
                done(db, *id).await
            })
        })
        .await
    }
}

async fn done(db: &mut PgConnection, id: ClusterId) -> Result<Decided> {
    Ok(lock(db, id).await?.map_or(Decided::Missing, |cluster| Decided::Done(Box::new(cluster))))
}

async fn upsert(db: &mut PgConnection, invitation: &Invitation) -> Result<Option<ClusterId>> {
    let id: Option<uuid::Uuid> = sqlx::query_scalar(
        "insert into cluster (id, name, state, created_at, code_sha256, code_expires_at)
         values ($1, $2, 'invited', $3, $4, $5)
         on conflict (name) do update
            set code_sha256 = excluded.code_sha256, code_expires_at = excluded.code_expires_at,
                version = cluster.version + 1
            where cluster.state = 'invited'
         returning id",
    )
    .bind(invitation.id.0)
    .bind(&invitation.name)
    .bind(at(invitation.audit.at))
    .bind(invitation.code_sha256.as_slice())
    .bind(at(invitation.code_expires_at))
    .fetch_optional(db)
    .await?;
    Ok(id.map(ClusterId))
}

pub(super) async fn write_identity(db: &mut PgConnection, id: ClusterId, identity: &Identity) -> Result<()> {
    sqlx::query(
        "update cluster set issuer = $2, subject = $3, service_account_uid = $4, kube_system_uid = $5, jwks = $6,
            version = version + 1 where id = $1",
    )
    .bind(id.0)
    .bind(&identity.issuer)
    .bind(&identity.subject)
    .bind(&identity.service_account_uid)
    .bind(&identity.kube_system_uid)
    .bind(parse_jwks(&identity.jwks)?)
    .execute(db)
    .await?;
    Ok(())
}

async fn activate(db: &mut PgConnection, id: ClusterId, now: Timestamp, by: &str) -> Result<()> {
    sqlx::query(
        "update cluster set state = 'active', accepted_at = coalesce(accepted_at, $2),
            accepted_by = case when accepted_by = '' then $3 else accepted_by end,
            code_sha256 = null, code_expires_at = null, reoffer = null,
            alarm = case when reoffer is null then alarm else '' end, version = version + 1
         where id = $1",
    )
    .bind(id.0)
    .bind(at(now))
    .bind(by)
    .execute(db)
    .await?;
    Ok(())
}
