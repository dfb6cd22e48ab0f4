//! The HTTP API and the console.
//!
//! Owns the composition: every module mounts its routes with who may pass, and around all of them stand request ids,
//! body limits, security headers, and one shape for every error. Fails request by request; a panic in a handler is
//! answered as an internal error and ends nothing else.

pub mod assets;
pub mod auth;
pub mod error;
pub mod health;
pub mod incidents;
pub mod jobs;
mod layers;
pub mod openapi;
pub mod page;
pub mod prices;
pub mod queues;
pub mod request_id;
pub mod routes;
pub mod usage;

use axum::Router;

use self::routes::{Route, Routes};
use crate::state::AppState;

/// Everything that people reach, and the table of who may pass where.
pub fn router(state: &AppState, stop: CancellationToken) -> (Router, Vec<Route>) {
    let routes = Routes::new(state.clone());
    let routes = health::mount(routes);
    let routes = openapi::mount(routes);
    let routes = jobs::mount(routes);
    let routes = queues::mount(routes);
    let routes = incidents::mount(routes);
    let routes = usage::mount(routes);
    let routes = prices::mount(routes);
    let (router, table) = routes.finish();
    let router = router.fallback(assets::serve).method_not_allowed_fallback(layers::method_not_allowed);
    (layers::around(router, state).with_state(state.clone()), table)
}
