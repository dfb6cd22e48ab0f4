//! The head pod (RC-HEAD-1).

use super::Pass;
use crate::{
    names::{self, HEAD, NO_HEAD_RESTART},
    object,
    plan::{Action, Event, Plan, Step},
};

/// Plans the head; answers whether workers may be looked at in this pass.
pub(super) fn plan(pass: &Pass<'_>, plan: &mut Plan, suffixes: &mut names::Suffixes) -> bool {
    let heads: Vec<_> = pass.pods.iter().filter(|pod| pod.is_head()).collect();
    match heads.as_slice() {
        [] => create(pass, plan, suffixes),
        [head] if head.is_finished() && !head.deleting => {
            let what = format!("head Pod {}/{}; {}", pass.namespace(), head.name, head.describe_end());
            let done = Event::normal("DeletedHeadPod", "Delete", format!("Deleted {what}"));
            let failed = Event::warning("FailedToDeleteHeadPod", "Delete", format!("Failed deleting {what}"));
            pass.push(plan, head.delete("FailedDeleteHeadPod", done, failed));
            true
        }
        [_] => true,
        // Which of them is the cluster cannot be told from here.
        _ => false,
    }
}

fn create(pass: &Pass<'_>, plan: &mut Plan, suffixes: &mut names::Suffixes) -> bool {
    let cluster = pass.view.cluster.as_ref();
    let provisioned = super::conditions::is_true(cluster, "RayClusterProvisioned");
    if object::annotation(cluster, NO_HEAD_RESTART) == "true" && provisioned {
        return true;
    }
    let prefix = names::pod_prefix(pass.name(), HEAD);
    let name = suffixes.name(&prefix, |name| pass.is_taken(name));
    let what = format!("head Pod {}/{name}", pass.namespace());
    let step = Step::new("create/Pod/headgroup", Action::Create { object: pass.cluster.head_pod(&name) })
        .done(Event::normal("CreatedHeadPod", "Create", format!("Created {what}")))
        .failed(Event::warning("FailedToCreateHeadPod", "Create", format!("Failed to create {what}")))
        .replica_failure("FailedCreateHeadPod")
        .gate();
    let before = plan.held.len();
    pass.push(plan, step);
    // Workers without a head would only take the room that the head needs.
    plan.held.len() == before
}
