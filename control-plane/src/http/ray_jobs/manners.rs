//! Manners: how Ray's client shows who it is, and how it wants to be refused.
//!
//! Ray's token may come in `Authorization`, in `X-Ray-Authorization`, in the cookie `ray-authentication-token`, or as
//! the password of an address; whatever it was, the guard behind sees a bearer token and decides as always. Invariant:
//! the console's cookie opens nothing here, and Ray's cookie nothing to a browser, so no page of another origin can
//! submit a job with somebody's session.

use axum::{
    body::to_bytes,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use squadron_api::error::{Code, Problem};

use super::{VERSION, refusal::plain};
use crate::http::auth::TOKEN_PREFIX;

const RAY_HEADER: &str = "x-ray-authorization";
const RAY_COOKIE: &str = "ray-authentication-token";
const HOW: &str = "Set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN to a token of Squadron (it begins with sqd_), or pass \
     --headers '{\"Authorization\": \"Bearer sqd_...\"}'; `squadron token add` makes one.";

/// Whether Ray's client speaks at this path.
pub fn is_spoken_at(path: &str) -> bool {
    path == VERSION || path.starts_with("/api/jobs/") || path.starts_with("/api/packages/")
}

/// Whether the request brings a package, which takes longer than other requests may.
pub fn is_upload(request: &Request) -> bool {
    request.method() == http::Method::PUT && request.uri().path().starts_with("/api/packages/")
}

/// Stands around the routes of this room.
pub async fn observe(mut request: Request, next: Next) -> Response {
    if !is_spoken_at(request.uri().path()) {
        return next.run(request).await;
    }
    let Some(token) = token(request.headers()) else {
        return plain(StatusCode::UNAUTHORIZED, format!("Unauthorized: Missing authentication token. {HOW}"));
    };
    let Ok(mut bearer) = HeaderValue::from_str(&format!("Bearer {token}")) else { return invalid() };
    bearer.set_sensitive(true);
    request.headers_mut().remove(header::COOKIE);
    request.headers_mut().insert(header::AUTHORIZATION, bearer);
    reword(next.run(request).await).await
}

fn invalid() -> Response {
    plain(StatusCode::FORBIDDEN, format!("Forbidden: Invalid authentication token. {HOW}"))
}

/// The first credentials that the request brings.
fn token(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let shown = text(header::AUTHORIZATION.as_str()).or_else(|| text(RAY_HEADER));
    match shown {
        Some(shown) => Some(bearer(shown)),
        None => cookie(headers),
    }
}

fn bearer(shown: &str) -> String {
    let basic = shown.strip_prefix("Basic ").and_then(|pair| STANDARD.decode(pair).ok());
    let pair = basic.and_then(|pair| String::from_utf8(pair).ok());
    if let Some((user, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
        let either = if password.is_empty() { user } else { password };
        return either.to_owned();
    }
    shown.strip_prefix("Bearer ").unwrap_or(shown).to_owned()
}

/// Ray's cookie, unless a browser sends it.
fn cookie(headers: &HeaderMap) -> Option<String> {
    if headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site") {
        return None;
    }
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, token) = pairs.find(|(name, value)| *name == RAY_COOKIE && value.starts_with(TOKEN_PREFIX))?;
    Some(token.to_owned())
}

/// Our problems as plain text; everything else is in Ray's words already.
async fn reword(response: Response) -> Response {
    let is_problem = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes() == b"application/problem+json");
    if !is_problem {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap_or_default();
    let Ok(problem) = serde_json::from_slice::<Problem>(&bytes) else {
        return plain(parts.status, String::new());
    };
    if problem.code == Code::Unauthenticated.text() {
        return invalid();
    }
    let status = match parts.status {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    };
    plain(status, text(&problem))
}

/// What, what to do, and the rest of the fields, each on a line of its own.
fn text(problem: &Problem) -> String {
    let mut text = format!("{}\n{}", problem.detail, problem.next_step);
    for field in problem.fields.iter().skip(1) {
        text.push_str(&format!("\n{}: {}", field.path, field.problem));
    }
    format!("{text}\n({}, request {})", problem.code, problem.request_id)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shown(pairs: &[(&str, &str)]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(
                http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        token(&headers)
    }

    #[test]
    fn every_way_of_ray_s_client_leads_to_the_token() {
        let basic = format!("Basic {}", STANDARD.encode("ann:sqd_a"));
        for pairs in [
            [("authorization", "Bearer sqd_a")],
            [("x-ray-authorization", "Bearer sqd_a")],
            [("authorization", basic.as_str())],
            [("cookie", "a=b; ray-authentication-token=sqd_a")],
        ] {
            assert_eq!(shown(&pairs).as_deref(), Some("sqd_a"), "{pairs:?}");
        }
        assert_eq!(shown(&[]), None);
        assert_eq!(shown(&[("cookie", "__Host-squadron=sqd_a")]), None);
    }

    #[test]
    fn a_browser_s_cookie_opens_nothing() {
        let cookie = ("cookie", "ray-authentication-token=sqd_a");
        assert_eq!(shown(&[cookie, ("origin", "https://evil.example")]), None);
        assert_eq!(shown(&[cookie, ("sec-fetch-site", "cross-site")]), None);
    }

    #[test]
    fn only_ray_s_paths_are_ray_s() {
        for (path, ray_s) in [
            ("/api/version", true),
            ("/api/jobs/", true),
            ("/api/jobs/x/logs/tail", true),
            ("/api/packages/gcs/a.zip", true),
            ("/api/v1/jobs", false),
            ("/api/v1/version", false),
            ("/jobs/x", false),
        ] {
            assert_eq!(is_spoken_at(path), ray_s, "{path}");
        }
    }
}
