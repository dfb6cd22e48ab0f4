//! Watchdog: the fence inside a pod, for a node that its own API server cannot reach, and for an API server that is down.
//!
//! It asks the agent over the cluster's network how long the lease lasts and counts from its question. Invariant: the
//! driver does not start before the first answer, and is stopped when the last promise ends. Optional: without it a
//! `fence` attempt on a node that is cut off runs on, and nothing outside can stop it.

use crate::lease::{Countdown, Tick};

/// What a pod's watchdog knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Watchdog {
    questions: Countdown,
}

impl Watchdog {
    /// Notes a question; answers its number.
    pub fn ask(&mut self, now: Tick) -> u64 {
        self.questions.ask(now)
    }

    /// Takes the agent's answer.
    pub fn answered(&mut self, number: u64, left: u64) {
        self.questions.answer(number, left);
    }

    /// Whether the driver may run at `now`.
    pub fn allows(&self, now: Tick) -> bool {
        self.questions.left(now) > 0
    }

    /// When the driver must be asked to stop; none before the first answer.
    pub fn ends(&self) -> Option<Tick> {
        self.questions.until()
    }
}
