//! Clusters: create, enrol, accept, look at.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use squadron_core::{id::ClusterId, resources::Resources, time::Timestamp};
use utoipa::ToSchema;

/// `POST /api/v1/clusters`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddClusterRequest {
    pub name: String,
}

/// What the administrator needs for the Helm install. The code is shown once.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AddClusterReply {
    pub cluster: Cluster,
    /// `squadron:<control plane id>:<cluster id>`.
    pub audience: String,
    /// PEM bundle that signs the agent listener's certificate.
    pub ca_bundle: String,
    /// Address for agents, for example `https://control-plane.squadron.internal:7443`.
    pub agent_address: String,
    /// One-time enrolment code, valid for an hour.
    pub code: String,
    #[schema(value_type = String, format = DateTime)]
    pub code_expires_at: Timestamp,
    /// The Helm command with all of these.
    pub helm_command: String,
}

/// `POST /api/v1/clusters/{cluster}/accept`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptClusterRequest {
    /// [`ClusterIdentity::digest`] of the identity that the person looked at.
    pub identity: String,
}

/// `POST /api/v1/clusters/{cluster}/labels`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelClusterRequest {
    /// Values by key; null removes the label. Labels that are not named stay.
    #[schema(value_type = Object)]
    pub labels: BTreeMap<String, Option<String>>,
}

/// An enrolled cluster, or one that is on the way.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Cluster {
    #[schema(value_type = String, format = Uuid)]
    pub id: ClusterId,
    pub name: String,
    /// `invited`, `pending`, `active`, `silent` or `revoked`.
    pub state: String,
    /// One plain sentence, with since when.
    pub sentence: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_heard_at: Option<Timestamp>,
    /// Since when the cluster is silent; absent while it is heard.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub silent_since: Option<Timestamp>,
    /// Who it is, or before it is accepted who it says it is.
    pub identity: Option<ClusterIdentity>,
    /// An identity that somebody in the active cluster offered anew and that waits for an administrator's word.
    pub reoffer: Option<ClusterIdentity>,
    pub agent_version: String,
    pub kubernetes_version: String,
    /// Our clock minus the agent's, in milliseconds, as last measured.
    pub clock_skew_ms: Option<i64>,
    pub spool_bytes: i64,
    pub nodes: u32,
    #[schema(value_type = Object)]
    pub allocatable: Resources,
    #[schema(value_type = Object)]
    pub free: Resources,
    /// Another agent tried to act as this cluster: what was seen; empty when nothing was.
    pub alarm: String,
    /// It has yet to tell what it holds since the database failed over; until then it gets no jobs.
    #[serde(default)]
    pub untold: bool,
    /// What operators say of it, for example its region. Regions and zones that nodes report count before these.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub labels: BTreeMap<String, String>,
    pub version: i64,
}

/// Who the cluster says it is, proven by a token that its own keys verify.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterIdentity {
    pub issuer: String,
    pub subject: String,
    pub service_account_uid: String,
    pub kube_system_uid: String,
    /// Digest of all of it with the keys; to accept an identity one names it.
    pub digest: String,
    pub key_ids: Vec<String>,
}
