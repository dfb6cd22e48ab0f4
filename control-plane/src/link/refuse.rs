//! Refusals: one text for the peer, the reason for the log and the audit.
//!
//! Invariant: what a refused peer hears tells it nothing about why. A flood of refusals does not flood the audit: the
//! same reason for the same cluster is written at most every ten seconds.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use squadron_core::{id::ClusterId, identity::Refusal, time::Timestamp};
use squadron_proto::link::{Refused, refused::Code};
use squadron_store::audit;
use tonic::Status;
use uuid::Uuid;

use crate::{clock, state::AppState};

/// All that a peer hears whose token was not accepted.
pub const OUTWARD: &str = "the token was not accepted";

const SAME_AGAIN_MS: i64 = 10_000;
/// Reasons that are remembered; beyond it the memory starts over.
const REMEMBERED: usize = 4_096;

static WRITTEN: Mutex<BTreeMap<(Option<ClusterId>, String), Timestamp>> = Mutex::new(BTreeMap::new());

/// Logs and audits the refusal; the peer gets the constant text.
pub async fn token(app: &AppState, cluster: Option<ClusterId>, refusal: &Refusal) -> Status {
    note(app, cluster, &refusal.to_string()).await;
    Status::unauthenticated(OUTWARD)
}

/// Logs and audits a reason.
pub async fn note(app: &AppState, cluster: Option<ClusterId>, reason: &str) {
    let object = cluster.map(|id| id.to_string()).unwrap_or_default();
    tracing::warn!(cluster = object, reason, "refused an agent");
    if !is_news(cluster, reason, clock::now()) {
        return;
    }
    let entry = entry(cluster, "link.refused", reason);
    if let Err(error) = app.store.audit(&audit::Entry { allowed: false, ..entry }).await {
        tracing::warn!(%error, "a refusal could not be audited");
    }
}

fn is_news(cluster: Option<ClusterId>, reason: &str, now: Timestamp) -> bool {
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    if written.len() > REMEMBERED {
        written.clear();
    }
    let last = written.get(&(cluster, reason.to_owned())).copied();
    if last.is_some_and(|last| now.millis_since(last) < SAME_AGAIN_MS) {
        return false;
    }
    written.insert((cluster, reason.to_owned()), now);
    true
}

/// An audit row of an agent's doing.
pub fn entry(cluster: Option<ClusterId>, action: &str, detail: &str) -> audit::Entry {
    let object = cluster.map(|id| id.to_string()).unwrap_or_default();
    audit::Entry {
        id: Uuid::now_v7(),
        at: clock::now(),
        actor: format!("agent:{object}"),
        action: action.to_owned(),
        object,
        allowed: true,
        detail: detail.to_owned(),
        request_id: String::new(),
    }
}

/// The last message of a stream.
pub fn refused(code: Code, message: impl Into<String>, retry_after_ms: u64) -> Refused {
    Refused { code: code.into(), message: message.into(), retry_after_ms, epoch_above: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_reason_is_written_once_in_ten_seconds() {
        let cluster = Some(ClusterId(Uuid::now_v7()));
        let at = |millis: i64| Timestamp::from_millis(1_000_000 + millis);
        assert!(is_news(cluster, "expired", at(0)));
        assert!(!is_news(cluster, "expired", at(9_999)));
        assert!(is_news(cluster, "another reason", at(1)));
        assert!(is_news(cluster, "expired", at(10_000)));
    }
}
