//! Rules that hold for every job at every time, each with a name, for tests and for checks at run time.

use crate::{attempt::Job, job::JobState};

/// A rule: its name, and what breaks it, if anything.
type Rule = (&'static str, fn(&Job) -> bool);

const RULES: [Rule; 6] = [
    ("an ended job has the time of its end, and no other has", ended_has_time),
    ("a live attempt and its job are in the same state", job_follows_attempt),
    ("a queued job has no live attempt", queued_has_no_attempt),
    ("a stopping attempt is not desired", stopping_is_not_desired),
    ("a live attempt that does not stop is desired", live_is_desired),
    ("a removed attempt has ended and is not desired", removed_has_ended),
];

/// Names of the rules that `job` breaks; empty for every job that came out of `advance`.
pub fn broken(job: &Job) -> Vec<&'static str> {
    RULES.iter().filter(|(_, holds)| !holds(job)).map(|(name, _)| *name).collect()
}

fn ended_has_time(job: &Job) -> bool {
    let attempt = job.attempt.as_ref().is_none_or(|a| a.state.is_terminal() == a.ended_at.is_some());
    attempt && job.state.is_terminal() == job.ended_at.is_some()
}

fn job_follows_attempt(job: &Job) -> bool {
    job.attempt
        .as_ref()
        .is_none_or(|attempt| attempt.state.is_terminal() || attempt.state.job_state() == job.state)
}

fn queued_has_no_attempt(job: &Job) -> bool {
    job.state != JobState::Queued || job.attempt.as_ref().is_none_or(|attempt| attempt.state.is_terminal())
}

fn stopping_is_not_desired(job: &Job) -> bool {
    job.state != JobState::Stopping || job.attempt.as_ref().is_some_and(|attempt| !attempt.desired)
}

fn live_is_desired(job: &Job) -> bool {
    let live = matches!(job.state, JobState::Assigned | JobState::Starting | JobState::Running);
    !live || job.attempt.as_ref().is_some_and(|attempt| attempt.desired)
}

fn removed_has_ended(job: &Job) -> bool {
    job.attempt.as_ref().is_none_or(|attempt| {
        attempt.removed_at.is_none() || (attempt.state.is_terminal() && !attempt.desired)
    })
}
