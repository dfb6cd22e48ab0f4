//! Errors as people get them: Problem JSON with a stable code, a sentence, a next step and the request's id.
//!
//! Invariant: every answer of 400 and above has this shape, and none of them shows a cause that only the log may hold.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use squadron_api::error::{Code, FieldProblem, Problem};
use squadron_core::{authz::Denied, name::BadName};
use squadron_store::StoreError;

use super::request_id;

/// Result of every handler.
pub type Result<T> = std::result::Result<T, Api>;

/// An error on its way to a person.
#[derive(Debug)]
pub struct Api {
    pub code: Code,
    /// What is wrong, in one sentence.
    pub detail: String,
    /// What to do about it, in one sentence.
    pub next_step: String,
    pub fields: Vec<FieldProblem>,
}

impl Api {
    pub fn new(code: Code, detail: impl Into<String>, next_step: impl Into<String>) -> Api {
        Api { code, detail: detail.into(), next_step: next_step.into(), fields: Vec::new() }
    }

    /// With the fields that are wrong.
    pub fn fields(mut self, fields: Vec<FieldProblem>) -> Api {
        self.fields = fields;
        self
    }

    /// The named thing does not exist; `list_with` is the command that lists those that do.
    pub fn not_found(kind: &str, name: impl std::fmt::Display, list_with: &str) -> Api {
        Api::new(
            Code::NotFound,
            format!("there is no {kind} {name}"),
            format!("list them with `{list_with}`"),
        )
    }

    /// The server failed; `error` goes to the log only.
    pub fn internal(error: &(dyn std::error::Error + 'static)) -> Api {
        tracing::error!(error = %chain(error), "a request failed");
        Api::new(
            Code::Internal,
            "the server failed to answer",
            "try again; if it stays, give the request id to whoever runs the control plane",
        )
    }

    fn unavailable(error: &StoreError) -> Api {
        tracing::warn!(error = %chain(error), "the database cannot be reached");
        Api::new(
            Code::Unavailable,
            "the database cannot be reached at the moment",
            "nothing was changed; try again in a few seconds",
        )
    }
}

/// An error with its causes, on one line, for the log.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl From<StoreError> for Api {
    fn from(error: StoreError) -> Api {
        match error {
            StoreError::Unavailable(_) | StoreError::Contended(_) => Api::unavailable(&error),
            _ if error.is_of_a_zero_byte() => Api::new(
                Code::BadRequest,
                "a text of the request holds a zero byte, which cannot be kept",
                "take it out and send the rest again; nothing was changed",
            ),
            _ => Api::internal(&error),
        }
    }
}

/// Characters of a person's reason at most.
const LONGEST_REASON: usize = 1_000;

/// A person's reason, if it is no longer than is kept.
pub fn reason(text: &str) -> Result<&str> {
    if text.chars().count() <= LONGEST_REASON {
        return Ok(text);
    }
    Err(Api::new(
        Code::BadRequest,
        format!("the reason is longer than {LONGEST_REASON} characters"),
        "say it in fewer words; nothing was changed",
    ))
}

impl From<Denied> for Api {
    fn from(denied: Denied) -> Api {
        Api::new(Code::Denied, denied.sentence, denied.next_step)
    }
}

impl From<BadName> for Api {
    fn from(bad: BadName) -> Api {
        Api::new(Code::BadRequest, bad.to_string(), format!("choose another {}", bad.kind))
    }
}

impl IntoResponse for Api {
    fn into_response(self) -> Response {
        let problem = Problem {
            code: self.code.text().to_owned(),
            status: self.code.status(),
            detail: self.detail,
            next_step: self.next_step,
            request_id: request_id::current(),
            fields: self.fields,
        };
        respond(&problem)
    }
}

/// A problem as a response of its status.
pub fn respond(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::to_vec(problem).unwrap_or_default();
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
