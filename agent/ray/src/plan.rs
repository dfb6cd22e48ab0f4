//! Plan: what a reconciler wants done, said once, in order, without doing it.
//!
//! Owns the vocabulary between the deciding code and the shell that talks to the API server and to Ray. Invariant: a
//! plan is safe to run twice, because every object in it has a fixed name and every deletion names the uid it means.
//! A step that fails is recorded in [`crate::Failures`] and tried again by a later plan, with growing pauses.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use squadron_core::id::AttemptId;

/// How the shell's word on a failed step begins when Ray's answer was that it is wrong (a status from 400 to 499).
pub const REFUSED: &str = "the Ray dashboard refused";

/// Everything one pass of a reconciler decided. Run `steps`, then write `status`, then run `then`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Plan {
    /// In order. A failed step that is a `gate` ends the run of this plan; others do not stop their followers.
    pub steps: Vec<Step>,
    /// The whole new `.status`, to be written with the resource version of the object that was judged.
    pub status: Option<Value>,
    /// May run only after `status` was accepted (or, without a status, right after `steps`).
    pub then: Vec<Step>,
    /// Events on the judged object that do not depend on a step.
    pub events: Vec<Event>,
    /// Judge again after this time even if nothing changed.
    pub wake_after: Option<Duration>,
    /// Ask Ray's dashboard for this job, again and again, until a later plan says otherwise.
    pub poll: Option<Poll>,
    /// Keys of steps that are wanted but held back after a failure; see [`crate::Failures::settle`].
    pub held: Vec<String>,
}

/// One action, with what to say when it worked and when it did not.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Step {
    /// Names the step across passes, for example `create/Pod/headgroup`; failures are counted by it.
    pub key: String,
    pub action: Action,
    /// Emitted when the action succeeded.
    pub done: Option<Event>,
    /// Emitted, with the error appended to its message, when the action failed.
    pub failed: Option<Event>,
    /// Reason of the RayCluster condition `ReplicaFailure` while this step keeps failing.
    pub replica_failure: Option<&'static str>,
    /// The rest of the plan makes no sense if this fails.
    pub gate: bool,
}

/// Something to do on the API server or on Ray's dashboard.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub enum Action {
    /// POST the complete object; its `apiVersion`, `kind`, `metadata.namespace` and `metadata.name` are set.
    Create { object: Value },
    /// DELETE in the background, with the uid as precondition. Not found counts as success.
    Delete { target: ObjectRef },
    /// JSON merge patch of the main resource. `patch.metadata.resourceVersion`, when set, makes it conditional.
    Patch { target: ObjectRef, patch: Value },
    /// Bring a package that the control plane keeps for `attempt` to `http://{dashboard}/api/packages/gcs/{package}`. One
    /// that is there already counts as success.
    DeliverPackage { dashboard: String, attempt: AttemptId, package: String },
    /// POST `http://{dashboard}/api/jobs/` with `body`. A refusal because the submission id exists counts as success.
    SubmitRayJob { dashboard: String, body: Value },
    /// POST `http://{dashboard}/api/jobs/{submission_id}/stop`. Best effort: every error counts as success.
    StopRayJob { dashboard: String, submission_id: String },
}

/// An object on the API server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ObjectRef {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    /// Empty where any object of that name is meant.
    pub uid: String,
}

/// An Event on the judged object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Event {
    pub severity: Severity,
    /// One of the reasons of ray.io/v1, for example `CreatedHeadPod`.
    pub reason: &'static str,
    /// Create, Delete, Update, Validate, Reconcile or Suspend.
    pub action: &'static str,
    pub message: String,
}

/// The `type` of an Event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Severity {
    Normal,
    Warning,
}

/// A question to Ray's dashboard: GET `http://{dashboard}/api/jobs/{submission_id}`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Poll {
    /// Host and port, without scheme.
    pub dashboard: String,
    pub submission_id: String,
    /// Pause between two questions.
    pub every: Duration,
}

impl Plan {
    /// Whether nothing is left to do at this moment (it may still want to wake later).
    pub fn is_idle(&self) -> bool {
        self.steps.is_empty() && self.then.is_empty() && self.status.is_none() && self.events.is_empty()
    }

    /// Asks to be woken no later than `pause` from now.
    pub(crate) fn wake_within(&mut self, pause: Duration) {
        self.wake_after = Some(self.wake_after.map_or(pause, |earlier| earlier.min(pause)));
    }
}

impl Event {
    pub fn normal(reason: &'static str, action: &'static str, message: String) -> Event {
        Event { severity: Severity::Normal, reason, action, message }
    }

    pub fn warning(reason: &'static str, action: &'static str, message: String) -> Event {
        Event { severity: Severity::Warning, reason, action, message }
    }
}

impl Step {
    pub(crate) fn new(key: impl Into<String>, action: Action) -> Step {
        Step { key: key.into(), action, done: None, failed: None, replica_failure: None, gate: false }
    }

    pub(crate) fn done(mut self, event: Event) -> Step {
        self.done = Some(event);
        self
    }

    pub(crate) fn failed(mut self, event: Event) -> Step {
        self.failed = Some(event);
        self
    }

    pub(crate) fn replica_failure(mut self, reason: &'static str) -> Step {
        self.replica_failure = Some(reason);
        self
    }

    pub(crate) fn gate(mut self) -> Step {
        self.gate = true;
        self
    }
}
