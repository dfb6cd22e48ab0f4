//! Whether we live, whether we can serve, and what we are. None of it needs credentials, none of it tells secrets.

use axum::{Json, extract::State};
use squadron_api::{about::About, route};
use utoipa::OpenApi;

use super::{
    error::Result,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState};

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(healthz, readyz, version))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get("/healthz", Access::Public, healthz).get("/readyz", Access::Public, readyz).get(
        route::VERSION,
        Access::Public,
        version,
    )
}

/// The process lives.
#[utoipa::path(get, path = "/healthz", tag = "about", responses((status = 200, body = String)))]
async fn healthz() -> &'static str {
    "ok"
}

/// The database answers.
#[utoipa::path(get, path = "/readyz", tag = "about", responses((status = 200, body = String)))]
async fn readyz(State(app): State<AppState>) -> Result<&'static str> {
    app.store.ping().await?;
    Ok("ready")
}

/// Version and clock of the server.
#[utoipa::path(get, path = route::VERSION, tag = "about", responses((status = 200, body = About)))]
async fn version() -> Json<About> {
    Json(About { version: env!("CARGO_PKG_VERSION").to_owned(), now: clock::now() })
}
