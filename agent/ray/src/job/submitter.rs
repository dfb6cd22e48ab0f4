//! The batch Job that submits (RJ-SUB, K8sJobMode).

use serde_json::{Value, json};
use squadron_core::time::Timestamp;

use super::{
    pass::Pass,
    script::{self, Script},
};
use crate::{
    bounds,
    cluster::PodView,
    names,
    object::{self, entry, items},
    plan::{Action, Event, Plan, Step},
    pod::{marks, shell},
    types::RayJobStatus,
};

/// Annotation: how many Ray nodes the submitter waits for.
const NODES: &str = "squadron.dev/wait-for-nodes";

pub(super) fn create(pass: &Pass<'_>, plan: &mut Plan, status: &RayJobStatus) {
    let place = pass.place();
    let step = Step::new("create/Job", Action::Create { object: batch_job(pass, status) })
        .done(Event::normal("CreatedRayJobSubmitter", "Create", format!("Created Kubernetes Job {place}")))
        .failed(Event::warning(
            "FailedToCreateRayJobSubmitter",
            "Create",
            format!("Failed to create new Kubernetes Job {place}"),
        ))
        .gate();
    pass.push(plan, step);
}

pub(super) fn delete(pass: &Pass<'_>, plan: &mut Plan, job: &Value) {
    pass.push(plan, delete_step(pass, job));
}

pub(super) fn delete_step(pass: &Pass<'_>, job: &Value) -> Step {
    let mut target = object::reference(job);
    "batch/v1".clone_into(&mut target.api_version);
    "Job".clone_into(&mut target.kind);
    let place = pass.place();
    Step::new("delete/Job", Action::Delete { target })
        .done(Event::normal("DeletedRayJobSubmitter", "Delete", format!("Deleted submitter K8s Job {place}")))
        .failed(Event::warning(
            "FailedToDeleteRayJobSubmitter",
            "Delete",
            format!("Failed to delete submitter K8s Job {place}"),
        ))
}

/// When the Job finished, well or badly.
pub(super) fn finished_at(job: &Value) -> Option<Timestamp> {
    let condition = condition(job, "Complete").or_else(|| condition(job, "Failed"))?;
    object::time(condition, &["lastTransitionTime"])
}

/// Why the Job gave up, if it did.
pub(super) fn failure(job: &Value) -> Option<String> {
    let failed = condition(job, "Failed")?;
    let (reason, message) = (object::text(failed, &["reason"]), object::text(failed, &["message"]));
    Some(format!("Job submission has failed. Reason: {reason}. Message: {message}"))
}

fn condition<'a>(job: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object::list(job, &["status", "conditions"]).iter();
    let is_true =
        |one: &&Value| object::text(one, &["type"]) == kind && object::text(one, &["status"]) == "True";
    conditions.into_iter().find(is_true)
}

/// The pod may start while Ray still does, once every Ray pod has found its node: so it takes nobody's place. Its
/// script then waits for all nodes. A user's own command would not wait, so there the cluster must be ready first.
pub(super) fn may_start_early(pass: &Pass<'_>) -> bool {
    let Some(spec) = pass.cluster_spec.as_ref().filter(|_| pass.options.quick_submitter) else {
        return false;
    };
    let pods: Vec<PodView<'_>> =
        PodView::all(&pass.view.pods).into_iter().filter(|pod| !pod.deleting).collect();
    let wanted = usize::try_from(spec.desired_workers()).unwrap_or(0) + 1;
    let head_runs = pods.iter().any(|pod| pod.is_head() && pod.is_running());
    !has_own_command(pass) && head_runs && pods.len() == wanted && pods.iter().all(PodView::is_bound)
}

/// Whether the number of workers changed while the submitter waits for another one.
pub(super) fn waits_for_another_size(pass: &Pass<'_>, job: &Value) -> bool {
    let waits_for = object::annotation(job, NODES);
    !waits_for.is_empty() && nodes(pass).is_some_and(|nodes| nodes.to_string() != waits_for)
}

