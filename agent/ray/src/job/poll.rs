//! What Ray is asked about a job, and which answers count (RJ-HTTP, SH-5).

use super::pass::Pass;
use crate::{
    plan::Poll,
    types::{RayJobStatus, SubmissionMode},
    view::RayAnswer,
};

/// The question to keep asking in this state.
pub(super) fn wanted(pass: &Pass<'_>, status: &RayJobStatus) -> Option<Poll> {
    let asks = match status.job_deployment_status.as_str() {
        "Running" => true,
        "Initializing" => pass.mode() == SubmissionMode::K8sJob && pass.view.submitter.is_some(),
        _ => false,
    };
    if !asks || status.dashboard_url.is_empty() || status.job_id.is_empty() {
        return None;
    }
    let ending =
        pass.view.submitter.as_deref().is_some_and(|job| super::submitter::finished_at(job).is_some());
    let settled = status.job_status == "RUNNING" && !ending;
    let every = if settled { pass.options.poll_running } else { pass.options.poll_starting };
    Some(Poll { dashboard: status.dashboard_url.clone(), submission_id: status.job_id.clone(), every })
}

/// The latest answer, if it is about this attempt's job.
pub(super) fn answer<'a>(pass: &'a Pass<'_>, status: &RayJobStatus) -> Option<&'a RayAnswer> {
    let answer = pass.view.ray.as_ref()?;
    let same = answer.submission_id == status.job_id && answer.dashboard == status.dashboard_url;
    // An answer older than the attempt came from an earlier cluster under the same name.
    let start = status.start_time.as_deref().and_then(|text| text.parse().ok());
    let recent = start.is_none_or(|start| answer.at >= start);
    (same && recent).then_some(answer)
}
