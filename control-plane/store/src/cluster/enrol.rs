//! Enrolment: what a cluster offers, kept until an administrator says yes.

use sqlx::{PgConnection, types::Json};
use squadron_core::{id::ClusterId, time::Timestamp};

use super::{Cluster, Identity, State, invite::write_identity, lock};
use crate::{Result, Store, audit, token::Digest};

/// What an agent offers. Its token was verified against the offered keys before.
#[derive(Clone, Debug)]
pub struct Offer {
    pub cluster: ClusterId,
    pub code_sha256: Digest,
    pub identity: Identity,
    /// Whether the token is also signed by the keys that the cluster's row holds already. A set that merely repeats a
    /// public key of the cluster proves nothing.
    pub signed_by_known: bool,
    pub agent_version: String,
    pub kubernetes_version: String,
    pub now: Timestamp,
    pub audit: audit::Entry,
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offered {
    /// Waits for an administrator.
    Pending,
    /// This very identity is enrolled.
    Accepted,
    /// The active cluster's agent was installed again; the new identity waits for an administrator.
    Reoffered,
    /// No such cluster, it is revoked, or the code is wrong, used or expired.
    BadCode,
    /// Another identity is enrolled or offered; nothing changed but the alarm.
    Contradicts,
}

impl Offered {
    /// Whether whoever offered knows the code, or holds keys that are enrolled.
    pub fn is_welcome(self) -> bool {
        matches!(self, Offered::Pending | Offered::Accepted | Offered::Reoffered)
    }
}

impl Store {
    /// Keeps the offer if the code and the cluster's state allow it.
    pub async fn offer(&self, offer: &Offer) -> Result<Offered> {
        self.txn("cluster.offer", offer, |db, offer| {
            Box::pin(async move {
                let Some(cluster) = lock(db, offer.cluster).await? else { return Ok(Offered::BadCode) };
                let outcome = judge(&cluster, offer);
                apply(db, &cluster, offer, outcome).await?;
                Ok(outcome)
            })
        })
        .await
    }
}

fn judge(cluster: &Cluster, offer: &Offer) -> Offered {
    let known = cluster.identity.as_ref();
    match (cluster.state, known) {
        (State::Active, Some(known)) if same(known, offer) => Offered::Accepted,
        (State::Active, Some(known)) if same_cluster(known, offer) => Offered::Reoffered,
        (State::Active, _) => Offered::Contradicts,
        (State::Revoked, _) => Offered::BadCode,
        (State::Invited | State::Pending, _) if !code_is_good(cluster, offer) => Offered::BadCode,
        (State::Pending, Some(known)) if !same(known, offer) => Offered::Contradicts,
        (State::Invited | State::Pending, _) => Offered::Pending,
    }
}

fn code_is_good(cluster: &Cluster, offer: &Offer) -> bool {
    cluster.code_sha256 == Some(offer.code_sha256)
        && cluster.code_expires_at.is_some_and(|end| offer.now < end)
}

fn same(known: &Identity, offer: &Offer) -> bool {
    same_cluster(known, offer)
        && known.subject == offer.identity.subject
        && known.service_account_uid == offer.identity.service_account_uid
}

/// The same cluster: its fingerprint and issuer agree, and keys that we know signed its token.
fn same_cluster(known: &Identity, offer: &Offer) -> bool {
    offer.signed_by_known
        && known.issuer == offer.identity.issuer
        && known.kube_system_uid == offer.identity.kube_system_uid
}

async fn apply(db: &mut PgConnection, cluster: &Cluster, offer: &Offer, outcome: Offered) -> Result<()> {
    match outcome {
        Offered::BadCode => {}
        Offered::Accepted => return Ok(()),
        Offered::Pending if cluster.identity.is_some() => return Ok(()),
        Offered::Pending => {
            write_identity(db, cluster.id, &offer.identity).await?;
            make_pending(db, offer).await?;
        }
        Offered::Reoffered => reoffer(db, cluster, offer).await?,
        Offered::Contradicts => {
            let alarm = contradiction(cluster, offer);
            set_alarm(db, cluster.id, &alarm).await?;
        }
    }
    let allowed = outcome.is_welcome();
    audit::insert(db, &audit::Entry { allowed, detail: format!("{outcome:?}"), ..offer.audit.clone() }).await
}

async fn make_pending(db: &mut PgConnection, offer: &Offer) -> Result<()> {
    sqlx::query(
        "update cluster set state = 'pending', agent_version = $2, kubernetes_version = $3 where id = $1",
    )
    .bind(offer.cluster.0)
    .bind(&offer.agent_version)
    .bind(&offer.kubernetes_version)
    .execute(db)
    .await?;
    Ok(())
}

async fn reoffer(db: &mut PgConnection, cluster: &Cluster, offer: &Offer) -> Result<()> {
    let jwks = cluster.identity.as_ref().map(|known| known.jwks.clone()).unwrap_or_default();
    let offered = Identity { jwks, ..offer.identity.clone() };
    if cluster.reoffer.as_ref() == Some(&offered) {
        return Ok(());
    }
    sqlx::query("update cluster set reoffer = $2, alarm = $3, version = version + 1 where id = $1")
        .bind(cluster.id.0)
        .bind(Json(&offered))
        .bind(reoffered(cluster, &offered))
        .execute(&mut *db)
        .await?;
    Ok(())
}

fn reoffered(cluster: &Cluster, offered: &Identity) -> String {
    format!(
        "somebody in the cluster asks to be its agent from now on, as {} (uid {}); if you installed the agent again, run \
         `squadron cluster accept {}`, which shows the identity, otherwise `squadron cluster clear-alarm {}` turns it away",
        offered.subject, offered.service_account_uid, cluster.name, cluster.name
    )
}

fn contradiction(cluster: &Cluster, offer: &Offer) -> String {
    let (known, offered) = (cluster.identity.clone().unwrap_or_default(), &offer.identity);
    let what = if known.kube_system_uid != offered.kube_system_uid {
        format!("another cluster (kube-system {}, not {})", offered.kube_system_uid, known.kube_system_uid)
    } else {
        "a cluster with other signing keys".to_owned()
    };
    format!(
        "{what} tried to enrol as {}; it was refused and nothing changed; install the agent there with values of its \
         own from `squadron cluster add`, then run `squadron cluster clear-alarm {}`",
        cluster.name, cluster.name
    )
}

/// Sets the alarm; the same sentence again changes nothing, and neither does any while an offer waits: its own alarm says
/// what a word would accept, and must not be hidden by another.
pub(super) async fn set_alarm(db: &mut PgConnection, id: ClusterId, alarm: &str) -> Result<()> {
    sqlx::query("update cluster set alarm = $2, version = version + 1 where id = $1 and alarm <> $2 and reoffer is null")
        .bind(id.0)
        .bind(alarm)
        .execute(db)
        .await?;
    Ok(())
}
