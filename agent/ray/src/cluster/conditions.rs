//! Conditions of a RayCluster (RC-3, RC-4, RC-5, RC-SUS).

use serde_json::Value;
use squadron_core::time::Timestamp;

use super::{Pass, PodView, pods::condition};
use crate::{object, plan::Plan, types::Condition};

const HEAD_READY: &str = "HeadPodReady";
const PROVISIONED: &str = "RayClusterProvisioned";
const SUSPENDING: &str = "RayClusterSuspending";
const SUSPENDED: &str = "RayClusterSuspended";
const REPLICA_FAILURE: &str = "ReplicaFailure";
/// Longest message that the schema admits, with room to spare.
const LONGEST_MESSAGE: usize = 8_000;

/// Whether the stored status has this condition as True.
pub(super) fn is_true(cluster: &Value, kind: &str) -> bool {
    let conditions = object::list(cluster, &["status", "conditions"]);
    conditions
        .iter()
        .any(|one| object::text(one, &["type"]) == kind && object::text(one, &["status"]) == "True")
}

/// Brings `conditions` up to date with what this pass saw and could not do.
pub(super) fn update(pass: &Pass<'_>, plan: &Plan, conditions: &mut Vec<Condition>, complete: bool) {
    let mut list = List { conditions, now: pass.now };
    match replica_failure(pass, plan) {
        Some((reason, message)) => list.set(REPLICA_FAILURE, "True", reason, &message),
        None => list.conditions.retain(|one| one.r#type != REPLICA_FAILURE),
    }
    let head = head_ready(pass.pods.iter().find(|pod| pod.is_head()));
    list.set(HEAD_READY, &head.status, &head.reason, &head.message);
    let (suspending, suspended) = (list.is_true(SUSPENDING), list.is_true(SUSPENDED));
    if !suspended && !list.is_true(PROVISIONED) {
        if complete {
            let message = "All Ray Pods are ready for the first time";
            list.set(PROVISIONED, "True", "AllPodRunningAndReadyFirstTime", message);
        } else {
            let message = "RayCluster Pods are being provisioned for first time";
            list.set(PROVISIONED, "False", "RayClusterPodsProvisioning", message);
        }
    }
    let suspend = pass.cluster.spec.suspend;
    if suspending && pass.pods.is_empty() {
        list.set(PROVISIONED, "False", "RayClusterPodsProvisioning", "RayCluster has been suspended");
        list.set(SUSPENDING, "False", SUSPENDING, "");
        list.set(SUSPENDED, "True", SUSPENDED, "");
    } else if suspended && suspend == Some(false) {
        list.set(SUSPENDED, "False", SUSPENDED, "");
    } else if !suspending && !suspended {
        list.set(SUSPENDED, "False", SUSPENDED, "");
        list.set(SUSPENDING, if suspend == Some(true) { "True" } else { "False" }, SUSPENDING, "");
    }
}

/// RC-5: the first failed step that is still wanted; the head's comes before the workers'.
pub(super) fn replica_failure<'a>(pass: &'a Pass<'_>, plan: &Plan) -> Option<(&'a str, String)> {
    let wanted = |key: &String| plan.held.contains(key) || plan.steps.iter().any(|step| step.key == *key);
    let mut failures: Vec<_> = pass.view.failures.0.iter().filter(|(key, _)| wanted(key)).collect();
    failures.sort_by_key(|(key, _)| key.as_str() != "create/Pod/headgroup");
    failures.into_iter().find_map(|(_, failure)| {
        let reason = failure.replica_failure?;
        Some((reason, format!("{reason}\n{}", failure.message)))
    })
}

/// RC-3.
fn head_ready(head: Option<&PodView<'_>>) -> Condition {
    let of = |status: &str, reason: &str, message: &str| Condition {
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..Condition::default()
    };
    let Some(head) = head else { return of("False", "HeadPodNotFound", "Head Pod not found") };
    let Some(ready) = condition(head.object, "Ready") else { return of("Unknown", "Unknown", "") };
    let status = object::text(ready, &["status"]);
    let message = object::text(ready, &["message"]);
    match object::text(ready, &["reason"]) {
        "" if status == "True" => of(status, "HeadPodRunningAndReady", message),
        "" => of(status, "Unknown", message),
        "ContainersNotReady" => match container_problem(head.object) {
            Some((reason, detail)) if detail.is_empty() => of(status, reason, message),
            Some((reason, detail)) => of(status, reason, &format!("{message}; {detail}")),
            None => of(status, "ContainersNotReady", message),
        },
        reason => of(status, reason, message),
    }
}

/// Reason and message of the first container that waits or has ended.
fn container_problem(pod: &Value) -> Option<(&str, String)> {
    let states = object::list(pod, &["status", "containerStatuses"]).iter();
    states.filter_map(|state| state.get("state")).find_map(|state| {
        let state = ["waiting", "terminated"].iter().find_map(|name| state.get(*name))?;
        let reason = object::text(state, &["reason"]);
        let detail = object::text(state, &["message"]);
        (!reason.is_empty()).then(|| (reason, detail.to_owned()))
    })
}

struct List<'a> {
    conditions: &'a mut Vec<Condition>,
    now: Timestamp,
}

impl List<'_> {
    fn is_true(&self, kind: &str) -> bool {
        self.conditions.iter().any(|one| one.r#type == kind && one.status == "True")
    }

    /// Sets the condition; its time moves only when its status does.
    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let known = self.conditions.iter().position(|one| one.r#type == kind);
        let since = known
            .map(|index| &self.conditions[index])
            .filter(|one| one.status == status)
            .map_or_else(|| object::stamp(self.now), |one| one.last_transition_time.clone());
        let condition = Condition {
            r#type: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.chars().take(LONGEST_MESSAGE).collect(),
            last_transition_time: since,
            observed_generation: None,
        };
        match known {
            Some(index) => self.conditions[index] = condition,
            None => self.conditions.push(condition),
        }
    }
}
