//! Kind: what is watched, what of it is kept in memory, and whom it wakes.
//!
//! Owns the list of watches. Invariant: an object that a reconciler's view needs is kept by [`Kind::keeps`], and every
//! change of it wakes the objects whose views hold it.

use kube::{api::ApiResource, core::GroupVersionKind, runtime::watcher};
use serde_json::Value;

use super::object;

/// A kind of object that the agent watches in all namespaces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Pod,
    Service,
    /// A submitter of a RayJob.
    BatchJob,
    RayCluster,
    RayJob,
    Node,
    /// Warnings only.
    Event,
}

/// An object that is reconciled.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Target {
    pub kind: TargetKind,
    pub namespace: String,
    pub name: String,
}

/// The kinds that have a reconciler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TargetKind {
    Cluster,
    Job,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::RayJob, Kind::RayCluster, Kind::Pod, Kind::Service, Kind::BatchJob, Kind::Node, Kind::Event];

    /// The kind as the API server names it, with its group and version.
    pub fn resource(self) -> ApiResource {
        let (group, version, kind) = match self {
            Kind::Pod => ("", "v1", "Pod"),
            Kind::Service => ("", "v1", "Service"),
            Kind::BatchJob => ("batch", "v1", "Job"),
            Kind::RayCluster => ("ray.io", "v1", "RayCluster"),
            Kind::RayJob => ("ray.io", "v1", "RayJob"),
            Kind::Node => ("", "v1", "Node"),
            Kind::Event => ("", "v1", "Event"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }

    /// How the watch is narrowed on the server's side.
    pub fn watch_config(self) -> watcher::Config {
        let config = watcher::Config::default();
        match self {
            Kind::BatchJob => config.labels("app.kubernetes.io/created-by=kuberay-operator"),
            Kind::Event => config.fields("type=Warning"),
            _ => config,
        }
    }

    /// Kinds whose objects own objects of this one.
    pub fn owners(self) -> &'static [Kind] {
        match self {
            Kind::Pod => &[Kind::RayJob, Kind::RayCluster, Kind::BatchJob],
            Kind::RayCluster => &[Kind::RayJob],
            _ => &[],
        }
    }

    /// Whether an object of this kind is kept for views.
    pub fn keeps(self, value: &Value) -> bool {
        match self {
            Kind::RayCluster | Kind::RayJob | Kind::BatchJob => true,
            Kind::Pod => {
                !object::label(value, "ray.io/cluster").is_empty() || object::attempt(value).is_some()
            }
            Kind::Service => {
                !object::label(value, "ray.io/cluster").is_empty() || owning_job(value).is_some()
            }
            Kind::Node | Kind::Event => false,
        }
    }

    /// The objects to judge again when this one changed. `owner_of` names the RayJob that owns a RayCluster.
    pub fn wakes(self, value: &Value, owner_of: impl Fn(&str, &str) -> Option<String>) -> Vec<Target> {
        let namespace = object::namespace(value);
        let job = |name: &str| Target::new(TargetKind::Job, namespace, name);
        let cluster = |name: &str| Target::new(TargetKind::Cluster, namespace, name);
        match self {
            Kind::RayJob | Kind::BatchJob => vec![job(object::name(value))],
            Kind::RayCluster => {
                let own = cluster(object::name(value));
                std::iter::once(own).chain(owning_job(value).map(job)).collect()
            }
            Kind::Pod | Kind::Service => {
                let name = object::label(value, "ray.io/cluster");
                let of_cluster = (!name.is_empty()).then(|| cluster(name));
                let owner = owning_job(value).map(str::to_owned).or_else(|| owner_of(namespace, name));
                of_cluster.into_iter().chain(owner.map(|name| job(&name))).collect()
            }
            Kind::Node | Kind::Event => Vec::new(),
        }
    }
}

impl Target {
    pub fn new(kind: TargetKind, namespace: &str, name: &str) -> Target {
        Target { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            TargetKind::Cluster => "RayCluster",
            TargetKind::Job => "RayJob",
        };
        write!(f, "{kind} {}/{}", self.namespace, self.name)
    }
}

/// The RayJob that an object says it originates from.
pub fn owning_job(value: &Value) -> Option<&str> {
    (object::label(value, "ray.io/originated-from-crd") == "RayJob")
        .then(|| object::label(value, "ray.io/originated-from-cr-name"))
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn labelled(labels: &Value) -> Value {
        json!({"metadata": {"namespace": "ns", "name": "x", "labels": labels}})
    }

    #[test]
    fn a_pod_wakes_its_cluster_and_the_job_that_owns_it() {
        let pod = labelled(&json!({"ray.io/cluster": "c"}));
        let woken = Kind::Pod.wakes(&pod, |ns, name| (ns == "ns" && name == "c").then(|| "j".to_owned()));
        let expected =
            vec![Target::new(TargetKind::Cluster, "ns", "c"), Target::new(TargetKind::Job, "ns", "j")];
        assert_eq!(woken, expected);
    }

    #[test]
    fn a_cluster_of_a_service_wakes_no_job() {
        let labels =
            json!({"ray.io/originated-from-crd": "RayService", "ray.io/originated-from-cr-name": "s"});
        let woken = Kind::RayCluster.wakes(&labelled(&labels), |_, _| None);
        assert_eq!(woken, vec![Target::new(TargetKind::Cluster, "ns", "x")]);
    }

    #[test]
    fn foreign_pods_and_services_are_not_kept() {
        assert!(!Kind::Pod.keeps(&labelled(&json!({"app": "web"}))));
        assert!(!Kind::Service.keeps(&labelled(&json!({}))));
        let of_job = json!({"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "j"});
        assert!(Kind::Service.keeps(&labelled(&of_job)));
    }
}
