//! The driver's log, by byte offset, followed while it grows.
//!
//! Invariant: bytes come in order and once. A followed answer ends when the attempt has ended and its log is quiet.

use std::time::Duration;

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use squadron_api::{
    log::{ATTEMPT_HEADER, LogQuery, OFFSET_HEADER},
    route,
};
use squadron_core::{authz::Action, id::AttemptId, time::Timestamp};
use squadron_store::{StoreError, log::Piece};
use tokio::time::Instant;
use utoipa::OpenApi;

use super::{
    Ending,
    error::{Api, Result, chain},
    jobs,
    routes::{Access, Routes},
};
use crate::{
    clock,
    state::AppState,
    wake::{Listener, Topic},
};

/// Name of the driver's log among an attempt's streams.
const STREAM: &str = "driver";
/// How often a log is looked at without a hint.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// No byte for this long after the attempt's end: its log is complete.
const QUIET: Duration = Duration::from_secs(3);
/// An attempt that ended this long ago has no bytes on the way, in milliseconds.
const SETTLED_MS: i64 = 15_000;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(logs))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get(route::JOB_LOGS, Access::Needs(Action::ReadLogs), logs)
}

/// The driver's bytes as they are. Headers say which attempt and from which offset.
#[utoipa::path(get, path = route::JOB_LOGS, tag = "jobs", params(("job" = String, Path), LogQuery),
    responses((status = 200, body = String, content_type = "text/plain")))]
async fn logs(
    State(app): State<AppState>,
    Extension(ending): Extension<Ending>,
    Path(job): Path<String>,
    Query(query): Query<LogQuery>,
) -> Result<Response> {
    let job = jobs::find(&app, &job).await?;
    let attempt = AttemptId { job: job.id, number: query.attempt.unwrap_or(job.attempt) };
    let known = job.attempt == attempt.number || ended_at(&app, attempt).await?.is_some();
    if !known {
        let command = format!("squadron describe {}", job.id);
        return Err(Api::not_found("attempt", format!("{} of job {}", attempt.number, job.name), &command));
    }
    let follow = query.follow.unwrap_or(false);
    let reader = Reader::open(app, ending, attempt, query.offset.unwrap_or(0), follow).await?;
    let start = reader.next;
    Ok(answer(attempt, start, Body::from_stream(futures::stream::try_unfold(reader, Reader::step))))
}

fn answer(attempt: AttemptId, start: u64, body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), HeaderValue::from_static("text/plain; charset=utf-8")),
        (ATTEMPT_HEADER, HeaderValue::from(attempt.number)),
        (OFFSET_HEADER, HeaderValue::from(start)),
    ];
    (headers, body).into_response()
}

/// When the attempt ended. `Some(None)` while it lives, `None` when there is no such attempt.
async fn ended_at(app: &AppState, attempt: AttemptId) -> squadron_store::Result<Option<Option<Timestamp>>> {
    let attempts = app.store.attempts(attempt.job).await?;
    Ok(attempts.into_iter().find(|row| row.number == attempt.number).map(|row| row.ended_at))
}

/// Reads one attempt's log from an offset on.
pub struct Reader {
    app: AppState,
    attempt: AttemptId,
    follow: bool,
    listener: Listener,
    ending: Ending,
    first: Option<Piece>,
    next: u64,
    /// Since when no byte came.
    quiet: Instant,
}

impl Reader {
    /// `follow`: wait for more until the attempt has ended and its log is quiet.
    pub async fn open(
        app: AppState,
        ending: Ending,
        attempt: AttemptId,
        offset: u64,
        follow: bool,
    ) -> squadron_store::Result<Reader> {
        let listener = app.wake.listen(Topic::Logs);
        let first = app.store.log_piece(attempt, STREAM, offset).await?;
        let next = first.start;
        let quiet = Instant::now();
        Ok(Reader { app, attempt, follow, listener, ending, first: Some(first), next, quiet })
    }

    /// The next bytes; none at the log's end. The database being away ends the answer, and the client comes again with
    /// its offset.
    pub async fn step(mut self) -> std::io::Result<Option<(Bytes, Reader)>> {
        loop {
            let piece = match self.first.take() {
                Some(piece) => piece,
                None => self.read().await?,
            };
            if !piece.data.is_empty() {
                self.next = piece.end;
                self.quiet = Instant::now();
                return Ok(Some((Bytes::from(piece.data), self)));
            }
            if !self.follow || self.is_complete().await? {
                return Ok(None);
            }
            tokio::select! {
                () = self.ending.0.cancelled() => return Ok(None),
                () = self.listener.next(LOOK_EVERY) => {}
            }
        }
    }

    async fn read(&self) -> std::io::Result<Piece> {
        self.app.store.log_piece(self.attempt, STREAM, self.next).await.map_err(|error| broken(&error))
    }

    async fn is_complete(&self) -> std::io::Result<bool> {
        let ended = ended_at(&self.app, self.attempt).await.map_err(|error| broken(&error))?;
        // A job that never got an attempt has none to wait for once it is over itself.
        let Some(ended) = ended else { return self.is_over().await };
        Ok(ended.is_some_and(|ended| {
            clock::now().millis_since(ended) > SETTLED_MS || self.quiet.elapsed() >= QUIET
        }))
    }

    async fn is_over(&self) -> std::io::Result<bool> {
        let job = self.app.store.job(&self.attempt.job.to_string()).await.map_err(|error| broken(&error))?;
        Ok(job.is_none_or(|job| job.state.is_terminal() || job.attempt != self.attempt.number))
    }
}

fn broken(error: &StoreError) -> std::io::Error {
    tracing::warn!(error = %chain(error), "a log could not be read on");
    std::io::Error::other("the log could not be read on")
}
