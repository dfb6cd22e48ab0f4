//! View: collects from the cache what a reconciler needs to judge one object.
//!
//! Owns read-your-writes: objects created or deleted by us appear so, even if the watch has not shown it yet.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;
use squadron_ray::{
    Failures,
    plan::ObjectRef,
    view::{ClusterView, JobView, Object, RayAnswer, Unseen},
};

use super::api::{WriteError, Writer};
use crate::{
    clock::now,
    watch::{Cache, Kind, Target, object},
};

/// Writes of ours that the watch has not shown, by namespace.
#[derive(Default)]
pub struct Writes(Mutex<BTreeMap<String, Unseen>>);

impl Writes {
    pub fn created(&self, object: &Object) {
        self.with(object::namespace(object), |unseen| unseen.created(object.clone(), now()));
    }

    pub fn deleted(&self, target: &ObjectRef) {
        self.with(&target.namespace, |unseen| unseen.deleted(&target.uid, now()));
    }

    /// Forgets what the cache has caught up with.
    fn prune(&self, cache: &Cache, namespace: &str) {
        let exists = |uid: &str| cache.by_uid(uid).is_some();
        let deleting = |uid: &str| cache.by_uid(uid).is_some_and(|object| object::is_deleting(&object));
        self.with(namespace, |unseen| unseen.prune(exists, deleting, now()));
    }

    fn apply(
        &self,
        namespace: &str,
        kind: &str,
        seen: &[Object],
        belongs: impl Fn(&Value) -> bool,
    ) -> Vec<Object> {
        self.with(namespace, |unseen| unseen.apply(kind, seen, belongs))
    }

    fn with<T>(&self, namespace: &str, act: impl FnOnce(&mut Unseen) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        act(all.entry(namespace.to_owned()).or_default())
    }
}

/// Where views come from.
pub struct Lens<'a> {
    pub cache: &'a Cache,
    pub writes: &'a Writes,
    pub writer: &'a Writer,
    pub log_open: &'a super::LogOpen,
}

impl Lens<'_> {
    pub async fn cluster(&self, cluster: Object, failures: Failures) -> Result<ClusterView, WriteError> {
        let (namespace, name) = (object::namespace(&cluster), object::name(&cluster));
        self.writes.prune(self.cache, namespace);
        let access = if cluster["spec"]["enableInTreeAutoscaling"] == true {
            self.autoscaler_access(&cluster).await?
        } else {
            Access::default()
        };
        Ok(ClusterView {
            pods: self.of_cluster(Kind::Pod, "Pod", namespace, name),
            services: self.of_cluster(Kind::Service, "Service", namespace, name),
            service_accounts: access.service_accounts,
            roles: access.roles,
            role_bindings: access.role_bindings,
            failures,
            seed: rand::random(),
            cluster,
        })
    }

    pub fn job(&self, job: Object, failures: Failures, ray: Option<RayAnswer>) -> JobView {
        let (namespace, name) = (object::namespace(&job), object::name(&job));
        self.writes.prune(self.cache, namespace);
        let cluster_name = job["status"]["rayClusterName"].as_str().unwrap_or_default();
        JobView {
            cluster: self.named(Kind::RayCluster, "RayCluster", namespace, cluster_name),
            pods: self.of_cluster(Kind::Pod, "Pod", namespace, cluster_name),
            head_service: self.named(Kind::Service, "Service", namespace, &format!("{name}-head-svc")),
            submitter: self.named(Kind::BatchJob, "Job", namespace, name),
            ray,
            log_open: (self.log_open)(&job),
            failures,
            seed: rand::random(),
            job,
        }
    }

    fn of_cluster(&self, kind: Kind, word: &str, namespace: &str, cluster: &str) -> Vec<Object> {
        if cluster.is_empty() {
            return Vec::new();
        }
        let seen = self.cache.shelf(kind).of_cluster(namespace, cluster);
        self.writes.apply(namespace, word, &seen, |object| object::label(object, "ray.io/cluster") == cluster)
    }

    fn named(&self, kind: Kind, word: &str, namespace: &str, name: &str) -> Option<Object> {
        if name.is_empty() {
            return None;
        }
        let seen: Vec<Object> = self.cache.get(kind, namespace, name).into_iter().collect();
        self.writes.apply(namespace, word, &seen, |object| object::name(object) == name).pop()
    }

    /// The autoscaler's service account and rights are few and seldom needed, so they are read, not watched.
    async fn autoscaler_access(&self, cluster: &Object) -> Result<Access, WriteError> {
        let template = &cluster["spec"]["headGroupSpec"]["template"]["spec"];
        let account = template["serviceAccountName"].as_str().filter(|name| !name.is_empty());
        let own = object::name(cluster);
        let rbac = "rbac.authorization.k8s.io/v1";
        Ok(Access {
            service_accounts: self.read(cluster, "v1", "ServiceAccount", account.unwrap_or(own)).await?,
            roles: self.read(cluster, rbac, "Role", own).await?,
            role_bindings: self.read(cluster, rbac, "RoleBinding", own).await?,
        })
    }

    async fn read(
        &self,
        near: &Object,
        version: &str,
        kind: &str,
        name: &str,
    ) -> Result<Vec<Object>, WriteError> {
        let target = ObjectRef {
            api_version: version.to_owned(),
            kind: kind.to_owned(),
            namespace: object::namespace(near).to_owned(),
            name: name.to_owned(),
            uid: String::new(),
        };
        Ok(self.writer.get(&target).await?.into_iter().collect())
    }
}

#[derive(Default)]
struct Access {
    service_accounts: Vec<Object>,
    roles: Vec<Object>,
    role_bindings: Vec<Object>,
}

/// The judged object as cached.
pub fn judged(cache: &Cache, target: &Target) -> Option<Object> {
    let kind = match target.kind {
        crate::watch::TargetKind::Cluster => Kind::RayCluster,
        crate::watch::TargetKind::Job => Kind::RayJob,
    };
    cache.get(kind, &target.namespace, &target.name)
}
