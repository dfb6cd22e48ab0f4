//! Refusals in Ray's manner: a status code and plain text.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use squadron_ray::{manifest::FieldError, submission::TypeError};
use squadron_store::StoreError;

use crate::http::error::Api;

/// Result of the handlers of this room.
pub type Result<T> = std::result::Result<T, Refusal>;

/// An error on its way to Ray's client.
pub enum Refusal {
    /// As a Ray head would have said it.
    Ray(StatusCode, String),
    /// As the rest of the API says it; the manners of this room turn it into text.
    Ours(Box<Api>),
}

impl Refusal {
    pub fn missing(text: String) -> Refusal {
        Refusal::Ray(StatusCode::NOT_FOUND, text)
    }

    /// A request that no head would take.
    pub fn bad(text: impl Into<String>) -> Refusal {
        Refusal::Ray(StatusCode::BAD_REQUEST, text.into())
    }

    /// What a Ray head answers with 500, although the request is to blame.
    pub fn failed(text: impl Into<String>) -> Refusal {
        Refusal::Ray(StatusCode::INTERNAL_SERVER_ERROR, text.into())
    }

    /// Parts of a submission that cannot be honoured.
    pub fn fields(errors: &[FieldError]) -> Refusal {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Refusal::bad(format!("ValueError: the submission cannot be run:\n{}", lines.join("\n")))
    }
}

impl From<Api> for Refusal {
    fn from(error: Api) -> Refusal {
        Refusal::Ours(Box::new(error))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        Api::from(error).into()
    }
}

impl From<TypeError> for Refusal {
    fn from(error: TypeError) -> Refusal {
        Refusal::bad(error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::Ray(status, text) => plain(status, text),
            Refusal::Ours(error) => error.into_response(),
        }
    }
}

/// Plain text with a status.
pub fn plain(status: StatusCode, text: String) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))];
    (status, kind, text).into_response()
}
