//! Paths of the HTTP API: one place that the server mounts and the command line asks.
//!
//! Invariant: every path here begins with [`BASE`]. `{job}`, `{cluster}` and `{queue}` take a name or an id; a name that
//! several jobs carry means the newest.

/// Everything but health and the console lives below this.
pub const BASE: &str = "/api/v1";

/// `GET`, no credentials: [`crate::about::About`].
pub const VERSION: &str = "/api/v1/version";
/// `GET`: [`crate::about::Me`].
pub const ME: &str = "/api/v1/me";
/// `POST` a [`crate::about::SignInRequest`], answers [`crate::about::Me`] and sets the cookie; `DELETE` signs out. Writes
/// that carry the cookie need the header [`CSRF_HEADER`] with any value.
pub const SESSION: &str = "/api/v1/session";
/// Proves that a write with a cookie was made by a script of our own origin.
pub const CSRF_HEADER: &str = "x-squadron-csrf";
/// `POST` a [`crate::token::AddTokenRequest`], answers [`crate::token::AddTokenReply`]; `GET` a page of
/// [`crate::token::Token`].
pub const TOKENS: &str = "/api/v1/tokens";
/// `DELETE` revokes the token.
pub const TOKEN: &str = "/api/v1/tokens/{token}";
/// `GET` a page of [`crate::audit::AuditEntry`], newest first.
pub const AUDIT: &str = "/api/v1/audit";
/// `GET` with `since`: server-sent [`crate::Change`]s.
pub const EVENTS: &str = "/api/v1/events";

/// `POST` a [`crate::job::SubmitRequest`]; `GET` a page of [`crate::job::Job`].
pub const JOBS: &str = "/api/v1/jobs";
/// `POST` a [`crate::job::SubmitManyRequest`], answers [`crate::job::SubmitManyReply`].
pub const SUBMISSIONS: &str = "/api/v1/submissions";
/// `GET`: [`crate::job::JobDetail`].
pub const JOB: &str = "/api/v1/jobs/{job}";
/// `GET`: [`crate::job::Why`].
pub const JOB_WHY: &str = "/api/v1/jobs/{job}/why";
/// `GET` with a [`crate::placement::DecisionQuery`]: a page of [`crate::placement::Decision`], newest first.
pub const JOB_DECISIONS: &str = "/api/v1/jobs/{job}/decisions";
/// `GET`: [`crate::placement::Where`] of a job that waits.
pub const JOB_WHERE: &str = "/api/v1/jobs/{job}/where";
/// `POST` a [`crate::placement::WhereRequest`]; answers [`crate::placement::Where`].
pub const WHERE: &str = "/api/v1/where";
/// `POST` a [`crate::lost::WordRequest`]; answers [`crate::job::Job`].
pub const JOB_VOUCH: &str = "/api/v1/jobs/{job}/vouch";
/// `POST` a [`crate::job::CancelRequest`]; answers [`crate::job::Job`].
pub const JOB_CANCEL: &str = "/api/v1/jobs/{job}/cancel";
/// `GET` with a [`crate::log::LogQuery`]: the driver's bytes as they are, `application/octet-stream`, with the headers
/// of [`crate::log`].
pub const JOB_LOGS: &str = "/api/v1/jobs/{job}/logs";

/// `POST` a [`crate::cluster::AddClusterRequest`], answers [`crate::cluster::AddClusterReply`]; `GET` a page of
/// [`crate::cluster::Cluster`].
pub const CLUSTERS: &str = "/api/v1/clusters";
/// `GET`: [`crate::cluster::Cluster`].
pub const CLUSTER: &str = "/api/v1/clusters/{cluster}";
/// `POST` a [`crate::cluster::AcceptClusterRequest`]; answers [`crate::cluster::Cluster`].
pub const CLUSTER_ACCEPT: &str = "/api/v1/clusters/{cluster}/accept";
/// `POST` without body; answers [`crate::cluster::Cluster`].
pub const CLUSTER_CLEAR_ALARM: &str = "/api/v1/clusters/{cluster}/clear-alarm";
/// `POST` without body; answers [`crate::cluster::Cluster`].
pub const CLUSTER_REVOKE: &str = "/api/v1/clusters/{cluster}/revoke";
/// `POST` a [`crate::cluster::LabelClusterRequest`]; answers [`crate::cluster::Cluster`].
pub const CLUSTER_LABELS: &str = "/api/v1/clusters/{cluster}/labels";
/// `GET` a page of [`crate::arrival::AllowedQueue`]; `POST` a [`crate::arrival::AllowQueueRequest`], answers the former;
/// `DELETE` with a [`crate::arrival::DisallowQueueQuery`].
pub const CLUSTER_QUEUES: &str = "/api/v1/clusters/{cluster}/queues";

/// `POST` a [`crate::lost::WordRequest`]; answers [`crate::cluster::Cluster`].
pub const CLUSTER_DECLARE_DEAD: &str = "/api/v1/clusters/{cluster}/declare-dead";

/// `PUT` a [`crate::lost::QueueLossRequest`].
pub const QUEUE_LOSS: &str = "/api/v1/queues/loss";
/// `POST` a [`crate::queue::AddQueueRequest`], answers [`crate::queue::Queue`]; `GET` a page of it; `PUT` a
/// [`crate::queue::SetTemplateRequest`].
pub const QUEUES: &str = "/api/v1/queues";
/// `POST` a [`crate::what_if::QuotaEdits`], answers [`crate::what_if::WhatIf`]; nothing is changed.
pub const QUEUE_WHAT_IF: &str = "/api/v1/queues/what-if";
/// `PUT` policy as YAML with a [`crate::policy::PolicyQuery`], answers [`crate::policy::PolicyReply`]; `GET` all of it as YAML
/// that can be put again.
pub const POLICY: &str = "/api/v1/policy";
/// `POST` policy as YAML with a [`crate::what_if::WhatIfQuery`], answers [`crate::what_if::WhatIf`]; nothing is changed.
pub const POLICY_WHAT_IF: &str = "/api/v1/policy/what-if";
/// `GET` with a [`crate::placement::WaitingQuery`]: a page of [`crate::placement::WaitingJob`], in the order in which the
/// dispatcher looks at them.
pub const QUEUE_WAITING: &str = "/api/v1/queues/waiting";

/// `GET` with `state`: a page of [`crate::incident::Incident`].
pub const INCIDENTS: &str = "/api/v1/incidents";
/// `GET`: [`crate::incident::Incident`].
pub const INCIDENT: &str = "/api/v1/incidents/{incident}";
/// `POST` a [`crate::incident::ResolveRequest`]; answers [`crate::incident::Incident`].
pub const INCIDENT_RESOLVE: &str = "/api/v1/incidents/{incident}/resolve";

/// `GET` with a [`crate::usage::UsageQuery`]: [`crate::usage::Usage`].
pub const USAGE: &str = "/api/v1/usage";
/// `PUT` the sheet's YAML, with `dry_run=true` to check only, answers [`crate::usage::PriceSheetReply`]; `GET` the sheet in force as YAML.
pub const PRICE_SHEETS: &str = "/api/v1/price-sheets";
