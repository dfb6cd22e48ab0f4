//! Answer: a job as Ray's API tells it.
//!
//! Invariant: the message is the sentence that the deciders wrote; nothing is judged a second time. Times are
//! milliseconds of the Unix epoch; a job starts, as in Ray, when it is submitted.

use serde_json::{Value, json};
use squadron_core::{job::JobState, time::Timestamp};

use super::metadata;

/// Ray's words for the state of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobStatus {
    Pending,
    Running,
    Stopped,
    Succeeded,
    Failed,
}

impl JobStatus {
    pub fn word(self) -> &'static str {
        match self {
            JobStatus::Pending => "PENDING",
            JobStatus::Running => "RUNNING",
            JobStatus::Stopped => "STOPPED",
            JobStatus::Succeeded => "SUCCEEDED",
            JobStatus::Failed => "FAILED",
        }
    }

    pub fn is_terminal(self) -> bool {
        matches!(self, JobStatus::Stopped | JobStatus::Succeeded | JobStatus::Failed)
    }
}

/// `ran`: Ray had started the driver before.
pub fn status(state: JobState, ran: bool) -> JobStatus {
    match state {
        JobState::Queued | JobState::Assigned | JobState::Starting => JobStatus::Pending,
        JobState::Running => JobStatus::Running,
        JobState::Stopping if ran => JobStatus::Running,
        JobState::Stopping => JobStatus::Pending,
        JobState::Succeeded => JobStatus::Succeeded,
        JobState::Failed => JobStatus::Failed,
        JobState::Cancelled => JobStatus::Stopped,
    }
}

/// A job that came by Ray's API.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    pub submission_id: &'a str,
    pub entrypoint: &'a str,
    /// JSON, as they were submitted.
    pub metadata: Option<&'a str>,
    pub runtime_env: Option<&'a str>,
    pub state: JobState,
    pub sentence: &'a str,
    pub submitted_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Body of GET `/api/jobs/{id}`.
pub fn details(job: Told<'_>) -> Value {
    let status = status(job.state, job.started_at.is_some());
    let code = exit_code(job.state, job.sentence);
    json!({
        "type": "SUBMISSION",
        "job_id": null,
        "submission_id": job.submission_id,
        "driver_info": null,
        "status": status.word(),
        "entrypoint": job.entrypoint,
        "message": job.sentence,
        "error_type": error_type(status, code, job.sentence),
        "start_time": job.submitted_at.millis(),
        "end_time": job.ended_at.map(Timestamp::millis),
        "metadata": metadata::value(job.metadata),
        "runtime_env": metadata::value(job.runtime_env),
        "driver_agent_http_address": null,
        "driver_node_id": null,
        "driver_exit_code": code,
    })
}

/// The driver's exit code where Ray's own words tell it.
fn exit_code(state: JobState, sentence: &str) -> Option<i32> {
    match state {
        JobState::Succeeded => Some(0),
        JobState::Failed => {
            let (_, rest) = sentence.split_once("failed with exit code ")?;
            let end = rest.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse().ok()
        }
        _ => None,
    }
}

/// Ray's words for an end that was not the driver's own, and its error type for them; the first that is found counts.
const ERROR_TYPES: [(&str, &str); 7] = [
    ("runtime_env setup failed", "RUNTIME_ENV_SETUP_FAILURE"),
    ("Job supervisor actor could not be scheduled", "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE"),
    ("Job supervisor actor died", "JOB_SUPERVISOR_ACTOR_DIED"),
    ("Job supervisor actor failed to start within", "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"),
    ("failed to get job supervisor", "JOB_SUPERVISOR_ACTOR_START_FAILURE"),
    ("Failed to start supervisor actor", "JOB_SUPERVISOR_ACTOR_START_FAILURE"),
    ("Unexpected error occurred: ", "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE"),
];

fn error_type(status: JobStatus, code: Option<i32>, sentence: &str) -> Option<&'static str> {
    match (status, code) {
        (JobStatus::Failed, Some(_)) => Some("JOB_ENTRYPOINT_COMMAND_ERROR"),
        (JobStatus::Failed, None) => {
            ERROR_TYPES.iter().find(|(words, _)| sentence.contains(words)).map(|(_, kind)| *kind)
        }
        _ => None,
    }
}
