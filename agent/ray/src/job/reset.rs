//! Suspending, Suspended and Retrying: everything of the attempt goes before the next one starts (10.1).

use serde_json::Value;

use super::{child, cleanup, pass::Pass, submitter};
use crate::{
    object,
    plan::Plan,
    types::{RayJobInfo, RayJobStatus, SubmissionMode},
};

/// Deletes the attempt's objects whatever `spec.suspend` says by now, and moves on when they are gone. Before a new try
/// the end of the last one's log is read.
pub(super) fn release(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) {
    let retrying = status.job_deployment_status == "Retrying";
    if let Some(pause) = cleanup::unread_log(pass, status).filter(|_| retrying) {
        plan.wake_within(pause);
        return;
    }
    let keeps_cluster = pass.spec.selects_cluster();
    if let Some(step) = child::delete_step(pass).filter(|_| !keeps_cluster) {
        pass.push(plan, step);
    }
    let job = pass.view.submitter.as_deref().filter(|_| pass.mode() == SubmissionMode::K8sJob);
    if let Some(job) = job.filter(|job| !object::is_deleting(job)) {
        submitter::delete(pass, plan, job);
    }
    if job.is_some() || (pass.view.cluster.is_some() && !keeps_cluster) {
        return;
    }
    let next = if status.job_deployment_status == "Suspending" { "Suspended" } else { "" };
    clear(status);
    next.clone_into(&mut status.job_deployment_status);
}

/// Suspended: a new attempt starts when `spec.suspend` is false.
pub(super) fn resume(pass: &Pass<'_>, status: &mut RayJobStatus) {
    if !pass.spec.is_suspended() {
        clear(status);
        status.job_deployment_status.clear();
    }
}

fn clear(status: &mut RayJobStatus) {
    status.ray_cluster_status = Value::Object(serde_json::Map::new());
    status.ray_cluster_name.clear();
    status.dashboard_url.clear();
    status.job_id.clear();
    status.message.clear();
    status.reason.clear();
    status.ray_job_info = RayJobInfo::default();
    status.job_status.clear();
    status.job_status_check_failure_start_time = None;
}
