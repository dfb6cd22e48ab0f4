//! Session: which life of an agent is heard (R11), told from a copy of its cluster.
//!
//! Owns the comparison that [`crate::fencing`] cannot make: a cluster that was restored from a backup, or whose Secret was
//! copied, may come with a greater epoch. Invariant: a life takes over only if it has seen about as many renewals as the
//! control plane has answered; the count lies in the cluster's Lease object, so the next life of the same cluster knows
//! it and a copy of the past does not. Fails safe: the copy is refused and an alarm names both. Repaired by an
//! administrator, who removes the copy.

use crate::{
    fencing::{self, InCharge, Standing},
    id::Epoch,
    lease::{Renewal, Terms},
};

/// What a life says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hello<'a> {
    pub epoch: Epoch,
    pub pod_uid: &'a str,
    /// Renewals that were acknowledged to this life and those before it, by the Lease object of its cluster.
    pub acknowledged: u64,
}

/// What becomes of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Session {
    TakesOver,
    Same,
    /// An older life of the pod in charge: it ends.
    Superseded,
    /// Somebody else is in charge; the alarm is a sentence with a next step.
    Refused {
        alarm: String,
    },
}

/// Judges a hello against the life in charge and the renewals of the cluster so far.
pub fn admit(in_charge: &InCharge, total: u64, hello: Hello<'_>, terms: &Terms) -> Session {
    match fencing::standing(in_charge, hello.epoch, hello.pod_uid) {
        Standing::Same => Session::Same,
        Standing::Older => Session::Superseded,
        Standing::Stranger => {
            Session::Refused { alarm: fencing::alarm(in_charge, hello.epoch, hello.pod_uid) }
        }
        Standing::Newer if hello.acknowledged.saturating_add(slack(terms)) < total => {
            Session::Refused { alarm: alarm(in_charge, total, hello) }
        }
        Standing::Newer => Session::TakesOver,
    }
}

/// The count of a cluster's renewals after one of its agent, which has noted `acknowledged`. It never runs ahead of the
/// notes by more than one, however many renewals come at once.
pub fn counted(total: u64, acknowledged: u64) -> u64 {
    total.max(acknowledged.saturating_add(1).min(total.saturating_add(1)))
}

/// Whether a renewal is news: of the life in charge, and newer than the newest (R13).
pub fn is_news(newest: &Renewal, epoch: Epoch, number: u64) -> bool {
    (epoch, number) > (newest.epoch, newest.number)
}

/// Renewals that a life may have missed to write down: those of two leases, and some.
fn slack(terms: &Terms) -> u64 {
    2 * (terms.ttl / terms.heartbeat.max(1)) + 6
}

fn alarm(in_charge: &InCharge, total: u64, hello: Hello<'_>) -> String {
    format!(
        "pod {} (epoch {}) knows of {} renewals where this cluster has {total}: it looks like a copy restored from the past, \
         while pod {} (epoch {}) is in charge; it was refused and nothing changed; remove the copy, or accept the cluster \
         anew if the first one is gone",
        hello.pod_uid, hello.epoch.0, hello.acknowledged, in_charge.pod_uid, in_charge.epoch.0
    )
}
