//! Clusters: who they are, who may act for them, and when they were last heard.
//!
//! Invariant: a cluster's identity changes by an administrator's word only. Every change grows the row's version. The
//! states are `invited` (a code exists), `pending` (an identity was offered), `active` (accepted) and `revoked`.

pub mod agent;
pub mod enrol;
pub mod invite;
pub mod label;
pub mod lease;

use serde::{Deserialize, Serialize};
use sqlx::{Row, postgres::PgRow};
use squadron_core::{id::ClusterId, placement::Labels, time::Timestamp};

use crate::{Result, Store, StoreError, stamp, stamp_opt, token::Digest};

/// Where a cluster stands between invitation and revocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Invited,
    Pending,
    Active,
    Revoked,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Invited => "invited",
            State::Pending => "pending",
            State::Active => "active",
            State::Revoked => "revoked",
        }
    }

    fn from_word(word: &str) -> Result<State> {
        [State::Invited, State::Pending, State::Active, State::Revoked]
            .into_iter()
            .find(|state| state.word() == word)
            .ok_or_else(|| StoreError::corrupt("cluster", format!("state {word:?}")))
    }
}

/// Who a cluster says it is, proven by a token that its own keys verify.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Identity {
    pub issuer: String,
    /// `system:serviceaccount:<namespace>:<name>`.
    pub subject: String,
    pub service_account_uid: String,
    pub kube_system_uid: String,
    /// The key set as JSON text.
    pub jwks: String,
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    pub id: ClusterId,
    pub name: String,
    pub state: State,
    pub created_at: Timestamp,
    pub code_sha256: Option<Digest>,
    pub code_expires_at: Option<Timestamp>,
    /// Absent until one was offered.
    pub identity: Option<Identity>,
    pub reoffer: Option<Identity>,
    pub agent_epoch: u64,
    pub agent_pod_uid: String,
    pub agent_version: String,
    pub kubernetes_version: String,
    pub last_heard_at: Option<Timestamp>,
    pub clock_skew_ms: Option<i64>,
    pub spool_bytes: i64,
    /// Length of the lease that was promised last, in milliseconds; 0: its agent holds none.
    pub lease_ms: u64,
    /// Renewals of its agents that were answered and counted.
    pub renewals: u64,
    pub desired_generation: u64,
    pub alarm: String,
    /// It has yet to tell what it holds, because the database may have forgotten some of it.
    pub untold: bool,
    /// What operators say of it.
    pub labels: Labels,
    pub version: i64,
}

impl Cluster {
    /// The identity that waits for an administrator's word.
    pub fn waiting(&self) -> Option<&Identity> {
        match self.state {
            State::Pending => self.identity.as_ref(),
            State::Active => self.reoffer.as_ref(),
            State::Invited | State::Revoked => None,
        }
    }
}

const BY_ID: &str = "select * from cluster where id = $1";
const BY_ID_LOCKED: &str = "select * from cluster where id = $1 for update";

impl Store {
    /// All clusters by name.
    pub async fn clusters(&self) -> Result<Vec<Cluster>> {
        let rows = sqlx::query("select * from cluster order by name").fetch_all(self.pool()).await?;
        rows.iter().map(read).collect()
    }

    /// The cluster with this id.
    pub async fn cluster(&self, id: ClusterId) -> Result<Option<Cluster>> {
        let row = sqlx::query(BY_ID).bind(id.0).fetch_optional(self.pool()).await?;
        row.as_ref().map(read).transpose()
    }

    /// The cluster with this name or id.
    pub async fn cluster_named(&self, name_or_id: &str) -> Result<Option<Cluster>> {
        let row = sqlx::query("select * from cluster where name = $1 or id::text = $1")
            .bind(name_or_id)
            .fetch_optional(self.pool())
            .await?;
        row.as_ref().map(read).transpose()
    }
}

/// The row, locked until the transaction ends.
/// The cluster, locked whole: take it before its state or its agent's life is changed, for which others hold it by a key share.
async fn lock(db: &mut sqlx::PgConnection, id: ClusterId) -> Result<Option<Cluster>> {
    let row = sqlx::query(BY_ID_LOCKED).bind(id.0).fetch_optional(db).await?;
    row.as_ref().map(read).transpose()
}

fn read(row: &PgRow) -> Result<Cluster> {
    let code: Option<Vec<u8>> = row.try_get("code_sha256")?;
    let reoffer: Option<sqlx::types::Json<Identity>> = row.try_get("reoffer")?;
    Ok(Cluster {
        id: ClusterId(row.try_get("id")?),
        name: row.try_get("name")?,
        state: State::from_word(row.try_get("state")?)?,
        created_at: stamp(row.try_get("created_at")?),
        code_sha256: code.and_then(|bytes| bytes.try_into().ok()),
        code_expires_at: stamp_opt(row.try_get("code_expires_at")?),
        identity: identity(row)?,
        reoffer: reoffer.map(|json| json.0),
        agent_epoch: unsigned(row.try_get("agent_epoch")?),
        agent_pod_uid: row.try_get("agent_pod_uid")?,
        agent_version: row.try_get("agent_version")?,
        kubernetes_version: row.try_get("kubernetes_version")?,
        last_heard_at: stamp_opt(row.try_get("last_heard_at")?),
        clock_skew_ms: row.try_get("clock_skew_ms")?,
        spool_bytes: row.try_get("spool_bytes")?,
        lease_ms: unsigned(row.try_get("lease_ms")?),
        renewals: unsigned(row.try_get("renewals")?),
        desired_generation: unsigned(row.try_get("desired_generation")?),
        alarm: row.try_get("alarm")?,
        untold: row.try_get::<Option<i64>, _>("untold_since")?.is_some(),
        labels: row.try_get::<sqlx::types::Json<_>, _>("labels")?.0,
        version: row.try_get("version")?,
    })
}

fn identity(row: &PgRow) -> Result<Option<Identity>> {
    let jwks: Option<serde_json::Value> = row.try_get("jwks")?;
    let Some(jwks) = jwks else { return Ok(None) };
    Ok(Some(Identity {
        issuer: row.try_get("issuer")?,
        subject: row.try_get("subject")?,
        service_account_uid: row.try_get("service_account_uid")?,
        kube_system_uid: row.try_get("kube_system_uid")?,
        jwks: jwks.to_string(),
    }))
}

/// Columns that only count upwards from zero.
pub(crate) fn unsigned(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// For a `bigint` column; what does not fit stays at its edge.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn parse_jwks(text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text).map_err(|error| StoreError::corrupt("cluster", error.to_string()))
}

#[cfg(test)]
mod tests;
