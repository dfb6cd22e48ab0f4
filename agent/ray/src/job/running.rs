//! A submitted job until its end (10.3).
//!
//! Three sources tell how a job stands: Ray, the submitter, and whether the RayCluster still exists. Ray's word on an
//! existing job wins; the submitter counts where Ray knows nothing; silence counts only after a timeout.

use std::time::Duration;

use squadron_core::{id::AttemptId, job::marks, time::Timestamp};

use super::{child, end, pass::Pass, poll, request, sidecar, submitter};
use crate::{
    failures::Failure,
    object,
    plan::{Action, Event, Plan, Step},
    submission::Extras,
    types::{RayJobStatus, SubmissionMode},
    view::{JobInfo, RayAnswer, RayOutcome},
};

/// How long a failed submitter's verdict waits for one more answer of Ray.
const LAST_WORD: Duration = Duration::from_secs(10);

/// Keys of steps: the driver's submission, and the beginning of those of packages.
const SUBMIT: &str = "submit";
const PACKAGE: &str = "package/";
/// Refusals by Ray after which its mind does not change: with the pauses between them three minutes.
const MOST_REFUSALS: u32 = 9;

pub(super) fn watch(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) {
    if pass.spec.is_suspended() {
        "Suspending".clone_into(&mut status.job_deployment_status);
        return;
    }
    let Some(cluster) = pass.view.cluster.as_ref() else {
        lose_cluster(pass, status);
        return;
    };
    status.ray_cluster_status = cluster.get("status").cloned().unwrap_or_default();
    child::plan_head_service(pass, plan);
    if pass.mode() == SubmissionMode::Sidecar && sidecar::head(pass).is_none() {
        end::fail(status, "AppFailed", "Ray head pod not found.".to_owned());
        return;
    }
    let finish = keep_submitter(pass, plan, status);
    let over = match poll::answer(pass, status) {
        Some(answer) => hear(pass, plan, status, answer, finish.as_ref()),
        None => false,
    };
    if over {
        return;
    }
    let _ = end::past_active_deadline(pass, plan, status)
        || past_transition_grace(pass, plan, status)
        || past_status_check(pass, plan, status)
        || finish.is_some_and(|finish| judge_submitter(pass, plan, status, &finish));
}

fn has_submitter(pass: &Pass<'_>) -> bool {
    matches!(pass.mode(), SubmissionMode::K8sJob | SubmissionMode::Sidecar)
}

/// How the submitter ended.
struct Finish {
    at: Timestamp,
    failure: Option<String>,
}

/// Reads the submitter; one that somebody deleted is made again, because its script resumes where it was.
fn keep_submitter(pass: &Pass<'_>, plan: &mut Plan, status: &RayJobStatus) -> Option<Finish> {
    if pass.mode() == SubmissionMode::Sidecar {
        return sidecar::head(pass).and_then(sidecar::end).map(|(at, failure)| Finish { at, failure });
    }
    if pass.mode() != SubmissionMode::K8sJob {
        return None;
    }
    match pass.view.submitter.as_deref() {
        None => {
            submitter::create(pass, plan, status);
            None
        }
        Some(job) => submitter::finished_at(job).map(|at| Finish { at, failure: submitter::failure(job) }),
    }
}

/// Takes Ray's answer into the status; answers whether the job is over.
fn hear(
    pass: &Pass<'_>,
    plan: &mut Plan,
    status: &mut RayJobStatus,
    answer: &RayAnswer,
    finish: Option<&Finish>,
) -> bool {
    match &answer.outcome {
        RayOutcome::Found(info) => {
            status.job_status_check_failure_start_time = None;
            take_over(status, info);
            let waits = has_submitter(pass) && finish.is_none();
            end::is_terminal(&info.status) && !waits && finish_by_ray(status)
        }
        RayOutcome::Unknown => hear_unknown(pass, plan, status, answer, finish),
        RayOutcome::Failed(_) => {
            plan.held.extend(attempts(pass).map(|(key, _)| key.clone()));
            let since = &mut status.job_status_check_failure_start_time;
            since.get_or_insert_with(|| object::stamp(answer.at));
            false
        }
    }
}

