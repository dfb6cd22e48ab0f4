//! Fencer: stops attempts inside a cluster whose agent no longer does (R7).
//!
//! Owns the end of the lease as somebody sees it who neither is the agent nor shares a clock with it. It leaves a mark in
//! the cluster; the agent reads the newest mark, and writes it into its Lease object together with the time its lease
//! has left. The fencer counts that time from the moment it left the mark, so it ends no later than the agent. Fails
//! safe: a Lease object that was not written for long runs out. After it was blind for long itself, it watches for one
//! heartbeat before it acts, because a living agent could not write either. Repaired by the agent's next write.

use crate::{
    id::AttemptId,
    lease::{Countdown, Policy, Terms, Tick, seconds},
};

/// What the agent writes into its own cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LeaseObject {
    /// The newest mark of the fencer that the agent had read before it looked at its clock.
    pub echo: u64,
    /// Milliseconds that the lease had left then.
    pub left: u64,
}

/// What one fencer knows. It is kept on the node, whose clock goes on when the process starts anew.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fencer {
    marks: Countdown,
    /// The last look at the API server that was answered.
    seen: Tick,
    /// Nothing is stopped before this.
    patient_until: Tick,
}

/// What becomes of the attempts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fencing {
    /// Nothing to do before `until`.
    Calm { until: Tick },
    /// These must stop now.
    Stop(Vec<(AttemptId, String)>),
}

impl Fencer {
    pub fn new(terms: &Terms, now: Tick) -> Fencer {
        Fencer { marks: Countdown::default(), seen: now, patient_until: now.plus(patience(terms)) }
    }

    /// One that found what was written before it began: the end of the lease, on the clock that it counts with.
    pub fn recovered(terms: &Terms, until: Tick, now: Tick) -> Fencer {
        Fencer { marks: Countdown::known(until), ..Fencer::new(terms, now) }
    }

    /// Leaves a mark: the number to write into the cluster.
    pub fn mark(&mut self, now: Tick) -> u64 {
        self.marks.ask(now)
    }

    /// Takes what the API server answered; none when there is no Lease object.
    pub fn read(&mut self, object: Option<LeaseObject>, terms: &Terms, now: Tick) {
        if now.since(self.seen) > terms.ttl / 2 {
            self.patient_until = now.plus(patience(terms));
        }
        self.seen = now;
        if let Some(object) = object {
            self.marks.answer(object.echo, object.left);
        }
    }

    /// When the lease ends as far as the fencer knows.
    pub fn ends(&self) -> Tick {
        self.marks.until().unwrap_or_default().max(self.patient_until)
    }

    /// Whether the agent's own word says that its lease lies ahead; patience says nothing of the agent.
    pub fn is_renewed(&self, now: Tick) -> bool {
        self.marks.until().is_some_and(|until| now < until)
    }

    /// What to do with the attempts seen in the cluster.
    pub fn judge(&self, held: &[(AttemptId, Policy)], now: Tick) -> Fencing {
        let ends = self.ends();
        if now < ends {
            return Fencing::Calm { until: ends };
        }
        let why = format!(
            "the agent's Lease object ran out {} ago and nobody renews it; the fencer stops what may start elsewhere",
            seconds(now.since(ends))
        );
        let fenced = held.iter().filter(|(_, policy)| policy.stops_itself());
        Fencing::Stop(fenced.map(|(attempt, _)| (*attempt, why.clone())).collect())
    }
}

/// Long enough for a living agent to write its Lease object.
fn patience(terms: &Terms) -> u64 {
    terms.heartbeat.saturating_add(terms.poll)
}
