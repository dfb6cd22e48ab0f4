//! Enrolment: offers this cluster's identity until an administrator accepts it.

use std::time::Duration;

use squadron_proto::link::{EnrollRequest, enroll_reply::State};

use super::{LinkError, Peer};

/// How often acceptance is asked for.
const ASK: Duration = Duration::from_secs(3);
/// After an error: long enough not to be a nuisance.
const AFTER_ERROR: Duration = Duration::from_secs(5);

/// Returns when the cluster is accepted, or when the code is of no use any more: then the token alone must do.
pub async fn until_accepted(peer: &Peer, code: &str) {
    loop {
        match offer(peer, code).await {
            Ok(true) => return,
            Ok(false) => tokio::time::sleep(ASK).await,
            Err(LinkError::Refused(reason)) => {
                tracing::warn!(reason, "the enrolment was refused; trying with the token alone");
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "the enrolment must wait");
                tokio::time::sleep(AFTER_ERROR).await;
            }
        }
    }
}

/// True once accepted.
async fn offer(peer: &Peer, code: &str) -> Result<bool, LinkError> {
    let mut line = peer.dial().await?;
    let home = peer.home();
    let offer = EnrollRequest {
        code: code.to_owned(),
        issuer: home.issuer.clone(),
        jwks: home.jwks.clone(),
        cluster_uid: home.uid.clone(),
        kubernetes_version: home.kubernetes_version.clone(),
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let request = peer.request(&line.token, offer)?;
    let reply = line.client.enroll(request).await.map_err(|status| refused(&status))?.into_inner();
    tracing::info!(message = reply.message, "enrolment");
    Ok(reply.state() == State::Accepted)
}

fn refused(status: &tonic::Status) -> LinkError {
    match status.code() {
        tonic::Code::Unauthenticated | tonic::Code::PermissionDenied | tonic::Code::FailedPrecondition => {
            LinkError::Refused(status.message().to_owned())
        }
        _ => LinkError::Failed { step: "enrol", cause: status.message().to_owned() },
    }
}
