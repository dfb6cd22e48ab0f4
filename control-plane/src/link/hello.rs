//! The hello: proof that the caller holds the key of its pod, and that its life is the one in charge.

use ed25519_dalek::{Signature, VerifyingKey};
use rand::RngCore as _;
use squadron_core::{fencing::slack, id::Epoch, link::hello_bytes};
use squadron_proto::link::{Hello, Refused, refused::Code};
use squadron_store::cluster::{State, agent};

use super::{guest::Guest, keys, refuse};
use crate::{clock, state::AppState, wake::Topic};

/// Longest version text, in bytes.
const VERSION_LIMIT: usize = 64;
/// What a refused agent waits before it comes again.
const RETRY_MS: u64 = 30_000;
const NOT_ACCEPTED_RETRY_MS: u64 = 5_000;

/// A nonce of this stream alone.
pub fn nonce() -> [u8; 32] {
    let mut nonce = [0; 32];
    rand::rng().fill_bytes(&mut nonce);
    nonce
}

/// Lets the guest in, or says with which message its stream ends.
pub async fn receive(
    app: &AppState,
    guest: &Guest,
    nonce: &[u8; 32],
    hello: &Hello,
) -> Result<Epoch, Refused> {
    if guest.state != State::Active {
        let message =
            format!("the cluster waits for an administrator: squadron cluster accept {}", guest.name);
        return Err(refuse::refused(Code::NotAccepted, message, NOT_ACCEPTED_RETRY_MS));
    }
    let key = match check_proof(guest, nonce, hello) {
        Ok(key) => key,
        Err(reason) => {
            refuse::note(app, Some(guest.cluster), reason).await;
            return Err(refuse::refused(Code::Unauthenticated, refuse::OUTWARD, RETRY_MS));
        }
    };
    let admitted = app.store.admit(&row(app, guest, hello, key)).await.map_err(|error| {
        tracing::warn!(%error, "an agent's hello must wait for the database");
        refuse::refused(Code::Drain, "the database cannot be reached at the moment", 1_000)
    })?;
    welcome(app, guest, hello, admitted).await
}

fn check_proof(guest: &Guest, nonce: &[u8; 32], hello: &Hello) -> Result<[u8; 32], &'static str> {
    if hello.pod_uid != guest.proven.pod_uid {
        return Err("the hello speaks of another pod than the token");
    }
    if hello.epoch == 0 || i64::try_from(hello.epoch).is_err() {
        return Err("the hello's epoch is out of range");
    }
    if hello.agent_version.len() > VERSION_LIMIT || hello.kubernetes_version.len() > VERSION_LIMIT {
        return Err("the hello's versions are too long");
    }
    let bytes: [u8; 32] =
        hello.public_key.as_ref().try_into().map_err(|_| "the hello's key is not 32 bytes long")?;
    let key = VerifyingKey::from_bytes(&bytes).map_err(|_| "the hello's key is no Ed25519 key")?;
    let signature =
        Signature::from_slice(&hello.signature).map_err(|_| "the hello's signature is malformed")?;
    let signed = hello_bytes(nonce, &guest.cluster.to_string(), &hello.pod_uid, &guest.token_sha256);
    key.verify_strict(&signed, &signature).map_err(|_| "the hello's signature does not match")?;
    Ok(bytes)
}

fn row(app: &AppState, guest: &Guest, hello: &Hello, public_key: [u8; 32]) -> agent::Hello {
    let detail = format!(
        "pod {} ({}), epoch {}, token {}",
        guest.proven.pod_name, hello.pod_uid, hello.epoch, guest.proven.token_id
    );
    agent::Hello {
        cluster: guest.cluster,
        epoch: Epoch(hello.epoch),
        pod_uid: hello.pod_uid.clone(),
        public_key,
        agent_version: hello.agent_version.clone(),
        kubernetes_version: hello.kubernetes_version.clone(),
        holds_leases: hello.holds_leases,
        renewals: hello.renewals,
        slack: slack(&app.settings.lease),
        silence: app.settings.silence(clock::now()),
        audit: refuse::entry(Some(guest.cluster), "link.take_over", &detail),
    }
}

async fn welcome(
    app: &AppState,
    guest: &Guest,
    hello: &Hello,
    admitted: agent::Admitted,
) -> Result<Epoch, Refused> {
    let changed = || app.wake.changed("cluster", guest.cluster, 0);
    match admitted {
        agent::Admitted::Welcome => {
            if let Some(visit) = &guest.visit {
                visit.become_known();
            }
            if !hello.jwks.is_empty()
                && let Err(error) = keys::push(app, guest, &hello.jwks).await
            {
                tracing::warn!(%error, cluster = guest.name, "the pushed key set could not be looked at");
            }
            app.wake.notify(Topic::Clusters);
            changed();
            Ok(Epoch(hello.epoch))
        }
        agent::Admitted::NotActive => {
            Err(refuse::refused(Code::NotAccepted, "the cluster is not active", RETRY_MS))
        }
        agent::Admitted::OtherKey => {
            changed();
            Err(refuse::refused(Code::Unauthenticated, refuse::OUTWARD, RETRY_MS))
        }
        agent::Admitted::Superseded { in_charge } => Err(superseded(in_charge)),
        agent::Admitted::Duplicate { above, alarm } => {
            changed();
            let epoch_above = above.map_or(0, |epoch| epoch.0);
            Err(Refused { epoch_above, ..refuse::refused(Code::Duplicate, alarm, RETRY_MS) })
        }
    }
}

/// A newer life of the agent is in charge.
pub fn superseded(in_charge: Epoch) -> Refused {
    let message = format!("a newer agent (epoch {}) acts for this cluster", in_charge.0);
    Refused { epoch_above: in_charge.0, ..refuse::refused(Code::Superseded, message, RETRY_MS) }
}
