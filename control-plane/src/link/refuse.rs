//! Refusals: one text for the peer, the reason for the log and the audit.
//!
//! Invariant: what a refused peer hears tells it nothing about why. A flood of refusals floods neither the audit nor the
//! log: the same reason for the same cluster is written at most every ten seconds, a cluster has so many rows a minute
//! however many reasons its callers find, and all clusters that do not exist count as one.

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
/// Rows of one cluster in a minute.
const PER_MINUTE: u32 = 120;
const MINUTE_MS: i64 = 60_000;

static WRITTEN: Mutex<Written> = Mutex::new(Written(BTreeMap::new()));

/// What was written in the last minute, by cluster. Only clusters that exist have an entry of their own.
struct Written(BTreeMap<Option<ClusterId>, Minute>);

struct Minute {
    began: Timestamp,
    rows: u32,
    reasons: BTreeMap<String, Timestamp>,
}

/// Logs and audits the refusal; the peer gets the constant text. `cluster` is given only if it exists.
pub async fn token(app: &AppState, cluster: Option<ClusterId>, refusal: &Refusal) -> Status {
    note(app, cluster, &refusal.to_string()).await;
    Status::unauthenticated(OUTWARD)
}

/// Logs and audits a reason. `cluster` is given only if it exists.
pub async fn note(app: &AppState, cluster: Option<ClusterId>, reason: &str) {
    if !WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).is_news(cluster, reason, clock::now()) {
        return;
    }
    let object = cluster.map(|id| id.to_string()).unwrap_or_default();
    tracing::warn!(cluster = object, reason, "refused an agent");
    let entry = entry(cluster, "link.refused", reason);
    if let Err(error) = app.store.audit(&audit::Entry { allowed: false, ..entry }).await {
        tracing::warn!(%error, "a refusal could not be audited");
    }
}

impl Written {
    fn is_news(&mut self, cluster: Option<ClusterId>, reason: &str, now: Timestamp) -> bool {
        let fresh = || Minute { began: now, rows: 0, reasons: BTreeMap::new() };
        let minute = self.0.entry(cluster).or_insert_with(fresh);
        if !(0..MINUTE_MS).contains(&now.millis_since(minute.began)) {
            minute.reasons.retain(|_, at| (0..SAME_AGAIN_MS).contains(&now.millis_since(*at)));
            (minute.began, minute.rows) = (now, 0);
        }
        let last = minute.reasons.get(reason).map(|last| now.millis_since(*last));
        if minute.rows >= PER_MINUTE || last.is_some_and(|ago| (0..SAME_AGAIN_MS).contains(&ago)) {
            return false;
        }
        minute.rows += 1;
        minute.reasons.insert(reason.to_owned(), now);
        true
    }
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
        let mut written = Written(BTreeMap::new());
        assert!(written.is_news(cluster, "expired", at(0)));
        assert!(!written.is_news(cluster, "expired", at(9_999)));
        assert!(written.is_news(cluster, "another reason", at(1)));
        assert!(written.is_news(None, "expired", at(1)));
        assert!(written.is_news(cluster, "expired", at(10_000)));
    }

    #[test]
    fn new_reasons_without_end_are_written_up_to_a_limit() {
        let mut written = Written(BTreeMap::new());
        let minute = |written: &mut Written, from: i64| {
            let at = |n: i64| Timestamp::from_millis(1_000_000 + from + n);
            (0..1_000).filter(|n| written.is_news(None, &format!("reason {from} {n}"), at(*n))).count()
        };
        assert_eq!((minute(&mut written, 0), minute(&mut written, 59_000)), (120, 0));
        assert_eq!(minute(&mut written, 61_000), 120);
        assert!(written.0[&None].reasons.len() <= 240, "old reasons are forgotten");
    }
}
