//! Sign-in: a token for a cookie, and who the caller is.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use squadron_api::{
    about::{Me, SignInRequest},
    error::Code,
    route,
};
use squadron_core::authz::Role;
use squadron_store::{
    audit,
    token::{Session, delete_session, insert_session},
};
use utoipa::OpenApi;
use uuid::Uuid;

use super::{
    auth::{self, COOKIE, Caller},
    error::{Api, Result},
    fields::Fields,
    request_id,
    routes::{Access, Routes},
};
use crate::{clock, state::AppState};

/// A session's greatest age, in milliseconds.
const AGE_MS: i64 = 12 * 3_600_000;

/// These routes' part of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(paths(sign_in, sign_out, me))]
pub struct Doc;

pub fn mount(routes: Routes) -> Routes {
    routes
        .post(route::SESSION, Access::Public, sign_in)
        .delete(route::SESSION, Access::SignedIn, sign_out)
        .get(route::ME, Access::SignedIn, me)
}

/// Trades a token for a cookie that scripts cannot read.
#[utoipa::path(post, path = route::SESSION, tag = "session", request_body = SignInRequest, responses((status = 200, body = Me)))]
async fn sign_in(
    State(app): State<AppState>,
    headers: HeaderMap,
    Fields(request): Fields<SignInRequest>,
) -> Result<Response> {
    auth::check_origin(&app, &headers)?;
    let now = clock::now();
    let token = app.store.token_by_digest(&auth::digest(request.token.trim()), now).await?;
    let role = token.as_ref().and_then(|token| Role::from_word(&token.role));
    let (Some(token), Some(role)) = (token, role) else { return Err(refused()) };
    let secret = auth::new_secret();
    let session = Session {
        digest: auth::digest(&secret),
        token_id: token.id,
        created_at: now,
        expires_at: now.plus_millis(AGE_MS),
    };
    let entry = audit::Entry {
        id: Uuid::now_v7(),
        at: now,
        actor: token.subject.clone(),
        action: "session.begin".to_owned(),
        object: token.id.to_string(),
        allowed: true,
        detail: String::new(),
        request_id: request_id::current(),
    };
    app.store
        .txn("session.begin", &(session, entry), |db, (session, entry)| {
            Box::pin(async move {
                insert_session(db, session).await?;
                audit::insert(db, entry).await
            })
        })
        .await?;
    let cookie =
        format!("{COOKIE}={secret}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age={}", AGE_MS / 1_000);
    Ok(with_cookie(
        &cookie,
        Json(Me { subject: token.subject, role: role.word().to_owned() }).into_response(),
    ))
}

fn refused() -> Api {
    Api::new(
        Code::Unauthenticated,
        "this token is not valid",
        "copy it again, or ask an administrator for a new one",
    )
}

/// Ends the session of the cookie. A caller with a token has none, and nothing happens.
#[utoipa::path(delete, path = route::SESSION, tag = "session", responses((status = 204)))]
async fn sign_out(State(app): State<AppState>, caller: Caller) -> Result<Response> {
    if let Some(digest) = caller.session {
        let entry = caller.entry("session.end", caller.token_id, "");
        app.store
            .txn("session.end", &(digest, entry), |db, (digest, entry)| {
                Box::pin(async move {
                    delete_session(db, digest).await?;
                    audit::insert(db, entry).await
                })
            })
            .await?;
    }
    let cookie = format!("{COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0");
    Ok(with_cookie(&cookie, StatusCode::NO_CONTENT.into_response()))
}

fn with_cookie(cookie: &str, mut response: Response) -> Response {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

/// The caller as the server knows it.
#[utoipa::path(get, path = route::ME, tag = "session", responses((status = 200, body = Me)))]
async fn me(caller: Caller) -> Json<Me> {
    Json(Me { subject: caller.actor.subject, role: caller.actor.role.word().to_owned() })
}
