//! Queues: add, list, and the template of jobs that come by Ray's own client.

use axum::{Json, extract::State, http::StatusCode};
use squadron_api::{
    Page,
    error::{Code, FieldProblem},
    queue::{AddQueueRequest, Queue, SetTemplateRequest},
    route,
};
use squadron_core::{authz::Action, name::QueueName};
use squadron_ray::{manifest::FieldError, submission};
use squadron_store::{StoreError, audit, queue};
use utoipa::OpenApi;

use super::{
    auth::Caller,
    error::{Api, Result},
    fields::Fields,
    page,
    routes::{Access, Routes},
    standing,
};
use crate::{clock, state::AppState};

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(list, add, set_template))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .get(route::QUEUES, Access::Needs(Action::ReadQueues), list)
        .post(route::QUEUES, Access::Needs(Action::ManageQueues), add)
        .put(route::QUEUES, Access::Needs(Action::ManageQueues), set_template)
}

/// All queues with what is in them and where they stand with their quotas, parents before their children.
#[utoipa::path(get, path = route::QUEUES, tag = "queues", responses((status = 200, body = Page<Queue>)))]
async fn list(State(app): State<AppState>) -> Result<Json<Page<Queue>>> {
    Ok(Json(page::whole(&app, standing::queues(&app).await?).await?))
}

/// Adds a queue.
#[utoipa::path(post, path = route::QUEUES, tag = "queues", request_body = AddQueueRequest,
    responses((status = 200, body = Queue)))]
async fn add(
    State(app): State<AppState>,
    caller: Caller,
    Fields(request): Fields<AddQueueRequest>,
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
    Ok(Json(standing::new(name.to_string())))
}

/// Sets the template from which jobs of Ray's own client are made.
#[utoipa::path(put, path = route::QUEUES, tag = "queues", request_body = SetTemplateRequest, responses((status = 204)))]
async fn set_template(
    State(app): State<AppState>,
    caller: Caller,
    Fields(request): Fields<SetTemplateRequest>,
) -> Result<StatusCode> {
    let name = QueueName::new(request.name)?;
    if !request.template.is_empty() {
        submission::check_template(&request.template).map_err(invalid)?;
    }
    let entry =
        caller.entry("queue.template", &name, if request.template.is_empty() { "removed" } else { "set" });
    let found = app
        .store
        .txn("queue.template", &(&name, request.template, entry), |db, (name, template, entry)| {
            Box::pin(async move {
                let found = queue::set_template(db, name, template).await?;
                if found {
                    audit::insert(db, entry).await?;
                }
                Ok(found)
            })
        })
        .await?;
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(Api::not_found("queue", name, "squadron queue list")) }
}

fn invalid(errors: Vec<FieldError>) -> Api {
    let fields: Vec<FieldProblem> =
        errors.into_iter().map(|error| FieldProblem { path: error.path, problem: error.problem }).collect();
    let first =
        fields.first().map_or_else(String::new, |field| format!(": {} {}", field.path, field.problem));
    Api::new(
        Code::InvalidManifest,
        format!("the template is no valid RayJob{first}"),
        "correct the template and set it again; nothing was changed",
    )
    .fields(fields)
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
