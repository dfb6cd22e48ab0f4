//! Placement: where a job could run, what was decided when, what is ahead of it, and how long it may wait.

use serde::{Deserialize, Serialize};
use squadron_core::{
    dispatch::{Ranked, Refusal},
    id::JobId,
    preference::Texts,
    resources::Resources,
    time::Timestamp,
};
use utoipa::{IntoParams, ToSchema};

use crate::job::Blocker;

/// `POST /api/v1/where`: what would become of this manifest if it were submitted now. Nothing is changed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhereRequest {
    /// A RayJob (ray.io/v1) as YAML or JSON.
    pub manifest: String,
    pub queue: String,
    /// Pins the job to one cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// What it says about places, in words as in the annotations `squadron.dev/prefer`, `avoid`, `data`, `spread`,
    /// `residency`, `max-price` and `spot` of the manifest, which count for what is absent here.
    #[serde(default, skip_serializing_if = "Texts::is_empty")]
    #[schema(value_type = Object)]
    pub preferences: Texts,
}

/// What the dispatcher would decide now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Where {
    /// Name in the manifest, or of the job.
    pub name: String,
    pub queue: String,
    /// Head, submitter and minimum workers together.
    #[schema(value_type = Object)]
    pub requests: Resources,
    /// The cluster that it would go to; absent when it would wait.
    pub cluster: Option<String>,
    /// Why there, or why it would wait.
    pub sentence: String,
    /// Clusters with room, best first.
    pub candidates: Vec<Candidate>,
    /// Clusters that cannot take it.
    pub refused: Vec<Refused>,
    /// Candidates and refusals that are not listed.
    pub left_out: u32,
    /// When it would wait: why, most actionable first.
    pub blockers: Vec<Blocker>,
    /// When it would wait: its place in the queue, from 1.
    pub position: Option<u32>,
    pub estimate: Estimate,
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
}

/// A cluster with room for the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Candidate {
    pub cluster: String,
    /// Before the job is placed.
    #[schema(value_type = Object)]
    pub free: Resources,
    /// Of its usable nodes when empty.
    #[schema(value_type = Object)]
    pub total: Resources,
    /// In the order in which they count.
    pub terms: Vec<Term>,
}

/// One term of the comparison; the smaller value is better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Term {
    /// Stable word: `borrowing`, `preference`, `data`, `spread`, `price`, `idle_gpus`, `node_size`, `run`, `jobs_there` or `fullness`.
    pub name: String,
    pub value: i64,
    /// What the value counts; empty where it is yes (1) or no (0).
    #[serde(default)]
    pub unit: String,
    /// The value in words.
    pub clause: String,
    /// The first term that differs from the chosen cluster's; of the chosen cluster, from the next best one's.
    pub decided: bool,
}

/// A cluster that cannot take the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refused {
    pub cluster: String,
    /// Stable word of its blocker.
    pub code: String,
    pub sentence: String,
    /// What would change it; empty when only time will.
    pub try_this: String,
    #[schema(value_type = Object)]
    pub free: Resources,
    #[schema(value_type = Object)]
    pub total: Resources,
}

/// How long a job will go on waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Estimate {
    /// `now`, `known`, `unknown` or `never`.
    pub kind: String,
    /// Half of the jobs like it get a cluster within this time from now, in milliseconds.
    pub p50_ms: Option<i64>,
    /// Nine of ten do.
    pub p90_ms: Option<i64>,
    /// Jobs that it goes by.
    pub samples: u32,
    /// Earlier estimates of the queue whose jobs have been placed since, at most the newest hundred.
    pub checked: u32,
    /// Of those, how many had been placed by their p90.
    pub by_p90: u32,
    pub sentence: String,
}

/// Jobs that the dispatcher looks at before this one, in the same queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ahead {
    pub count: u32,
    /// The first of them, at most five.
    pub jobs: Vec<WaitingJob>,
}

/// A job in the line of its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitingJob {
    #[schema(value_type = String, format = Uuid)]
    pub id: JobId,
    pub name: String,
    pub owner: String,
    /// Place in its queue, from 1; absent until the dispatcher has looked at it.
    pub position: Option<u32>,
    #[schema(value_type = Object)]
    pub requests: Resources,
    #[schema(value_type = String, format = DateTime)]
    pub submitted_at: Timestamp,
    /// Code of its first blocker; empty until the dispatcher has looked at it.
    pub code: String,
    /// The first blocker's sentence.
    pub sentence: String,
    /// Since when it waits for these causes.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
}

/// Query of `GET /api/v1/queues/waiting`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct WaitingQuery {
    pub queue: String,
    /// At most 500; 100 by default.
    pub limit: Option<u32>,
    pub page_token: Option<String>,
}

/// Query of `GET /api/v1/jobs/{id or name}/decisions`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionQuery {
    /// At most 500; 100 by default.
    pub limit: Option<u32>,
    pub page_token: Option<String>,
}

/// One decision of the dispatcher about a job. Consecutive waits for the same causes are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    /// Counts from 1; older ones than the first that is listed are not kept.
    pub number: u32,
    /// The attempt that a placement made, or that was asked to stop.
    pub attempt: Option<u32>,
    /// `assigned`, `blocked`, `stopped` (for another job), `makes_room` (others were asked to stop or
    /// to shrink for it), `shrunk` (worker groups of it have to be smaller) or `lifted` (they may grow again).
    pub outcome: String,
    /// Of a placement: the term that decided, empty when no other cluster had room or all terms were equal. Of a wait: the
    /// codes with their clusters. Of a stop: `RECLAIM` or `PRIORITY`. Of a group that shrinks: `SHRINK`.
    pub cause: String,
    pub sentence: String,
    /// Of a placement.
    pub cluster: Option<String>,
    /// Of a placement: clusters that had room, best first.
    pub candidates: Vec<Candidate>,
    /// Of a placement: clusters that could not take it.
    pub refused: Vec<Refused>,
    /// Candidates and refusals that are not kept.
    pub left_out: u32,
    /// Of a wait, as they were told last.
    pub blockers: Vec<Blocker>,
    /// Of a wait: place in the queue, as it was told last.
    pub position: Option<u32>,
    /// Number of the leader that decided; it grows with every change of the leader.
    pub term: i64,
    #[schema(value_type = String, format = DateTime)]
    pub first_at: Timestamp,
    /// When something about it was told anew for the last time.
    #[schema(value_type = String, format = DateTime)]
    pub last_at: Timestamp,
    /// How often it was told anew for the same causes.
    pub times: u64,
}

impl From<Ranked> for Candidate {
    fn from(ranked: Ranked) -> Candidate {
        let terms = ranked.terms.into_iter().map(|term| Term {
            name: term.name,
            value: term.value,
            unit: term.unit,
            clause: term.clause,
            decided: term.decided,
        });
        Candidate { cluster: ranked.cluster, free: ranked.free, total: ranked.total, terms: terms.collect() }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        let blocker = refusal.blocker;
        Refused {
            cluster: blocker.cluster,
            code: blocker.code.word().to_owned(),
            sentence: blocker.sentence,
            try_this: blocker.try_this,
            free: refusal.free,
            total: refusal.total,
        }
    }
}

impl From<squadron_core::dispatch::Blocker> for Blocker {
    fn from(blocker: squadron_core::dispatch::Blocker) -> Blocker {
        Blocker {
            code: blocker.code.word().to_owned(),
            cluster: blocker.cluster,
            sentence: blocker.sentence,
            try_this: blocker.try_this,
        }
    }
}
