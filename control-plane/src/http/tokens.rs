//! Tokens: make, list, revoke. A secret is shown once, in the answer that makes it.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use squadron_api::{
    Page,
    error::Code,
    route,
    token::{AddTokenReply, AddTokenRequest, Token},
};
use squadron_core::authz::{Action, Role};
use squadron_store::{audit, token as store};
use utoipa::OpenApi;
use uuid::Uuid;

use super::{
    auth::{self, Caller},
    error::{Api, Result},
    fields::Fields,
    page,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState};

const DEFAULT_DAYS: u32 = 90;
const MAX_DAYS: u32 = 365;
const DAY_MS: i64 = 86_400_000;
/// Longest subject, in bytes.
const SUBJECT_LIMIT: usize = 100;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(add, list, revoke))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .post(route::TOKENS, Access::Needs(Action::ManageTokens), add)
        .get(route::TOKENS, Access::Needs(Action::ManageTokens), list)
        .delete(route::TOKEN, Access::Needs(Action::ManageTokens), revoke)
}

/// Makes a token.
#[utoipa::path(post, path = route::TOKENS, tag = "tokens", request_body = AddTokenRequest, responses((status = 200, body = AddTokenReply)))]
async fn add(
    State(app): State<AppState>,
    caller: Caller,
    Fields(request): Fields<AddTokenRequest>,
) -> Result<Json<AddTokenReply>> {
    let row = row(&request)?;
    let secret = auth::new_secret();
    let entry = caller.entry("token.add", row.id, format!("{} as {}", row.subject, row.role));
    app.store
        .txn("token.add", &(&row, auth::digest(&secret), entry), |db, (row, digest, entry)| {
            Box::pin(async move {
                store::insert(db, row, digest).await?;
                audit::insert(db, entry).await
            })
        })
        .await?;
    Ok(Json(AddTokenReply { token: show(row), secret }))
}

fn row(request: &AddTokenRequest) -> Result<store::Token> {
    let bad = |problem: String, next: String| Api::new(Code::BadRequest, problem, next);
    let subject = request.subject.trim();
    let printable = subject.chars().all(|c| c.is_alphanumeric() || "-_.@:/".contains(c));
    if subject.is_empty() || subject.len() > SUBJECT_LIMIT || !printable {
        let next = format!("use letters, digits and -_.@:/, at most {SUBJECT_LIMIT} bytes");
        return Err(bad("the subject is empty, too long or has other characters".into(), next));
    }
    let Some(role) = Role::from_word(&request.role) else {
        let words: Vec<&str> = Role::ALL.into_iter().map(Role::word).collect();
        return Err(bad("there is no such role".into(), format!("use one of {}", words.join(", "))));
    };
    let days = request.days.unwrap_or(DEFAULT_DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(bad(format!("a token cannot live {days} days"), format!("use 1 to {MAX_DAYS}")));
    }
    let created_at = clock::now();
    Ok(store::Token {
        id: Uuid::now_v7(),
        subject: subject.to_owned(),
        role: role.word().to_owned(),
        created_at,
        expires_at: Some(created_at.plus_millis(i64::from(days) * DAY_MS)),
        last_used_at: None,
    })
}

/// All tokens, oldest first, without their secrets.
#[utoipa::path(get, path = route::TOKENS, tag = "tokens", responses((status = 200, body = Page<Token>)))]
async fn list(State(app): State<AppState>) -> Result<Json<Page<Token>>> {
    let tokens = app.store.tokens().await?.into_iter().map(show).collect();
    Ok(Json(page::whole(&app, tokens).await?))
}

/// Revokes a token; the sessions that were made with it end too.
#[utoipa::path(delete, path = route::TOKEN, tag = "tokens", params(("token" = String, Path)), responses((status = 204)))]
async fn revoke(
    State(app): State<AppState>,
    caller: Caller,
    Path(token): Path<String>,
) -> Result<StatusCode> {
    let missing =
        || Api::not_found("token", squadron_core::sentence::clip(&token, 80), "squadron token list");
    let id: Uuid = token.parse().map_err(|_| missing())?;
    if id == caller.token_id {
        return Err(Api::new(
            Code::Conflict,
            "this is the token that you use right now",
            "revoke it with another administrator's token",
        ));
    }
    let entry = caller.entry("token.revoke", id, "");
    let removed = app
        .store
        .txn("token.revoke", &(id, entry), |db, (id, entry)| {
            Box::pin(async move {
                let removed = store::delete(db, *id).await?;
                if removed {
                    audit::insert(db, entry).await?;
                }
                Ok(removed)
            })
        })
        .await?;
    if removed { Ok(StatusCode::NO_CONTENT) } else { Err(missing()) }
}

fn show(row: store::Token) -> Token {
    Token {
        id: row.id.to_string(),
        subject: row.subject,
        role: row.role,
        created_at: row.created_at,
        expires_at: row.expires_at,
        last_used_at: row.last_used_at,
    }
}