fn take_over(status: &mut RayJobStatus, info: &JobInfo) {
    info.status.clone_into(&mut status.job_status);
    status.message = info.message.clone().unwrap_or_default();
    status.reason.clear();
    let stamp = |millis: Option<u64>| {
        let millis = millis.filter(|millis| *millis > 0).and_then(|millis| i64::try_from(millis).ok())?;
        Some(object::stamp(Timestamp::from_millis(millis)))
    };
    status.ray_job_info.start_time = stamp(info.start_time).or(status.ray_job_info.start_time.take());
    status.ray_job_info.end_time = stamp(info.end_time).or(status.ray_job_info.end_time.take());
}

/// STOPPED and SUCCEEDED complete, FAILED fails.
fn finish_by_ray(status: &mut RayJobStatus) -> bool {
    if status.job_status == "FAILED" {
        end::fail(status, "AppFailed", status.message.clone());
    } else {
        "Complete".clone_into(&mut status.job_deployment_status);
    }
    true
}

/// RJ-Q: Ray does not know the job.
fn hear_unknown(
    pass: &Pass<'_>,
    plan: &mut Plan,
    status: &mut RayJobStatus,
    answer: &RayAnswer,
    finish: Option<&Finish>,
) -> bool {
    if pass.mode() == SubmissionMode::Http {
        status.job_status_check_failure_start_time = None;
        if refused(pass, status) {
            return true;
        }
        // What this pass does not come to is wanted all the same, so its failures are not forgotten.
        plan.held.extend(attempts(pass).map(|(key, _)| key.clone()));
        submit(pass, plan, status);
        return false;
    }
    let known_before = !status.job_status.is_empty();
    match finish {
        Some(finish) if !known_before && finish.failure.is_none() && answer.at >= finish.at => {
            let message = "Submitter completed but Ray job not found in RayCluster.";
            end::fail(status, "AppFailed", message.to_owned());
            true
        }
        None if known_before => lose_job(pass, plan, status, answer),
        _ => {
            status.job_status_check_failure_start_time = None;
            false
        }
    }
}

/// Tells why the driver is not submitted yet, and gives up when Ray itself has refused it or a package again and again;
/// answers whether it did.
fn refused(pass: &Pass<'_>, status: &mut RayJobStatus) -> bool {
    let Some(failure) = attempts(pass).map(|(_, failure)| failure).max_by_key(|failure| failure.count) else {
        return false;
    };
    if failure.refusals < MOST_REFUSALS {
        status.message = format!("The driver is not submitted yet: {}", failure.message);
        return false;
    }
    end::fail(status, "SubmissionFailed", format!("{} ({} times)", failure.message, failure.refusals));
    true
}

/// What failed of the submission's steps.
fn attempts<'a>(pass: &'a Pass<'_>) -> impl Iterator<Item = (&'a String, &'a Failure)> {
    pass.view.failures.0.iter().filter(|(key, _)| *key == SUBMIT || key.starts_with(PACKAGE))
}

/// The driver's packages first: Ray looks for them when it starts the driver, and fails the job if one is missing.
fn submit(pass: &Pass<'_>, plan: &mut Plan, status: &RayJobStatus) {
    let extras = Extras::read(pass.job());
    if !deliver_packages(pass, plan, status, &extras) {
        return;
    }
    let body = request::body(pass.spec, &extras, &status.job_id);
    let action = Action::SubmitRayJob { dashboard: status.dashboard_url.clone(), body };
    pass.push(plan, Step::new(SUBMIT, action));
}

/// Asks for every package; false while one of them is held back after a failure.
fn deliver_packages(pass: &Pass<'_>, plan: &mut Plan, status: &RayJobStatus, extras: &Extras) -> bool {
    let label = |key| object::label(pass.job(), key);
    let number = label(marks::ATTEMPT).parse();
    let (Ok(job), Ok(number)) = (label(marks::JOB_ID).parse(), number) else { return true };
    let attempt = AttemptId { job, number };
    for name in &extras.packages {
        let wanted = plan.steps.len();
        let (dashboard, package) = (status.dashboard_url.clone(), name.clone());
        let message = format!("Package {name} could not be brought to Ray");
        let failed = Event::warning("PackageNotDelivered", "Reconcile", message);
        let action = Action::DeliverPackage { dashboard, attempt, package };
        pass.push(plan, Step::new(format!("{PACKAGE}{name}"), action).failed(failed).gate());
        if plan.steps.len() == wanted {
            return false;
        }
    }
    true
}

