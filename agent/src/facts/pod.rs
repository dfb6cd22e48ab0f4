//! Pod: phase, times, container ends and whose it is, from a Pod object.
//!
//! Owns the reading of pod status. A container's end is taken from its state or, failing that, from its last state, so
//! that a kill is seen even after the kubelet restarted the container.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodStatus};
use squadron_core::{
    fact::{ContainerFact, PodFact},
    id::AttemptId,
    resources::Resources,
    time::Timestamp,
};

use super::{at, bounded, bounded_or_empty};

/// Label of batch Jobs' pods.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// The fact of a pod as the API server has it, with what the scheduler reserves for it and whose it is.
pub fn pod_fact(pod: &Pod, requests: Resources, attempt: Option<AttemptId>) -> PodFact {
    let meta = &pod.metadata;
    let none = BTreeMap::new();
    let labels = meta.labels.as_ref().unwrap_or(&none);
    let status = pod.status.clone().unwrap_or_default();
    let (reason, message) = why_not_running(&status);
    PodFact {
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
        phase: status.phase.clone().unwrap_or_default(),
        ready: condition(&status, "Ready").is_some_and(|ready| ready.status == "True"),
        reason,
        message,
        requests,
        created_at: at(meta.creation_timestamp.as_ref()),
        bound_at: condition(&status, "PodScheduled")
            .filter(|scheduled| scheduled.status == "True")
            .and_then(|scheduled| at(scheduled.last_transition_time.as_ref())),
        started_at: started_at(&status),
        finished_at: finished_at(&status),
        gone: false,
        deleting: meta.deletion_timestamp.is_some(),
        attempt,
        role: role(labels, attempt.is_some()).to_owned(),
        ray_cluster: labels.get("ray.io/cluster").cloned().unwrap_or_default(),
        worker_group: labels.get("ray.io/group").cloned().unwrap_or_default(),
        containers: all_statuses(&status).map(container_fact).collect(),
    }
}

fn role(labels: &BTreeMap<String, String>, ours: bool) -> &'static str {
    match labels.get("ray.io/node-type").map(String::as_str) {
        Some("head") => "head",
        Some("worker") => "worker",
        Some(_) => "",
        None if ours && labels.contains_key(JOB_NAME) => "submitter",
        None => "",
    }
}

fn condition<'a>(status: &'a PodStatus, kind: &str) -> Option<&'a k8s_openapi::api::core::v1::PodCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == kind)
}

/// The pod's own reason (Evicted, …), or the scheduler's while it cannot place the pod.
fn why_not_running(status: &PodStatus) -> (String, String) {
    if status.reason.is_some() {
        return (bounded_or_empty(status.reason.as_ref()), bounded_or_empty(status.message.as_ref()));
    }
    let unscheduled = condition(status, "PodScheduled").filter(|scheduled| scheduled.status == "False");
    unscheduled.map_or_else(Default::default, |scheduled| {
        (bounded_or_empty(scheduled.reason.as_ref()), bounded_or_empty(scheduled.message.as_ref()))
    })
}

fn all_statuses(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    let init = status.init_container_statuses.iter().flatten();
    init.chain(status.container_statuses.iter().flatten())
}

fn states(status: &ContainerStatus) -> impl Iterator<Item = &ContainerState> {
    status.state.iter().chain(status.last_state.iter())
}

fn last_end(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    states(status).find_map(|state| state.terminated.as_ref())
}

fn started_at(status: &PodStatus) -> Option<Timestamp> {
    let starts = all_statuses(status).flat_map(states).filter_map(|state| {
        let running = state.running.as_ref().and_then(|running| at(running.started_at.as_ref()));
        running.or_else(|| state.terminated.as_ref().and_then(|ended| at(ended.started_at.as_ref())))
    });
    starts.min()
}

fn finished_at(status: &PodStatus) -> Option<Timestamp> {
    let ended = matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"));
    let ends = all_statuses(status).filter_map(last_end).filter_map(|end| at(end.finished_at.as_ref()));
    ends.max().filter(|_| ended)
}

