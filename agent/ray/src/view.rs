//! View: all that a reconciler may know, handed in by the shell.
//!
//! Objects are raw JSON as the API server sent them, so that no field is lost. Invariant for the shell: a view is
//! complete (built after the caches were filled) and reads its own writes (see [`Unseen`]). A view that is a little
//! old is harmless: the plan is then refused by a resource version, a uid or an existing name, and made again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::Value;
use squadron_core::time::Timestamp;

use crate::failures::Failures;

/// An object as the API server has it.
pub type Object = Arc<Value>;

/// A RayCluster and what belongs to it.
#[derive(Clone, Debug)]
pub struct ClusterView {
    pub cluster: Object,
    /// Pods of its namespace with label `ray.io/cluster` = its name.
    pub pods: Vec<Object>,
    /// Services of its namespace with that label.
    pub services: Vec<Object>,
    /// ServiceAccounts of its namespace named like the cluster or like the head template's `serviceAccountName`;
    /// Roles and RoleBindings named like the cluster. Only needed when `spec.enableInTreeAutoscaling` is true.
    pub service_accounts: Vec<Object>,
    pub roles: Vec<Object>,
    pub role_bindings: Vec<Object>,
    pub failures: Failures,
    /// Drawn anew by the shell for every pass; random name suffixes come from it.
    pub seed: u64,
}

/// A RayJob and what belongs to it.
#[derive(Clone, Debug)]
pub struct JobView {
    pub job: Object,
    /// The RayCluster named `status.rayClusterName`, if it exists.
    pub cluster: Option<Object>,
    /// Pods of its namespace with label `ray.io/cluster` = that name.
    pub pods: Vec<Object>,
    /// The Service named `{job}-head-svc`, if it exists.
    pub head_service: Option<Object>,
    /// The batch/v1 Job with the RayJob's name, if it exists.
    pub submitter: Option<Object>,
    /// The dashboard's latest answer to the poll of an earlier plan.
    pub ray: Option<RayAnswer>,
    /// The driver's log is read from the head, and not yet to its end: what is unread goes with the head.
    pub log_open: bool,
    pub failures: Failures,
    /// Drawn anew by the shell for every pass; random name suffixes come from it.
    pub seed: u64,
}

/// What the dashboard said about a job.
#[derive(Clone, PartialEq, Debug)]
pub struct RayAnswer {
    /// Whom it was asked about; an answer about another job is ignored.
    pub submission_id: String,
    /// Where it was asked; an answer from another cluster's dashboard is ignored.
    pub dashboard: String,
    pub at: Timestamp,
    pub outcome: RayOutcome,
}

/// The dashboard's answer, already parsed.
#[derive(Clone, PartialEq, Debug)]
pub enum RayOutcome {
    Found(JobInfo),
    /// HTTP 404: Ray knows no such job.
    Unknown,
    /// No answer, another status code, or a body that is no job.
    Failed(String),
}

/// The part of Ray's job details that is used.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct JobInfo {
    /// PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED.
    pub status: String,
    pub message: Option<String>,
    /// Milliseconds since 1970.
    pub start_time: Option<u64>,
    /// Milliseconds since 1970.
    pub end_time: Option<u64>,
}

const STATUSES: [&str; 5] = ["PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"];
/// Ray repeats the driver's traceback in `message`; a status must stay small.
const LONGEST_MESSAGE: usize = 8_192;

impl RayOutcome {
    /// Reads the answer to GET `/api/jobs/{id}`. The body is not trusted.
    pub fn from_http(code: u16, body: &[u8]) -> RayOutcome {
        if code == 404 {
            return RayOutcome::Unknown;
        }
        if code != 200 {
            let text: String = String::from_utf8_lossy(body).chars().take(200).collect();
            return RayOutcome::Failed(format!("the dashboard answered {code}: {text}"));
        }
        match serde_json::from_slice::<JobInfo>(body) {
            Ok(info) if STATUSES.contains(&info.status.as_str()) => RayOutcome::Found(info.bounded()),
            Ok(info) => {
                let status: String = info.status.chars().take(40).collect();
                RayOutcome::Failed(format!("the dashboard answered with the unknown job status {status:?}"))
            }
            Err(error) => RayOutcome::Failed(format!("the dashboard's answer is no job: {error}")),
        }
    }
}

impl JobInfo {
    fn bounded(mut self) -> JobInfo {
        self.message = self.message.map(|text| text.chars().take(LONGEST_MESSAGE).collect());
        self
    }
}

/// Writes of ours that the API server accepted and the watch has not shown yet.
///
/// The shell keeps one per namespace or object and merges it into every list of a view, so that a pod is never
/// created twice. Entries leave when the watch caught up, or after 30 s: then the object came and went unseen.
#[derive(Clone, Debug, Default)]
pub struct Unseen {
    created: BTreeMap<String, (Object, Timestamp)>,
    deleted: BTreeMap<String, Timestamp>,
}

const FORGET_AFTER_MILLIS: i64 = 30_000;

impl Unseen {
    /// Notes an object as the API server returned it on creation.
    pub fn created(&mut self, object: Object, now: Timestamp) {
        self.created.insert(crate::object::uid(&object).to_owned(), (object, now));
    }

