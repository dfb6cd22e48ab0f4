//! Suspension (RC-SUS): all pods go, everything else stays. Atomic across two status writes.

use super::{Pass, conditions::is_true};
use crate::plan::{Event, Plan};

/// What suspension allows in this pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Suspension {
    /// Pods may exist.
    None,
    /// Create nothing; the first status write must come before any deletion.
    Hold,
    /// Delete all pods, whatever `spec.suspend` says by now.
    Empty,
}

pub(super) fn of(pass: &Pass<'_>) -> Suspension {
    let cluster = pass.view.cluster.as_ref();
    if is_true(cluster, "RayClusterSuspending") {
        Suspension::Empty
    } else if is_true(cluster, "RayClusterSuspended") || pass.cluster.spec.suspend == Some(true) {
        Suspension::Hold
    } else {
        Suspension::None
    }
}

pub(super) fn delete_all(pass: &Pass<'_>, plan: &mut Plan) {
    let place = format!("{}/{}", pass.namespace(), pass.name());
    for pod in pass.pods.iter().filter(|pod| !pod.deleting) {
        let message = format!("Deleted Pod {} for RayCluster {place} due to suspension", pod.name);
        let done = Event::normal("DeletedPod", "Suspend", message);
        let message = format!("Failed deleting Pod {} due to suspension for RayCluster {place}", pod.name);
        let failed = Event::warning("FailedToDeletePodCollection", "Suspend", message);
        pass.push(plan, pod.delete("FailedDeleteAllPods", done, failed));
    }
}
