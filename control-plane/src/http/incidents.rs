//! Incidents: list and look at, as the correlator wrote them; and a person's word that one is over.

use axum::{
    Json,
    extract::{Path, Query, State},
};
use serde::Deserialize;
use squadron_api::{
    Page,
    error::Code,
    incident::{Evidence, HitJob, Incident, ResolveRequest, Resolved},
    route,
};
use squadron_core::{authz::Action, id::IncidentId, incident::resolve::Refused};
use squadron_store::incident::IncidentRow;
use utoipa::{IntoParams, OpenApi};

use super::{
    auth::Caller,
    error::{Api, Result, reason},
    fields::Fields,
    page,
    routes::{Access, Routes},
};
use crate::state::AppState;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(list, show, resolve))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .get(route::INCIDENTS, Access::Needs(Action::ReadIncidents), list)
        .get(route::INCIDENT, Access::Needs(Action::ReadIncidents), show)
        .post(route::INCIDENT_RESOLVE, Access::Needs(Action::ManageIncidents), resolve)
}

/// Which incidents.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct IncidentFilter {
    /// `open` or `resolved`; both by default.
    state: Option<String>,
    /// At most 500; 100 by default.
    limit: Option<u32>,
    page_token: Option<String>,
}

/// Incidents, the newest first.
#[utoipa::path(get, path = route::INCIDENTS, tag = "incidents", params(IncidentFilter),
    responses((status = 200, body = Page<Incident>)))]
async fn list(
    State(app): State<AppState>,
    Query(filter): Query<IncidentFilter>,
) -> Result<Json<Page<Incident>>> {
    if let Some(state) = filter.state.as_deref().filter(|state| !matches!(*state, "open" | "resolved")) {
        return Err(Api::new(
            Code::BadRequest,
            format!("{state:?} is no state of an incident"),
            "ask for state=open or state=resolved, or leave it out",
        ));
    }
    let limit = page::limit(filter.limit)?;
    let after = page::after(filter.page_token.as_deref())?;
    let rows = app.store.incidents(filter.state.as_deref(), after, i64::from(limit) + 1).await?;
    Ok(Json(page::page(&app, rows, limit, |row| (row.first_seen_at, row.id.0), view).await?))
}

/// One incident with its evidence.
#[utoipa::path(get, path = route::INCIDENT, tag = "incidents", params(("incident" = String, Path)),
    responses((status = 200, body = Incident)))]
async fn show(State(app): State<AppState>, Path(incident): Path<String>) -> Result<Json<Incident>> {
    let row = app.store.incident(id(&incident)?).await?.ok_or_else(|| missing(&incident))?;
    Ok(Json(view(row)))
}

/// Ends an incident by a person's word. What is seen of the same cause afterwards is a new incident.
#[utoipa::path(post, path = route::INCIDENT_RESOLVE, tag = "incidents", params(("incident" = String, Path)),
    request_body = ResolveRequest, responses((status = 200, body = Incident)))]
async fn resolve(
    State(app): State<AppState>,
    caller: Caller,
    Path(incident): Path<String>,
    Fields(request): Fields<ResolveRequest>,
) -> Result<Json<Incident>> {
    let id = id(&incident)?;
    let why = reason(&request.reason)?;
    let entry = caller.entry("incident.resolve", id.0, why);
    match app.store.resolve_incident(id, why, &entry).await? {
        None => return Err(missing(&incident)),
        Some(Err(refused)) => return Err(not_resolved(id, &refused)),
        Some(Ok(version)) => app.wake.changed("incident", id, version),
    }
    let row = app.store.incident(id).await?.ok_or_else(|| missing(&incident))?;
    Ok(Json(view(row)))
}

fn id(incident: &str) -> Result<IncidentId> {
    incident.parse().map_err(|_| missing(incident))
}

fn missing(incident: &str) -> Api {
    Api::not_found("incident", squadron_core::sentence::clip(incident, 80), "squadron incidents list")
}

fn not_resolved(id: IncidentId, refused: &Refused) -> Api {
    match refused {
        Refused::NoReason | Refused::TooLong => Api::new(
            Code::BadRequest,
            refused.to_string(),
            "say in a sentence why it is over, for example \"the GPU was replaced\"",
        ),
        Refused::Over(_) => Api::new(
            Code::Conflict,
            refused.to_string(),
            format!("look at it with `squadron incidents show {id}`"),
        ),
    }
}

fn view(row: IncidentRow) -> Incident {
    let evidence = row.evidence.into_iter().map(|evidence| Evidence {
        at: evidence.at,
        fact: format!("{}/{}", evidence.epoch, evidence.seq),
        sentence: evidence.sentence,
        raw: evidence.raw,
    });
    let jobs = row.jobs.into_iter().map(|hit| HitJob { id: hit.id, name: hit.name, because: hit.because });
    Incident {
        id: row.id,
        state: row.state,
        verdict: row.verdict,
        severity: row.severity,
        title: row.title,
        explanation: row.explanation,
        next_step: row.next_step,
        cluster: row.cluster,
        node: row.node,
        jobs: jobs.collect(),
        evidence: evidence.collect(),
        first_seen_at: row.first_seen_at,
        last_seen_at: row.last_seen_at,
        resolved: row.resolved.map(|end| Resolved { at: end.at, by: end.by, because: end.because }),
        version: row.version,
    }
}