fn container_fact(status: &ContainerStatus) -> ContainerFact {
    let state = status.state.clone().unwrap_or_default();
    let end = last_end(status);
    let waiting = state.waiting.as_ref();
    let (word, reason, message) = match (waiting, &state.running) {
        (Some(waiting), _) => ("waiting", waiting.reason.as_ref(), waiting.message.as_ref()),
        (None, Some(_)) => ("running", None, None),
        (None, None) if state.terminated.is_some() => ("terminated", None, None),
        (None, None) => ("waiting", None, None),
    };
    ContainerFact {
        name: bounded(&status.name),
        state: word.to_owned(),
        reason: bounded_or_empty(reason.or_else(|| end.and_then(|end| end.reason.as_ref()))),
        message: bounded_or_empty(message.or_else(|| end.and_then(|end| end.message.as_ref()))),
        exit_code: end.map(|end| end.exit_code),
        restarts: status.restart_count,
        finished_at: end.and_then(|end| at(end.finished_at.as_ref())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
    use super::*;
    use serde_json::{Value, json};

    fn fact(labels: Value, status: Value) -> PodFact {
        fact_of(labels, status, None)
    }

    fn fact_of(labels: Value, status: Value, attempt: Option<AttemptId>) -> PodFact {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": labels},
            "spec": {"nodeName": "n1", "containers": [{"name": "ray"}]},
            "status": status,
        }))
        .unwrap();
        pod_fact(&pod, Resources::default(), attempt)
    }

    #[test]
    fn oom_kill_is_seen_in_the_state_and_after_a_restart() {
        let end = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled",
            "startedAt": "2026-11-29T10:00:01Z", "finishedAt": "2026-11-29T10:01:00Z"}});
        let killed = fact(
            json!({}),
            json!({"phase": "Failed", "containerStatuses": [
            {"name": "ray", "restartCount": 0, "ready": false, "image": "", "imageID": "", "state": end}]}),
        );
        let restarted = fact(
            json!({}),
            json!({"phase": "Running", "containerStatuses": [
            {"name": "ray", "restartCount": 1, "ready": true, "image": "", "imageID": "", "lastState": end,
             "state": {"running": {"startedAt": "2026-11-29T10:01:02Z"}}}]}),
        );
        for pod in [&killed, &restarted] {
            let container = &pod.containers[0];
            assert_eq!((container.reason.as_str(), container.exit_code), ("OOMKilled", Some(137)));
            assert_eq!(pod.started_at, Some("2026-11-29T10:00:01Z".parse().unwrap()));
        }
        assert_eq!(killed.finished_at, Some("2026-11-29T10:01:00Z".parse().unwrap()));
        assert_eq!((restarted.finished_at, restarted.containers[0].state.as_str()), (None, "running"));
    }

    #[test]
    fn scheduler_and_image_pull_reasons_come_through() {
        let pending = fact(
            json!({}),
            json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]}),
        );
        assert_eq!((pending.reason.as_str(), pending.message.as_str()), ("Unschedulable", "0/1 nodes"));
        assert_eq!(pending.bound_at, None);
        let pulling = fact(
            json!({}),
            json!({"phase": "Pending", "containerStatuses": [
            {"name": "ray", "restartCount": 0, "ready": false, "image": "", "imageID": "",
             "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]}),
        );
        assert_eq!(pulling.containers[0].reason, "ImagePullBackOff");
    }

    #[test]
    fn roles_follow_labels_and_a_submitter_must_be_ours() {
        let job = "0196f0a0-0000-7000-8000-000000000001".parse().unwrap();
        let role = |labels: Value, ours: bool| {
            fact_of(labels, json!({}), ours.then_some(AttemptId { job, number: 1 })).role
        };
        assert_eq!(role(json!({"ray.io/node-type": "worker"}), true), "worker");
        assert_eq!(role(json!({JOB_NAME: "train"}), true), "submitter");
        assert_eq!(role(json!({JOB_NAME: "backup"}), false), "");
        assert_eq!(role(json!({"ray.io/node-type": "redis-cleanup"}), true), "");
    }

    #[test]
    fn bound_time_is_when_the_scheduler_said_so() {
        let bound = fact(
            json!({}),
            json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-29T10:00:00Z"}]}),
        );
        assert_eq!(bound.bound_at, Some("2026-11-29T10:00:00Z".parse().unwrap()));
    }
}
