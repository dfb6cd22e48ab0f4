//! The console's files, embedded at build time from web/dist.
//!
//! Invariant: a path below /api is never answered with the console. A path that is no file gets the console's page,
//! which shows what the address names. Without built files a page says how to build them.

use axum::{
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use rust_embed::RustEmbed;
use squadron_api::error::Code;

use super::error::Api;

#[derive(RustEmbed)]
#[folder = "../web/dist"]
#[allow_missing = true]
struct Files;

/// File names that carry a hash of their content never change.
const HASHED: &str = "assets/";

/// Answers every path that no route has.
pub async fn serve(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path.starts_with("api/") {
        return Api::new(
            Code::NotFound,
            "there is no such path in the API",
            "see /openapi.json for the paths",
        )
        .into_response();
    }
    file(path).or_else(|| file("index.html")).unwrap_or_else(not_built)
}

fn file(path: &str) -> Option<Response> {
    let path = if path.is_empty() { "index.html" } else { path };
    let file = Files::get(path)?;
    let kind = HeaderValue::from_str(file.metadata.mimetype()).ok()?;
    let cache = if path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, HeaderValue::from_static(cache))];
    Some((headers, file.data.into_owned()).into_response())
}

fn not_built() -> Response {
    let page = "<!doctype html><html lang=\"en\"><title>Squadron</title><h1>The console is not part of this build</h1>\
        <p>Run <code>npm ci &amp;&amp; npm run build</code> in <code>web</code>, then build the control plane again.</p>";
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (StatusCode::OK, headers, page).into_response()
}
