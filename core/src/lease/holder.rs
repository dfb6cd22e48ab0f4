//! Holder: the agent's side of a lease.
//!
//! Owns the answer to "may an attempt start here, and which must stop?". Invariants: the lease is counted from the moment
//! the acknowledged renewal was sent (R6); an answer to another life's renewal changes nothing (R13); a grant is taken
//! only while its deadline, counted the same way, lies ahead (R5). Fails safe: a life without an acknowledged renewal
//! starts nothing. It also stops nothing, unless it found the end of the lease of the life before; the fencer, which
//! outlives agents, keeps that end too. Repaired by the next acknowledged renewal.

use crate::{
    id::{AttemptId, Epoch},
    lease::{Countdown, Policy, Terms, Tick, seconds},
};

/// The lease of one life of an agent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Holder {
    session: Epoch,
    renewals: Countdown,
}

/// How the lease stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// No renewal of this life was acknowledged yet.
    Unknown,
    Held {
        until: Tick,
    },
    Ended {
        since: Tick,
    },
}

/// An attempt that the control plane wants here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grant {
    pub attempt: AttemptId,
    /// Number of the renewal that the message with this grant answers.
    pub answers: u64,
    /// The session whose acceptance was committed; none while the grant is only offered.
    pub accepted_by: Option<Epoch>,
    /// The control plane knows that its RayJob was created.
    pub created: bool,
}

/// Why an attempt is not started, or not yet.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotStarted {
    #[error("the control plane has not committed yet that this agent accepts it")]
    NotAccepted,
    #[error("its RayJob was created before and is gone; it is not created again")]
    CreatedBefore,
    #[error(
        "the grant is older than its deadline; the control plane may have given the job to another cluster"
    )]
    Late,
    #[error("the lease of this cluster has ended or was not given yet")]
    NoLease,
}

impl Holder {
    pub fn new(session: Epoch) -> Holder {
        Holder { session, renewals: Countdown::default() }
    }

    /// A life that found the end of the lease of the life before, on the same machine since it booted.
    pub fn recovered(session: Epoch, until: Tick) -> Holder {
        Holder { session, renewals: Countdown::known(until) }
    }

    pub fn session(&self) -> Epoch {
        self.session
    }

    /// Notes that a renewal is sent now; answers its number.
    pub fn send(&mut self, now: Tick) -> u64 {
        self.renewals.ask(now)
    }

    /// When renewal `number` was sent, if no newer one was acknowledged since.
    pub fn sent_at(&self, number: u64) -> Option<Tick> {
        self.renewals.asked_at(number)
    }

    /// Takes the acknowledgement of renewal `number` of `session`. False if it changes nothing.
    pub fn acknowledged(&mut self, session: Epoch, number: u64, ttl: u64) -> bool {
        session == self.session && self.renewals.answer(number, ttl)
    }

    /// The end of the lease; what the agent keeps on its disk, with the machine's boot id.
    pub fn until(&self) -> Option<Tick> {
        self.renewals.until()
    }

    pub fn standing(&self, now: Tick) -> Standing {
        match self.renewals.until() {
            None => Standing::Unknown,
            Some(until) if now < until => Standing::Held { until },
            Some(until) => Standing::Ended { since: until },
        }
    }

    /// Milliseconds left; what the agent writes into its Lease object and tells watchdogs.
    pub fn left(&self, now: Tick) -> u64 {
        self.renewals.left(now)
    }

    /// Milliseconds left of what renewal `answers` promised: what a watchdog is told. The desired state that answers it holds
    /// the attempt, so nobody gave it up before; what a newer renewal promises may be for a state without it.
    pub fn left_of(&self, answers: u64, ttl: u64, now: Tick) -> u64 {
        self.sent_at(answers).map_or(0, |sent| sent.plus(ttl).since(now))
    }

    /// Whether the RayJob of a grant may be created at `now`.
    pub fn may_start(&self, grant: &Grant, ttl: u64, now: Tick) -> Result<(), NotStarted> {
        let sent = self.renewals.asked_at(grant.answers);
        if grant.created {
            Err(NotStarted::CreatedBefore)
        } else if grant.accepted_by != Some(self.session) {
            Err(NotStarted::NotAccepted)
        } else if sent.is_none_or(|sent| now.since(sent) >= ttl) {
            Err(NotStarted::Late)
        } else if !matches!(self.standing(now), Standing::Held { .. }) {
            Err(NotStarted::NoLease)
        } else {
            Ok(())
        }
    }

    /// The attempts that must stop now, each with the reason.
    pub fn must_stop(
        &self,
        held: &[(AttemptId, Policy)],
        terms: &Terms,
        now: Tick,
    ) -> Vec<(AttemptId, String)> {
        let Standing::Ended { since } = self.standing(now) else { return Vec::new() };
        held.iter()
            .filter(|(_, policy)| policy.stops_itself())
            .map(|(attempt, policy)| (*attempt, ended_sentence(*policy, terms, now.since(since))))
            .collect()
    }
}

fn ended_sentence(policy: Policy, terms: &Terms, ago: u64) -> String {
    format!(
        "the control plane acknowledged nothing for {}, the length of the lease, which ended {} ago; the job's policy is \
         {policy}, so it stops here and may start elsewhere",
        seconds(terms.ttl),
        seconds(ago)
    )
}
