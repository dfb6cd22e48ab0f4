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
        Blocker, MOST_OVERTAKERS, Place,
        estimate::{self, Ask, Coverage, SizeClass},
        gang_total, waits,
    },
    job::JobState,
    time::Timestamp,
};
use squadron_store::job::{
    JobRow,
    line::InLine,
    place::{LineKey, Part},
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
/// So long pages of a line follow each other, in milliseconds.
const TOKEN_LASTS_MS: i64 = 24 * 3_600_000;

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
        let now = clock::now();
        let place = app.store.place(&row.queue, row.key(), now).await?;
        let first = app.store.ahead(&row.queue, row.key(), NAMED, now).await?;
        why.ahead = Ahead { count: place.position - 1, jobs: numbered(Some(1), first) };
        if row.decided_at.is_some() {
            (why.position, why.queue_length) = (Some(place.position), place.length);
            let limit = i64::try_from(MOST_OVERTAKERS).unwrap_or(i64::MAX) + 1;
            let overtaken = app.store.overtakers(&row.queue, row.key(), limit).await?;
            why.sentence = waits(&row.queue, Some(place), overtaken, &row.blockers, &row.note);
        }
        why.estimate = Some(of_row(app, row, place).await?);
    }
    Ok(why)
}

async fn of_row(app: &AppState, row: &JobRow, place: Place) -> Result<Estimate> {
    if row.decided_at.is_none() {
        let because = "the dispatcher looks at the job in a moment".to_owned();
        return Ok(shown(&estimate::Estimate::Unknown { because }, Coverage::default()));
    }
    let (position, since) =
        app.store.in_place_since(row.id).await?.unwrap_or_else(|| (place.position, clock::now()));
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
    if app.store.queue_lease(&query.queue).await?.is_none() {
        let name = squadron_core::sentence::clip(&query.queue, 80);
        return Err(match name.as_str() {
            "" => Api::new(Code::BadRequest, "queue is missing", "name one: ?queue=research"),
            name => Api::not_found("queue", name, "squadron queue list"),
        });
    }
    let now = clock::now();
    let after = query.page_token.as_deref().map(|token| read_token(token, now)).transpose()?;
    // All pages show the order of the moment of the first.
    let (now, after) = after.map_or((now, None), |(first, after)| (first, Some(after)));
    let mut rows = app.store.line(&query.queue, after, i64::from(limit) + 1, now).await?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let next = rows.last().filter(|_| more).map(|row| token(row.key, now));
    let first = match rows.first().filter(|_| after.is_some()) {
        // Nobody is told a number that is only about right.
        Some(row) => {
            let place = app.store.place(&query.queue, row.key, now).await?;
            Some(place.position).filter(|_| !place.about)
        }
        None => Some(1),
    };
    let page = page::whole(&app, numbered(first, rows)).await?;
    Ok(Json(Page { next_page_token: next, ..page }))
}

fn token(key: LineKey, now: Timestamp) -> String {
    let LineKey { part, negated, size, submitted_at, job } = key;
    format!("{}.{}.{negated}.{:x}.{}.{job}", now.0, part.number(), size.to_bits(), submitted_at.0)
}

/// The moment of the first page, which is not long ago, and the last job of the page before.
fn read_token(token: &str, now: Timestamp) -> Result<(Timestamp, LineKey)> {
    let read = || {
        let mut parts = token.splitn(6, '.');
        let first = Timestamp(parts.next()?.parse().ok()?);
        let part: i32 = parts.next()?.parse().ok()?;
        let key = LineKey {
            part: Part::ALL.into_iter().find(|one| one.number() == part)?,
            negated: parts.next()?.parse().ok()?,
            size: f64::from_bits(u64::from_str_radix(parts.next()?, 16).ok()?),
            submitted_at: Timestamp(parts.next()?.parse().ok()?),
            job: parts.next()?.parse().ok()?,
        };
        let sound =
            (0..TOKEN_LASTS_MS).contains(&now.millis_since(first)) && (0.0..=f64::MAX).contains(&key.size);
        sound.then_some((first, key))
    };
    read().ok_or_else(page::not_ours)
}

/// Rows that follow each other in the line, from this place on.
fn numbered(first: Option<u32>, rows: Vec<InLine>) -> Vec<WaitingJob> {
    (0..).zip(rows).map(|(at, row)| in_line(row, first.map(|first| first + at))).collect()
}

fn in_line(row: InLine, position: Option<u32>) -> WaitingJob {
    let first = row.blockers.into_iter().next();
    WaitingJob {
        id: row.id,
        name: row.name,
        owner: row.owner,
        position: position.filter(|_| row.key.part != Part::Unlooked),
        requests: row.requests,
        submitted_at: row.submitted_at,
        code: first.as_ref().map_or_else(String::new, |blocker| blocker.code.word().to_owned()),
        sentence: first.map_or_else(String::new, |blocker| blocker.sentence),
        since: row.since,
    }
}
