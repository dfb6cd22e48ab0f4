//! Arrivals: which namespace of a cluster may submit to which queue by putting RayJobs there.
//!
//! Invariant: default deny. A permission and its audit row are one transaction; what was refused for want of it is let in
//! by a task within a second.

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
};
use squadron_api::{
    Page,
    arrival::{AllowQueueRequest, AllowedQueue, DisallowQueueQuery},
    error::Code,
    route,
};
use squadron_core::{
    authz::Action,
    name::{K8sName, QueueName},
    sentence::clip,
};
use squadron_store::{
    StoreError,
    arrival::{self, Rule},
    audit,
    cluster::Cluster,
};
use utoipa::OpenApi;

use super::{
    auth::Caller,
    error::{Api, Result},
    fields::Fields,
    page,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState};

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(list, allow, disallow))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .get(route::CLUSTER_QUEUES, Access::Needs(Action::ReadClusters), list)
        .post(route::CLUSTER_QUEUES, Access::Needs(Action::ManageClusters), allow)
        .delete(route::CLUSTER_QUEUES, Access::Needs(Action::ManageClusters), disallow)
}

/// Who may submit by putting RayJobs into the cluster.
#[utoipa::path(get, path = route::CLUSTER_QUEUES, tag = "arrivals", params(("cluster" = String, Path)),
    responses((status = 200, body = Page<AllowedQueue>)))]
async fn list(State(app): State<AppState>, Path(cluster): Path<String>) -> Result<Json<Page<AllowedQueue>>> {
    let cluster = find(&app, &cluster).await?;
    let rules = app.store.arrival_rules(cluster.id).await?;
    Ok(Json(page::whole(&app, rules.into_iter().map(shown).collect()).await?))
}

/// Lets RayJobs of a namespace of the cluster become jobs in a queue. Allowing twice is harmless.
#[utoipa::path(post, path = route::CLUSTER_QUEUES, tag = "arrivals", params(("cluster" = String, Path)),
    request_body = AllowQueueRequest, responses((status = 200, body = AllowedQueue)))]
async fn allow(
    State(app): State<AppState>,
    caller: Caller,
    Path(cluster): Path<String>,
    Fields(request): Fields<AllowQueueRequest>,
) -> Result<Json<AllowedQueue>> {
    let cluster = find(&app, &cluster).await?;
    let queue = QueueName::new(request.queue)?;
    let rule = Rule {
        namespace: K8sName::new(request.namespace)?.to_string(),
        queue: queue.to_string(),
        created_at: clock::now(),
        created_by: caller.actor.subject.clone(),
    };
    let detail = format!("namespace {} to queue {queue}", rule.namespace);
    let entry = caller.entry("cluster.allow_queue", &cluster.name, detail);
    app.store
        .txn("cluster.allow_queue", &(cluster.id, &rule, entry), |db, (cluster, rule, entry)| {
            Box::pin(async move {
                arrival::allow(db, *cluster, rule).await?;
                audit::insert(db, entry).await
            })
        })
        .await
        .map_err(|error| unknown_queue(error, &queue))?;
    Ok(Json(shown(rule)))
}

/// Takes the permission back. Jobs that were imported by it go on.
#[utoipa::path(delete, path = route::CLUSTER_QUEUES, tag = "arrivals", params(("cluster" = String, Path), DisallowQueueQuery),
    responses((status = 204)))]
async fn disallow(
    State(app): State<AppState>,
    caller: Caller,
    Path(cluster): Path<String>,
    Query(query): Query<DisallowQueueQuery>,
) -> Result<StatusCode> {
    let cluster = find(&app, &cluster).await?;
    let detail = format!("namespace {} to queue {}", clip(&query.namespace, 63), clip(&query.queue, 200));
    let entry = caller.entry("cluster.disallow_queue", &cluster.name, &detail);
    let found = app
        .store
        .txn("cluster.disallow_queue", &(cluster.id, query, entry), |db, (cluster, query, entry)| {
            Box::pin(async move {
                let found = arrival::disallow(db, *cluster, &query.namespace, &query.queue).await?;
                if found {
                    audit::insert(db, entry).await?;
                }
                Ok(found)
            })
        })
        .await?;
    let list_with = format!("squadron cluster queues {}", cluster.name);
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(Api::not_found("permission of", detail, &list_with)) }
}

fn shown(rule: Rule) -> AllowedQueue {
    AllowedQueue {
        namespace: rule.namespace,
        queue: rule.queue,
        allowed_by: rule.created_by,
        allowed_at: rule.created_at,
    }
}

async fn find(app: &AppState, name: &str) -> Result<Cluster> {
    let found = app.store.cluster_named(name).await?;
    found.ok_or_else(|| Api::not_found("cluster", clip(name, 80), "squadron cluster list"))
}

fn unknown_queue(error: StoreError, queue: &QueueName) -> Api {
    if error.violates(arrival::NO_SUCH_QUEUE) {
        return Api::new(
            Code::UnknownQueue,
            format!("there is no queue {queue}"),
            format!("list them with `squadron queue list`, or add it: squadron queue add {queue}"),
        );
    }
    error.into()
}

#[cfg(test)]
#[path = "arrivals_tests.rs"]
mod tests;