/// The head that ran the job is gone and its successor knows nothing of it, yet the submitter still waits.
fn lose_job(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus, answer: &RayAnswer) -> bool {
    let since =
        status.job_status_check_failure_start_time.get_or_insert_with(|| object::stamp(answer.at)).clone();
    if !pass.has_passed(plan, Some(&since), pass.options.submitter_finished_timeout) {
        return false;
    }
    let message = "The Ray head was replaced while the job was running, and the new head does not know the job. \
                   The job ended with the old head; submit it again, or set backoffLimit to have it tried again.";
    "FAILED".clone_into(&mut status.job_status);
    end::fail(status, "AppFailed", message.to_owned());
    true
}

/// Everything the job ran on is gone; a new cluster would not bring the job back.
fn lose_cluster(pass: &Pass<'_>, status: &mut RayJobStatus) {
    let message = format!(
        "RayCluster {}/{} was deleted while the job was running, and the job ended with it. \
         Submit it again, or set backoffLimit to have it tried again.",
        object::namespace(pass.job()),
        status.ray_cluster_name
    );
    end::fail(status, "AppFailed", message);
}

/// RJ-T3: Ray's job has ended, but its submitter does not.
fn past_transition_grace(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) -> bool {
    let ended = status.ray_job_info.end_time.clone();
    if !end::is_terminal(&status.job_status)
        || !pass.has_passed(plan, ended.as_deref(), pass.options.transition_grace)
    {
        return false;
    }
    let word = if status.job_status == "FAILED" { "Failed" } else { "Complete" };
    word.clone_into(&mut status.job_deployment_status);
    "JobDeploymentStatusTransitionGracePeriodExceeded".clone_into(&mut status.reason);
    "JobDeploymentStatus does not transition to Complete or Failed within the grace period after JobStatus reaches a \
     terminal state."
        .clone_into(&mut status.message);
    true
}

/// RJ-T4: the dashboard has been silent for too long.
fn past_status_check(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus) -> bool {
    let since = status.job_status_check_failure_start_time.clone();
    if !pass.has_passed(plan, since.as_deref(), pass.options.status_check_timeout) {
        return false;
    }
    let last = match pass.view.ray.as_ref().map(|answer| &answer.outcome) {
        Some(RayOutcome::Failed(error)) => format!(" Last answer: {error}"),
        _ => String::new(),
    };
    let message = format!(
        "The Ray dashboard could not be asked about the job since {} for more than {} s.{last}",
        since.unwrap_or_default(),
        pass.options.status_check_timeout.as_secs()
    );
    end::fail(status, "JobStatusCheckTimeoutExceeded", message);
    true
}

/// The submitter has finished while Ray does not say that the job has.
fn judge_submitter(pass: &Pass<'_>, plan: &mut Plan, status: &mut RayJobStatus, finish: &Finish) -> bool {
    let asked = poll::answer(pass, status).is_some_and(|answer| answer.at >= finish.at);
    let at = finish.at.to_string();
    if let Some(failure) = &finish.failure {
        if !asked && !pass.has_passed(plan, Some(&at), LAST_WORD) {
            return false;
        }
        let reason = if status.job_status == "FAILED" { "AppFailed" } else { "SubmissionFailed" };
        let message = if reason == "AppFailed" { status.message.clone() } else { failure.clone() };
        end::fail(status, reason, message);
        return true;
    }
    past_submitter_timeout(pass, plan, status, &at, asked)
}

/// RJ-T5: Ray is asked at least once before its job is given up.
fn past_submitter_timeout(
    pass: &Pass<'_>,
    plan: &mut Plan,
    status: &mut RayJobStatus,
    at: &str,
    asked: bool,
) -> bool {
    let limit = pass.options.submitter_finished_timeout;
    if !pass.has_passed(plan, Some(at), limit) || !asked {
        return false;
    }
    let message = format!(
        "The RayJob submitter finished at {} but the ray job did not reach terminal state within {}s",
        at.trim_end_matches('Z').replace('T', " "),
        limit.as_secs()
    );
    "FAILED".clone_into(&mut status.job_status);
    end::fail(status, "JobDeploymentStatusTransitionGracePeriodExceeded", message);
    true
}
