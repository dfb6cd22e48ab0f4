//! Jobs: submit, list, describe, why, timeline.

use serde::{Deserialize, Serialize};
use squadron_core::{
    id::{IncidentId, JobId},
    job::JobState,
    preference::Texts,
    resources::Resources,
    time::Timestamp,
};
use utoipa::{IntoParams, ToSchema};

use crate::{
    arrival::JobSource,
    placement::{Ahead, Estimate},
};

/// `POST /api/v1/jobs`. Header `Idempotency-Key` makes a repeat harmless.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitRequest {
    /// A RayJob (ray.io/v1) as YAML or JSON, unchanged.
    pub manifest: String,
    pub queue: String,
    /// Pins the job to one cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// How urgent it is; without it the manifest's label `kueue.x-k8s.io/priority-class` counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<String>,
    /// What happens when its cluster is lost: `wait`, `fence` or `rerun`; the manifest's annotation
    /// `squadron.dev/on-lost` counts when this is absent, then the queue's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_lost: Option<String>,
    /// What it says about places, in words as in the annotations `squadron.dev/prefer`, `avoid`, `data`, `spread`,
    /// `residency`, `max-price` and `spot` of the manifest, which count for what is absent here.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    #[schema(value_type = Object)]
    pub preferences: Texts,
    /// Check everything, change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was made of a submission.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmitReply {
    /// Absent on a dry run.
    pub job: Option<Job>,
    /// Place in its queue, from 1; absent when the job does not wait.
    pub position: Option<u32>,
    /// Console page of the job, absolute.
    pub link: String,
    /// Things that are legal but probably not meant.
    pub warnings: Vec<String>,
}

/// Jobs in one `POST /api/v1/submissions`, at most.
pub const MOST_SUBMISSIONS: usize = 500;

/// `POST /api/v1/submissions`: all of these jobs, or none. Header `Idempotency-Key` makes a repeat harmless, job by job in
/// their order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitManyRequest {
    /// At most 500, and together at most 8 MiB.
    pub jobs: Vec<SubmitRequest>,
    /// Check everything, change nothing; the jobs themselves do not say it.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was made of many submissions, in their order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmitManyReply {
    pub jobs: Vec<Submitted>,
}

/// What was made of one of many submissions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    /// Absent on a dry run.
    #[schema(value_type = Option<String>, format = Uuid)]
    pub id: Option<JobId>,
    /// The manifest's name.
    pub name: String,
    pub queue: String,
    /// It was submitted by an earlier request with the same key.
    pub repeated: bool,
    /// Things that are legal but probably not meant.
    pub warnings: Vec<String>,
}

/// A job as lists show it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Job {
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    /// The manifest's name.
    pub name: String,
    pub namespace: String,
    pub queue: String,
    #[schema(value_type = String)]
    pub state: JobState,
    /// A short machine word for the state's cause, for example `OOM_KILLED`; empty when the state says all.
    pub reason: String,
    /// One plain sentence on what the job is doing and why.
    pub sentence: String,
    /// Name of the cluster of the newest attempt.
    pub cluster: Option<String>,
    pub attempt: u32,
    pub owner: String,
    /// Head, submitter and minimum workers together.
    #[schema(value_type = Object)]
    pub requests: Resources,
    #[schema(value_type = String, format = DateTime)]
    pub submitted_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// Grows with every change of this job.
    pub version: i64,
    /// The class that it named when it was submitted.
    #[serde(default)]
    pub priority_class: Option<String>,
    /// What the class was worth then; 0 without one. Higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// What happens when its cluster is lost: `wait`, `fence` or `rerun`.
    #[serde(default)]
    pub on_lost: String,
    /// Why that.
    #[serde(default)]
    pub on_lost_because: String,
    /// Set while the cluster of a live attempt is silent: since when its word is old.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub stale_since: Option<Timestamp>,
}

/// `GET /api/v1/jobs/{id or name}`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct JobDetail {
    pub job: Job,
    /// The RayJob that it came from; absent for a job that was submitted here.
    #[serde(default)]
    pub source: Option<JobSource>,
    /// The manifest as it was submitted.
    pub manifest: String,
    pub attempts: Vec<Attempt>,
    pub timeline: Vec<TimelineEntry>,
    pub pods: Vec<Pod>,
    pub why: Option<Why>,
    #[schema(value_type = Vec<String>)]
    pub incidents: Vec<IncidentId>,
    /// Cost so far, as decimals with their currency; absent without a price sheet.
    pub cost: Option<String>,
}

/// One placement.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    pub number: u32,
    pub cluster: String,
    pub state: String,
    /// Name of the RayJob object in the cluster.
    pub object: String,
    /// Why this cluster was chosen, as the dispatcher wrote it.
    pub chosen_because: String,
    pub ended_because: String,
    /// How far its worker groups may grow and for whom the room is, where that is less than they ask for; empty otherwise.
    #[serde(default)]
    pub capped_because: String,
    /// The proof with which it was given up when its cluster was lost, for example `lease_ended`; `overlap_allowed` says
    /// that two copies may have run. Empty for every other end.
    #[serde(default)]
    pub proof: String,
    #[schema(value_type = String, format = DateTime)]
    pub assigned_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub running_at: Option<Timestamp>,
    /// When the job last wrote a checkpoint in this attempt; absent if it did not say.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub checkpointed_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
}

/// One step in a job's life.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TimelineEntry {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// `job`, `pod`, `ray`, `incident` or `kernel`.
    pub source: String,
    pub sentence: String,
}

/// A pod of the job, live or gone.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Pod {
    pub name: String,
    pub role: String,
    pub node: String,
    pub phase: String,
    pub reason: String,
    pub exit_code: Option<i32>,
    pub gone: bool,
}

/// `GET /api/v1/jobs/{id or name}/why`: what the dispatcher wrote when it last looked at the job.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// For example: "queued in research, 2nd of 3".
    pub sentence: String,
    pub position: Option<u32>,
    pub queue_length: u32,
    pub blockers: Vec<Blocker>,
    /// What is ahead of it in its queue.
    #[serde(default)]
    pub ahead: Ahead,
    /// How long it will go on waiting; absent for a job that does not wait.
    #[serde(default)]
    pub estimate: Option<Estimate>,
    #[schema(value_type = String, format = DateTime)]
    pub decided_at: Timestamp,
}

/// One reason why a job waits, most actionable first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Blocker {
    /// Stable word, for example `CLUSTER_FULL`, `TOO_BIG`, `NO_MATCHING_NODE`, `CLUSTER_STALE`, `NO_CLUSTER`.
    pub code: String,
    /// The cluster it speaks of; empty when it is about all.
    pub cluster: String,
    pub sentence: String,
    /// What would change it; empty when only time will.
    pub try_this: String,
}

/// Filter of `GET /api/v1/jobs`; the same keys in CLI flags and console URLs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct JobFilter {
    /// Comma-separated states.
    pub status: Option<String>,
    pub queue: Option<String>,
    pub cluster: Option<String>,
    pub owner: Option<String>,
    /// At most 500; 100 by default.
    pub limit: Option<u32>,
    pub page_token: Option<String>,
}

/// `POST /api/v1/jobs/{id}/cancel`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    #[serde(default)]
    pub reason: String,
}
