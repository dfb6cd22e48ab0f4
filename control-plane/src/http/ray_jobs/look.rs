//! GET: one job, and all of them.

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::Value;
use squadron_ray::submission::{Told, details};
use squadron_store::ray_submission::Submitted;

use super::{JOB, JOBS, find, refusal::Result};
use crate::state::AppState;

/// The newest submissions, at most 1,000.
#[utoipa::path(get, path = JOBS, tag = "ray_jobs", responses((status = 200, body = Vec<Object>)))]
pub async fn list(State(app): State<AppState>) -> Result<Json<Vec<Value>>> {
    Ok(Json(app.store.submissions().await?.iter().map(answer).collect()))
}

/// One submission.
#[utoipa::path(get, path = JOB, tag = "ray_jobs", params(("submission_id" = String, Path)),
    responses((status = 200, body = Object)))]
pub async fn one(State(app): State<AppState>, Path(id): Path<String>) -> Result<Json<Value>> {
    Ok(Json(answer(&find(&app, &id).await?)))
}

fn answer(job: &Submitted) -> Value {
    details(Told {
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
