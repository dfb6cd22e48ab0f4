//! Stop and delete.
//!
//! Stopping is cancelling. Deleting hides a finished job from Ray's API and frees its id; the job itself, its log and
//! what it cost stay, because they are not the submitter's alone.

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::{Value, json};
use squadron_core::{
    attempt::Refused,
    authz::{Action, Object},
};
use squadron_ray::submission::status;
use squadron_store::{
    audit,
    ray_submission::{self, Submitted},
};

use super::{
    JOB, JOB_STOP, find,
    refusal::{Refusal, Result},
};
use crate::{
    clock,
    http::{auth::Caller, jobs::cancel},
    state::AppState,
};

/// Asks for the end of a job; says whether there was anything to stop.
#[utoipa::path(post, path = JOB_STOP, tag = "ray_jobs", params(("submission_id" = String, Path)),
    responses((status = 200, body = Object)))]
pub async fn stop(
    State(app): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>> {
    let job = find_to_end(&app, &caller, &id).await?;
    let done = cancel::ask(&app, &caller, job.job, "stopped through Ray's API").await?;
    let stopped = matches!(done, Some(Ok(()) | Err(Refused::AlreadyStopping)));
    Ok(Json(json!({ "stopped": stopped })))
}

/// The job, if the caller may end it.
async fn find_to_end(app: &AppState, caller: &Caller, id: &str) -> Result<Submitted> {
    let job = find(app, id).await?;
    caller.may(app, Action::CancelJob, Object::OwnedBy(&job.owner), &job.job.to_string()).await?;
    Ok(job)
}

/// Hides a finished job.
#[utoipa::path(delete, path = JOB, tag = "ray_jobs", params(("submission_id" = String, Path)),
    responses((status = 200, body = Object)))]
pub async fn delete(
    State(app): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>> {
    let job = find_to_end(&app, &caller, &id).await?;
    let status = status(job.state, job.started_at.is_some());
    if !status.is_terminal() {
        return Err(Refusal::failed(format!(
            "RuntimeError: Attempted to delete job '{}', but it is in a non-terminal state {}.",
            job.submission_id,
            status.word()
        )));
    }
    let entry = caller.entry("ray_job.delete", job.job, &job.submission_id);
    let input = (job.job, entry);
    let deleted = app
        .store
        .txn("ray_job.delete", &input, |db, (job, entry)| {
            Box::pin(async move {
                let deleted = ray_submission::delete(db, *job, clock::now()).await?;
                audit::insert(db, entry).await?;
                Ok(deleted)
            })
        })
        .await?;
    Ok(Json(json!({ "deleted": deleted })))
}
