//! RayCluster: decides what a cluster of Ray nodes needs next.
//!
//! Owns one head pod, the worker pods of each group, the Services and, with autoscaling, the ServiceAccount, Role and
//! RoleBinding. There is no phase: every pass derives all from what exists (RC-1). Invariants: never a second head pod
//! while the first one's object exists; never more live workers than wanted; nothing is done to objects that another
//! manager owns. A failed step is tried again with growing pauses and shows as the condition ReplicaFailure.

mod conditions;
mod head;
mod pods;
mod quantities;
mod rbac;
mod service;
mod status;
mod suspend;
mod worker;

use std::time::Duration;

use squadron_core::time::Timestamp;

pub(crate) use self::{pods::PodView, service::head_service_for_job};
use crate::{
    names, object,
    options::Options,
    plan::{Event, Plan},
    pod::Cluster,
    types::{self, RayClusterSpec, RayClusterStatus},
    validate,
    view::ClusterView,
};

/// With nothing else to do, look again after this time: an event may have been lost.
const RESYNC: Duration = Duration::from_secs(300);

/// The next steps for the RayCluster of `view` at `now`.
pub fn plan(view: &ClusterView, options: &Options, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let manager = object::text(&view.cluster, &["spec", "managedBy"]);
    let foreign = !matches!(manager, "" | names::MANAGED_BY_US);
    if foreign || object::is_deleting(&view.cluster) {
        return plan;
    }
    plan.wake_within(RESYNC);
    let spec = match admitted(view) {
        Ok(spec) => spec,
        Err((reason, problem)) => {
            report_invalid(&mut plan, view, reason, &problem);
            return plan;
        }
    };
    let cluster = Cluster { object: &view.cluster, spec: &spec, options };
    let pass = Pass { view, cluster, pods: PodView::all(&view.pods), now };
    pass.run(&mut plan);
    plan
}

/// One pass over one valid RayCluster.
struct Pass<'a> {
    view: &'a ClusterView,
    cluster: Cluster<'a>,
    pods: Vec<PodView<'a>>,
    now: Timestamp,
}

impl Pass<'_> {
    fn run(&self, plan: &mut Plan) {
        rbac::plan(self, plan);
        service::plan(self, plan);
        let mut suffixes = names::Suffixes::new(self.view.seed);
        match suspend::of(self) {
            suspend::Suspension::None => {
                if head::plan(self, plan, &mut suffixes) {
                    worker::plan(self, plan, &mut suffixes);
                }
            }
            suspend::Suspension::Hold => {}
            suspend::Suspension::Empty => suspend::delete_all(self, plan),
        }
        plan.status = status::changed(self, plan);
    }

    fn name(&self) -> &str {
        object::name(self.view.cluster.as_ref())
    }

    fn namespace(&self) -> &str {
        object::namespace(self.view.cluster.as_ref())
    }

    fn push(&self, plan: &mut Plan, step: crate::plan::Step) {
        plan.push(step, &self.view.failures, self.now);
    }

    fn is_taken(&self, pod_name: &str) -> bool {
        self.pods.iter().any(|pod| pod.name == pod_name)
    }
}

/// The spec, if every rule holds; otherwise the Event's reason and the first problem.
fn admitted(view: &ClusterView) -> Result<RayClusterSpec, (&'static str, String)> {
    let cluster = view.cluster.as_ref();
    if let Some(problem) = validate::first(&validate::cluster_name(object::name(cluster))) {
        return Err(("InvalidRayClusterMetadata", problem));
    }
    let spec: RayClusterSpec =
        types::part(cluster, "spec").map_err(|problem| ("InvalidRayClusterSpec", problem))?;
    match validate::first(&validate::cluster_spec(&spec, cluster, "spec")) {
        Some(problem) => Err(("InvalidRayClusterSpec", problem)),
        None => Ok(spec),
    }
}

/// The problem goes into `status.reason` and, once, into an Event.
fn report_invalid(plan: &mut Plan, view: &ClusterView, reason: &'static str, problem: &str) {
    let cluster = view.cluster.as_ref();
    let mut status: RayClusterStatus = types::part(cluster, "status").unwrap_or_default();
    let told = format!("{reason}: {problem}");
    if status.reason == told {
        return;
    }
    let part = if reason == "InvalidRayClusterSpec" { "spec" } else { "metadata" };
    let (namespace, name) = (object::namespace(cluster), object::name(cluster));
    let message = format!("The RayCluster {part} is invalid {namespace}/{name}: {problem}");
    plan.events.push(Event::warning(reason, "Validate", message));
    status.reason = told;
    status.observed_generation = object::at(cluster, &["metadata", "generation"]).as_i64().unwrap_or(0);
    plan.status = serde_json::to_value(status).ok();
}

#[cfg(test)]
mod tests;
