//! Who asks: a bearer token, or the console's cookie. Both lead to a token row, and that to a role.
//!
//! Invariant: a cookie alone never writes. A write with a cookie needs our header, which another origin cannot send
//! without asking first, and an Origin that is ours. Secrets are compared as digests by the database's index, so that
//! neither the log nor timing tells anything about them.

use std::time::Duration;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, Method, header, request::Parts},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::RngCore as _;
use sha2::{Digest as _, Sha256};
use squadron_api::{error::Code, route::CSRF_HEADER};
use squadron_core::authz::{self, Action, Actor, Object, Role};
use squadron_store::{audit, token::Digest, token::Token};
use uuid::Uuid;

use super::{
    error::{Api, Result},
    request_id,
};
use crate::{clock, state::AppState};

/// Tokens for people and programs begin with this.
pub const TOKEN_PREFIX: &str = "sqd_";
/// `__Host-` binds the cookie to this host, to TLS and to the path `/`.
pub const COOKIE: &str = "__Host-squadron";
/// A session that was not used for this long is over.
const IDLE_MS: i64 = 3_600_000;

/// The authenticated caller of a request; an extractor for handlers.
#[derive(Clone, Debug)]
pub struct Caller {
    pub actor: Actor,
    pub token_id: Uuid,
    /// Digest of the cookie's secret, when the cookie was used.
    pub session: Option<Digest>,
}

impl Caller {
    /// Whether the caller may do this; a denial is audited with `what`, the object's name.
    pub async fn may(&self, app: &AppState, action: Action, object: Object<'_>, what: &str) -> Result<()> {
        let Err(denied) = authz::allow(&self.actor, action, object) else { return Ok(()) };
        let entry = self.entry(&format!("denied: {}", action.phrase()), what, &denied.sentence);
        app.store.audit(&audit::Entry { allowed: false, ..entry }).await?;
        Err(denied.into())
    }

    /// The audit row of something that the caller does now; write it in the transaction of the change.
    #[allow(clippy::needless_pass_by_value, reason = "ids and texts alike, as they come")]
    pub fn entry(&self, action: &str, object: impl ToString, detail: impl ToString) -> audit::Entry {
        audit::Entry {
            id: Uuid::now_v7(),
            at: clock::now(),
            actor: self.actor.subject.clone(),
            action: action.to_owned(),
            object: object.to_string(),
            allowed: true,
            detail: detail.to_string(),
            request_id: request_id::current(),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Api;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Caller> {
        parts.extensions.get::<Caller>().cloned().ok_or_else(unauthenticated)
    }
}

/// A new token: 256 random bits behind the prefix.
pub fn new_secret() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// SHA-256 of a secret.
pub fn digest(secret: &str) -> Digest {
    Sha256::digest(secret.as_bytes()).into()
}

/// The caller that the request's credentials prove.
pub async fn authenticate(app: &AppState, method: &Method, headers: &HeaderMap) -> Result<Caller> {
    if let Some(token) = bearer(headers)? {
        let found = app.store.token_by_digest(&digest(token), clock::now()).await?;
        return caller(found, None);
    }
    let Some(secret) = cookie(headers) else { return Err(unauthenticated()) };
    if !matches!(*method, Method::GET | Method::HEAD) {
        check_origin(app, headers)?;
    }
    let (session, now) = (digest(secret), clock::now());
    let found = app.store.token_by_session(&session, now.plus_millis(-IDLE_MS), now).await?;
    caller(found, Some(session))
}

/// How often a stream looks whether its caller may still read.
pub const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Returns once the caller's token or session has ended, or its role may no longer do `action`; looks every `every`. While
/// the database is away nothing ends.
pub async fn until_revoked(app: AppState, caller: Caller, action: Action, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        match still_may(&app, &caller, action).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::debug!(%error, "a stream's caller could not be looked at"),
        }
    }
}

async fn still_may(app: &AppState, was: &Caller, action: Action) -> squadron_store::Result<bool> {
    let now = clock::now();
    if let Some(session) = &was.session
        && !app.store.session_lives(session, now.plus_millis(-IDLE_MS), now).await?
    {
        return Ok(false);
    }
    let now_is = caller(app.store.token_by_id(was.token_id, now).await?, None);
    Ok(now_is.is_ok_and(|now_is| authz::allow(&now_is.actor, action, Object::Any).is_ok()))
}

fn caller(found: Option<Token>, session: Option<Digest>) -> Result<Caller> {
    let token = found.ok_or_else(unauthenticated)?;
    let role = Role::from_word(&token.role).ok_or_else(unauthenticated)?;
    Ok(Caller { actor: Actor { subject: token.subject, role }, token_id: token.id, session })
}

/// The bearer token, if the request brings exactly one `authorization` header of that scheme.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let token = value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token);
    match (token, values.next()) {
        (Some(token), None) if token.starts_with(TOKEN_PREFIX) && token.len() <= 200 => Ok(Some(token)),
        _ => Err(unauthenticated()),
    }
}

/// The value of our cookie, if the request brings it exactly once.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value);
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

/// Refuses a write that a page of another origin could have caused.
pub fn check_origin(app: &AppState, headers: &HeaderMap) -> Result<()> {
    let refused = |problem: &str| {
        Api::new(
            Code::Denied,
            problem,
            "reload the console and try again, or use the command line with a token",
        )
    };
    if !headers.contains_key(CSRF_HEADER) {
        return Err(refused("a write with the console's cookie needs the header x-squadron-csrf"));
    }
    match headers.get(header::ORIGIN) {
        Some(origin) if !is_own(app, headers, origin.as_bytes()) => {
            Err(refused("the write came from a page of another origin"))
        }
        _ => Ok(()),
    }
}

/// Our public address, or the very host that the browser asked.
fn is_own(app: &AppState, headers: &HeaderMap, origin: &[u8]) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    origin == app.settings.public_url.as_bytes()
        || host.is_some_and(|host| origin == format!("https://{host}").as_bytes())
}

fn unauthenticated() -> Api {
    Api::new(
        Code::Unauthenticated,
        "the request brings no valid token",
        "sign in with `squadron login`, or ask an administrator for a new token",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_scheme_may_be_written_in_any_case_and_the_token_comes_once() {
        let token = format!("{TOKEN_PREFIX}abc");
        let headers = |values: &[String]| -> HeaderMap {
            values.iter().map(|value| (header::AUTHORIZATION, value.parse().unwrap())).collect()
        };
        for scheme in ["Bearer", "bearer", "BEARER"] {
            let one = headers(&[format!("{scheme} {token}")]);
            assert_eq!(bearer(&one).unwrap(), Some(token.as_str()));
        }
        let twice = [format!("Bearer {token}"), format!("Bearer {token}")];
        for bad in [
            &twice[..],
            &[format!("Basic {token}")],
            std::slice::from_ref(&token),
            &[format!("Bearer  {token}")],
        ] {
            let mut all = HeaderMap::new();
            bad.iter().for_each(|value| _ = all.append(header::AUTHORIZATION, value.parse().unwrap()));
            assert!(bearer(&all).is_err(), "{bad:?}");
        }
    }
}
