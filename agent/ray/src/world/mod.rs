//! World: a tiny cluster in memory for the tests: an API server, kubelets, a Job controller and Ray.
//!
//! Plans are applied the way the shell applies them. Time moves only in [`World::tick`].

#![allow(clippy::unwrap_used)]

mod outside;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use squadron_core::time::Timestamp;

use crate::{
    Failures, Options, cluster, job,
    object::{self, text},
    plan::{Action, Plan, Poll, REFUSED, Step},
    view::{ClusterView, JobInfo, JobView, Object, RayAnswer, RayOutcome},
};

pub(crate) use self::outside::brief;

pub(crate) type Key = (String, String);

pub(crate) struct World {
    pub(crate) objects: BTreeMap<Key, Value>,
    pub(crate) now: Timestamp,
    pub(crate) options: Options,
    /// Jobs that Ray knows, with Ray's status.
    pub(crate) ray: BTreeMap<String, String>,
    /// Creations that the API server refuses: kind or pod group, and the words it uses.
    pub(crate) refused: Option<(&'static str, &'static str)>,
    /// How Ray's jobs end; `None` lets them run for ever.
    pub(crate) verdict: Option<&'static str>,
    /// Whether the dashboard answers.
    pub(crate) dashboard_up: bool,
    /// Packages that were brought to Ray; `None` while they cannot be had.
    pub(crate) packages: Option<Vec<String>>,
    /// Whether somebody still reads the drivers' logs from the heads.
    pub(crate) log_open: bool,
    pub(crate) events: Vec<String>,
    failures: BTreeMap<Key, Failures>,
    polls: BTreeMap<String, Poll>,
    made: u64,
}

const START: i64 = 1_796_000_000_000;

impl World {
    pub(crate) fn new() -> World {
        World {
            objects: BTreeMap::new(),
            now: Timestamp::from_millis(START),
            options: Options::default(),
            ray: BTreeMap::new(),
            refused: None,
            verdict: Some("SUCCEEDED"),
            dashboard_up: true,
            packages: Some(Vec::new()),
            log_open: false,
            events: Vec::new(),
            failures: BTreeMap::new(),
            polls: BTreeMap::new(),
            made: 0,
        }
    }

    pub(crate) fn add(&mut self, mut object: Value) {
        self.made += 1;
        object["metadata"]["uid"] = json!(format!("uid-{}", self.made));
        object["metadata"]["namespace"] = json!("test");
        object["metadata"]["resourceVersion"] = json!("1");
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["creationTimestamp"] = json!(object::stamp(self.now));
        let key = (text(&object, &["kind"]).to_owned(), object::name(&object).to_owned());
        self.objects.insert(key, object);
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> &Value {
        self.objects.get(&(kind.to_owned(), name.to_owned())).unwrap_or(&Value::Null)
    }

    pub(crate) fn get_mut(&mut self, kind: &str, name: &str) -> &mut Value {
        self.objects.get_mut(&(kind.to_owned(), name.to_owned())).unwrap()
    }

    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.objects.iter().filter(|((own, _), _)| own == kind).map(|(_, object)| object).collect()
    }

    pub(crate) fn pods(&self, group: &str) -> Vec<&Value> {
        let pods = self.of_kind("Pod").into_iter();
        pods.filter(|pod| object::label(pod, "ray.io/group") == group && !object::is_deleting(pod)).collect()
    }

    /// Deletes an object; pods keep terminating until the next tick, everything else goes with its children.
    pub(crate) fn delete(&mut self, kind: &str, name: &str) {
        let key = (kind.to_owned(), name.to_owned());
        let now = object::stamp(self.now);
        let Some(found) = self.objects.get_mut(&key) else { return };
        let held = !object::list(found, &["metadata", "finalizers"]).is_empty();
        if kind == "Pod" || held {
            found["metadata"]["deletionTimestamp"] = json!(now);
            return;
        }
        let uid = object::uid(found).to_owned();
        self.objects.remove(&key);
        self.collect(&uid);
    }

