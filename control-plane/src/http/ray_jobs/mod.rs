//! Ray's Job Submission API, so that `ray job` and `JobSubmissionClient` of an unmodified Ray run jobs on the fleet.
//!
//! Owns the paths, JSON, status codes and words of a Ray head, and nothing else: a submission becomes an ordinary job by
//! the same checks and the same insert as every other. Invariant: what Ray's client reads is what a head would have
//! answered; where we know less (a driver's address), the answer says null. Nothing is accepted that is not delivered.

mod end;
mod logs;
mod look;
pub mod manners;
mod packages;
mod refusal;
mod submit;
mod tail;
#[cfg(test)]
mod tests;
mod upload;

use axum::Json;
use serde_json::{Value, json};
use squadron_core::authz::Action;
use squadron_store::ray_submission::Submitted;
use utoipa::OpenApi;

use self::refusal::{Refusal, Result};
use super::routes::{Access, Routes};
use crate::state::AppState;

const VERSION: &str = "/api/version";
const JOBS: &str = "/api/jobs/";
const JOB: &str = "/api/jobs/{submission_id}";
const JOB_LOGS: &str = "/api/jobs/{submission_id}/logs";
const JOB_TAIL: &str = "/api/jobs/{submission_id}/logs/tail";
const JOB_STOP: &str = "/api/jobs/{submission_id}/stop";
const PACKAGE: &str = "/api/packages/{protocol}/{package_name}";

/// Version of the Job Submission API, and the Ray whose client and head it was compared with.
const API_VERSION: &str = "4";
const RAY_VERSION: &str = "2.60.0";

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(
    version,
    submit::submit,
    look::list,
    look::one,
    logs::logs,
    tail::tail,
    end::stop,
    end::delete,
    packages::exists,
    packages::upload
))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .get(VERSION, Access::SignedIn, version)
        .post(JOBS, Access::Needs(Action::SubmitJob), submit::submit)
        .get(JOBS, Access::Needs(Action::ReadJobs), look::list)
        .get(JOB, Access::Needs(Action::ReadJobs), look::one)
        .get(JOB_LOGS, Access::Needs(Action::ReadLogs), logs::logs)
        .get(JOB_TAIL, Access::Needs(Action::ReadLogs), tail::tail)
        .post(JOB_STOP, Access::Owner(Action::CancelJob), end::stop)
        .delete(JOB, Access::Owner(Action::CancelJob), end::delete)
        .get(PACKAGE, Access::Needs(Action::SubmitJob), packages::exists)
        .put(PACKAGE, Access::Needs(Action::SubmitJob), packages::upload)
}

/// Which API is served, as a Ray head of that version says it.
#[utoipa::path(get, path = VERSION, tag = "ray_jobs", responses((status = 200, body = Object)))]
async fn version() -> Json<Value> {
    let ours = concat!("squadron-", env!("CARGO_PKG_VERSION"));
    Json(json!({
        "version": API_VERSION, "ray_version": RAY_VERSION, "ray_commit": ours, "session_name": "squadron",
    }))
}

/// The submission of this id, or Ray's refusal.
async fn find(app: &AppState, id: &str) -> Result<Submitted> {
    let found = app.store.submission(id).await?;
    found.ok_or_else(|| {
        Refusal::missing(format!("Job {} does not exist", squadron_core::sentence::clip(id, 200)))
    })
}
