//! What is deleted after the end, and when (RJ-DEL).
//!
//! The head goes only when the end of the driver's log was read from it, or [`LOG_GRACE`] after the end.

use std::time::Duration;

use serde_json::{Value, json};
use squadron_core::time::Timestamp;

use super::{child, end, pass::Pass, submitter};
use crate::{
    names, object,
    plan::{Action, Event, Step},
    types::{DeletionRule, DeletionStrategy, RayJobStatus},
    validate::strength,
};

/// How long a head whose driver's log nobody could read to its end is kept after the end.
const LOG_GRACE: Duration = Duration::from_secs(15);
/// How soon to look again whether the log was read.
pub(super) const LOG_LOOK: Duration = Duration::from_millis(500);

/// What to do now, and when to look again.
#[derive(Default)]
pub(super) struct Due {
    pub(super) steps: Vec<Step>,
    pub(super) next: Option<Duration>,
}

/// Deletions due for a job whose status is `status`. A cluster chosen by a selector is never touched.
pub(super) fn due(pass: &Pass<'_>, status: &RayJobStatus) -> Due {
    if !end::is_over(status) || pass.spec.selects_cluster() {
        return Due::default();
    }
    let mut due = by_spec(pass, status);
    due.steps.extend(stop_submitter(pass, status));
    due
}

/// A submitter must not start a job that has ended already, nor wait for a RayCluster that is gone. One that never
/// submitted is deleted; otherwise its Job ends, and its object stays for its log.
fn stop_submitter(pass: &Pass<'_>, status: &RayJobStatus) -> Option<Step> {
    let job = pass.view.submitter.as_deref().filter(|job| !object::is_deleting(job))?;
    if submitter::finished_at(job).is_some() {
        return None;
    }
    let too_late = matches!(status.reason.as_str(), "DeadlineExceeded" | "PreRunningDeadlineExceeded");
    if too_late && status.job_status.is_empty() {
        return Some(submitter::delete_step(pass, job));
    }
    let stopped = !object::at(job, &["spec", "activeDeadlineSeconds"]).is_null();
    if pass.view.cluster.is_some() || stopped {
        return None;
    }
    let mut target = object::reference(job);
    "batch/v1".clone_into(&mut target.api_version);
    "Job".clone_into(&mut target.kind);
    Some(Step::new(
        "stop/Job",
        Action::Patch { target, patch: json!({"spec": {"activeDeadlineSeconds": 1}}) },
    ))
}

fn by_spec(pass: &Pass<'_>, status: &RayJobStatus) -> Due {
    match &pass.spec.deletion_strategy {
        Some(strategy) => match strategy.deletion_rules.as_deref().unwrap_or_default() {
            [] => legacy(pass, status, strategy),
            rules => by_rules(pass, status, rules),
        },
        None if pass.spec.shuts_down() => {
            let policy = if pass.options.delete_finished_ray_job { "DeleteSelf" } else { "DeleteCluster" };
            after(pass, status, pass.spec.ttl_seconds_after_finished.unwrap_or(0), policy)
        }
        None => Due::default(),
    }
}

/// The older pair of policies looks at Ray's own word only.
fn legacy(pass: &Pass<'_>, status: &RayJobStatus, strategy: &DeletionStrategy) -> Due {
    let policy = match status.job_status.as_str() {
        "SUCCEEDED" => &strategy.on_success,
        "FAILED" => &strategy.on_failure,
        _ => return Due::default(),
    };
    let policy = policy.as_ref().and_then(|policy| policy.policy.as_deref()).unwrap_or_default();
    after(pass, status, pass.spec.ttl_seconds_after_finished.unwrap_or(0), policy)
}

