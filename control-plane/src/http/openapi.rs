//! The OpenAPI document: every module's part, merged. Checked in at docs/openapi.json; a test compares the two.

use axum::Json;
use squadron_api::error::Problem;
use utoipa::OpenApi;

use super::{
    audit, clusters, events, health, incidents, jobs, logs, prices, queues,
    routes::{Access, Routes},
    session, tokens, usage,
};

#[derive(OpenApi)]
#[openapi(
    info(title = "Squadron", description = "One control plane for Ray on many Kubernetes clusters."),
    paths(serve),
    components(schemas(Problem))
)]
struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get("/openapi.json", Access::Public, serve)
}

/// The whole document.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = Doc::openapi();
    let parts = [
        health::Doc::openapi(),
        session::Doc::openapi(),
        tokens::Doc::openapi(),
        audit::Doc::openapi(),
        events::Doc::openapi(),
        clusters::Doc::openapi(),
        logs::Doc::openapi(),
        jobs::Doc::openapi(),
        queues::Doc::openapi(),
        incidents::Doc::openapi(),
        usage::Doc::openapi(),
        prices::Doc::openapi(),
    ];
    for part in parts {
        document.merge(part);
    }
    document
}

/// The document as it is checked in: pretty JSON with a newline at its end.
pub fn text() -> String {
    let mut text = document().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "about", responses((status = 200, body = Object)))]
async fn serve() -> Json<utoipa::openapi::OpenApi> {
    Json(document())
}
