//! Incidents: list and look at, as the correlator wrote them.

use axum::{
    Json,
    extract::{Path, Query, State},
};
use serde::Deserialize;
use squadron_api::{
    Page,
    error::Code,
    incident::{Evidence, HitJob, Incident},
    route,
};
use squadron_core::authz::Action;
use squadron_store::incident::IncidentRow;
use utoipa::{IntoParams, OpenApi};

use super::{
    error::{Api, Result},
    page,
    routes::{Access, Routes},
};
use crate::state::AppState;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(list, show))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get(route::INCIDENTS, Access::Needs(Action::ReadIncidents), list).get(
        route::INCIDENT,
        Access::Needs(Action::ReadIncidents),
        show,
    )
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
    let missing = || Api::not_found("incident", &incident, "squadron incidents list");
    let id = incident.parse().map_err(|_| missing())?;
    let row = app.store.incident(id).await?.ok_or_else(missing)?;
    Ok(Json(view(row)))
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
        version: row.version,
    }
}
