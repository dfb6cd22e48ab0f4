//! RayJob: decides what a job needs next.
//!
//! Owns the state machine of `status.jobDeploymentStatus`: "" → Initializing → Running → Complete or Failed, with
//! Waiting (InteractiveMode), Suspending, Suspended, Retrying and ValidationFailed beside it. Invariants: ids stand in
//! the status before anything is created under them; a terminal job never leaves its state; the RayCluster is deleted
//! only after the terminal status was accepted. Every end has a reason and a sentence.

mod begin;
mod child;
mod cleanup;
mod deletion;
mod end;
mod pass;
mod poll;
mod request;
mod reset;
mod running;
mod script;
mod sidecar;
mod submitter;

use squadron_core::time::Timestamp;

pub use self::end::is_terminal;
use self::pass::Pass;
use crate::{
    arrival, names, object,
    options::Options,
    plan::{Event, Plan},
    types::{self, RayJobSpec, RayJobStatus},
    validate,
    view::JobView,
};

/// The next steps for the RayJob of `view` at `now`.
pub fn plan(view: &JobView, options: &Options, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let manager = object::text(&view.job, &["spec", "managedBy"]);
    if !matches!(manager, "" | names::MANAGED_BY_US) {
        return plan;
    }
    let status: RayJobStatus = types::part(&view.job, "status").unwrap_or_default();
    if object::is_deleting(&view.job) {
        deletion::release(&mut plan, view, status, options, now);
        return plan;
    }
    if arrival::is_source(&view.job) {
        return plan;
    }
    match admitted(view, &status) {
        Ok(spec) => Pass::new(view, &spec, status, options, now).run(&mut plan),
        Err((reason, problem)) => reject(&mut plan, view, status, reason, &problem),
    }
    plan
}

/// Rules are checked only before anything runs: an edit of a running job changes nothing that was created from it.
fn admitted(view: &JobView, status: &RayJobStatus) -> Result<RayJobSpec, (&'static str, String)> {
    let spec: RayJobSpec =
        types::part(&view.job, "spec").map_err(|problem| ("InvalidRayJobSpec", problem))?;
    if !matches!(status.job_deployment_status.as_str(), "" | "Suspended" | "ValidationFailed") {
        return Ok(spec);
    }
    if let Some(problem) = validate::first(&validate::job_name(object::name(view.job.as_ref()))) {
        return Err(("InvalidRayJobMetadata", problem));
    }
    match validate::first(&validate::job_spec(&spec, &view.job)) {
        Some(problem) => Err(("InvalidRayJobSpec", problem)),
        None => Ok(spec),
    }
}

/// RJ-3.
fn reject(plan: &mut Plan, view: &JobView, mut status: RayJobStatus, reason: &'static str, problem: &str) {
    if status.job_deployment_status == "ValidationFailed" && status.message == problem {
        return;
    }
    let job = view.job.as_ref();
    let message = format!("{}/{}: {problem}", object::namespace(job), object::name(job));
    plan.events.push(Event::warning(reason, "Validate", message));
    "ValidationFailed".clone_into(&mut status.job_deployment_status);
    "ValidationFailed".clone_into(&mut status.reason);
    problem.clone_into(&mut status.message);
    status.observed_generation = object::at(job, &["metadata", "generation"]).as_i64();
    plan.status = serde_json::to_value(status).ok();
}

#[cfg(test)]
mod tests;
