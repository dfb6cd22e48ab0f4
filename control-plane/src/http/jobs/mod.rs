//! Jobs: submit, list, describe, why, where, decisions, cancel.
//!
//! Invariant: nothing here judges. Sentences, blockers and states are shown as the deciders wrote them.

pub mod cancel;
mod decisions;
pub mod desk;
mod detail;
pub mod known;
mod list;
mod many;
mod outlook;
pub mod submit;
#[cfg(test)]
pub mod tests;
mod view;
mod wait;
pub mod wish;

pub use self::view::job as show;
use axum::{extract::DefaultBodyLimit, handler::Handler as _};
use squadron_api::{error::Code, route};
use squadron_core::{authz::Action, id::JobId, sentence::clip};
use squadron_store::job::JobRow;
use utoipa::OpenApi;

use super::{
    auth::Caller,
    error::{Api, Result},
    routes::{Access, Routes},
};
use crate::state::AppState;

/// Owners of jobs with one name that are looked at; a refusal lists one fewer.
const MOST_OWNERS: i64 = 6;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(
    submit::submit,
    many::submit,
    list::list,
    detail::describe,
    wait::why,
    wait::line,
    outlook::of_manifest,
    outlook::of_job,
    decisions::decisions,
    cancel::cancel
))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    let wider = DefaultBodyLimit::max(many::BODY_LIMIT);
    routes
        .get(route::JOBS, Access::Needs(Action::ReadJobs), list::list)
        .post(route::JOBS, Access::Needs(Action::SubmitJob), submit::submit)
        .post(route::SUBMISSIONS, Access::Needs(Action::SubmitJob), many::submit.layer(wider))
        .get(route::JOB, Access::Needs(Action::ReadJobs), detail::describe)
        .get(route::JOB_WHY, Access::Needs(Action::ReadJobs), wait::why)
        .get(route::JOB_WHERE, Access::Needs(Action::ReadJobs), outlook::of_job)
        .post(route::WHERE, Access::Needs(Action::SubmitJob), outlook::of_manifest)
        .get(route::JOB_DECISIONS, Access::Needs(Action::ReadJobs), decisions::decisions)
        .get(route::QUEUE_WAITING, Access::Needs(Action::ReadQueues), wait::line)
        .post(route::JOB_CANCEL, Access::Owner(Action::CancelJob), cancel::cancel)
}

/// The job that the caller means: by id, or by name the newest of their own, or of the one owner that has jobs of this
/// name. Names of several others' jobs are refused, and their ids listed.
pub async fn find_for(app: &AppState, caller: &Caller, id_or_name: &str) -> Result<JobRow> {
    if id_or_name.parse::<JobId>().is_ok() {
        return find(app, id_or_name).await;
    }
    let subject = &caller.actor.subject;
    let newest = app.store.newest_by_owner(id_or_name, subject, MOST_OWNERS).await?;
    match newest.as_slice() {
        [] => find(app, id_or_name).await,
        [first, rest @ ..] if first.owner == *subject || rest.is_empty() => Ok(first.clone()),
        several => Err(ambiguous(id_or_name, several)),
    }
}

fn ambiguous(name: &str, jobs: &[JobRow]) -> Api {
    let shown: Vec<String> = jobs.iter().take(5).map(|job| format!("{} of {}", job.id, job.owner)).collect();
    let more = if jobs.len() > shown.len() { ", and more" } else { "" };
    Api::new(
        Code::Conflict,
        format!("several people have jobs named {}: {}{more}", clip(name, 80), shown.join(", ")),
        "say which by its id",
    )
}

fn missing(id_or_name: &str) -> Api {
    Api::not_found("job", clip(id_or_name, 80), "squadron list")
}

/// The job with this id, the newest with this name, or the one that Ray's API knows under this submission id.
pub async fn find(app: &AppState, id_or_name: &str) -> Result<JobRow> {
    let mut found = app.store.job(id_or_name).await?;
    if found.is_none()
        && let Some(submission) = app.store.submission(id_or_name).await?
    {
        found = app.store.job(&submission.job.to_string()).await?;
    }
    found.ok_or_else(|| missing(id_or_name))
}
