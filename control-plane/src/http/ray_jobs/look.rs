//! GET: one job, and all of them.

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::Value;
use squadron_core::{id::AttemptId, job::JobState};
use squadron_ray::submission::{LOG_END, Told, details};
use squadron_store::ray_submission::Submitted;

use super::{JOB, JOBS, find, refusal::Result};
use crate::{http::logs::STREAM, state::AppState};

/// The newest submissions, at most 1,000.
#[utoipa::path(get, path = JOBS, tag = "ray_jobs", responses((status = 200, body = Vec<Object>)))]
pub async fn list(State(app): State<AppState>) -> Result<Json<Vec<Value>>> {
    Ok(Json(answers(&app, &app.store.submissions().await?).await?))
}

/// One submission.
#[utoipa::path(get, path = JOB, tag = "ray_jobs", params(("submission_id" = String, Path)),
    responses((status = 200, body = Object)))]
pub async fn one(State(app): State<AppState>, Path(id): Path<String>) -> Result<Json<Value>> {
    let found = [find(&app, &id).await?];
    Ok(Json(answers(&app, &found).await?.into_iter().next().unwrap_or_default()))
}

async fn answers(app: &AppState, jobs: &[Submitted]) -> Result<Vec<Value>> {
    let failed = jobs.iter().filter(|job| job.state == JobState::Failed);
    let failed: Vec<AttemptId> = failed.map(|job| AttemptId { job: job.job, number: job.attempt }).collect();
    let ends = app.store.log_ends(&failed, STREAM, LOG_END).await?;
    let end = |job: &Submitted| ends.get(&job.job).map(Vec::as_slice).unwrap_or_default();
    Ok(jobs.iter().map(|job| answer(job, end(job))).collect())
}

fn answer(job: &Submitted, log_end: &[u8]) -> Value {
    details(Told {
        log_end,
        submission_id: &job.submission_id,
        entrypoint: &job.entrypoint,
        metadata: job.metadata.as_deref(),
        runtime_env: job.runtime_env.as_deref(),
        state: job.state,
        sentence: &job.sentence,
        submitted_at: job.submitted_at,
        started_at: job.started_at,
        ended_at: job.ended_at,
    })
}
