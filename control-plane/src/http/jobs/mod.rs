//! Jobs: submit, list, describe, why, cancel.
//!
//! Invariant: nothing here judges. Sentences, blockers and states are shown as the deciders wrote them.

pub mod cancel;
mod detail;
mod list;
pub mod submit;
#[cfg(test)]
pub mod tests;
mod view;

use squadron_api::route;
use squadron_core::authz::Action;
use squadron_store::job::JobRow;
use utoipa::OpenApi;

use super::{
    error::{Api, Result},
    routes::{Access, Routes},
};
use crate::state::AppState;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(submit::submit, list::list, detail::describe, detail::why, cancel::cancel))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .get(route::JOBS, Access::Needs(Action::ReadJobs), list::list)
        .post(route::JOBS, Access::Needs(Action::SubmitJob), submit::submit)
        .get(route::JOB, Access::Needs(Action::ReadJobs), detail::describe)
        .get(route::JOB_WHY, Access::Needs(Action::ReadJobs), detail::why)
        .post(route::JOB_CANCEL, Access::Owner(Action::CancelJob), cancel::cancel)
}

/// The job with this id, the newest with this name, or the one that Ray's API knows under this submission id.
pub async fn find(app: &AppState, id_or_name: &str) -> Result<JobRow> {
    let mut found = app.store.job(id_or_name).await?;
    if found.is_none()
        && let Some(submission) = app.store.submission(id_or_name).await?
    {
        found = app.store.job(&submission.job.to_string()).await?;
    }
    found.ok_or_else(|| {
        let shown = squadron_core::sentence::clip(id_or_name, 80);
        Api::not_found("job", shown, "squadron list")
    })
}
