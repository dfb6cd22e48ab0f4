//! GET `…/logs`: the whole log of the newest attempt as one JSON string.
//!
//! Invariant: however long the log is, only a piece of it is in memory.

use axum::{
    Extension,
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use squadron_core::id::AttemptId;

use super::{JOB_LOGS, find, refusal::Result, tail::Text};
use crate::{
    http::{
        Ending,
        logs::{How, Reader},
    },
    state::AppState,
};

/// What the driver printed so far.
#[utoipa::path(get, path = JOB_LOGS, tag = "ray_jobs", params(("submission_id" = String, Path)),
    responses((status = 200, body = Object)))]
pub async fn logs(
    State(app): State<AppState>,
    Extension(ending): Extension<Ending>,
    Path(id): Path<String>,
) -> Result<Response> {
    let job = find(&app, &id).await?;
    let attempt = AttemptId { job: job.job, number: job.attempt };
    let reader = Reader::open(app, ending, attempt, 0, How { follow: false, marks: true }).await?;
    let body = futures::stream::try_unfold(Part::Opening(reader), step);
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"))];
    Ok((kind, Body::from_stream(body)).into_response())
}

/// What of the answer comes next.
enum Part {
    Opening(Reader),
    Log(Reader, Text),
    Closed,
}

async fn step(part: Part) -> std::io::Result<Option<(Bytes, Part)>> {
    match part {
        Part::Opening(reader) => {
            Ok(Some((Bytes::from_static(b"{\"logs\": \""), Part::Log(reader, Text::default()))))
        }
        Part::Log(reader, mut text) => match reader.step().await? {
            Some((bytes, reader)) => Ok(Some((escaped(&text.take(&bytes)), Part::Log(reader, text)))),
            None => {
                let mut last = escaped(&text.rest()).to_vec();
                last.extend_from_slice(b"\"}");
                Ok(Some((Bytes::from(last), Part::Closed)))
            }
        },
        Part::Closed => Ok(None),
    }
}

/// The inside of a JSON string.
fn escaped(text: &str) -> Bytes {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    Bytes::copy_from_slice(inside.as_bytes())
}
