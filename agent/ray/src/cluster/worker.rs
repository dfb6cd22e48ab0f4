//! Worker pods of each group (RC-WRK).

use std::cmp::Reverse;

use super::{Pass, PodView};
use crate::{
    names::{self, WORKER},
    object,
    plan::{Action, Event, Plan, Step},
    types::WorkerGroupSpec,
};

pub(super) fn plan(pass: &Pass<'_>, plan: &mut Plan, suffixes: &mut names::Suffixes) {
    for group in pass.cluster.spec.groups() {
        plan_group(pass, plan, group, suffixes);
    }
    delete_orphans(pass, plan);
}

fn plan_group(pass: &Pass<'_>, plan: &mut Plan, group: &WorkerGroupSpec, suffixes: &mut names::Suffixes) {
    let mut live: Vec<PodView<'_>> = pass
        .pods
        .iter()
        .filter(|pod| pod.is_worker() && pod.group == group.group_name && !pod.deleting)
        .copied()
        .collect();
    if group.is_suspended() {
        for pod in live {
            let message = format!("for suspended worker group {} in {}", group.group_name, place(pass, &pod));
            delete(pass, plan, &pod, &message);
        }
        return;
    }
    let finished = take(&mut live, PodView::is_finished);
    let named = take(&mut live, |pod| group.to_delete().iter().any(|name| name == pod.name));
    for pod in &finished {
        delete(pass, plan, pod, &format!("{}; {}", place(pass, pod), pod.describe_end()));
    }
    for pod in &named {
        delete(pass, plan, pod, &format!("{}, listed in workersToDelete", place(pass, pod)));
    }
    let wanted = usize::try_from(group.desired_pods()).unwrap_or(0);
    if finished.is_empty() && live.len() < wanted {
        create(pass, plan, group, wanted - live.len(), suffixes);
    }
    if live.len() > wanted && may_shrink(pass) {
        let surplus = live.len() - wanted;
        for pod in least_useful_first(live).iter().take(surplus) {
            delete(pass, plan, pod, &format!("{}, more than the {wanted} wanted", place(pass, pod)));
        }
    }
}

/// RC-WRK-4: with autoscaling only the autoscaler decides who goes.
fn may_shrink(pass: &Pass<'_>) -> bool {
    !pass.cluster.spec.autoscaling() || pass.cluster.options.random_pod_delete
}

/// Removes from `pods` those for which `which` holds, and returns them.
fn take<'a>(pods: &mut Vec<PodView<'a>>, which: impl Fn(&PodView<'a>) -> bool) -> Vec<PodView<'a>> {
    let (taken, kept) = std::mem::take(pods).into_iter().partition(which);
    *pods = kept;
    taken
}

/// Pods that do no work yet go before running ones, young ones before old ones.
fn least_useful_first(mut pods: Vec<PodView<'_>>) -> Vec<PodView<'_>> {
    pods.sort_by_key(|pod| {
        let created = object::text(pod.object, &["metadata", "creationTimestamp"]);
        (pod.is_ready(), pod.is_running(), Reverse(created.to_owned()), pod.name.to_owned())
    });
    pods
}

fn create(
    pass: &Pass<'_>,
    plan: &mut Plan,
    group: &WorkerGroupSpec,
    missing: usize,
    suffixes: &mut names::Suffixes,
) {
    let prefix = names::pod_prefix(&format!("{}-{}", pass.name(), group.group_name), WORKER);
    let mut made: Vec<String> = Vec::new();
    for _ in 0..missing {
        let name =
            suffixes.name(&prefix, |name| pass.is_taken(name) || made.iter().any(|other| other == name));
        let what = format!("worker Pod {}/{name}", pass.namespace());
        let object = pass.cluster.worker_pod(group, &name);
        // One key for the whole group: a full quota stops the group, not the others.
        let step = Step::new(format!("create/Pod/{}", group.group_name), Action::Create { object })
            .done(Event::normal("CreatedWorkerPod", "Create", format!("Created {what}")))
            .failed(Event::warning("FailedToCreateWorkerPod", "Create", format!("Failed to create {what}")))
            .replica_failure("FailedCreateWorkerPod");
        let before = plan.held.len();
        pass.push(plan, step);
        if plan.held.len() > before {
            return;
        }
        made.push(name);
    }
}

/// RC-UPG-2: a group that left the spec leaves the cluster.
fn delete_orphans(pass: &Pass<'_>, plan: &mut Plan) {
    let known =
        |pod: &PodView<'_>| pass.cluster.spec.groups().iter().any(|group| group.group_name == pod.group);
    for pod in pass.pods.iter().filter(|pod| pod.is_worker() && !pod.deleting && !known(pod)) {
        delete(pass, plan, pod, &format!("{}, whose group is no longer in the spec", place(pass, pod)));
    }
}

fn delete(pass: &Pass<'_>, plan: &mut Plan, pod: &PodView<'_>, what: &str) {
    let done = Event::normal("DeletedWorkerPod", "Delete", format!("Deleted worker Pod {what}"));
    let failed =
        Event::warning("FailedToDeleteWorkerPod", "Delete", format!("Failed deleting worker Pod {what}"));
    pass.push(plan, pod.delete("FailedDeleteWorkerPod", done, failed));
}

fn place(pass: &Pass<'_>, pod: &PodView<'_>) -> String {
    format!("{}/{}", pass.namespace(), pod.name)
}
