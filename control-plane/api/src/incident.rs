//! Incidents: one cause, its evidence, the jobs it hit.

use serde::{Deserialize, Serialize};
use squadron_core::{
    id::{IncidentId, JobId},
    time::Timestamp,
};
use utoipa::ToSchema;

/// An incident as lists and its own page show it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Incident {
    #[schema(value_type = String, format = Uuid)]
    pub id: IncidentId,
    /// `open` or `resolved`.
    pub state: String,
    /// Stable word for the cause, for example `OOM_KILLED`, `GPU_XID_79`, `IMAGE_PULL`.
    pub verdict: String,
    /// `critical`, `warning` or `info`.
    pub severity: String,
    pub title: String,
    /// Why these facts are one incident, as the correlator wrote it.
    pub explanation: String,
    pub next_step: String,
    pub cluster: String,
    pub node: String,
    pub jobs: Vec<HitJob>,
    pub evidence: Vec<Evidence>,
    #[schema(value_type = String, format = DateTime)]
    pub first_seen_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub last_seen_at: Timestamp,
    /// Absent while it is open.
    pub resolved: Option<Resolved>,
    pub version: i64,
}

/// How an incident ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resolved {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who said so; empty where Squadron saw that it was over.
    pub by: String,
    pub because: String,
}

/// Body of `POST /api/v1/incidents/{incident}/resolve`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// Why it is over; shown with the incident and kept in the audit log. 1 to 500 characters.
    pub reason: String,
}

/// A job that the incident hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HitJob {
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    pub name: String,
    /// How sure and why, for example "its pod held the device".
    pub because: String,
}

/// One fact behind the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Fact number: `<epoch>/<seq>`.
    pub fact: String,
    pub sentence: String,
    /// The line or message as it stood.
    pub raw: String,
}
