//! The history of a job's decisions, page by page.

use axum::{
    Json,
    extract::{Path, Query, State},
};
use squadron_api::{
    Page,
    placement::{Decision, DecisionQuery},
    route,
};
use squadron_store::decision;

use super::find_for;
use crate::{
    http::{auth::Caller, error::Result, page},
    state::AppState,
};

/// What the dispatcher decided about a job and when, the newest first.
#[utoipa::path(get, path = route::JOB_DECISIONS, tag = "jobs", params(("job" = String, Path), DecisionQuery),
    responses((status = 200, body = Page<Decision>)))]
pub async fn decisions(
    State(app): State<AppState>,
    caller: Caller,
    Path(job): Path<String>,
    Query(query): Query<DecisionQuery>,
) -> Result<Json<Page<Decision>>> {
    let limit = page::limit(query.limit)?;
    let before = query.page_token.as_deref().map(number).transpose()?;
    let row = find_for(&app, &caller, &job).await?;
    let mut rows = app.store.decisions(row.id, before, i64::from(limit) + 1).await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let next = rows.last().filter(|_| more).map(|row| row.number.to_string());
    let page = page::whole(&app, rows.into_iter().map(shown).collect()).await?;
    Ok(Json(Page { next_page_token: next, ..page }))
}

fn number(token: &str) -> Result<u32> {
    token.parse().map_err(|_| page::not_ours())
}

fn shown(row: decision::Decision) -> Decision {
    Decision {
        number: row.number,
        attempt: row.attempt,
        outcome: row.outcome,
        cause: row.cause,
        sentence: row.sentence,
        cluster: Some(row.cluster).filter(|name| !name.is_empty()),
        candidates: row.choice.candidates.into_iter().map(Into::into).collect(),
        refused: row.choice.refused.into_iter().map(Into::into).collect(),
        left_out: row.choice.left_out,
        blockers: row.blockers.into_iter().map(Into::into).collect(),
        position: row.position,
        term: row.term,
        first_at: row.first_at,
        last_at: row.last_at,
        times: row.times,
    }
}
