//! Request ids: every request gets one, answers carry it, log lines and audit rows name it.

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::Instrument as _;
use uuid::Uuid;

/// Header of every answer.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static CURRENT: String;
}

/// The id of the request that this task answers; empty outside of one.
pub fn current() -> String {
    CURRENT.try_with(Clone::clone).unwrap_or_default()
}

/// Gives the request its id. Ids that callers send are not taken over: ours must be unique.
pub async fn assign(request: Request, next: Next) -> Response {
    let id = Uuid::now_v7().to_string();
    let span = tracing::info_span!("request", id, method = %request.method(), path = request.uri().path());
    let header = HeaderValue::from_str(&id);
    let mut response = CURRENT.scope(id, next.run(request)).instrument(span).await;
    if let Ok(value) = header {
        response.headers_mut().insert(HEADER, value);
    }
    response
}
