//! The list of jobs.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::{Query, State},
};
use squadron_api::{
    Page,
    error::Code,
    job::{Job, JobFilter},
    route,
};
use squadron_core::{job::JobState, sentence};
use squadron_store::job::Filter;

use super::view;
use crate::{
    http::{
        error::{Api, Result},
        page,
    },
    state::AppState,
};

/// Jobs, the newest first.
#[utoipa::path(get, path = route::JOBS, tag = "jobs", params(JobFilter), responses((status = 200, body = Page<Job>)))]
pub async fn list(State(app): State<AppState>, Query(filter): Query<JobFilter>) -> Result<Json<Page<Job>>> {
    let limit = page::limit(filter.limit)?;
    let filter = Filter {
        states: states(filter.status.as_deref())?,
        after: page::after(filter.page_token.as_deref())?,
        queue: filter.queue,
        cluster: filter.cluster,
        owner: filter.owner,
        limit: i64::from(limit) + 1,
    };
    let rows = app.store.jobs(&filter).await?;
    let silence = page::silence(&app);
    let shown =
        page::page(&app, rows, limit, |row| (row.submitted_at, row.id.0), |row| view::job(&row, silence));
    Ok(Json(shown.await?))
}

/// Reads comma-separated states; one that is named twice counts once.
fn states(text: Option<&str>) -> Result<Vec<String>> {
    let words = text.unwrap_or("").split(',').map(str::trim).filter(|word| !word.is_empty());
    let states: Result<BTreeSet<String>> = words
        .map(|word| {
            JobState::from_word(word).map(|state| state.word().to_owned()).ok_or_else(|| {
                let known: Vec<String> = JobState::ALL.iter().map(|state| state.word().to_owned()).collect();
                Api::new(
                    Code::BadRequest,
                    format!("{:?} is no state of a job", sentence::clip(word, 40)),
                    format!("choose among {}", sentence::list(&known)),
                )
            })
        })
        .collect();
    Ok(states?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_state_that_is_named_twice_counts_once() {
        assert_eq!(states(Some("running, queued,running")).unwrap(), ["queued", "running"]);
        assert!(states(Some("flying")).is_err());
    }
}
