//! The HTTP API and the console.
//!
//! Owns the composition: every module mounts its routes with who may pass, and around all of them stand request ids,
//! body limits, security headers, and one shape for every error. Fails request by request; a panic in a handler is
//! answered as an internal error and ends nothing else.

pub mod arrivals;
pub mod assets;
pub mod audit;
pub mod auth;
pub mod clusters;
pub mod error;
pub mod events;
mod fields;
pub mod health;
pub mod incidents;
pub mod jobs;
mod layers;
pub mod logs;
mod looks;
pub mod lost;
#[cfg(test)]
mod lost_tests;
pub mod openapi;
pub mod page;
pub mod policy;
pub mod prices;
pub mod queues;
pub mod ray_jobs;
pub mod request_id;
pub mod routes;
pub mod session;
mod standing;
pub mod tokens;
pub mod usage;

use axum::{Extension, Router};
use tokio_util::sync::CancellationToken;

use self::routes::{Route, Routes};
use crate::state::AppState;

/// Cancelled when we stop; answers that would go on for ever end with it.
#[derive(Clone)]
pub struct Ending(pub CancellationToken);

/// Everything that people reach, and the table of who may pass where.
pub fn router(state: &AppState, stop: CancellationToken) -> (Router, Vec<Route>) {
    let routes = Routes::new(state.clone());
    let routes = health::mount(routes);
    let routes = openapi::mount(routes);
    let routes = session::mount(routes);
    let routes = tokens::mount(routes);
    let routes = audit::mount(routes);
    let routes = events::mount(routes);
    let routes = clusters::mount(routes);
    let routes = arrivals::mount(routes);
    let routes = jobs::mount(routes);
    let routes = logs::mount(routes);
    let routes = lost::mount(routes);
    let routes = queues::mount(routes);
    let routes = policy::mount(routes);
    let routes = incidents::mount(routes);
    let routes = usage::mount(routes);
    let routes = prices::mount(routes);
    let routes = ray_jobs::mount(routes);
    let (router, table) = routes.finish();
    let router = router.fallback(assets::serve).method_not_allowed_fallback(layers::method_not_allowed);
    let router = router.layer(Extension(Ending(stop)));
    (layers::around(router).with_state(state.clone()), table)
}

#[cfg(test)]
mod policy_tests;
