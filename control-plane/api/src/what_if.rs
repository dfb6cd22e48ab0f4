//! What if: what a changed policy would do, by the dispatcher's own decision. Nothing is changed.

use serde::{Deserialize, Serialize};
use squadron_core::{id::JobId, time::Timestamp};
use utoipa::{IntoParams, ToSchema};

use crate::{policy::PolicyChange, queue::QueueQuota};

/// How the text of `POST /api/v1/policy/what-if` is meant.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct WhatIfQuery {
    /// The text is everything: what it does not name would be removed.
    pub prune: bool,
}

/// `POST /api/v1/queues/what-if`: other nominal quotas for queues that have some.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaEdits {
    /// At most 100.
    pub edits: Vec<QuotaEdit>,
}

/// One nominal quota.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaEdit {
    pub queue: String,
    pub flavor: String,
    /// `cpu`, `memory` or `gpu`.
    pub resource: String,
    /// As a Kubernetes quantity: `16`, `500m`, `64Gi`.
    pub nominal: String,
}

/// What would be different if the text were applied now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIf {
    pub sentence: String,
    /// What the text would change of the policy.
    pub changes: Vec<PolicyChange>,
    /// What would be added or changed, as YAML that can be applied.
    pub yaml: String,
    /// Jobs that wait and would start now; the first hundred.
    pub starts: Vec<WhatIfStart>,
    pub starts_total: u32,
    /// Jobs that would wait for something else than now; the first hundred.
    pub waits: Vec<WhatIfWait>,
    pub waits_total: u32,
    /// Jobs that would go on waiting for the same.
    pub same: u32,
    /// Running jobs that would be asked to stop; the first hundred.
    pub stops: Vec<WhatIfStop>,
    pub stops_total: u32,
    /// Use that would be on loan, and so others could claim; the first hundred.
    pub claims: Vec<WhatIfClaim>,
    pub claims_total: u32,
    /// Queues that would stand differently, once what starts has started; the first hundred by name.
    pub queues: Vec<WhatIfQueue>,
    pub queues_total: u32,
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
}

/// A job that would start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfStart {
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    pub name: String,
    pub queue: String,
    pub cluster: String,
    /// Why there.
    pub sentence: String,
}

/// A job that would wait for something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfWait {
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    pub name: String,
    pub queue: String,
    /// Code of its first blocker now; empty for a job that would start now if nothing were changed.
    pub code_before: String,
    /// Code of its first blocker with the changed policy.
    pub code: String,
    /// That blocker's sentence.
    pub sentence: String,
}

/// A running job that would be asked to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfStop {
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    pub attempt: u32,
    pub queue: String,
    pub cluster: String,
    /// Name of the waiting job that its room is for.
    pub makes_room_for: String,
    /// By which right, and what work would be lost.
    pub sentence: String,
}

/// What a queue uses within its quota now, and would use on loan: in thousandths of a core, bytes, or devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfClaim {
    pub queue: String,
    pub flavor: String,
    /// `cpu`, `memory` or `gpu`.
    pub resource: String,
    pub borrowed_before: i64,
    pub borrowed: i64,
    /// What of that is above its limit: nothing more of the queue starts there until so much has ended.
    pub beyond: i64,
}

/// A queue before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfQueue {
    pub name: String,
    /// Absent for a queue that is not there yet.
    pub before: Option<WhatIfStanding>,
    /// Absent for a queue that would be removed.
    pub after: Option<WhatIfStanding>,
}

/// Where a queue stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfStanding {
    /// As in a list of queues.
    pub share: Option<i64>,
    pub quotas: Vec<QueueQuota>,
}
