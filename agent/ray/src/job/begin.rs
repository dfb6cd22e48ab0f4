//! From a new RayJob to a submitted one: New, Initializing, Waiting (10.1).

use std::time::Duration;

use super::{
    child,
    deletion::{finalizer_patch, finalizers},
    end,
    pass::Pass,
    poll, sidecar, submitter,
};
use crate::{
    names, object,
    plan::{Event, Plan},
    types::{RayJobStatus, SubmissionMode},
    view::RayOutcome,
};

/// How often a missing selected cluster is looked for: nothing wakes us when somebody creates it.
const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// New: the finalizer first, then the ids, so that nothing is ever created twice.
pub(super) fn start(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) {
    if !finalizers(pass.view).any(|name| name == names::JOB_FINALIZER) {
        let all: Vec<&str> = finalizers(pass.view).chain([names::JOB_FINALIZER]).collect();
        plan.steps.push(finalizer_patch(pass.view, &all));
        return;
    }
    let name = object::name(pass.job());
    let mut suffixes = names::Suffixes::new(pass.view.seed);
    let mut drawn = || suffixes.name(&format!("{name}-"), |_| false);
    if pass.mode() != SubmissionMode::Interactive && status.job_id.is_empty() {
        let own = pass.spec.job_id.clone().filter(|id| !id.is_empty());
        status.job_id = own.unwrap_or_else(&mut drawn);
    }
    if status.ray_cluster_name.is_empty() {
        let selected = pass.spec.selected_cluster();
        status.ray_cluster_name = if selected.is_empty() { drawn() } else { selected.to_owned() };
    }
    status.start_time = Some(object::stamp(pass.now));
    status.end_time = None;
    status.reason.clear();
    status.message.clear();
    "Initializing".clone_into(&mut status.job_deployment_status);
}

/// Initializing: the RayCluster comes up; the submitter may already wait beside it.
pub(super) fn initialize(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) {
    if pass.spec.is_suspended() {
        "Suspending".clone_into(&mut status.job_deployment_status);
        return;
    }
    if end::past_active_deadline(pass, plan, status) || end::past_pre_running_deadline(pass, plan, status) {
        return;
    }
    let Some(cluster) = pass.view.cluster.as_ref() else {
        if pass.spec.selects_cluster() {
            report_missing(pass, plan, status);
        } else {
            child::create(pass, plan);
        }
        return;
    };
    child::plan_head_service(pass, plan);
    status.ray_cluster_status = cluster.get("status").cloned().unwrap_or_default();
    status.dashboard_url = child::dashboard(pass);
    let ready = object::text(cluster, &["status", "state"]) == "ready";
    match pass.mode() {
        SubmissionMode::Interactive if ready => "Waiting".clone_into(&mut status.job_deployment_status),
        SubmissionMode::Interactive => {}
        SubmissionMode::K8sJob => begin_with_submitter(pass, plan, status, ready),
        // Before the cluster was ready once, a lost head is made again and its submitter starts anew.
        SubmissionMode::Sidecar if ready || sidecar::head(pass).and_then(sidecar::end).is_some() => {
            run(status);
        }
        SubmissionMode::Http if ready => run(status),
        SubmissionMode::Http | SubmissionMode::Sidecar => {}
    }
}

fn begin_with_submitter(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus, ready: bool) {
    let Some(job) = pass.view.submitter.as_deref() else {
        if ready || submitter::may_start_early(pass) {
            submitter::create(pass, plan, status);
        }
        return;
    };
    if object::is_deleting(job) {
        return;
    }
    if let Some(failure) = submitter::failure(job) {
        end::fail(status, "SubmissionFailed", failure);
        return;
    }
    if ready || is_known(pass, status) {
        run(status);
    } else if submitter::waits_for_another_size(pass, job) {
        submitter::delete(pass, plan, job);
    }
}

/// Whether Ray already has the job.
fn is_known(pass: &Pass<'_>, status: &RayJobStatus) -> bool {
    poll::answer(pass, status).is_some_and(|answer| matches!(answer.outcome, RayOutcome::Found(_)))
}

fn run(status: &mut RayJobStatus) {
    status.message.clear();
    "Running".clone_into(&mut status.job_deployment_status);
}

/// Waiting (InteractiveMode): the user submits and writes the id into the spec.
pub(super) fn wait(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) {
    if pass.spec.is_suspended() {
        "Suspending".clone_into(&mut status.job_deployment_status);
        return;
    }
    if end::past_active_deadline(pass, plan, status) || end::past_pre_running_deadline(pass, plan, status) {
        return;
    }
    if let Some(id) = pass.spec.job_id.as_deref().filter(|id| !id.is_empty()) {
        id.clone_into(&mut status.job_id);
        run(status);
    }
}

/// RJ-CL: told once, in the status and as an Event.
fn report_missing(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) {
    plan.wake_within(LOOK_AGAIN);
    let message = format!(
        "RayCluster {}/{} set in the clusterSelector is not found. It must be created manually",
        object::namespace(pass.job()),
        status.ray_cluster_name
    );
    if status.message != message {
        plan.events.push(Event::warning("RayClusterNotFound", "Reconcile", message.clone()));
        status.message = message;
    }
}
