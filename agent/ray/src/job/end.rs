//! How a RayJob ends: terminal words, deadlines, and whether it is tried again (RJ-T1, RJ-T2, RJ-BACKOFF).

use std::time::Duration;

use super::pass::Pass;
use crate::{
    plan::Plan,
    types::{RayJobSpec, RayJobStatus},
};

/// Whether Ray's word for a job is final.
pub fn is_terminal(job_status: &str) -> bool {
    matches!(job_status, "STOPPED" | "SUCCEEDED" | "FAILED")
}

/// Whether the RayJob is final.
pub(super) fn is_over(status: &RayJobStatus) -> bool {
    matches!(status.job_deployment_status.as_str(), "Complete" | "Failed")
}

/// Ends the attempt as failed.
pub(super) fn fail(status: &mut RayJobStatus, reason: &str, message: String) {
    "Failed".clone_into(&mut status.job_deployment_status);
    reason.clone_into(&mut status.reason);
    status.message = message;
}

/// RJ-BACKOFF: counts the end; a failure with attempts left becomes Retrying.
pub(super) fn count(spec: &RayJobSpec, status: &mut RayJobStatus) {
    let failed = status.failed.unwrap_or(0) + i32::from(status.job_deployment_status == "Failed");
    let succeeded = status.job_deployment_status == "Complete" && status.job_status == "SUCCEEDED";
    status.failed = Some(failed);
    status.succeeded = Some(status.succeeded.unwrap_or(0) + i32::from(succeeded));
    let retried = !matches!(status.reason.as_str(), "DeadlineExceeded" | "JobStatusCheckTimeoutExceeded");
    let left = spec.backoff_limit.is_some_and(|limit| failed <= limit);
    if status.job_deployment_status == "Failed" && retried && left {
        "Retrying".clone_into(&mut status.job_deployment_status);
    }
}

/// RJ-T1.
pub(super) fn past_active_deadline(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) -> bool {
    let Some(seconds) = pass.spec.active_deadline_seconds else { return false };
    if !pass.has_passed(plan, status.start_time.as_deref(), in_seconds(seconds)) {
        return false;
    }
    let start = status.start_time.clone().unwrap_or_default();
    let message = format!(
        "The RayJob has passed the activeDeadlineSeconds. StartTime: {start}. ActiveDeadlineSeconds: {seconds}"
    );
    fail(status, "DeadlineExceeded", message);
    true
}

/// RJ-T2.
pub(super) fn past_pre_running_deadline(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) -> bool {
    let Some(seconds) = pass.spec.pre_running_deadline_seconds else { return false };
    if !pass.has_passed(plan, status.start_time.as_deref(), in_seconds(seconds)) {
        return false;
    }
    let start = status.start_time.clone().unwrap_or_default();
    let message = format!(
        "The RayJob did not reach Running within the preRunningDeadlineSeconds. StartTime: {start}. \
         PreRunningDeadlineSeconds: {seconds}"
    );
    fail(status, "PreRunningDeadlineExceeded", message);
    true
}

pub(super) fn in_seconds(seconds: i32) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