    fn collect(&mut self, owner: &str) {
        let owned = |object: &Value| {
            object::list(object, &["metadata", "ownerReferences"]).iter().any(|one| one["uid"] == owner)
        };
        let children: Vec<Key> =
            self.objects.iter().filter(|(_, object)| owned(object)).map(|(key, _)| key.clone()).collect();
        for (kind, name) in children {
            self.delete(&kind, &name);
        }
    }

    /// Passes until every plan is idle; panics when that does not happen.
    pub(crate) fn settle(&mut self) {
        for _ in 0..60 {
            if !self.pass() {
                return;
            }
        }
        panic!("no fixed point: {:#?}", self.objects.keys());
    }

    /// One pass over everything; whether anything was done.
    pub(crate) fn pass(&mut self) -> bool {
        let mut busy = false;
        for (kind, name) in self.objects.keys().cloned().collect::<Vec<_>>() {
            let plan = match kind.as_str() {
                "RayCluster" => cluster::plan(&self.cluster_view(&name), &self.options, self.now),
                "RayJob" => job::plan(&self.job_view(&name), &self.options, self.now),
                _ => continue,
            };
            busy |= !plan.is_idle();
            self.apply(&kind, &name, plan);
        }
        busy
    }

    pub(crate) fn plan_cluster(&self, name: &str) -> Plan {
        cluster::plan(&self.cluster_view(name), &self.options, self.now)
    }

    pub(crate) fn plan_job(&self, name: &str) -> Plan {
        job::plan(&self.job_view(name), &self.options, self.now)
    }

    fn shared(&self, kind: &str, belongs: impl Fn(&Value) -> bool) -> Vec<Object> {
        self.of_kind(kind).into_iter().filter(|one| belongs(one)).map(|one| Arc::new(one.clone())).collect()
    }

    fn cluster_view(&self, name: &str) -> ClusterView {
        let own = |object: &Value| object::label(object, "ray.io/cluster") == name;
        ClusterView {
            cluster: Arc::new(self.get("RayCluster", name).clone()),
            pods: self.shared("Pod", own),
            services: self.shared("Service", own),
            service_accounts: self.shared("ServiceAccount", |_| true),
            roles: self.shared("Role", |_| true),
            role_bindings: self.shared("RoleBinding", |_| true),
            failures: self.failures_of("RayCluster", name),
            seed: self.made,
        }
    }

    fn job_view(&self, name: &str) -> JobView {
        let job = self.get("RayJob", name).clone();
        let cluster = text(&job, &["status", "rayClusterName"]).to_owned();
        let one = |kind: &str, name: &str| {
            let found = self.get(kind, name);
            (!found.is_null()).then(|| Arc::new(found.clone()))
        };
        JobView {
            cluster: one("RayCluster", &cluster),
            pods: self.shared("Pod", |pod| object::label(pod, "ray.io/cluster") == cluster),
            head_service: one("Service", &format!("{name}-head-svc")),
            submitter: one("Job", name),
            ray: self.polls.get(name).map(|poll| self.answer(poll)),
            log_open: self.log_open,
            failures: self.failures_of("RayJob", name),
            seed: self.made,
            job: Arc::new(job),
        }
    }

    fn failures_of(&self, kind: &str, name: &str) -> Failures {
        self.failures.get(&(kind.to_owned(), name.to_owned())).cloned().unwrap_or_default()
    }

    fn answer(&self, poll: &Poll) -> RayAnswer {
        let head_ready =
            self.pods("headgroup").iter().any(|pod| text(pod, &["status", "phase"]) == "Running");
        let outcome = match self.ray.get(&poll.submission_id) {
            _ if !head_ready || !self.dashboard_up => RayOutcome::Failed("connection refused".to_owned()),
            Some(status) => RayOutcome::Found(JobInfo { status: status.clone(), ..JobInfo::default() }),
            None => RayOutcome::Unknown,
        };
        RayAnswer {
            submission_id: poll.submission_id.clone(),
            dashboard: poll.dashboard.clone(),
            at: self.now,
            outcome,
        }
    }