    /// Notes that the API server accepted the deletion of this uid.
    pub fn deleted(&mut self, uid: &str, now: Timestamp) {
        self.deleted.insert(uid.to_owned(), now);
    }

    /// `seen`, one cached list of one kind, with our own writes applied: created objects of that kind for which
    /// `belongs` holds are added, deleted ones carry a `deletionTimestamp`.
    pub fn apply(&self, kind: &str, seen: &[Object], belongs: impl Fn(&Value) -> bool) -> Vec<Object> {
        let known: BTreeSet<&str> = seen.iter().map(|object| crate::object::uid(object)).collect();
        let added = self.created.iter().filter(|(uid, (object, _))| {
            !known.contains(uid.as_str())
                && !self.deleted.contains_key(uid.as_str())
                && crate::object::text(object, &["kind"]) == kind
                && belongs(object)
        });
        let added = added.map(|(_, (object, _))| object.clone());
        seen.iter().map(|object| self.with_deletion(object)).chain(added).collect()
    }

    /// Drops what the watch has caught up with: `exists` tells whether a uid is in the cache, `deleting` whether it
    /// is there with a deletion timestamp.
    pub fn prune(&mut self, exists: impl Fn(&str) -> bool, deleting: impl Fn(&str) -> bool, now: Timestamp) {
        let fresh = |since: &Timestamp| now.millis_since(*since) < FORGET_AFTER_MILLIS;
        self.created.retain(|uid, (_, since)| !exists(uid) && fresh(since));
        self.deleted.retain(|uid, since| exists(uid) && !deleting(uid) && fresh(since));
    }

    fn with_deletion(&self, object: &Object) -> Object {
        let Some(since) = self.deleted.get(crate::object::uid(object)) else {
            return object.clone();
        };
        if crate::object::is_deleting(object) {
            return object.clone();
        }
        let mut copy = Value::clone(object);
        copy["metadata"]["deletionTimestamp"] = Value::String(since.to_string());
        Arc::new(copy)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn pod(uid: &str) -> Object {
        Arc::new(json!({"kind": "Pod", "metadata": {"uid": uid, "labels": {"c": "1"}}}))
    }

    fn uids(pods: &[Object]) -> Vec<&str> {
        pods.iter().map(|pod| crate::object::uid(pod)).collect()
    }

    #[test]
    fn rc_exp_1_created_pods_count_before_the_watch_shows_them() {
        let mut unseen = Unseen::default();
        unseen.created(pod("new"), Timestamp(0));
        assert_eq!(uids(&unseen.apply("Pod", &[pod("old")], |_| true)), ["old", "new"]);
        assert_eq!(uids(&unseen.apply("Pod", &[pod("new")], |_| true)), ["new"]);
        assert!(unseen.apply("Service", &[], |_| true).is_empty());
        assert!(unseen.apply("Pod", &[], |_| false).is_empty());
    }

    #[test]
    fn rc_exp_1_deleted_pods_count_as_terminating_at_once() {
        let mut unseen = Unseen::default();
        unseen.created(pod("a"), Timestamp(0));
        unseen.deleted("a", Timestamp(0));
        unseen.deleted("b", Timestamp(0));
        let seen = unseen.apply("Pod", &[pod("b")], |_| true);
        assert_eq!(uids(&seen), ["b"]);
        assert!(crate::object::is_deleting(&seen[0]));
    }

    #[test]
    fn rc_exp_1_writes_are_forgotten_when_seen_or_after_half_a_minute() {
        let mut unseen = Unseen::default();
        unseen.created(pod("a"), Timestamp(0));
        unseen.created(pod("b"), Timestamp(0));
        unseen.prune(|uid| uid == "a", |_| false, Timestamp::from_millis(1));
        assert_eq!(uids(&unseen.apply("Pod", &[], |_| true)), ["b"]);
        unseen.prune(|_| false, |_| false, Timestamp::from_millis(30_000));
        assert!(unseen.apply("Pod", &[], |_| true).is_empty());
    }

    #[test]
    fn rj_q_only_404_means_unknown() {
        let body = br#"{"status": "RUNNING", "message": "m", "start_time": 1, "end_time": null, "driver_exit_code": 0}"#;
        let expected = JobInfo {
            status: "RUNNING".into(),
            message: Some("m".into()),
            start_time: Some(1),
            end_time: None,
        };
        assert_eq!(RayOutcome::from_http(200, body), RayOutcome::Found(expected));
        assert_eq!(RayOutcome::from_http(404, b"no"), RayOutcome::Unknown);
        let hostile: [(u16, &[u8]); 5] =
            [(500, body), (200, b"{}"), (200, b"[]"), (200, br#"{"status": "ODD"}"#), (200, b"\xff")];
        for (code, body) in hostile {
            assert!(matches!(RayOutcome::from_http(code, body), RayOutcome::Failed(_)), "{code}");
        }
    }

    #[test]
    fn messages_of_ray_are_bounded() {
        let body = json!({"status": "FAILED", "message": "x".repeat(100_000)}).to_string();
        let RayOutcome::Found(info) = RayOutcome::from_http(200, body.as_bytes()) else { panic!("a job") };
        assert_eq!(info.message.unwrap().len(), LONGEST_MESSAGE);
    }
}
