//! Failures: which steps of earlier plans failed, how often, and when each may be tried again.
//!
//! The shell keeps one [`Failures`] per reconciled object in memory. Losing it (a restart) costs one early retry and
//! nothing else. Invariant: a step that failed n times in a row is not planned again before 2^(n-1) seconds, at most
//! 60, have passed; an object that was changed meanwhile is not excluded from that, so a full quota is not hammered.

use std::{collections::BTreeMap, time::Duration};

use squadron_core::time::Timestamp;

use crate::plan::{Event, Plan, REFUSED, Step};

const LONGEST_PAUSE_MILLIS: i64 = 60_000;
/// Error texts come from an API server; a status has room for a sentence or two.
const LONGEST_MESSAGE: usize = 1_000;

/// Stands for the write of the status among the keys; no step is called so.
const STATUS: &str = "status";

/// One step's history since it last succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Failures in a row.
    pub count: u32,
    /// How many of the last of them were refusals by Ray itself.
    pub refusals: u32,
    /// When it failed last.
    pub at: Timestamp,
    /// The API server's words.
    pub message: String,
    pub replica_failure: Option<&'static str>,
}

/// Failed steps of one object, by [`Step::key`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Failures(pub BTreeMap<String, Failure>);

impl Failures {
    /// Notes that `step` worked; answers the Event to emit.
    pub fn succeeded(&mut self, step: &Step) -> Option<Event> {
        self.0.remove(&step.key);
        step.done.clone()
    }

    /// Notes that `step` failed with `error`; answers the Event to emit. Judge the object again right afterwards.
    pub fn failed(&mut self, step: &Step, error: &str, now: Timestamp) -> Option<Event> {
        let message = self.note(&step.key, error, step.replica_failure, now);
        step.failed.clone().map(|event| Event { message: format!("{}, {message}", event.message), ..event })
    }

    /// One more failure of this key; answers the error's words, cut.
    fn note(
        &mut self,
        key: &str,
        error: &str,
        replica_failure: Option<&'static str>,
        now: Timestamp,
    ) -> String {
        let message: String = error.chars().take(LONGEST_MESSAGE).collect();
        let (count, refusals) = self.0.get(key).map_or((0, 0), |known| (known.count, known.refusals));
        let refusals = if error.starts_with(REFUSED) { refusals.saturating_add(1) } else { 0 };
        let failure = Failure {
            count: count.saturating_add(1),
            refusals,
            at: now,
            message: message.clone(),
            replica_failure,
        };
        self.0.insert(key.to_owned(), failure);
        message
    }

    /// Notes that the status was written.
    pub fn status_written(&mut self) {
        self.0.remove(STATUS);
    }

    /// Notes that the API server refused the status with `error`; a status waits like a step.
    pub fn status_refused(&mut self, error: &str, now: Timestamp) {
        self.note(STATUS, error, None, now);
    }

    /// How long a status that was refused must still wait; `None` when it may be written.
    pub fn status_pause(&self, now: Timestamp) -> Option<Duration> {
        self.pause(STATUS, now)
    }

    /// Forgets failures of steps that `plan` neither tries nor holds back: nobody wants them any more.
    pub fn settle(&mut self, plan: &Plan) {
        let wanted = |key: &String| {
            let step = plan.steps.iter().chain(&plan.then).any(|step| step.key == *key);
            step || plan.held.contains(key) || (key == STATUS && plan.status.is_some())
        };
        self.0.retain(|key, _| wanted(key));
    }

    /// How long the step of this key must still wait; `None` when it may run.
    pub(crate) fn pause(&self, key: &str, now: Timestamp) -> Option<Duration> {
        let failure = self.0.get(key)?;
        let doublings = failure.count.saturating_sub(1).min(16);
        let pause =
            1_000_i64.checked_shl(doublings).unwrap_or(LONGEST_PAUSE_MILLIS).min(LONGEST_PAUSE_MILLIS);
        let left = pause - now.millis_since(failure.at);
        u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_millis)
    }
}

impl Plan {
    /// Adds `step`, or holds it back while it must still wait after a failure.
    pub(crate) fn push(&mut self, step: Step, failures: &Failures, now: Timestamp) {
        match failures.pause(&step.key, now) {
            Some(pause) => {
                self.wake_within(pause);
                self.held.push(step.key);
            }
            None => self.steps.push(step),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::Value;

    use super::*;
    use crate::plan::Action;

    fn step() -> Step {
        Step::new("create/Pod/headgroup", Action::Create { object: Value::Null })
            .done(Event::normal("CreatedHeadPod", "Create", "Created head Pod".into()))
            .failed(Event::warning("FailedToCreateHeadPod", "Create", "Failed to create head Pod".into()))
    }

    #[test]
    fn rc_wrk_6_pauses_double_up_to_a_minute() {
        let mut failures = Failures::default();
        let start = Timestamp::from_millis(0);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            failures.failed(&step(), "exceeded quota", start);
            pauses.push(failures.pause("create/Pod/headgroup", start).unwrap().as_secs());
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(failures.pause("create/Pod/headgroup", start.plus_millis(60_000)), None);
    }

    #[test]
    fn sh_6_event_of_a_failure_carries_the_error() {
        let mut failures = Failures::default();
        let event = failures.failed(&step(), "exceeded quota", Timestamp(0)).unwrap();
        assert_eq!(event.message, "Failed to create head Pod, exceeded quota");
        assert_eq!(failures.succeeded(&step()).unwrap().reason, "CreatedHeadPod");
        assert!(failures.0.is_empty());
    }

    #[test]
    fn held_step_is_remembered_and_an_unwanted_one_forgotten() {
        let mut failures = Failures::default();
        failures.failed(&step(), "no", Timestamp(0));
        let mut plan = Plan::default();
        plan.push(step(), &failures, Timestamp::from_millis(400));
        assert_eq!((plan.steps.len(), plan.wake_after), (0, Some(Duration::from_millis(600))));
        failures.settle(&plan);
        assert_eq!(failures.0.len(), 1);
        failures.settle(&Plan::default());
        assert!(failures.0.is_empty());
    }

    #[test]
    fn a_refused_status_waits_longer_each_time_until_it_is_written_or_unwanted() {
        let mut failures = Failures::default();
        let start = Timestamp::from_millis(0);
        let wanted = Plan { status: Some(Value::Null), ..Plan::default() };
        for seconds in [1, 2, 4] {
            failures.status_refused("forbidden", start);
            failures.settle(&wanted);
            assert_eq!(failures.status_pause(start), Some(Duration::from_secs(seconds)));
        }
        failures.status_written();
        assert_eq!(failures.status_pause(start), None);
        failures.status_refused("forbidden", start);
        failures.settle(&Plan::default());
        assert_eq!(failures.status_pause(start), None);
    }
}
