//! Declared policy: flavors, queues with quotas, priority classes, as YAML.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How `PUT /api/v1/policy` is meant.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyQuery {
    /// Check everything and tell what would change; change nothing.
    pub dry_run: bool,
    /// The text is everything: what it does not name is removed. Without it the text adds and changes, and removes nothing.
    pub prune: bool,
}

/// What a text changed, or would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyReply {
    /// Grows with every change of the policy.
    pub version: i64,
    /// False on a dry run.
    pub applied: bool,
    /// Flavors, then queues, then priority classes, each by name; empty when the policy says all of it already.
    pub changes: Vec<PolicyChange>,
}

/// One thing that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyChange {
    /// `flavor`, `queue` or `priority class`.
    pub kind: String,
    pub name: String,
    /// `added`, `changed` or `removed`.
    pub change: String,
    pub fields: Vec<PolicyField>,
}

/// One field of it; empty text stands for "nothing was said".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PolicyField {
    /// For example `h100 gpu nominal`.
    pub field: String,
    pub before: String,
    pub after: String,
}
