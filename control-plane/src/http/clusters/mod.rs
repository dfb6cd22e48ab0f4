//! Clusters: invite, accept, revoke, look at.

mod labels;
mod view;

use axum::{
    Json,
    extract::{Path, State},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::RngCore as _;
use squadron_api::{
    Page,
    cluster::{AcceptClusterRequest, AddClusterReply, AddClusterRequest, Cluster as Shown},
    error::Code,
    route,
};
use squadron_core::{authz::Action, id::ClusterId, identity::claims::audience, name::ClusterName};
use squadron_store::cluster::{
    Cluster, Identity, State as ClusterState,
    invite::{Decided, Invitation},
};
use utoipa::OpenApi;
use uuid::Uuid;

use super::{
    auth::{self, Caller},
    error::{Api, Result},
    fields::Fields,
    page,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState, wake::Topic};

/// How long an enrolment code is good for, in milliseconds.
const CODE_MS: i64 = 3_600_000;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(add, list, describe, accept, clear_alarm, revoke, labels::label))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .post(route::CLUSTERS, Access::Needs(Action::ManageClusters), add)
        .get(route::CLUSTERS, Access::Needs(Action::ReadClusters), list)
        .get(route::CLUSTER, Access::Needs(Action::ReadClusters), describe)
        .post(route::CLUSTER_ACCEPT, Access::Needs(Action::ManageClusters), accept)
        .post(route::CLUSTER_CLEAR_ALARM, Access::Needs(Action::ManageClusters), clear_alarm)
        .post(route::CLUSTER_LABELS, Access::Needs(Action::ManageClusters), labels::label)
        .post(route::CLUSTER_REVOKE, Access::Needs(Action::ManageClusters), revoke)
}

/// Invites a cluster. For a name that was invited and never enrolled this makes a new code.
#[utoipa::path(post, path = route::CLUSTERS, tag = "clusters", request_body = AddClusterRequest,
    responses((status = 200, body = AddClusterReply)))]
async fn add(
    State(app): State<AppState>,
    caller: Caller,
    Fields(request): Fields<AddClusterRequest>,
) -> Result<Json<AddClusterReply>> {
    let name = ClusterName::new(request.name)?;
    let (id, code, now) = (ClusterId(Uuid::now_v7()), new_code(), clock::now());
    let invitation = Invitation {
        id,
        name: name.to_string(),
        code_sha256: auth::digest(&code),
        code_expires_at: now.plus_millis(CODE_MS),
        audit: caller.entry("cluster.add", &name, ""),
    };
    let cluster = app.store.invite(&invitation).await?.ok_or_else(|| taken(&name))?;
    app.wake.changed("cluster", cluster.id, cluster.version);
    let audience = audience(app.identity, cluster.id);
    let helm_command = helm_command(&app, cluster.id, &audience, &code);
    Ok(Json(AddClusterReply {
        cluster: view::show(cluster, None, now, &app.settings),
        audience,
        ca_bundle: app.settings.ca_bundle.clone(),
        agent_address: app.settings.agent_address.clone(),
        code,
        code_expires_at: invitation.code_expires_at,
        helm_command,
    }))
}

/// 128 random bits.
fn new_code() -> String {
    let mut bytes = [0; 16];
    rand::rng().fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn taken(name: &ClusterName) -> Api {
    Api::new(
        Code::NameTaken,
        format!("there is a cluster {name} already"),
        "choose another name, or look at it with `squadron cluster list`",
    )
}

/// Every value inline, so that one line is all that has to be carried to the cluster.
fn helm_command(app: &AppState, id: ClusterId, audience: &str, code: &str) -> String {
    let ca = base64::engine::general_purpose::STANDARD.encode(&app.settings.ca_bundle);
    format!(
        "helm upgrade --install squadron-agent deploy/helm/squadron-agent \\\n  --namespace squadron --create-namespace \\\n  \
         --set controlPlane.address={} \\\n  --set controlPlane.audience={audience} \\\n  --set cluster.id={id} \\\n  \
         --set enrollment.code={code} \\\n  --set controlPlane.caBundle={ca}",
        app.settings.agent_address
    )
}

/// All clusters by name.
#[utoipa::path(get, path = route::CLUSTERS, tag = "clusters", responses((status = 200, body = Page<Shown>)))]
async fn list(State(app): State<AppState>) -> Result<Json<Page<Shown>>> {
    let (rows, mut capacities) = (app.store.clusters().await?, app.store.capacities().await?);
    let now = clock::now();
    let shown = rows.into_iter().map(|row| {
        let capacity = capacities.remove(&row.id);
        view::show(row, capacity, now, &app.settings)
    });
    let items = shown.collect();
    Ok(Json(page::whole(&app, items).await?))
}

/// One cluster, by name or id.
#[utoipa::path(get, path = route::CLUSTER, tag = "clusters", params(("cluster" = String, Path)),
    responses((status = 200, body = Shown)))]
