//! The RayCluster of a RayJob and the Service in front of it (RJ-CL, RJ-SVC).

use serde_json::{Value, json};

use super::{pass::Pass, sidecar};
use crate::{
    cluster::head_service_for_job,
    names,
    object::{self, entry},
    plan::{Action, Event, Plan, Step},
    pod::{Cluster, container_port},
    types::SubmissionMode,
};

/// Creates the RayCluster that the status names.
pub(super) fn create(pass: &Pass<'_>, plan: &mut Plan) {
    let namespace = object::namespace(pass.job());
    let what = format!("RayCluster {namespace}/{}", pass.stored.ray_cluster_name);
    let step = Step::new("create/RayCluster", Action::Create { object: ray_cluster(pass) })
        .done(Event::normal("CreatedRayCluster", "Create", format!("Created {what}")))
        .failed(Event::warning("FailedToCreateRayCluster", "Create", format!("Failed to create {what}")))
        .gate();
    pass.push(plan, step);
}

/// The spec is the manifest's own, unread, so that no field is lost.
fn ray_cluster(pass: &Pass<'_>) -> Value {
    let job = pass.job();
    let mut metadata = json!({
        "name": pass.stored.ray_cluster_name,
        "namespace": object::namespace(job),
        "ownerReferences": object::owned_by(job, "RayJob"),
    });
    let own = |field: &str| object::at(job, &["metadata", field]).as_object().cloned().unwrap_or_default();
    let labels = entry(&mut metadata, "labels");
    labels.extend(own("labels"));
    labels.insert(names::FROM_NAME.to_owned(), json!(object::name(job)));
    labels.insert(names::FROM_KIND.to_owned(), json!("RayJob"));
    let mode = pass.spec.submission_mode.as_deref().filter(|mode| !mode.is_empty()).unwrap_or("K8sJobMode");
    labels.insert(names::SUBMISSION_MODE.to_owned(), json!(mode));
    let mut annotations = own("annotations");
    annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    if !annotations.is_empty() {
        entry(&mut metadata, "annotations").extend(annotations);
    }
    let mut cluster = json!({
        "apiVersion": names::API_VERSION,
        "kind": "RayCluster",
        "metadata": metadata,
        "spec": object::at(job, &["spec", "rayClusterSpec"]),
    });
    if pass.mode() == SubmissionMode::Sidecar {
        sidecar::add(pass, &mut cluster);
    }
    cluster
}

/// Host and port of the cluster's dashboard.
pub(super) fn dashboard(pass: &Pass<'_>) -> String {
    let Some(cluster) = parts(pass) else { return String::new() };
    let template = &cluster.spec.head_group_spec.template;
    let container = object::list(template, &["spec", "containers"]).first().unwrap_or(&Value::Null);
    let port = container_port(container, "dashboard", names::PORT_DASHBOARD);
    format!("{}:{port}", cluster.head_host())
}

/// Keeps `{job}-head-svc` pointed at the current cluster.
pub(super) fn plan_head_service(pass: &Pass<'_>, plan: &mut Plan) {
    let Some(cluster) = parts(pass).filter(|_| !pass.spec.selects_cluster()) else { return };
    let wanted = head_service_for_job(pass.job(), &cluster);
    let what = format!("service {}/{}", object::namespace(&wanted), object::name(&wanted));
    let selected = |service: &Value| object::text(service, &["spec", "selector", names::CLUSTER]).to_owned();
    match pass.view.head_service.as_deref() {
        None => {
            let step = Step::new("create/Service", Action::Create { object: wanted })
                .done(Event::normal("CreatedService", "Create", format!("Created the {what}")))
                .failed(Event::warning(
                    "FailedToCreateService",
                    "Create",
                    format!("Failed to create the {what}"),
                ));
            pass.push(plan, step);
        }
        Some(present) if selected(present) != selected(&wanted) => {
            let mut target = object::reference(present);
            "v1".clone_into(&mut target.api_version);
            "Service".clone_into(&mut target.kind);
            let patch =
                json!({"spec": {"selector": wanted["spec"]["selector"], "ports": wanted["spec"]["ports"]}});
            let step = Step::new("update/Service", Action::Patch { target, patch })
                .done(Event::normal("UpdatedService", "Update", format!("Updated the {what}")))
                .failed(Event::warning(
                    "FailedToUpdateService",
                    "Update",
                    format!("Failed to update the {what}"),
                ));
            pass.push(plan, step);
        }
        Some(_) => {}
    }
}

/// Deletes the RayCluster; `None` when there is nothing to delete.
pub(super) fn delete_step(pass: &Pass<'_>) -> Option<Step> {
    let cluster = pass.view.cluster.as_deref().filter(|cluster| !object::is_deleting(cluster))?;
    let mut target = object::reference(cluster);
    names::API_VERSION.clone_into(&mut target.api_version);
    "RayCluster".clone_into(&mut target.kind);
    let what = format!("cluster {}/{}", target.namespace, target.name);
    let step = Step::new("delete/RayCluster", Action::Delete { target })
        .done(Event::normal("DeletedRayCluster", "Delete", format!("Deleted {what}")))
        .failed(Event::warning("FailedToDeleteRayCluster", "Delete", format!("Failed to delete {what}")));
    Some(step)
}

/// The cluster as pods are built from it.
pub(super) fn parts<'a>(pass: &'a Pass<'_>) -> Option<Cluster<'a>> {
    let object = pass.view.cluster.as_deref()?;
    let spec = pass.cluster_spec.as_ref()?;
    Some(Cluster { object, spec, options: pass.options })
}
