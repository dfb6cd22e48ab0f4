//! What stands around every handler, from the outside in: host, request id, security headers, compression, Ray's manners where Ray's
//! client speaks, one error shape, panic guard, body limit.

use std::{any::Any, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{DefaultBodyLimit, Request},
    http::{HeaderValue, Method, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use squadron_api::error::{Code, Problem};
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::{
        CompressionLayer, Predicate,
        predicate::{NotForContentType, SizeAbove},
    },
};

use super::{
    error::{Api, respond},
    ray_jobs::manners,
    request_id,
};

/// Greatest request body, in bytes; a manifest fits.
const BODY_LIMIT: usize = 1024 * 1024;
/// Time from a request's first byte to its answer's.
const DEADLINE: Duration = Duration::from_secs(30);
/// The same for a package, which may be large and the line slow.
const UPLOAD_DEADLINE: Duration = Duration::from_secs(15 * 60);
/// Bytes of an answer below which compressing it saves nothing.
const COMPRESS_ABOVE: u64 = 1024;
/// No inline script or style, nothing from elsewhere, no frame around us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
     connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Wraps the router.
pub fn around<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(middleware::from_fn(deadline))
        .layer(middleware::from_fn(one_shape))
        .layer(middleware::from_fn(manners::observe))
        .layer(CompressionLayer::new().gzip(true).compress_when(is_worth_it()))
        .layer(middleware::from_fn(security_headers))
        .layer(middleware::from_fn(request_id::assign))
        .layer(middleware::map_request(name_host))
}

/// Answers as texts: JSON, YAML, scripts, pages. What arrives bit by bit, or is a program's bytes, goes out as it is: a
/// compressor would hold back what a reader waits for.
fn is_worth_it() -> impl Predicate {
    SizeAbove::new(COMPRESS_ABOVE)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/octet-stream"))
        .and(NotForContentType::const_new("text/plain"))
        .and(NotForContentType::IMAGES)
}

/// HTTP/2 names the host in the request's target, HTTP/1.1 in a header. Handlers find it in the header either way.
async fn name_host(mut request: Request) -> Request {
    let target = request.uri().authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
    if let Some(host) = target {
        request.headers_mut().insert(header::HOST, host);
    }
    request
}

/// A known path with a method that it does not have.
pub async fn method_not_allowed(method: Method, uri: Uri) -> Response {
    let path = squadron_core::sentence::clip(uri.path(), 200);
    problem(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{path} cannot be used with {method}"),
        "see /openapi.json for the methods of every path",
    )
}

/// A problem with a status that no code of its own has.
fn problem(status: StatusCode, detail: String, next_step: &str) -> Response {
    respond(&Problem {
        code: Code::BadRequest.text().to_owned(),
        status: status.as_u16(),
        detail,
        next_step: next_step.to_owned(),
        request_id: request_id::current(),
        fields: Vec::new(),
    })
}

#[allow(clippy::needless_pass_by_value, reason = "the panic layer hands it over")]
fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    Api::internal(&std::io::Error::other(text.to_owned())).into_response()
}

/// A request that drips in, or an answer that does not begin, holds nothing for ever. Bodies of answers may go on.
async fn deadline(request: Request, next: Next) -> Response {
    let deadline = if manners::is_upload(&request) { UPLOAD_DEADLINE } else { DEADLINE };
    match tokio::time::timeout(deadline, next.run(request)).await {
        Ok(response) => response,
        Err(_late) => problem(
            StatusCode::REQUEST_TIMEOUT,
            format!("the request was not answered within {} s", deadline.as_secs()),
            "try again; send the whole body at once",
        ),
    }
}

/// Turns what axum itself refuses (bad JSON, bad query, body too large) into a problem.
async fn one_shape(request: Request, next: Next) -> Response {
    let is_ray_s = manners::is_spoken_at(request.uri().path());
    let response = next.run(request).await;
    if is_ray_s {
        return response;
    }
    let status = response.status();
    let is_problem = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes() == b"application/problem+json");
    if !(status.is_client_error() || status.is_server_error()) || is_problem {
        return response;
    }
    reshape(status, response.into_body()).await
}

async fn reshape(status: StatusCode, body: Body) -> Response {
    let text = to_bytes(body, 4096).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        StatusCode::NOT_FOUND => Code::NotFound,
        status if status.is_server_error() => Code::Internal,
        _ => Code::BadRequest,
    };
    let detail = if text.is_empty() { "the request cannot be read".to_owned() } else { text };
    Api::new(code, detail, "compare the request with /openapi.json").into_response()
}

async fn security_headers(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_api = path.starts_with(squadron_api::route::BASE) || manners::is_spoken_at(path);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    if is_api {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    response
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn stuck() -> &'static str {
        std::future::pending().await
    }

    #[tokio::test(start_paused = true)]
    async fn a52_a_request_that_never_ends_is_given_up() {
        let router: Router = around(Router::new().route("/", get(stuck)));
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    }

    async fn long(kind: &'static str) -> Response {
        ([(header::CONTENT_TYPE, kind)], "job ".repeat(1_000)).into_response()
    }

    #[tokio::test]
    async fn lists_are_compressed_and_what_arrives_bit_by_bit_is_not() {
        let router: Router = around(
            Router::new()
                .route("/list", get(|| long("application/json")))
                .route("/events", get(|| long("text/event-stream")))
                .route("/log", get(|| long("application/octet-stream")))
                .route("/short", get(|| async { axum::Json("no") })),
        );
        for (path, asked, expected) in [
            ("/list", "gzip", Some("gzip")),
            ("/list", "identity", None),
            ("/events", "gzip", None),
            ("/log", "gzip", None),
            ("/short", "gzip", None),
        ] {
            let request = Request::get(path).header(header::ACCEPT_ENCODING, asked);
            let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let encoding = response.headers().get(header::CONTENT_ENCODING);
            assert_eq!(encoding.map(|it| it.to_str().unwrap()), expected, "{path} {asked}");
        }
    }

    async fn broken() -> &'static str {
        panic!("the secret sauce ran out")
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_that_tells_nothing() {
        let router: Router = around(Router::new().route("/", get(broken)));
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let id = response.headers()[request_id::HEADER].to_str().unwrap().to_owned();
        let body = to_bytes(response.into_body(), 4096).await.unwrap();
        let problem: Problem = serde_json::from_slice(&body).unwrap();
        assert_eq!((problem.code.as_str(), problem.request_id), ("SQD-1007", id));
        assert!(!problem.detail.contains("sauce"), "{}", problem.detail);
    }
}
