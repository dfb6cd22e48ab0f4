//! RayJob: decides what a job needs next.
//!
//! NOTE: the lead is writing this folder (job/*) right now; the ray helper writes cluster/* and pod/* only.

use squadron_core::time::Timestamp;

use crate::{object, options::Options, plan::Plan, view::JobView};

/// The next steps for the RayJob of `view` at `now`.
pub fn plan(view: &JobView, _options: &Options, _now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if object::is_deleting(&view.job) {
        return plan;
    }
    plan.wake_within(std::time::Duration::from_secs(300));
    plan
}
