//! What a waiting job may expect: what is ahead of it in its queue, and how long it will go on waiting.

use axum::{
    Json,
    extract::{Path, Query, State},
};
use squadron_api::{
    Page,
    error::Code,
    job::Why,
    placement::{Ahead, Estimate, WaitingJob, WaitingQuery},
    route,
};
use squadron_core::{
    dispatch::{
        Blocker,
        estimate::{self, Ask, Coverage, SizeClass},
        gang_total,
    },
    id::JobId,
    job::JobState,
    time::Timestamp,
};
use squadron_store::job::{
    JobRow,
    line::{InLine, NO_PLACE},
};

use super::{find_for, view};
use crate::{
    clock,
    http::{
        auth::Caller,
        error::{Api, Result},
        page,
    },
    state::AppState,
};

/// Jobs ahead that are named.
const NAMED: i64 = 5;

/// Why a job waits, as the dispatcher wrote it, what is ahead of it, and how long it may take.
#[utoipa::path(get, path = route::JOB_WHY, tag = "jobs", params(("job" = String, Path)),
    responses((status = 200, body = Why)))]
pub async fn why(State(app): State<AppState>, caller: Caller, Path(job): Path<String>) -> Result<Json<Why>> {
    let row = find_for(&app, &caller, &job).await?;
    Ok(Json(why_of(&app, &row).await?))
}

/// The same for a row that is at hand.
pub async fn why_of(app: &AppState, row: &JobRow) -> Result<Why> {
    let mut why = view::why(row);
    if row.state == JobState::Queued {
        let place = row.position.map_or(NO_PLACE, i64::from);
        let (count, first) = app.store.ahead(&row.queue, (place, row.id), NAMED).await?;
        why.ahead = Ahead { count, jobs: first.into_iter().map(in_line).collect() };
        why.estimate = Some(of_row(app, row).await?);
    }
    Ok(why)
}

async fn of_row(app: &AppState, row: &JobRow) -> Result<Estimate> {
    let Some(position) = row.position else {
        let because = "the dispatcher looks at the job in a moment".to_owned();
        return Ok(shown(&estimate::Estimate::Unknown { because }, Coverage::default()));
    };
    let (position, since) =
        app.store.in_place_since(row.id).await?.unwrap_or_else(|| (position, clock::now()));
    let class = SizeClass::of(gang_total(&row.gang));
    let waited_ms = clock::now().millis_since(since);
    expect(app, &row.queue, &row.blockers, Ask { class, position, waited_ms }).await
}

/// The estimate of a job of this queue that waits for these blockers.
pub async fn expect(app: &AppState, queue: &str, blockers: &[Blocker], ask: Ask) -> Result<Estimate> {
    let history = app.store.wait_history(queue).await?;
    let coverage = app.store.wait_coverage(queue).await?;
    Ok(shown(&estimate::estimate(blockers, &history, ask), coverage))
}

fn shown(estimate: &estimate::Estimate, coverage: Coverage) -> Estimate {
    let (kind, p50_ms, p90_ms, samples) = match estimate {
        estimate::Estimate::Known { p50_ms, p90_ms, samples } => {
            ("known", Some(*p50_ms), Some(*p90_ms), *samples)
        }
        estimate::Estimate::Unknown { .. } => ("unknown", None, None, 0),
        estimate::Estimate::Never { .. } => ("never", None, None, 0),
    };
    Estimate {
        kind: kind.to_owned(),
        p50_ms,
        p90_ms,
        samples,
        checked: coverage.judged,
        by_p90: coverage.by_p90,
        sentence: estimate.sentence(coverage),
    }
}

/// Jobs that wait in a queue, in the order in which the dispatcher looks at them.
#[utoipa::path(get, path = route::QUEUE_WAITING, tag = "queues", operation_id = "waiting", params(WaitingQuery),
    responses((status = 200, body = Page<WaitingJob>)))]
pub async fn line(
    State(app): State<AppState>,
    Query(query): Query<WaitingQuery>,
) -> Result<Json<Page<WaitingJob>>> {
    let limit = page::limit(query.limit)?;
    if !app.store.queues().await?.iter().any(|queue| queue.name == query.queue) {
        let name = squadron_core::sentence::clip(&query.queue, 80);
        return Err(match name.as_str() {
            "" => Api::new(Code::BadRequest, "queue is missing", "name one: ?queue=research"),
            name => Api::not_found("queue", name, "squadron queue list"),
        });
    }
    // A place is no time, but it is a number that rises along the list, which is all that a page token needs.
    let after = page::after(query.page_token.as_deref())?.map(|(place, id)| (place.0, JobId(id)));
    let rows = app.store.line(&query.queue, after, i64::from(limit) + 1).await?;
    Ok(Json(page::page(&app, rows, limit, |row| (Timestamp(row.place), row.id.0), in_line).await?))
}

fn in_line(row: InLine) -> WaitingJob {
    let first = row.blockers.into_iter().next();
    WaitingJob {
        id: row.id,
        name: row.name,
        owner: row.owner,
        position: u32::try_from(row.place).ok().filter(|_| row.place < NO_PLACE),
        requests: row.requests,
        submitted_at: row.submitted_at,
        code: first.as_ref().map_or_else(String::new, |blocker| blocker.code.word().to_owned()),
        sentence: first.map_or_else(String::new, |blocker| blocker.sentence),
        since: row.since,
    }
}