    fn apply(&mut self, kind: &str, name: &str, plan: Plan) {
        let key = (kind.to_owned(), name.to_owned());
        self.failures.entry(key.clone()).or_default().settle(&plan);
        for event in &plan.events {
            self.events.push(format!("{} {}", event.reason, event.message));
        }
        let version = text(self.get(kind, name), &["metadata", "resourceVersion"]).to_owned();
        if !self.run(&key, &plan.steps) {
            return;
        }
        if let Some(status) = plan.status
            && let Some(object) = self.objects.get_mut(&key)
        {
            assert_eq!(
                text(object, &["metadata", "resourceVersion"]),
                version,
                "status written after an own patch"
            );
            object["status"] = status;
        }
        self.run(&key, &plan.then);
        match plan.poll {
            Some(poll) => self.polls.insert(name.to_owned(), poll),
            None => self.polls.remove(name),
        };
    }

    /// Runs steps; whether the rest of the plan may follow.
    fn run(&mut self, key: &Key, steps: &[Step]) -> bool {
        for step in steps {
            let result = self.act(&step.action);
            let failures = self.failures.entry(key.clone()).or_default();
            let event = match &result {
                Ok(()) => failures.succeeded(step),
                Err(error) => failures.failed(step, error, self.now),
            };
            self.events.extend(event.map(|event| format!("{} {}", event.reason, event.message)));
            if result.is_err() && step.gate {
                return false;
            }
        }
        true
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        match action {
            Action::Create { object } => self.create(object),
            Action::Delete { target } => {
                let found = self.get(&target.kind, &target.name);
                assert!(
                    found.is_null() || object::uid(found) == target.uid,
                    "deletes another object than it saw"
                );
                self.delete(&target.kind, &target.name);
                Ok(())
            }
            Action::Patch { target, patch } => {
                let object = self.get_mut(&target.kind, &target.name);
                if let Some(version) = patch.pointer("/metadata/resourceVersion") {
                    assert_eq!(*version, object["metadata"]["resourceVersion"]);
                }
                merge(object, patch);
                let version: i64 = text(object, &["metadata", "resourceVersion"]).parse().unwrap();
                object["metadata"]["resourceVersion"] = json!((version + 1).to_string());
                let gone = object::is_deleting(object)
                    && object::list(object, &["metadata", "finalizers"]).is_empty();
                if gone {
                    self.delete(&target.kind, &target.name);
                }
                Ok(())
            }
            Action::DeliverPackage { package, .. } => {
                if let Some((_, words)) = self.refused.filter(|(what, _)| what == package) {
                    return Err(format!("{REFUSED} the package with status 400: {words}"));
                }
                let there = self.packages.as_mut().ok_or("the control plane is away")?;
                there.push(package.clone());
                Ok(())
            }
            Action::SubmitRayJob { body, .. } => {
                let id = body["submission_id"].as_str().unwrap();
                self.ray.entry(id.to_owned()).or_insert_with(|| "PENDING".to_owned());
                Ok(())
            }
            Action::StopRayJob { submission_id, .. } => {
                self.ray.entry(submission_id.clone()).and_modify(|status| "STOPPED".clone_into(status));
                Ok(())
            }
        }
    }

    fn create(&mut self, object: &Value) -> Result<(), String> {
        let kind = text(object, &["kind"]);
        let key = (kind.to_owned(), object::name(object).to_owned());
        assert!(!text(object, &["apiVersion"]).is_empty() && object::namespace(object) == "test", "{key:?}");
        let group = object::label(object, "ray.io/group");
        if let Some((what, words)) = self.refused.filter(|(what, _)| *what == kind || *what == group) {
            return Err(format!("{what} is forbidden: {words}"));
        }
        if self.objects.contains_key(&key) {
            return Err("already exists".to_owned());
        }
        self.add(object.clone());
        Ok(())
    }

    /// Ticks and settles until `done`, at most `seconds`.
    pub(crate) fn run_until(&mut self, seconds: u32, done: impl Fn(&World) -> bool) {
        for _ in 0..seconds {
            self.settle();
            if done(self) {
                return;
            }
            self.tick();
        }
        panic!("not reached within {seconds} s: {:#?}", self.events);
    }

    pub(crate) fn skip(&mut self, time: Duration) {
        self.now = self.now.plus_millis(i64::try_from(time.as_millis()).unwrap());
    }
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}
