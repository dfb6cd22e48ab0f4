//! Rules of leases, each test named by the rule that it would miss.

#![allow(clippy::unwrap_used)]

mod granting;
mod holding;
mod several;
mod words;

use std::collections::BTreeMap;

use super::*;
use crate::id::{AttemptId, ClusterId, Epoch};

fn terms() -> Terms {
    Terms { ttl: 60_000, ..Terms::default() }
}

fn cluster(number: u128) -> ClusterId {
    ClusterId(uuid::Uuid::from_u128(number))
}

fn attempt(number: u32) -> AttemptId {
    AttemptId { job: crate::id::JobId(uuid::Uuid::from_u128(7)), number }
}

fn live(policy: Policy, accepted: bool) -> Live {
    Live { id: attempt(1), cluster: cluster(1), policy, accepted }
}

/// A silence that was counted from its first moment on.
fn silent(millis: u64) -> Silence {
    Silence { counted: millis, elapsed: millis, ttl: 60_000 }
}

/// What two clusters have renewed.
fn rows(first: u64, second: u64) -> BTreeMap<ClusterId, Renewal> {
    let renewal = |number| Renewal { epoch: Epoch(1), number, ttl: 60_000 };
    [(cluster(1), renewal(first)), (cluster(2), renewal(second))].into()
}
