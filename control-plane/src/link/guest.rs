//! A caller whose token was verified, before it has shown that it holds its key.

use squadron_core::{
    id::ClusterId,
    identity::{
        Refusal,
        claims::{Enrolled, Proven, audience},
        keys::KeySet,
    },
};
use squadron_store::{
    StoreError,
    cluster::{Cluster, State},
};
use tonic::{Request, Status};

use super::{LinkService, keys, refuse};
use crate::{
    auth::agent_token::{self, BearerToken},
    clock,
    listen::Visit,
    state::AppState,
};

/// What a verified token says, and whose connection brought it.
#[derive(Clone)]
pub struct Guest {
    pub cluster: ClusterId,
    pub name: String,
    pub state: State,
    pub token_sha256: [u8; 32],
    pub proven: Proven,
    pub visit: Option<Visit>,
}

/// Verifies the token of a call. Unknown, invited and revoked clusters hear what a bad token hears. Whoever names
/// clusters that do not exist is soon not looked up any more; agents of known clusters at the same address are.
pub async fn authenticate<T>(service: &LinkService, request: &Request<T>) -> Result<Guest, Status> {
    let app = &service.app;
    let visit = request.extensions().get::<Visit>().cloned();
    let parsed = agent_token::from_metadata(request.metadata());
    let (cluster, token) = match parsed {
        Ok(parsed) => parsed,
        Err(refusal) => return Err(refuse::token(app, None, &refusal).await),
    };
    let stranger = visit.as_ref().filter(|_| !service.registry.knows(cluster)).map(Visit::from);
    if stranger.is_some_and(|from| !service.guesses.allows(from, clock::now())) {
        return Err(Status::resource_exhausted("too many calls for unknown clusters; try again in a minute"));
    }
    let (row, proven) = check(app, cluster, &token).await?;
    if let Some(from) = stranger {
        service.guesses.forgives(from);
    }
    Ok(Guest { cluster, name: row.name, state: row.state, token_sha256: token.sha256(), proven, visit })
}

/// Verifies a token against the cluster's row as it is now.
pub async fn check(
    app: &AppState,
    cluster: ClusterId,
    token: &BearerToken,
) -> Result<(Cluster, Proven), Status> {
    let row = app.store.cluster(cluster).await.map_err(|error| unavailable(&error))?;
    let Some(row) = row else { return Err(refuse::token(app, None, &Refusal::UnknownKey).await) };
    match against(app, &row, token) {
        Ok(proven) => Ok((row, proven)),
        Err(refusal) => Err(refuse::token(app, Some(cluster), &refusal).await),
    }
}

fn against(app: &AppState, row: &Cluster, token: &BearerToken) -> Result<Proven, Refusal> {
    let now = clock::now();
    let identity = row.identity.as_ref().ok_or(Refusal::UnknownKey)?;
    let keys: KeySet = keys::in_force(&identity.jwks, now).map_err(|_| Refusal::UnknownKey)?;
    let enrolled = Enrolled {
        issuer: &identity.issuer,
        audience: &audience(app.identity, row.id),
        subject: Some(&identity.subject),
        service_account_uid: Some(&identity.service_account_uid),
    };
    agent_token::verify(token, &keys, enrolled, now)
}

/// The database is away: the agent comes again.
pub fn unavailable(error: &StoreError) -> Status {
    tracing::warn!(error = %crate::http::error::chain(error), "an agent must wait for the database");
    Status::unavailable("the control plane's database cannot be reached at the moment; try again")
}
