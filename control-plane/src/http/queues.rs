//! Queues: add and list.

use axum::{Json, extract::State};
use squadron_api::{
    Page,
    error::Code,
    queue::{AddQueueRequest, Queue},
    route,
};
use squadron_core::{authz::Action, name::QueueName};
use squadron_store::{StoreError, audit, queue};
use utoipa::OpenApi;

use super::{
    auth::Caller,
    error::{Api, Result},
    page,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState};

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(list, add))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get(route::QUEUES, Access::Needs(Action::ReadQueues), list).post(
        route::QUEUES,
        Access::Needs(Action::ManageQueues),
        add,
    )
}

/// All queues with what is in them.
#[utoipa::path(get, path = route::QUEUES, tag = "queues", responses((status = 200, body = Page<Queue>)))]
async fn list(State(app): State<AppState>) -> Result<Json<Page<Queue>>> {
    let queues = app.store.queues().await?.into_iter();
    let shown = queues.map(|queue| Queue { name: queue.name, queued: queue.queued, running: queue.running });
    Ok(Json(page::whole(&app, shown.collect()).await?))
}

/// Adds a queue.
#[utoipa::path(post, path = route::QUEUES, tag = "queues", request_body = AddQueueRequest,
    responses((status = 200, body = Queue)))]
async fn add(
    State(app): State<AppState>,
    caller: Caller,
    Json(request): Json<AddQueueRequest>,
) -> Result<Json<Queue>> {
    let name = QueueName::new(request.name)?;
    let entry = caller.entry("queue.add", &name, "");
    app.store
        .txn("queue.add", &(&name, entry), |db, (name, entry)| {
            Box::pin(async move {
                queue::insert(db, name, clock::now()).await?;
                audit::insert(db, entry).await
            })
        })
        .await
        .map_err(|error| taken(error, &name))?;
    Ok(Json(Queue { name: name.to_string(), queued: 0, running: 0 }))
}

fn taken(error: StoreError, name: &QueueName) -> Api {
    if error.violates(queue::NAME_TAKEN) {
        return Api::new(
            Code::NameTaken,
            format!("there is a queue {name} already"),
            "use it, or choose another name",
        );
    }
    error.into()
}
