//! Pods: turns a group's template into the pod that runs Ray.
//!
//! Owns what is added to a user's template, and in which order (POD-1). Invariant: the template's own fields survive
//! untouched unless a rule here names them; the result depends only on the RayCluster, the group and the options.

mod autoscaler;
mod command;
mod env;
mod health;
mod labels;
mod params;
mod storage;
mod volume;
mod wait;

use serde_json::{Map, Value, json};

pub(crate) use self::{autoscaler::service_account, command::shell, labels::marks};
use crate::{
    names::{self, HEAD, HEAD_GROUP, WORKER},
    object::{self, entry, items},
    options::Options,
    types::{RayClusterSpec, WorkerGroupSpec},
};

/// What every pod of a RayCluster is made from.
#[derive(Clone, Copy)]
pub(crate) struct Cluster<'a> {
    pub(crate) object: &'a Value,
    pub(crate) spec: &'a RayClusterSpec,
    pub(crate) options: &'a Options,
}

/// How much of a resource each node of `spec` tells Ray that it has, by the name of its param of `ray start`. What a node
/// leaves to Ray to find out is without end, except for GPUs, which a pod that asks for none does not have.
pub(crate) fn offers(spec: &RayClusterSpec, param: &str) -> Vec<f64> {
    let cluster = Cluster { object: &Value::Null, spec, options: &Options::default() };
    let may_be =
        |group: &&WorkerGroupSpec| if spec.autoscaling() { group.most() } else { group.desired_pods() } > 0;
    let workers = spec.worker_group_specs.iter().flatten().filter(may_be).map(Node::Worker);
    let unsaid = if param == "num-gpus" { 0.0 } else { f64::INFINITY };
    let of = |node| match params::of(&cluster, node).get(param) {
        Some(said) => said.trim().parse().unwrap_or(f64::INFINITY),
        None => unsaid,
    };
    std::iter::once(Node::Head).chain(workers).map(of).collect()
}

/// The node that a pod becomes.
#[derive(Clone, Copy)]
enum Node<'a> {
    Head,
    Worker(&'a WorkerGroupSpec),
}

impl Cluster<'_> {
    /// The head pod named `name`.
    pub(crate) fn head_pod(&self, name: &str) -> Value {
        self.pod(Node::Head, name)
    }

    /// A worker pod of `group` named `name`.
    pub(crate) fn worker_pod(&self, group: &WorkerGroupSpec, name: &str) -> Value {
        self.pod(Node::Worker(group), name)
    }

    /// Name of the head Service.
    pub(crate) fn head_service(&self) -> String {
        let custom = self.spec.head_group_spec.head_service.as_ref().map_or("", object::name);
        if custom.is_empty() { names::head_service(object::name(self.object)) } else { custom.to_owned() }
    }

    /// DNS name of the head Service.
    pub(crate) fn head_host(&self) -> String {
        let namespace = object::namespace(self.object);
        format!("{}.{namespace}.svc.{}", self.head_service(), self.options.cluster_domain)
    }

    /// Port of the GCS.
    fn gcs_port(&self) -> String {
        let params = self.spec.head_group_spec.ray_start_params.as_ref();
        params.and_then(|params| params.get("port")).map_or_else(|| names::PORT_GCS.to_string(), Clone::clone)
    }

    /// The kind at the top: RayCluster, or the kind that made it.
    fn origin(&self) -> &str {
        let kind = object::label(self.object, names::FROM_KIND);
        if kind.is_empty() { "RayCluster" } else { kind }
    }

    fn fault_tolerant(&self) -> bool {
        self.spec.gcs_fault_tolerance_options.is_some()
            || object::annotation(self.object, names::FT_ENABLED).eq_ignore_ascii_case("true")
    }

    fn pod(&self, node: Node<'_>, name: &str) -> Value {
        let mut template = node.template(self.spec).clone();
        if !template.is_object() {
            template = json!({});
        }
        let mut params = params::of(self, node);
        labels::set(self, node, &mut template);
        self.add_wait(node, &mut template);
        if matches!(node, Node::Head) && self.spec.autoscaling() {
            autoscaler::add(self, &mut template);
        }
        autoscaler::set_restart_policy(self.spec, &mut template);
        storage::add(self, node, &mut template, &mut params);
        add_metrics_port(ray_container(&mut template));
        volume::add_shared_memory(&mut template, &params);
        let start = command::ray_start(node, &params);
        command::set(self, &mut template, &start);
        env::set(self, node, &mut template, &start);
        health::add(self, node, ray_container(&mut template));
        self.finish(template, name)
    }

    /// POD-10. The wait container copies the template's own settings, so it is made before anything is added to them.
    fn add_wait(&self, node: Node<'_>, template: &mut Value) {
        if let Node::Worker(_) = node
            && let Some(container) = wait::container(self, template)
        {
            let spec =
                template.as_object_mut().map(|fields| fields.entry("spec").or_insert_with(|| json!({})));
            if let Some(spec) = spec {
                items(spec, "initContainers").push(container);
            }
        }
    }

    fn finish(&self, mut template: Value, name: &str) -> Value {
        let metadata = entry(&mut template, "metadata");
        for unwanted in ["generateName", "uid", "resourceVersion", "creationTimestamp"] {
            metadata.remove(unwanted);
        }
        metadata.insert("name".to_owned(), json!(name));
        metadata.insert("namespace".to_owned(), json!(object::namespace(self.object)));
        metadata.insert("ownerReferences".to_owned(), object::owned_by(self.object, "RayCluster"));
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": template["metadata"],
            "spec": template["spec"],
        })
    }
}

impl<'a> Node<'a> {
    fn template(self, spec: &'a RayClusterSpec) -> &'a Value {
        match self {
            Node::Head => &spec.head_group_spec.template,
            Node::Worker(group) => &group.template,
        }
    }

    fn node_type(self) -> &'static str {
        match self {
            Node::Head => HEAD,
            Node::Worker(_) => WORKER,
        }
    }

    fn group_name(self) -> &'a str {
        match self {
            Node::Head => HEAD_GROUP,
            Node::Worker(group) => &group.group_name,
        }
    }
}

/// Container 0 runs Ray; validation has made sure that it exists.
fn ray_container(template: &mut Value) -> &mut Value {
    entry(template, "spec");
    let containers = items(&mut template["spec"], "containers");
    if containers.is_empty() {
        containers.push(Value::Object(Map::new()));
    }
    &mut containers[0]
}

/// POD-12.
fn add_metrics_port(container: &mut Value) {
    let ports = items(container, "ports");
    if !ports.iter().any(|port| object::text(port, &["name"]) == "metrics") {
        ports.push(json!({"name": "metrics", "containerPort": names::PORT_METRICS}));
    }
}

/// The number of the container port named `name`, or `otherwise`.
pub(crate) fn container_port(container: &Value, name: &str, otherwise: i64) -> i64 {
    let named = object::list(container, &["ports"]).iter().find(|port| object::text(port, &["name"]) == name);
    named.and_then(|port| port["containerPort"].as_i64()).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests;
