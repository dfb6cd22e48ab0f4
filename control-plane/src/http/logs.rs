//! The driver's log, by byte offset, followed while it grows.
//!
//! Invariant: bytes come in order and once, and every byte of an answer is a byte of the log, so that a client may count
//! offsets by them. Where bytes are missing the answer ends; the next one starts behind the hole and tells of it in its
//! headers. Only who asks for marks gets lines of ours between the bytes. A followed answer ends when we know that the attempt
//! has ended and its log is quiet; the agent's own time of the end may be long past while bytes are still on their way.

use std::time::Duration;

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures::StreamExt as _;
use squadron_api::{
    log::{ATTEMPT_HEADER, GAP_HEADER, LogQuery, OFFSET_HEADER},
    route,
};
use squadron_core::{authz::Action, id::AttemptId, time::Timestamp};
use squadron_store::{
    StoreError,
    log::{Piece, missing},
};
use tokio::time::Instant;
use utoipa::OpenApi;

use super::{
    Ending,
    auth::{self, Caller},
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
pub const STREAM: &str = "driver";
/// How often a log is looked at without a hint.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// No byte for this long after we learnt of the attempt's end: its log is complete.
const QUIET: Duration = Duration::from_secs(3);
/// An end that we learnt of this long ago has no bytes on the way.
const SETTLED: Duration = Duration::from_secs(15);

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(logs))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get(route::JOB_LOGS, Access::Needs(Action::ReadLogs), logs)
}

/// The driver's bytes as they are. Headers say which attempt and from which offset. The answer ends at the end of the
/// log and where bytes are missing: ask again from the offset that was reached until an answer is empty.
#[utoipa::path(get, path = route::JOB_LOGS, tag = "jobs", params(("job" = String, Path), LogQuery),
    responses((status = 200, body = String, content_type = "text/plain")))]
async fn logs(
    State(app): State<AppState>,
    Extension(ending): Extension<Ending>,
    caller: Caller,
    Path(job): Path<String>,
    Query(query): Query<LogQuery>,
) -> Result<Response> {
    let job = jobs::find_for(&app, &caller, &job).await?;
    let attempt = AttemptId { job: job.id, number: query.attempt.unwrap_or(job.attempt) };
    let known = job.attempt == attempt.number || end_learnt_at(&app, attempt).await?.is_some();
    if !known {
        let command = format!("squadron describe {}", job.id);
        return Err(Api::not_found("attempt", format!("{} of job {}", attempt.number, job.name), &command));
    }
    let revoked = Box::pin(auth::until_revoked(app.clone(), caller, Action::ReadLogs, auth::LOOK_AGAIN));
    let asked = query.offset.unwrap_or(0);
    let how = How { follow: query.follow.unwrap_or(false), marks: query.marks.unwrap_or(false) };
    let reader = Reader::open(app, ending, attempt, asked, how).await?;
    let start = reader.start();
    let body = Body::from_stream(futures::stream::try_unfold(reader, Reader::step).take_until(revoked));
    Ok(answer(attempt, asked, start, body))
}

fn answer(attempt: AttemptId, asked: u64, start: u64, body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), HeaderValue::from_static("text/plain; charset=utf-8")),
        (ATTEMPT_HEADER, HeaderValue::from(attempt.number)),
        (OFFSET_HEADER, HeaderValue::from(start)),
    ];
    let mut response = (headers, body).into_response();
    if start > asked
        && let Ok(gap) = HeaderValue::from_str(&missing(start - asked))
    {
        response.headers_mut().insert(GAP_HEADER, gap);
    }
    response
}

/// When we learnt of the attempt's end. `Some(None)` while it lives, `None` when there is no such attempt.
async fn end_learnt_at(
    app: &AppState,
    attempt: AttemptId,
) -> squadron_store::Result<Option<Option<Timestamp>>> {
    let attempts = app.store.attempts(attempt.job).await?;
    Ok(attempts.into_iter().find(|row| row.number == attempt.number).map(|row| row.end_learnt_at))
}

/// How a log is read.
#[derive(Clone, Copy)]
pub struct How {
    /// Wait for more until the attempt has ended and its log is quiet.
    pub follow: bool,
    /// A line takes the place of missing bytes.
    pub marks: bool,
}

