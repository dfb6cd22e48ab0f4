//! One pass over one valid RayJob: what it knows, and how its result becomes a status.

use std::time::Duration;

use serde_json::Value;
use squadron_core::time::Timestamp;

use super::{begin, cleanup, end, poll, reset, running};
use crate::{
    object,
    options::Options,
    plan::{Plan, Step},
    types::{self, RayClusterSpec, RayJobSpec, RayJobStatus, SubmissionMode},
    view::JobView,
};

/// What a pass judges by.
pub(super) struct Pass<'a> {
    pub(super) view: &'a JobView,
    pub(super) spec: &'a RayJobSpec,
    pub(super) stored: RayJobStatus,
    pub(super) options: &'a Options,
    pub(super) now: Timestamp,
    /// The child's own spec, or the selected cluster's.
    pub(super) cluster_spec: Option<RayClusterSpec>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        view: &'a JobView,
        spec: &'a RayJobSpec,
        stored: RayJobStatus,
        options: &'a Options,
        now: Timestamp,
    ) -> Pass<'a> {
        let cluster_spec = view.cluster.as_ref().and_then(|cluster| types::part(cluster, "spec").ok());
        Pass { view, spec, stored, options, now, cluster_spec }
    }

    pub(super) fn run(&self, plan: &mut Plan) {
        let mut status = self.stored.clone();
        match self.stored.job_deployment_status.as_str() {
            "" | "ValidationFailed" => begin::start(self, plan, &mut status),
            "Initializing" => begin::initialize(self, plan, &mut status),
            "Waiting" => begin::wait(self, plan, &mut status),
            "Running" => running::watch(self, plan, &mut status),
            "Suspending" | "Retrying" => reset::release(self, plan, &mut status),
            "Suspended" => reset::resume(self, &mut status),
            _ => {}
        }
        self.conclude(plan, status);
    }

    /// Counts ends, stamps times, and asks for the write if anything changed.
    fn conclude(&self, plan: &mut Plan, mut status: RayJobStatus) {
        let was_over = end::is_over(&self.stored);
        if !was_over && end::is_over(&status) {
            end::count(self.spec, &mut status);
            status.end_time = Some(object::stamp(self.now));
        }
        if was_over {
            let steps = self.allowed(plan, cleanup::due(self, &self.stored));
            plan.steps.extend(steps);
        } else if end::is_over(&status) {
            plan.then = self.allowed(plan, cleanup::due(self, &status));
        }
        plan.poll = poll::wanted(self, &status);
        if status != self.stored {
            status.observed_generation = object::at(&self.view.job, &["metadata", "generation"]).as_i64();
            plan.status = serde_json::to_value(status).ok();
        }
    }

    /// Sorts out what must wait after a failure, and remembers when something becomes due.
    fn allowed(&self, plan: &mut Plan, due: cleanup::Due) -> Vec<Step> {
        if let Some(pause) = due.next {
            plan.wake_within(pause);
        }
        let mut side = Plan::default();
        for step in due.steps {
            side.push(step, &self.view.failures, self.now);
        }
        if let Some(pause) = side.wake_after {
            plan.wake_within(pause);
        }
        plan.held.extend(side.held);
        side.steps
    }

    pub(super) fn push(&self, plan: &mut Plan, step: Step) {
        plan.push(step, &self.view.failures, self.now);
    }

    pub(super) fn mode(&self) -> SubmissionMode {
        self.spec.mode().unwrap_or(SubmissionMode::K8sJob)
    }

    pub(super) fn job(&self) -> &'a Value {
        &self.view.job
    }

    /// `namespace/name` of the job.
    pub(super) fn place(&self) -> String {
        format!("{}/{}", object::namespace(self.job()), object::name(self.job()))
    }

    /// Whether `seconds` have passed since `since`; if not, asks to be woken when they have.
    pub(super) fn has_passed(&self, plan: &mut Plan, since: Option<&str>, limit: Duration) -> bool {
        let Some(since) = since.and_then(|text| text.parse::<Timestamp>().ok()) else { return false };
        let left = i64::try_from(limit.as_millis()).unwrap_or(i64::MAX) - self.now.millis_since(since);
        match u64::try_from(left) {
            Ok(left) if left > 0 => {
                plan.wake_within(Duration::from_millis(left));
                false
            }
            _ => true,
        }
    }
}
