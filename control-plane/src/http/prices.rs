//! Price sheets: check, put in force, read back.

use axum::{
    Json,
    extract::{Query, State},
    http::header,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use squadron_api::{
    error::{Code, FieldProblem},
    route,
    usage::PriceSheetReply,
};
use squadron_core::{
    authz::Action,
    meter::{BadSheet, Sheet},
};
use squadron_store::{StoreError, audit, price};
use utoipa::{IntoParams, OpenApi};

use super::{
    auth::Caller,
    error::{Api, Result},
    routes::{Access, Routes},
};
use crate::{clock, state::AppState};

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(in_force, put))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes.get(route::PRICE_SHEETS, Access::Needs(Action::ReadPrices), in_force).put(
        route::PRICE_SHEETS,
        Access::Needs(Action::WritePrices),
        put,
    )
}

/// How to put a sheet.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct PutQuery {
    /// Check everything, change nothing.
    dry_run: bool,
}

/// The sheet in force, as it was handed in.
#[utoipa::path(get, path = route::PRICE_SHEETS, tag = "usage",
    responses((status = 200, body = String, content_type = "application/yaml")))]
async fn in_force(State(app): State<AppState>) -> Result<Response> {
    let sheet = app.store.price_sheet().await?.ok_or_else(|| {
        Api::new(Code::NotFound, "no price sheet is in force", "put one: squadron prices apply -f FILE")
    })?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], sheet.body).into_response())
}

/// Puts a sheet in force; the version before stays stored.
#[utoipa::path(put, path = route::PRICE_SHEETS, tag = "usage", params(PutQuery),
    request_body(content = String, content_type = "application/yaml"),
    responses((status = 200, body = PriceSheetReply)))]
async fn put(
    State(app): State<AppState>,
    caller: Caller,
    Query(query): Query<PutQuery>,
    body: String,
) -> Result<Json<PriceSheetReply>> {
    let sheet = Sheet::parse(&body).map_err(refused)?;
    let version = if query.dry_run { 0 } else { store(&app, &caller, &sheet, body).await? };
    Ok(Json(PriceSheetReply {
        intervals: u32::try_from(sheet.intervals()).unwrap_or(u32::MAX),
        name: sheet.name,
        version,
        currency: sheet.currency,
    }))
}

async fn store(app: &AppState, caller: &Caller, sheet: &Sheet, body: String) -> Result<i64> {
    let new = price::NewSheet {
        name: sheet.name.clone(),
        currency: sheet.currency.clone(),
        body,
        created_at: clock::now(),
        created_by: caller.actor.subject.clone(),
    };
    let entry = caller.entry("price_sheet.put", &sheet.name, format!("{} intervals", sheet.intervals()));
    let version = app
        .store
        .txn("price_sheet.put", &(new, entry), |db, (new, entry)| {
            Box::pin(async move {
                audit::insert(db, entry).await?;
                price::insert(db, new).await
            })
        })
        .await
        .map_err(raced)?;
    app.wake.changed("usage", &sheet.name, version);
    Ok(version)
}

fn raced(error: StoreError) -> Api {
    if error.violates(price::VERSION_TAKEN) {
        return Api::new(
            Code::Conflict,
            "somebody else put a version of this sheet at the same moment",
            "read the sheet in force, then put yours again",
        );
    }
    error.into()
}

fn refused(bad: BadSheet) -> Api {
    let detail = format!("the price sheet is refused: {bad}");
    let fields =
        bad.problems.into_iter().map(|problem| FieldProblem { path: problem.path, problem: problem.problem });
    Api::new(
        Code::InvalidPriceSheet,
        detail,
        "correct the sheet and put it again; nothing was changed, and docs/prices.md shows the format",
    )
    .fields(fields.collect())
}
