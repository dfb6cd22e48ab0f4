//! A RayJob that somebody deletes: what happens before its finalizer goes and garbage collection takes the rest.
//!
//! Deletion comes before validation: a broken job must be deletable. Ray is asked to stop the driver, and what the driver
//! says until its end is read, because its head goes with the RayJob. Invariant: a head that does not answer, or a log that
//! nobody reads to its end, holds a deletion for [`LAST_WORDS`] at most.

use std::time::Duration;

use serde_json::json;
use squadron_core::time::Timestamp;

use super::{cleanup::LOG_LOOK, end};
use crate::{
    names, object,
    options::Options,
    plan::{Action, Plan, Poll, Step},
    types::RayJobStatus,
    view::{JobView, RayOutcome},
};

/// How long a head is kept for what a stopped driver says. Ray itself gives a driver 3 seconds to end.
const LAST_WORDS: Duration = Duration::from_secs(10);

pub(super) fn release(
    plan: &mut Plan,
    view: &JobView,
    status: RayJobStatus,
    options: &Options,
    now: Timestamp,
) {
    let kept: Vec<&str> = finalizers(view).filter(|name| *name != names::JOB_FINALIZER).collect();
    if kept.len() == finalizers(view).count() {
        return;
    }
    let reachable = !status.dashboard_url.is_empty() && !status.job_id.is_empty() && view.cluster.is_some();
    let waits = reachable && speaks(view, &status) && !is_late(view, now);
    if reachable && !end::is_terminal(&status.job_status) {
        match last_word(view, &status) {
            Some(word) => tell(plan, status, word),
            None => stop(plan, status, options),
        }
    }
    if waits {
        plan.wake_within(LOG_LOOK);
    } else {
        plan.status = None;
        plan.steps.push(finalizer_patch(view, &kept));
    }
}

/// The driver's log is read, and there may be more of it.
fn speaks(view: &JobView, status: &RayJobStatus) -> bool {
    let answers = !matches!(outcome(view, status), Some(RayOutcome::Unknown | RayOutcome::Failed(_)));
    view.log_open && !status.job_status.is_empty() && answers
}

fn is_late(view: &JobView, now: Timestamp) -> bool {
    let since = object::text(&view.job, &["metadata", "deletionTimestamp"]).parse::<Timestamp>();
    since.is_ok_and(|since| now.millis_since(since) >= i64::try_from(LAST_WORDS.as_millis()).unwrap_or(0))
}

/// Ray's word on a driver that has ended.
fn last_word<'a>(view: &'a JobView, status: &RayJobStatus) -> Option<&'a str> {
    match outcome(view, status) {
        Some(RayOutcome::Found(info)) if end::is_terminal(&info.status) => Some(&info.status),
        _ => None,
    }
}

/// Who reads the log looks for the word in the status.
fn tell(plan: &mut Plan, mut status: RayJobStatus, word: &str) {
    word.clone_into(&mut status.job_status);
    plan.status = serde_json::to_value(status).ok();
}

fn stop(plan: &mut Plan, status: RayJobStatus, options: &Options) {
    let (dashboard, submission_id) = (status.dashboard_url, status.job_id);
    let action = Action::StopRayJob { dashboard: dashboard.clone(), submission_id: submission_id.clone() };
    plan.steps.push(Step::new("stop", action));
    plan.poll = Some(Poll { dashboard, submission_id, every: options.poll_starting });
}

fn outcome<'a>(view: &'a JobView, status: &RayJobStatus) -> Option<&'a RayOutcome> {
    let answer = view.ray.as_ref()?;
    let same = answer.submission_id == status.job_id && answer.dashboard == status.dashboard_url;
    same.then_some(&answer.outcome)
}

pub(super) fn finalizers(view: &JobView) -> impl Iterator<Item = &str> {
    object::list(&view.job, &["metadata", "finalizers"]).iter().filter_map(serde_json::Value::as_str)
}

/// Replaces the list of finalizers, unless somebody else changed the object meanwhile.
pub(super) fn finalizer_patch(view: &JobView, finalizers: &[&str]) -> Step {
    let version = object::text(&view.job, &["metadata", "resourceVersion"]);
    let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
    let mut target = object::reference(&view.job);
    names::API_VERSION.clone_into(&mut target.api_version);
    "RayJob".clone_into(&mut target.kind);
    Step::new("finalizer", Action::Patch { target, patch }).gate()
}
