//! Failover: what a control plane may still believe after its database lost its last commits (R10, T10).
//!
//! Invariant: a job from before the failover starts nowhere while an attempt that the database forgot may run: every
//! cluster has told its inventory since, or nothing under a lease can run there any more, or an operator vouches for it.
//! What a cluster holds and the database does not know is adopted, not stopped, if it can be the job's newest attempt.
//! With synchronous commit nothing is lost and this changes nothing.

use std::collections::BTreeMap;

use crate::{
    id::ClusterId,
    lease::{Policy, Silence, Terms, seconds},
};

/// A cluster since the failover.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Told {
    /// Its whole inventory was committed since the failover.
    pub inventory: bool,
    /// An operator vouches that nothing runs there.
    pub vouched: bool,
    pub silence: Silence,
}

/// What the clusters have told since the failover.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Failover {
    pub clusters: BTreeMap<ClusterId, Told>,
}

impl Failover {
    /// Whether a job that was submitted before the failover may start anew, or the sentence why not.
    pub fn may_start(&self, policy: Policy, terms: &Terms) -> Result<(), String> {
        let unsure = self.clusters.values().filter(|told| !told.inventory && !told.vouched);
        let open = match policy {
            Policy::Rerun => 0,
            Policy::Fence => unsure.filter(|told| told.silence.counted < expiry(told, terms)).count(),
            Policy::Wait => unsure.count(),
        };
        if open == 0 {
            return Ok(());
        }
        let how = match policy {
            Policy::Fence => format!("or there was silence for {}", seconds(terms.expiry())),
            _ => "or an operator says that nothing runs there".to_owned(),
        };
        Err(format!(
            "the database lost its newest commits in a failover, so the job may run already; {} did not tell since what runs \
             there, and it waits until that is told, {how}",
            crate::sentence::count(open, "cluster")
        ))
    }

    /// Whether an attempt must be taken for accepted although the database does not say so.
    pub fn may_be_accepted(&self, cluster: ClusterId) -> bool {
        self.clusters.get(&cluster).is_none_or(|told| !told.inventory && !told.vouched)
    }
}

fn expiry(told: &Told, terms: &Terms) -> u64 {
    Terms { ttl: terms.ttl.max(told.silence.ttl), ..*terms }.expiry()
}

/// What becomes of an attempt that a cluster holds and the database does not want there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strange {
    /// It is the job's newest attempt: the database forgot it.
    Adopt,
    /// A newer one exists, the job is over, or it cannot be the job's: it goes.
    Stop,
}

/// Attempts of one job that a failover may have forgotten, at most: a cluster that names one beyond them made it up, and the
/// numbers of a job would run out.
pub const FORGOTTEN: u32 = 100;

/// Judges attempt `number` of a job whose newest known attempt has number `newest` (0 for none).
pub fn unknown_attempt(number: u32, newest: u32, job_is_over: bool) -> Strange {
    let ahead = number.saturating_sub(newest);
    if !job_is_over && (1..=FORGOTTEN).contains(&ahead) { Strange::Adopt } else { Strange::Stop }
}
