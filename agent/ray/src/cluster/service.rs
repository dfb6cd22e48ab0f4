//! Services of a RayCluster (OBJ-1, OBJ-2) and the head Service of a RayJob (RJ-SVC).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Pass;
use crate::{
    names::{self, HEAD},
    object::{self, entry, items},
    plan::{Action, Event, Plan, Step},
    pod::Cluster,
};

pub(super) fn plan(pass: &Pass<'_>, plan: &mut Plan) {
    let exists = |name: &str| pass.view.services.iter().any(|service| object::name(service) == name);
    let head = pass.cluster.head_service();
    if !exists(&head) {
        create(pass, plan, head_service(&pass.cluster));
    }
    let cluster = pass.view.cluster.as_ref();
    let serve = format!("{}-serve-svc", pass.name());
    if object::annotation(cluster, names::ENABLE_SERVE_SERVICE) == "true" && !exists(&serve) {
        create(pass, plan, serve_service(pass, &serve));
    }
}

fn create(pass: &Pass<'_>, plan: &mut Plan, object: Value) {
    let name = object::name(&object).to_owned();
    let what = format!("service {}/{name}", pass.namespace());
    let step = Step::new(format!("create/Service/{name}"), Action::Create { object })
        .done(Event::normal("CreatedService", "Create", format!("Created {what}")))
        .failed(Event::warning("FailedToCreateService", "Create", format!("Failed creating {what}")));
    pass.push(plan, step);
}

/// OBJ-1. Headless by default: there is at most one head, and its address must be known before it is ready.
fn head_service(cluster: &Cluster<'_>) -> Value {
    let head = &cluster.spec.head_group_spec;
    let labels = selector(cluster);
    let ports = head_ports(cluster);
    let kind = head.service_type.as_deref().unwrap_or_default();
    let annotations = cluster.spec.head_service_annotations.clone().unwrap_or_default();
    let mut service = match &head.head_service {
        Some(own) if own.is_object() => custom(own, &labels, ports, kind, &annotations),
        _ => {
            let mut spec = json!({"selector": labels, "ports": ports});
            if !kind.is_empty() {
                spec["type"] = json!(kind);
            }
            if matches!(kind, "" | "ClusterIP") && !cluster.options.head_cluster_ip {
                spec["clusterIP"] = json!("None");
                spec["publishNotReadyAddresses"] = json!(true);
            }
            let mut metadata = json!({"labels": labels});
            if !annotations.is_empty() {
                metadata["annotations"] = json!(annotations);
            }
            json!({"metadata": metadata, "spec": spec})
        }
    };
    service["metadata"]["name"] = json!(cluster.head_service());
    finish(cluster, service)
}

/// The user's Service: selector forced, generated ports and labels added.
fn custom(
    own: &Value,
    labels: &BTreeMap<&str, String>,
    generated: Vec<Value>,
    kind: &str,
    annotations: &BTreeMap<String, String>,
) -> Value {
    let mut service = json!({"metadata": own["metadata"], "spec": own["spec"]});
    entry(&mut service, "metadata");
    entry(&mut service, "spec");
    let metadata = &mut service["metadata"];
    entry(metadata, "labels").extend(labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
    if !annotations.is_empty() {
        entry(metadata, "annotations")
            .extend(annotations.iter().map(|(key, value)| (key.clone(), json!(value))));
    }
    let spec = &mut service["spec"];
    spec["selector"] = json!(labels);
    let ports = items(spec, "ports");
    let known: Vec<String> = ports.iter().map(|port| object::text(port, &["name"]).to_owned()).collect();
    ports.extend(
        generated.into_iter().filter(|port| !known.iter().any(|name| name == object::text(port, &["name"]))),
    );
    if object::text(spec, &["type"]).is_empty() && !kind.is_empty() {
        spec["type"] = json!(kind);
    }
    service
}

/// OBJ-2: for users who run Serve on a plain RayCluster.
fn serve_service(pass: &Pass<'_>, name: &str) -> Value {
    let serve = |port: &Value| matches!(object::text(port, &["name"]), "serve");
    let ports: Vec<Value> = head_ports(&pass.cluster).into_iter().filter(serve).collect();
    let labels = json!({
        names::CLUSTER: pass.name(),
        names::FROM_NAME: pass.name(),
        names::FROM_KIND: "RayCluster",
        names::SERVE: format!("{}-serve", pass.name()),
    });
    let service = json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": {names::CLUSTER: pass.name()}, "ports": ports},
    });
    finish(&pass.cluster, service)
}