async fn describe(State(app): State<AppState>, Path(cluster): Path<String>) -> Result<Json<Shown>> {
    let row = find(&app, &cluster).await?;
    shown(&app, row).await
}

/// Accepts the identity that the caller looked at: the first that a cluster offered, or the one that was offered anew.
#[utoipa::path(post, path = route::CLUSTER_ACCEPT, tag = "clusters", params(("cluster" = String, Path)),
    request_body = AcceptClusterRequest, responses((status = 200, body = Shown)))]
async fn accept(
    State(app): State<AppState>,
    caller: Caller,
    Path(cluster): Path<String>,
    Fields(request): Fields<AcceptClusterRequest>,
) -> Result<Json<Shown>> {
    let row = find(&app, &cluster).await?;
    let known = [row.waiting(), row.identity.as_ref()];
    let seen = known.into_iter().flatten().find(|identity| view::digest(identity) == request.identity);
    let Some(seen) = seen else {
        return Err(if row.identity.is_none() { refused(&row) } else { other(&row) });
    };
    let Identity { issuer, subject, service_account_uid, kube_system_uid, .. } = seen;
    let detail = format!("{subject} ({service_account_uid}) in {issuer}, kube-system {kube_system_uid}");
    let entry = caller.entry("cluster.accept", &row.name, detail);
    let decided = app.store.accept_cluster(row.id, seen, clock::now(), &entry).await?;
    told(&app, &cluster, decided).await
}

/// Clears the cluster's alarm and accepts nothing: an identity that was offered anew is turned away.
#[utoipa::path(post, path = route::CLUSTER_CLEAR_ALARM, tag = "clusters", params(("cluster" = String, Path)),
    responses((status = 200, body = Shown)))]
async fn clear_alarm(
    State(app): State<AppState>,
    caller: Caller,
    Path(cluster): Path<String>,
) -> Result<Json<Shown>> {
    let row = find(&app, &cluster).await?;
    let entry = caller.entry("cluster.clear_alarm", &row.name, row.alarm.clone());
    let decided = app.store.clear_alarm(row.id, &entry).await?;
    told(&app, &cluster, decided).await
}

/// Revokes the cluster: its agent is cut off within seconds, its tokens open nothing any more.
#[utoipa::path(post, path = route::CLUSTER_REVOKE, tag = "clusters", params(("cluster" = String, Path)),
    responses((status = 200, body = Shown)))]
async fn revoke(
    State(app): State<AppState>,
    caller: Caller,
    Path(cluster): Path<String>,
) -> Result<Json<Shown>> {
    let row = find(&app, &cluster).await?;
    let entry = caller.entry("cluster.revoke", &row.name, "");
    let decided = app.store.revoke_cluster(row.id, &entry).await?;
    told(&app, &cluster, decided).await
}

async fn told(app: &AppState, name: &str, decided: Decided) -> Result<Json<Shown>> {
    match decided {
        Decided::Done(row) => {
            app.wake.notify(Topic::Clusters);
            app.wake.notify(Topic::Dispatch);
            app.wake.changed("cluster", row.id, row.version);
            shown(app, *row).await
        }
        Decided::Refused(row) => Err(refused(&row)),
        Decided::OtherIdentity(row) => Err(other(&row)),
        Decided::Missing => Err(missing(name)),
    }
}

fn other(row: &Cluster) -> Api {
    Api::new(
        Code::Conflict,
        format!("the identity that waits for {} is not the one that you looked at", row.name),
        format!("look again with `squadron cluster accept {}`; nothing was accepted", row.name),
    )
}

fn refused(row: &Cluster) -> Api {
    match row.state {
        ClusterState::Revoked => Api::new(
            Code::Conflict,
            format!("the cluster {} was revoked", row.name),
            "add it again under another name",
        ),
        _ => Api::new(
            Code::NotEnrolled,
            format!("the cluster {} has not offered its identity yet", row.name),
            "install the agent with the Helm command of `squadron cluster add`, then accept again",
        ),
    }
}

pub(super) async fn shown(app: &AppState, row: Cluster) -> Result<Json<Shown>> {
    let capacity = app.store.capacities().await?.remove(&row.id);
    Ok(Json(view::show(row, capacity, clock::now(), &app.settings)))
}

pub(super) async fn find(app: &AppState, name_or_id: &str) -> Result<Cluster> {
    app.store.cluster_named(name_or_id).await?.ok_or_else(|| missing(name_or_id))
}

fn missing(name: &str) -> Api {
    Api::not_found("cluster", squadron_core::sentence::clip(name, 80), "squadron cluster list")
}