/// Ray nodes that a complete cluster has.
fn nodes(pass: &Pass<'_>) -> Option<i32> {
    pass.cluster_spec.as_ref().map(|spec| spec.desired_workers().saturating_add(1))
}

fn own_template<'a>(pass: &'a Pass<'_>) -> Option<&'a Value> {
    pass.spec.submitter_pod_template.as_ref().filter(|template| template.is_object())
}

fn has_own_command(pass: &Pass<'_>) -> bool {
    let container =
        own_template(pass).and_then(|template| object::list(template, &["spec", "containers"]).first());
    container.is_some_and(|container| !object::list(container, &["command"]).is_empty())
}

fn batch_job(pass: &Pass<'_>, status: &RayJobStatus) -> Value {
    let job = pass.job();
    let limit = pass.spec.submitter_config.as_ref().and_then(|config| config.backoff_limit).unwrap_or(2);
    let mut metadata = json!({
        "name": object::name(job),
        "namespace": object::namespace(job),
        "labels": {
            names::FROM_NAME: object::name(job),
            names::FROM_KIND: "RayJob",
            names::CREATED_BY: names::OPERATOR,
        },
        "ownerReferences": object::owned_by(job, "RayJob"),
    });
    entry(&mut metadata, "labels").extend(marks(job));
    let waits = pass.options.quick_submitter && !pass.spec.selects_cluster() && !has_own_command(pass);
    let nodes = nodes(pass).filter(|_| waits);
    if let Some(nodes) = nodes {
        metadata["annotations"] = json!({NODES: nodes.to_string()});
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"backoffLimit": limit, "template": template(pass, status, nodes)},
    })
}

fn template(pass: &Pass<'_>, status: &RayJobStatus, nodes: Option<i32>) -> Value {
    let mut template = own_template(pass).cloned().unwrap_or_else(|| {
        let head = pass.cluster_spec.as_ref().map(|spec| &spec.head_group_spec.template);
        let mut template = json!({"spec": {"containers": [default_container(head.unwrap_or(&Value::Null))]}});
        bounds::like(pass.job(), &mut template);
        template
    });
    entry(&mut template, "metadata");
    entry(&mut template["metadata"], "labels").extend(marks(pass.job()));
    let spec = entry(&mut template, "spec");
    spec.entry("restartPolicy").or_insert_with(|| json!("Never"));
    if let Some(container) = items(&mut template["spec"], "containers").first_mut() {
        let script = script::of(pass, &status.dashboard_url, &status.job_id, nodes);
        furnish(pass, container, script, &status.dashboard_url, &status.job_id);
    }
    template
}

/// The submitter where the user gave none. The head's image, so that both sides speak the same version.
pub(super) fn default_container(head: &Value) -> Value {
    let ray = object::list(head, &["spec", "containers"]).first().unwrap_or(&Value::Null);
    let mut container = json!({
        "name": names::SUBMITTER,
        "image": ray["image"],
        "resources": {
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "500m", "memory": "200Mi"},
        },
    });
    if let Some(policy) = ray.get("imagePullPolicy").filter(|policy| policy.is_string()) {
        container["imagePullPolicy"] = policy.clone();
    }
    container
}

/// Gives `container` its script, unless it has a command, and the environment that the script needs.
pub(super) fn furnish(pass: &Pass<'_>, container: &mut Value, script: Script, dashboard: &str, id: &str) {
    if object::list(container, &["command"]).is_empty() {
        container["command"] = shell(pass.options, "e");
        container["args"] = json!([script.text]);
    }
    let env = items(container, "env");
    let literal = |name: &str, value: &str| json!({"name": name, "value": value});
    env.push(literal("PYTHONUNBUFFERED", "1"));
    env.push(literal("RAY_DASHBOARD_ADDRESS", dashboard));
    env.push(literal("RAY_JOB_SUBMISSION_ID", id));
    env.extend(script.request.map(|request| literal(script::REQUEST, &request)));
}