fn finish(cluster: &Cluster<'_>, mut service: Value) -> Value {
    service["metadata"]["namespace"] = json!(object::namespace(cluster.object));
    service["metadata"]["ownerReferences"] = object::owned_by(cluster.object, "RayCluster");
    json!({"apiVersion": "v1", "kind": "Service", "metadata": service["metadata"], "spec": service["spec"]})
}

/// The head's labels. Only the app name can be changed, by the head template's own label.
fn selector<'a>(cluster: &Cluster<'_>) -> BTreeMap<&'a str, String> {
    let name = object::name(cluster.object);
    let own_app = object::label(&cluster.spec.head_group_spec.template, names::APP_NAME);
    let app = if own_app.is_empty() { names::APP } else { own_app };
    BTreeMap::from([
        (names::CLUSTER, name.to_owned()),
        (names::NODE_TYPE, HEAD.to_owned()),
        (names::IDENTIFIER, names::label_value(&format!("{name}-{HEAD}"))),
        (names::APP_NAME, app.to_owned()),
        (names::CREATED_BY, names::OPERATOR.to_owned()),
    ])
}

/// The Ray container's ports, or the usual ones; metrics always. Sorted by name.
fn head_ports(cluster: &Cluster<'_>) -> Vec<Value> {
    let template = &cluster.spec.head_group_spec.template;
    let container = object::list(template, &["spec", "containers"]).first().unwrap_or(&Value::Null);
    let mut ports: BTreeMap<String, i64> = BTreeMap::new();
    for port in object::list(container, &["ports"]) {
        let Some(number) = port["containerPort"].as_i64() else { continue };
        let name = object::text(port, &["name"]);
        let name = if name.is_empty() { format!("{number}-port") } else { name.to_owned() };
        ports.insert(name, number);
    }
    if ports.is_empty() {
        let usual = [
            ("client", names::PORT_CLIENT),
            ("gcs-server", names::PORT_GCS),
            ("dashboard", names::PORT_DASHBOARD),
            ("serve", names::PORT_SERVE),
        ];
        ports.extend(usual.map(|(name, number)| (name.to_owned(), number)));
    }
    ports.entry("metrics".to_owned()).or_insert(names::PORT_METRICS);
    ports.iter().map(|(name, port)| json!({"name": name, "port": port, "appProtocol": "tcp"})).collect()
}

/// RJ-SVC: `{job}-head-svc`, pointing at the job's current cluster.
pub(crate) fn head_service_for_job(job: &Value, cluster: &Cluster<'_>) -> Value {
    let name = object::name(job);
    let mut service = head_service(cluster);
    service["metadata"] = json!({
        "name": names::head_service(name),
        "namespace": object::namespace(job),
        "labels": {
            names::FROM_NAME: name,
            names::FROM_KIND: "RayJob",
            names::NODE_TYPE: HEAD,
            names::IDENTIFIER: names::label_value(&format!("{name}-{HEAD}")),
        },
        "ownerReferences": object::owned_by(job, "RayJob"),
    });
    service
}

/// Endpoints for the status: port name to node port, else target port.
pub(super) fn endpoints(service: &Value) -> BTreeMap<String, String> {
    let number = |port: &Value| {
        let node_port = port["nodePort"].as_i64().filter(|number| *number > 0);
        node_port.or_else(|| port["targetPort"].as_i64()).or_else(|| port["port"].as_i64())
    };
    let ports = object::list(service, &["spec", "ports"]).iter();
    let named =
        ports.filter_map(|port| Some((object::text(port, &["name"]).to_owned(), number(port)?.to_string())));
    named.filter(|(name, _)| !name.is_empty()).collect()
}
