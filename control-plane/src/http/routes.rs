//! The table of routes: method, path, and who may pass. A route cannot be mounted without saying who.
//!
//! Invariant: default deny. The guard runs before the handler; a handler of [`Access::Owner`] must ask
//! [`super::auth::Caller::may`] once it knows whose object it is.

use axum::{
    Router,
    extract::{Request, State},
    handler::Handler,
    http::Method,
    middleware::{self, Next},
    response::Response,
    routing::{MethodFilter, on},
};
use squadron_core::authz::{Action, Object};

use super::{auth, error::Result};
use crate::state::AppState;

/// Who may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Everybody.
    Public,
    /// Everybody with valid credentials.
    SignedIn,
    /// Roles that may do this to anything.
    Needs(Action),
    /// Roles that may do this to some object; the handler decides by its owner.
    Owner(Action),
}

/// One row of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
}

/// Collects routes; every module of the API adds its own.
pub struct Routes {
    state: AppState,
    router: Router<AppState>,
    table: Vec<Route>,
}

impl Routes {
    pub fn new(state: AppState) -> Routes {
        Routes { state, router: Router::new(), table: Vec::new() }
    }

    pub fn get<H, T>(self, path: &'static str, access: Access, handler: H) -> Routes
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.add(Method::GET, MethodFilter::GET, path, access, handler)
    }

    pub fn post<H, T>(self, path: &'static str, access: Access, handler: H) -> Routes
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.add(Method::POST, MethodFilter::POST, path, access, handler)
    }

    pub fn put<H, T>(self, path: &'static str, access: Access, handler: H) -> Routes
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.add(Method::PUT, MethodFilter::PUT, path, access, handler)
    }

    pub fn delete<H, T>(self, path: &'static str, access: Access, handler: H) -> Routes
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.add(Method::DELETE, MethodFilter::DELETE, path, access, handler)
    }

    fn add<H, T>(
        mut self,
        method: Method,
        filter: MethodFilter,
        path: &'static str,
        access: Access,
        handler: H,
    ) -> Routes
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        let guard = middleware::from_fn_with_state((self.state.clone(), access), guard);
        self.router = self.router.route(path, on(filter, handler).route_layer(guard));
        self.table.push(Route { method, path, access });
        self
    }

    /// The router, without fallbacks, and its table.
    pub fn finish(self) -> (Router<AppState>, Vec<Route>) {
        (self.router, self.table)
    }
}

async fn guard(
    State((app, access)): State<(AppState, Access)>,
    mut request: Request,
    next: Next,
) -> Result<Response> {
    if access != Access::Public {
        let caller = auth::authenticate(&app, request.method(), request.headers()).await?;
        authorise(&app, &caller, access).await?;
        request.extensions_mut().insert(caller);
    }
    Ok(next.run(request).await)
}

async fn authorise(app: &AppState, caller: &auth::Caller, access: Access) -> Result<()> {
    let (action, object) = match access {
        Access::Public | Access::SignedIn => return Ok(()),
        Access::Needs(action) => (action, Object::Any),
        Access::Owner(action) => (action, Object::OwnedBy(&caller.actor.subject)),
    };
    caller.may(app, action, object, "").await
}
