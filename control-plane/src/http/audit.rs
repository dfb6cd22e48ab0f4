//! The audit log, newest first.

use axum::{
    Json,
    extract::{Query, State},
};
use serde::Deserialize;
use squadron_api::{Page, audit::AuditEntry, error::Code, route};
use squadron_core::authz::Action;
use squadron_store::audit::Entry;
use utoipa::{IntoParams, OpenApi};

use super::{
    error::{Api, Result},
    page,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState};

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(list))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get(route::AUDIT, Access::Needs(Action::ReadAudit), list)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct AuditQuery {
    /// At most 500; 100 by default.
    limit: Option<u32>,
    page_token: Option<String>,
}

/// A page of the audit log.
#[utoipa::path(get, path = route::AUDIT, tag = "audit", params(AuditQuery), responses((status = 200, body = Page<AuditEntry>)))]
async fn list(
    State(app): State<AppState>,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<AuditEntry>>> {
    let limit = page::limit(query.limit)?;
    let before = match query.page_token.as_deref().map(str::parse) {
        None => None,
        Some(Ok(id)) => Some(id),
        Some(Err(_)) => {
            return Err(Api::new(
                Code::BadRequest,
                "page_token is not one that this server gave out",
                "use next_page_token of the page before, unchanged",
            ));
        }
    };
    let rows = app.store.audit_page(before, i64::from(limit)).await?;
    let full = u32::try_from(rows.len()).is_ok_and(|rows| rows == limit);
    let next_page_token = rows.last().filter(|_| full).map(|row| row.id.to_string());
    let items = rows.into_iter().map(show).collect();
    Ok(Json(Page { items, next_page_token, as_of: clock::now(), partial: None }))
}

fn show(row: Entry) -> AuditEntry {
    AuditEntry {
        id: row.id.to_string(),
        at: row.at,
        actor: row.actor,
        action: row.action,
        object: row.object,
        allowed: row.allowed,
        detail: row.detail,
        request_id: row.request_id,
    }
}