/// Of the rules that are due and not yet carried out, the one that deletes most.
fn by_rules(pass: &Pass<'_>, status: &RayJobStatus, rules: &[DeletionRule]) -> Due {
    let open = |rule: &&DeletionRule| matches(rule, status) && step_for(pass, &rule.policy).is_some();
    let mut open: Vec<&DeletionRule> = rules.iter().filter(open).collect();
    open.sort_by_key(|rule| std::cmp::Reverse(strength(&rule.policy)));
    let mut due = Due::default();
    for rule in open {
        let one = after(pass, status, rule.condition.ttl_seconds.unwrap_or(0), &rule.policy);
        if due.steps.is_empty() {
            due.steps = one.steps;
        }
        due.next = [due.next, one.next].into_iter().flatten().min();
    }
    due
}

/// A job that failed without Ray's own verdict (a deadline, a lost cluster) counts as FAILED.
fn matches(rule: &DeletionRule, status: &RayJobStatus) -> bool {
    let failed = status.job_deployment_status == "Failed";
    let silent = failed && !end::is_terminal(&status.job_status);
    let condition = &rule.condition;
    condition.job_deployment_status.as_deref() == Some(status.job_deployment_status.as_str())
        || condition.job_status.as_deref() == Some(status.job_status.as_str())
        || (silent && condition.job_status.as_deref() == Some("FAILED"))
}

fn after(pass: &Pass<'_>, status: &RayJobStatus, seconds: i32, policy: &str) -> Due {
    let left = end::in_seconds(seconds).saturating_sub(since_end(pass, status));
    let unread = unread_log(pass, status).filter(|_| policy != "DeleteWorkers");
    let next = Some(left).filter(|left| !left.is_zero()).or(unread);
    let steps = if next.is_none() { step_for(pass, policy) } else { None };
    Due { steps: steps.into_iter().collect(), next }
}

/// When to look again whether the end of the driver's log was read; `None` when the head need not stay for it.
pub(super) fn unread_log(pass: &Pass<'_>, status: &RayJobStatus) -> Option<Duration> {
    (pass.view.log_open && since_end(pass, status) < LOG_GRACE).then_some(LOG_LOOK)
}

/// Time since the last end; without one, for ever.
fn since_end(pass: &Pass<'_>, status: &RayJobStatus) -> Duration {
    let ended: Option<Timestamp> = status.end_time.as_deref().and_then(|text| text.parse().ok());
    let millis = ended.map_or(i64::MAX, |ended| pass.now.millis_since(ended));
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// The step of a policy; `None` when nothing is left to do.
fn step_for(pass: &Pass<'_>, policy: &str) -> Option<Step> {
    match policy {
        "DeleteCluster" => child::delete_step(pass),
        "DeleteWorkers" => suspend_workers(pass),
        "DeleteSelf" => {
            let mut target = object::reference(pass.job());
            names::API_VERSION.clone_into(&mut target.api_version);
            "RayJob".clone_into(&mut target.kind);
            Some(Step::new("delete/RayJob", Action::Delete { target }))
        }
        _ => None,
    }
}

/// Workers go, the head stays: every group is suspended.
fn suspend_workers(pass: &Pass<'_>) -> Option<Step> {
    let cluster = pass.view.cluster.as_deref().filter(|cluster| !object::is_deleting(cluster))?;
    let mut groups = object::list(cluster, &["spec", "workerGroupSpecs"]).to_vec();
    if groups.iter().all(|group| group["suspend"] == true) {
        return None;
    }
    for group in &mut groups {
        group["suspend"] = Value::Bool(true);
    }
    let mut target = object::reference(cluster);
    names::API_VERSION.clone_into(&mut target.api_version);
    "RayCluster".clone_into(&mut target.kind);
    let what = format!("all worker groups in cluster {}/{}", target.namespace, target.name);
    let version = object::text(cluster, &["metadata", "resourceVersion"]);
    let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"workerGroupSpecs": groups}});
    let done =
        Event::normal("UpdatedRayCluster", "Update", format!("Set the `suspend` field to true for {what}"));
    let failed = Event::warning("FailedToUpdateRayCluster", "Update", format!("Failed to suspend {what}"));
    Some(Step::new("suspend/workers", Action::Patch { target, patch }).done(done).failed(failed))
}
