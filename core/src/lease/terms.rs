//! Terms: the times that both sides of a lease agree on.
//!
//! Invariant (R6): `expiry` is what the granting side waits; it exceeds what the slowest allowed clock of the holding
//! side needs to reach the end of the lease, to give the containers their grace and to act. Repaired by nobody: terms
//! that cannot hold are refused by [`Terms::check`] before they are used.

use crate::lease::seconds;

/// Times of a lease, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Terms {
    /// How long a renewal lasts, on the holder's clock, from the moment the renewal was sent.
    pub ttl: u64,
    /// How often the agent renews.
    pub heartbeat: u64,
    /// How often the fencer leaves a mark and reads the Lease object.
    pub look: u64,
    /// Silence after which nothing new is placed on the cluster.
    pub suspect_after: u64,
    /// How much faster one clock may run than another, in thousandths.
    pub drift_permille: u64,
    /// From the request to stop a pod until its containers are killed.
    pub grace: u64,
    /// From the end of a lease until the request to stop has reached the kubelet, at most.
    pub poll: u64,
    /// Silence after which an attempt that was offered and never accepted is offered elsewhere.
    pub grant: u64,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            ttl: 600_000,
            heartbeat: 10_000,
            look: 5_000,
            suspect_after: 30_000,
            drift_permille: 10,
            grace: 10_000,
            poll: 2_000,
            grant: 30_000,
        }
    }
}

/// Attempts whose stop a cluster asks for within one poll, when its API server answers within 50 ms.
const AT_ONCE: u64 = 1_000;
/// Milliseconds for each attempt more.
const EACH: u64 = 2;

/// Why terms cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TermsError {
    #[error(
        "a lease of {} is too short for a heartbeat of {}: after one lost message jobs would be stopped; set the lease to \
         at least {}",
        seconds(*ttl), seconds(*heartbeat), seconds(*least)
    )]
    TooShort { ttl: u64, heartbeat: u64, least: u64 },
    #[error("a heartbeat, look or poll of 0 s never comes; set each to at least 1 s")]
    Zero,
    #[error(
        "a cluster would be suspected after {}, before two heartbeats of {} were missed; set it to at least {}",
        seconds(*suspect_after), seconds(*heartbeat), seconds(heartbeat.saturating_mul(2))
    )]
    HastySuspicion { suspect_after: u64, heartbeat: u64 },
    #[error("a drift of {0} thousandths is no clock's; set it to at most 100")]
    Drift(u64),
}

impl Terms {
    /// What the granting side adds to the lease (R6): drift, the containers' grace and one poll.
    pub fn guard(&self) -> u64 {
        (self.ttl.saturating_mul(self.drift_permille)).div_ceil(1_000).saturating_add(self.grace + self.poll)
    }

    /// Silence after which nothing under a lease can run any more.
    pub fn expiry(&self) -> u64 {
        self.ttl.saturating_add(self.guard())
    }

    /// The same terms for a cluster that must stop `attempts` at once: a crowd gets a longer poll.
    pub fn for_crowd(self, attempts: u64) -> Terms {
        let more = attempts.saturating_sub(AT_ONCE).saturating_mul(EACH);
        Terms { poll: self.poll.saturating_add(more), ..self }
    }

    /// The longest trouble that surely ends no attempt: the last renewal may be one heartbeat old when it begins, the mark
    /// that the fencer counts from one look, and the first renewal after it needs one poll.
    pub fn survives(&self) -> u64 {
        self.ttl.saturating_sub(self.heartbeat + self.look + 2 * self.poll)
    }

    /// Refuses terms under which jobs would be stopped for nothing or a promise could not be kept.
    pub fn check(&self) -> Result<(), TermsError> {
        let least = self.heartbeat.saturating_mul(3).max(self.suspect_after.saturating_add(self.heartbeat));
        if self.heartbeat == 0 || self.poll == 0 || self.look == 0 {
            Err(TermsError::Zero)
        } else if self.drift_permille > 100 {
            Err(TermsError::Drift(self.drift_permille))
        } else if self.suspect_after < self.heartbeat.saturating_mul(2) {
            Err(TermsError::HastySuspicion { suspect_after: self.suspect_after, heartbeat: self.heartbeat })
        } else if self.ttl < least {
            Err(TermsError::TooShort { ttl: self.ttl, heartbeat: self.heartbeat, least })
        } else {
            Ok(())
        }
    }
}