/// Reads one attempt's log from an offset on.
pub struct Reader {
    app: AppState,
    attempt: AttemptId,
    how: How,
    listener: Listener,
    ending: Ending,
    first: Option<Piece>,
    next: u64,
    /// Since when no byte came.
    quiet: Instant,
    /// Bytes came after the answer had reached the end of the log once.
    grew: bool,
    waited: bool,
}

impl Reader {
    /// A reader of the log of `attempt` from byte `asked` on.
    pub async fn open(
        app: AppState,
        ending: Ending,
        attempt: AttemptId,
        asked: u64,
        how: How,
    ) -> squadron_store::Result<Reader> {
        let listener = app.wake.listen(Topic::Logs);
        let first = app.store.log_piece(attempt, STREAM, asked).await?;
        let next = if how.marks { asked } else { first.start };
        let quiet = Instant::now();
        let first = Some(first);
        Ok(Reader { app, attempt, how, listener, ending, first, next, quiet, grew: false, waited: false })
    }

    /// The offset of the first byte that comes.
    pub fn start(&self) -> u64 {
        self.first.as_ref().map_or(self.next, |piece| piece.start)
    }

    /// The next bytes; none at the log's end and before a hole that may not be marked. The database being away ends the
    /// answer, and the client comes again with
    /// its offset.
    pub async fn step(mut self) -> std::io::Result<Option<(Bytes, Reader)>> {
        loop {
            let piece = match self.first.take() {
                Some(piece) => piece,
                None => self.read().await?,
            };
            if !piece.data.is_empty() {
                let Some(bytes) = self.take(piece) else { return Ok(None) };
                return Ok(Some((bytes, self)));
            }
            if !self.how.follow || self.is_complete().await? {
                return Ok(None);
            }
            self.waited = true;
            tokio::select! {
                () = self.ending.0.cancelled() => return Ok(None),
                () = self.listener.next(LOOK_EVERY) => {}
            }
        }
    }

    /// The piece as it is sent; nothing if it lies behind a hole that may not be marked.
    fn take(&mut self, piece: Piece) -> Option<Bytes> {
        let hole = piece.start.saturating_sub(self.next);
        if hole > 0 && !self.how.marks {
            return None;
        }
        (self.next, self.quiet, self.grew) = (piece.end, Instant::now(), self.waited);
        let mark = if hole > 0 { format!("\n[{}]\n", missing(hole)) } else { String::new() };
        Some(Bytes::from([mark.into_bytes(), piece.data].concat()))
    }

    async fn read(&self) -> std::io::Result<Piece> {
        self.app.store.log_piece(self.attempt, STREAM, self.next).await.map_err(|error| broken(&error))
    }

    async fn is_complete(&self) -> std::io::Result<bool> {
        let learnt = end_learnt_at(&self.app, self.attempt).await.map_err(|error| broken(&error))?;
        // A job that never got an attempt has none to wait for once it is over itself.
        let Some(learnt) = learnt else { return self.is_over().await };
        Ok(learnt.is_some_and(|at| {
            let known = u64::try_from(clock::now().millis_since(at)).unwrap_or(0);
            is_quiet(Duration::from_millis(known), self.quiet.elapsed(), self.grew)
        }))
    }

    async fn is_over(&self) -> std::io::Result<bool> {
        let job = self.app.store.job(&self.attempt.job.to_string()).await.map_err(|error| broken(&error))?;
        Ok(job.is_none_or(|job| job.state.is_terminal() || job.attempt != self.attempt.number))
    }
}

/// Whether nothing more comes: `known` since we learnt of the end, `quiet` since the last byte. A log that grew under our
/// eyes is waited for until it is quiet; one that did not has been quiet since before the answer began.
fn is_quiet(known: Duration, quiet: Duration, grew: bool) -> bool {
    let settled = !grew && known > SETTLED;
    settled || known.min(quiet) >= QUIET
}

fn broken(error: &StoreError) -> std::io::Error {
    tracing::warn!(error = %chain(error), "a log could not be read on");
    std::io::Error::other("the log could not be read on")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_complete_when_it_is_quiet_after_we_learnt_of_the_end() {
        let s = Duration::from_secs;
        assert!(
            !is_quiet(s(1), s(60), true),
            "a cut made it quiet; its bytes come behind the word of the end"
        );
        assert!(is_quiet(s(3), s(60), true));
        assert!(!is_quiet(s(40), s(1), true), "it still grows");
        assert!(is_quiet(s(40), s(0), false), "a log that was over before anybody asked");
    }
}
