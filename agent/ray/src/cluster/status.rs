//! Status of a RayCluster (RC-2, RC-6).

use std::cmp::Ordering;

use serde_json::Value;

use super::{Pass, PodView, conditions, quantities, service};
use crate::{
    object,
    plan::Plan,
    types::{self, HeadInfo, RayClusterStatus},
};

/// The new status, if anything but its time differs from the stored one.
pub(super) fn changed(pass: &Pass<'_>, plan: &Plan) -> Option<Value> {
    let cluster = pass.view.cluster.as_ref();
    let stored: RayClusterStatus = types::part(cluster, "status").unwrap_or_default();
    let mut status = computed(pass, plan, stored.clone());
    if status == stored {
        return None;
    }
    let now = object::stamp(pass.now);
    if status.state != stored.state {
        status.state_transition_times.insert(status.state.clone(), now.clone());
    }
    status.last_update_time = Some(now);
    serde_json::to_value(status).ok()
}

fn computed(pass: &Pass<'_>, plan: &Plan, mut status: RayClusterStatus) -> RayClusterStatus {
    let spec = pass.cluster.spec;
    let live: Vec<&PodView<'_>> = pass.pods.iter().filter(|pod| !pod.deleting).collect();
    let desired_workers = spec.desired_workers();
    let complete = is_complete(&live, desired_workers);
    status.observed_generation =
        object::at(&pass.view.cluster, &["metadata", "generation"]).as_i64().unwrap_or(0);
    count(&mut status, pass, &live, desired_workers);
    let desired = quantities::desired(spec);
    (status.desired_cpu, status.desired_memory) = (desired.cpu, desired.memory);
    (status.desired_gpu, status.desired_tpu) = (desired.gpu, desired.tpu);
    if complete && conditions::replica_failure(pass, plan).is_none() {
        "ready".clone_into(&mut status.state);
        status.reason.clear();
    }
    if status.reason.starts_with("InvalidRayCluster") {
        status.reason.clear();
    }
    conditions::update(pass, plan, &mut status.conditions, complete);
    if spec.suspend == Some(true) && pass.pods.is_empty() {
        "suspended".clone_into(&mut status.state);
    }
    let name = pass.cluster.head_service();
    let head_service = pass.view.services.iter().find(|service| object::name(service) == name);
    if let Some(found) = head_service {
        status.endpoints = service::endpoints(found);
    }
    status.head = head_info(pass, head_service.map(AsRef::as_ref));
    status
}

/// RC-2: exactly the wanted pods, all Running and Ready.
fn is_complete(live: &[&PodView<'_>], desired_workers: i32) -> bool {
    let wanted = usize::try_from(desired_workers).unwrap_or(0) + 1;
    live.len().cmp(&wanted) == Ordering::Equal && live.iter().all(|pod| pod.is_ready())
}

fn count(status: &mut RayClusterStatus, pass: &Pass<'_>, live: &[&PodView<'_>], desired_workers: i32) {
    let workers = || live.iter().filter(|pod| pod.is_worker());
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    status.ready_worker_replicas = number(workers().filter(|pod| pod.is_ready()).count());
    status.available_worker_replicas = number(workers().filter(|pod| pod.is_running()).count());
    status.desired_worker_replicas = desired_workers;
    let active = || pass.cluster.spec.groups().iter().filter(|group| !group.is_suspended());
    let sum = |numbers: Vec<i32>| numbers.into_iter().fold(0, i32::saturating_add);
    status.min_worker_replicas =
        sum(active().map(|group| group.least().saturating_mul(group.hosts())).collect());
    status.max_worker_replicas =
        sum(active().map(|group| group.most().saturating_mul(group.hosts())).collect());
}

/// A headless Service has no address of its own, so the head's counts as its.
fn head_info(pass: &Pass<'_>, service: Option<&Value>) -> HeadInfo {
    let head = pass.pods.iter().find(|pod| pod.is_head());
    let pod_ip = head.map_or("", |head| object::text(head.object, &["status", "podIP"])).to_owned();
    let cluster_ip = service.map_or("", |service| object::text(service, &["spec", "clusterIP"]));
    let service_ip = if cluster_ip == "None" { pod_ip.clone() } else { cluster_ip.to_owned() };
    HeadInfo {
        pod_ip,
        service_ip,
        pod_name: head.map_or("", |head| head.name).to_owned(),
        service_name: service.map_or("", object::name).to_owned(),
    }
}
