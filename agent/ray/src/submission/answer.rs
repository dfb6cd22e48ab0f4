//! Answer: a job as Ray's API tells it.
//!
//! Invariant: the message is the sentence that the deciders wrote, and Ray's own with the last lines of the log where the
//! driver failed; nothing is judged a second time. Times are milliseconds of the Unix epoch; a job starts, as in Ray, when it
//! is submitted.

use std::borrow::Cow;

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
    /// The end of the log of a job that failed, at most [`LOG_END`] bytes; empty if nothing of it is here.
    pub log_end: &'a [u8],
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
        "message": message(&job, code),
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

/// Bytes of a log's end that Ray's message may show.
pub const LOG_END: u32 = 20_000;
/// Lines of it.
const LAST_LINES: usize = 10;

/// Ray's words where its driver failed; our sentence tells the same and one line of the log only.
fn message<'a>(job: &Told<'a>, code: Option<i32>) -> Cow<'a, str> {
    match code.filter(|code| *code != 0 && !job.log_end.is_empty()) {
        Some(code) => format!(
            "Job entrypoint command failed with exit code {code}, last available logs (truncated to 20,000 chars):\n{}",
            last_lines(String::from_utf8_lossy(job.log_end).trim_start_matches(char::REPLACEMENT_CHARACTER))
        )
        .into(),
        None => job.sentence.into(),
    }
}

/// The last lines of a text, where lines end as Python ends them.
fn last_lines(text: &str) -> &str {
    let ends = |(at, c): (usize, char)| match c {
        '\r' if text[at + 1..].starts_with('\n') => None,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
            Some(at + c.len_utf8())
        }
        _ => None,
    };
    let start =
        text.char_indices().rev().filter_map(ends).filter(|end| *end < text.len()).nth(LAST_LINES - 1);
    &text[start.unwrap_or(0)..]
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
