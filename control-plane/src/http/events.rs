//! Changes, as server-sent events: what changed, never its content.
//!
//! Invariant: whoever reads here may still read: a revoked token's stream ends within seconds. A client that fetches what is named, and everything when the stream opens or says `all`, is up to date.

use std::{convert::Infallible, time::Duration};

use axum::{
    Extension,
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::StreamExt as _;
use squadron_api::{Change, route};
use squadron_core::authz::Action;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_stream::Stream;
use utoipa::OpenApi;

use super::{
    Ending,
    auth::{self, Caller},
    routes::{Access, Routes},
};
use crate::state::AppState;

const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(events))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get(route::EVENTS, Access::Needs(Action::ReadJobs), events)
}

/// Changes as they happen. A change of kind `all` says that some were missed: fetch everything again.
#[utoipa::path(get, path = route::EVENTS, tag = "events", responses((status = 200, body = Change, content_type = "text/event-stream")))]
async fn events(
    State(app): State<AppState>,
    Extension(ending): Extension<Ending>,
    caller: Caller,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let changes = app.wake.changes();
    let revoked = Box::pin(auth::until_revoked(app, caller, Action::ReadJobs, auth::LOOK_AGAIN));
    let stream = futures::stream::unfold((changes, ending), |(mut changes, ending)| async move {
        let change = tokio::select! {
            () = ending.0.cancelled() => None,
            change = next(&mut changes) => change,
        }?;
        let data = serde_json::to_string(&change).unwrap_or_default();
        Some((Ok(Event::default().data(data)), (changes, ending)))
    });
    Sse::new(stream.take_until(revoked)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

async fn next(changes: &mut Receiver<Change>) -> Option<Change> {
    match changes.recv().await {
        Ok(change) => Some(change),
        Err(RecvError::Lagged(_)) => Some(Change { kind: "all".to_owned(), id: String::new(), version: 0 }),
        Err(RecvError::Closed) => None,
    }
}
