//! RayCluster: decides what a cluster of Ray nodes needs next.

use squadron_core::time::Timestamp;

use crate::{object, options::Options, plan::Plan, view::ClusterView};

/// The next steps for the RayCluster of `view` at `now`.
pub fn plan(view: &ClusterView, _options: &Options, _now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if object::is_deleting(&view.cluster) {
        return plan;
    }
    plan.wake_within(std::time::Duration::from_secs(300));
    plan
}
