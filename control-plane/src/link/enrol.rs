//! Enrolment: a cluster offers its identity, with a one-time code and a token that its own keys verify.

use squadron_core::{
    id::ClusterId,
    identity::{
        Refusal,
        claims::{Enrolled, Proven, audience},
        keys::KeySet,
    },
};
use squadron_proto::link::{EnrollReply, EnrollRequest, enroll_reply::State};
use squadron_store::cluster::{
    Identity,
    enrol::{Offer, Offered},
};
use tonic::{Request, Response, Status};

use super::{LinkService, guest, keys, refuse};
use crate::{
    auth::agent_token::{self, BearerToken},
    clock,
    http::auth::digest,
    listen::Visit,
    state::AppState,
};

/// Longest short text of a request, in bytes.
const TEXT_LIMIT: usize = 512;

/// Verifies the offer and keeps it until an administrator says yes.
pub async fn enroll(
    service: &LinkService,
    request: Request<EnrollRequest>,
) -> Result<Response<EnrollReply>, Status> {
    let app = &service.app;
    let from = request.extensions().get::<Visit>().map(Visit::from);
    if from.is_some_and(|from| !service.enrolments.allows(from, clock::now())) {
        return Err(Status::resource_exhausted(
            "too many enrolments from this address; try again in a minute",
        ));
    }
    let (cluster, token) = match agent_token::from_metadata(request.metadata()) {
        Ok(parsed) => parsed,
        Err(refusal) => return Err(refuse::token(app, None, &refusal).await),
    };
    let request = request.into_inner();
    check_texts(&request)?;
    let proven = match against_offer(app, cluster, &token, &request) {
        Ok(proven) => proven,
        Err(refusal) => {
            return Err(refuse::token(app, existing(service, cluster), &refusal).await);
        }
    };
    let offer = offer(app, cluster, &token, &request, proven).await?;
    let offered = app.store.offer(&offer).await.map_err(|error| guest::unavailable(&error))?;
    if let Some(from) = from.filter(|_| offered.is_welcome()) {
        service.enrolments.forgives(from);
    }
    app.wake.changed("cluster", cluster, 0);
    reply(service, cluster, offered).await
}

/// The cluster, if it exists: a claim of a stranger gets no place of its own in log and audit.
fn existing(service: &LinkService, cluster: ClusterId) -> Option<ClusterId> {
    Some(cluster).filter(|cluster| service.registry.knows(*cluster))
}

fn check_texts(request: &EnrollRequest) -> Result<(), Status> {
    let texts = [
        &request.code,
        &request.issuer,
        &request.cluster_uid,
        &request.kubernetes_version,
        &request.agent_version,
    ];
    if texts.iter().any(|text| text.len() > TEXT_LIMIT || text.contains('\0'))
        || request.cluster_uid.is_empty()
    {
        return Err(Status::invalid_argument("the enrolment has an empty, too long or unprintable text"));
    }
    Ok(())
}

/// A29: the token must be signed by a key of the set that is offered with it.
fn against_offer(
    app: &AppState,
    cluster: ClusterId,
    token: &BearerToken,
    request: &EnrollRequest,
) -> Result<Proven, Refusal> {
    let keys = KeySet::read(&request.jwks).map_err(|_| Refusal::UnknownKey)?;
    let enrolled = Enrolled {
        issuer: &request.issuer,
        audience: &audience(app.identity, cluster),
        subject: None,
        service_account_uid: None,
    };
    agent_token::verify(token, &keys, enrolled, clock::now())
}

async fn offer(
    app: &AppState,
    cluster: ClusterId,
    token: &BearerToken,
    request: &EnrollRequest,
    proven: Proven,
) -> Result<Offer, Status> {
    let row = app.store.cluster(cluster).await.map_err(|error| guest::unavailable(&error))?;
    let known = row.and_then(|row| row.identity);
    let signed_by_known = known.is_some_and(|known| signed_by(app, cluster, token, &known));
    let detail = format!("{} in {}, kube-system {}", proven.subject, request.issuer, request.cluster_uid);
    Ok(Offer {
        cluster,
        code_sha256: digest(&request.code),
        identity: Identity {
            issuer: request.issuer.clone(),
            subject: proven.subject,
            service_account_uid: proven.service_account_uid,
            kube_system_uid: request.cluster_uid.clone(),
            jwks: request.jwks.clone(),
        },
        signed_by_known,
        agent_version: request.agent_version.clone(),
        kubernetes_version: request.kubernetes_version.clone(),
        now: clock::now(),
        audit: refuse::entry(Some(cluster), "cluster.offer", &detail),
    })
}

fn signed_by(app: &AppState, cluster: ClusterId, token: &BearerToken, known: &Identity) -> bool {
    let now = clock::now();
    let enrolled = Enrolled {
        issuer: &known.issuer,
        audience: &audience(app.identity, cluster),
        subject: None,
        service_account_uid: None,
    };
    keys::in_force(&known.jwks, now)
        .is_ok_and(|keys| agent_token::verify(token, &keys, enrolled, now).is_ok())
}

async fn reply(
    service: &LinkService,
    cluster: ClusterId,
    offered: Offered,
) -> Result<Response<EnrollReply>, Status> {
    let app = &service.app;
    let name = match app.store.cluster(cluster).await {
        Ok(Some(row)) => row.name,
        _ => cluster.to_string(),
    };
    let accept = format!("squadron cluster accept {name}");
    let (state, message) = match offered {
        Offered::Pending => (State::Pending, format!("the cluster waits for an administrator: {accept}")),
        Offered::Accepted => (State::Accepted, "the cluster is accepted".to_owned()),
        Offered::Reoffered => (
            State::Pending,
            format!("the agent was installed again and waits for an administrator: {accept}"),
        ),
        Offered::BadCode => {
            refuse::note(app, existing(service, cluster), "the enrolment code is wrong, used or expired")
                .await;
            return Err(Status::permission_denied(
                "the enrolment code is wrong, used or expired; run `squadron cluster add` again for a new one",
            ));
        }
        Offered::Contradicts => {
            refuse::note(app, Some(cluster), "another identity tried to enrol").await;
            return Err(Status::failed_precondition(format!(
                "another cluster is enrolled as {name}; install the agent with values of its own from `squadron cluster add`"
            )));
        }
    };
    Ok(Response::new(EnrollReply { state: state.into(), message }))
}
