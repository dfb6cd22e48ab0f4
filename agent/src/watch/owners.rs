//! Owners: of which attempt an object is, proven by more than its labels.
//!
//! Anybody who may write in some namespace can label a pod like ours, or apply a copy of a RayJob. So a RayJob is an
//! attempt's only if it stands where the attempt was sent, and anything else only if its chain of controlling owners
//! ends at such a RayJob. Invariant: what was proven once stays proven until the object is gone, so that the last words
//! on pods of a deleted RayJob still find their attempt. Lost with the process; the next one lists owners first.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use squadron_core::{
    attempt::object_name,
    id::{AttemptId, ClusterId},
};
use squadron_ray::view::Object;

use super::object;
use crate::plan::CLUSTER_ANNOTATION;

/// Pod, RayCluster or batch Job, RayJob.
const LONGEST_CHAIN: u32 = 3;

/// What was proven, and what it is proven with.
#[derive(Default)]
pub struct Owners {
    /// This cluster's id, as RayJobs of ours carry it.
    cluster: Option<String>,
    /// Namespace and name of the RayJobs that the control plane sent to this process.
    places: BTreeMap<AttemptId, (String, String)>,
    /// Uids of objects that were proven.
    proven: BTreeMap<String, AttemptId>,
    /// Uid of each attempt's RayJob.
    jobs: BTreeMap<AttemptId, String>,
}

impl Owners {
    pub fn of(cluster: ClusterId) -> Owners {
        Owners { cluster: Some(cluster.to_string()), ..Owners::default() }
    }

    /// Only there may the attempt's RayJob stand.
    pub fn expect(&mut self, attempt: AttemptId, namespace: &str, name: &str) {
        self.places.insert(attempt, (namespace.to_owned(), name.to_owned()));
    }

    /// Forgets where the RayJobs of all other attempts belong.
    pub fn expect_only(&mut self, known: &BTreeSet<AttemptId>) {
        self.places.retain(|attempt, _| known.contains(attempt));
    }

    /// The attempt that an object's labels name, if its owners agree; `by_uid` finds owners.
    pub fn attempt(&mut self, object: &Value, by_uid: &dyn Fn(&str) -> Option<Object>) -> Option<AttemptId> {
        let named = object::attempt(object)?;
        self.prove(object, by_uid, LONGEST_CHAIN).filter(|proven| *proven == named)
    }

    /// The object is gone.
    pub fn forget(&mut self, uid: &str) {
        if let Some(attempt) = self.proven.remove(uid)
            && self.jobs.get(&attempt).is_some_and(|job| job == uid)
        {
            self.jobs.remove(&attempt);
        }
    }

    fn prove(
        &mut self,
        object: &Value,
        by_uid: &dyn Fn(&str) -> Option<Object>,
        left: u32,
    ) -> Option<AttemptId> {
        let uid = object::uid(object);
        if let Some(known) = self.proven.get(uid) {
            return Some(*known);
        }
        let attempt = if object["kind"] == "RayJob" {
            let named = object::attempt(object).filter(|named| self.is_the_job(object, *named))?;
            self.jobs.insert(named, uid.to_owned());
            named
        } else {
            self.of_owner(object, by_uid, left)?
        };
        self.proven.insert(uid.to_owned(), attempt);
        Some(attempt)
    }

    fn of_owner(
        &mut self,
        object: &Value,
        by_uid: &dyn Fn(&str) -> Option<Object>,
        left: u32,
    ) -> Option<AttemptId> {
        let owner = object::controller(object).filter(|_| left > 0)?;
        match self.proven.get(owner) {
            Some(attempt) => Some(*attempt),
            None => self.prove(&*by_uid(owner)?, by_uid, left - 1),
        }
    }

    fn is_the_job(&self, job: &Value, attempt: AttemptId) -> bool {
        let marked =
            self.cluster.as_deref().is_some_and(|id| id == object::annotation(job, CLUSTER_ANNOTATION));
        let (namespace, name) = (object::namespace(job), object::name(job));
        marked
            && match self.places.get(&attempt) {
                Some(place) => place.0 == namespace && place.1 == name,
                // Sent to an earlier process and wanted no more: the name must fit, and the first such RayJob is it.
                None => {
                    let other = self.jobs.get(&attempt).is_some_and(|uid| uid != object::uid(job));
                    !other && name.ends_with(&object_name("", attempt.job, attempt.number))
                }
            }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    const CLUSTER: &str = "0196f0a0-0000-7000-8000-0000000000c1";

    fn attempt() -> AttemptId {
        AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 1 }
    }

    fn thing(kind: &str, namespace: &str, name: &str, owner: &str) -> Object {
        let owners = if owner.is_empty() { json!([]) } else { json!([{"uid": owner, "controller": true}]) };
        Arc::new(json!({"kind": kind, "metadata": {"namespace": namespace, "name": name,
            "uid": format!("{namespace}/{name}"), "ownerReferences": owners,
            "annotations": {CLUSTER_ANNOTATION: CLUSTER},
            "labels": {"squadron.dev/job-id": attempt().job.to_string(), "squadron.dev/attempt": "1"}}}))
    }

    /// What the owners say of each object, in order, when all of them are in the cache.
    fn say(owners: &mut Owners, all: &[Object]) -> Vec<bool> {
        let by_uid = |uid: &str| all.iter().find(|object| object::uid(object) == uid).cloned();
        all.iter().map(|object| owners.attempt(object, &by_uid) == Some(attempt())).collect()
    }

    fn owners() -> Owners {
        Owners::of(CLUSTER.parse().unwrap())
    }

    #[test]
    fn the_chain_of_owners_counts_and_labels_alone_do_not() {
        let all = [
            thing("Pod", "ml", "worker", "ml/cluster"),
            thing("RayCluster", "ml", "cluster", "ml/train-00000001-1"),
            thing("RayJob", "ml", "train-00000001-1", ""),
            thing("Pod", "ml", "forged", ""),
            thing("Pod", "ml", "liar", "ml/no-such-owner"),
        ];
        let mut owners = owners();
        owners.expect(attempt(), "ml", "train-00000001-1");
        assert_eq!(say(&mut owners, &all), [true, true, true, false, false]);
    }

    #[test]
    fn a_copy_of_a_rayjob_and_what_it_owns_are_nobodys() {
        let all = [
            thing("RayJob", "ml", "copy", ""),
            thing("RayCluster", "ml", "cluster", "ml/copy"),
            thing("RayJob", "other", "train-00000001-1", ""),
            thing("RayJob", "ml", "train-00000001-1", ""),
        ];
        let mut wanted = owners();
        wanted.expect(attempt(), "ml", "train-00000001-1");
        assert_eq!(say(&mut wanted, &all), [false, false, false, true]);
        let after_a_restart = say(&mut owners(), &all[3..]);
        assert_eq!(after_a_restart, [true], "an attempt that is wanted no more is known by its name");
        assert_eq!(say(&mut owners(), &all[..2]), [false, false]);
    }

    #[test]
    fn pods_of_a_deleted_rayjob_keep_their_attempt_until_they_are_gone() {
        let all = [thing("RayJob", "ml", "t-00000001-1", ""), thing("Pod", "ml", "head", "ml/t-00000001-1")];
        let mut owners = owners();
        assert_eq!(say(&mut owners, &all), [true, true]);
        owners.forget("ml/t-00000001-1");
        assert_eq!(say(&mut owners, &all[1..]), [true]);
        owners.forget("ml/head");
        assert_eq!(say(&mut owners, &all[1..]), [false]);
    }

    #[test]
    fn another_clusters_mark_is_not_ours() {
        let mut stranger = Value::clone(&thing("RayJob", "ml", "t-00000001-1", ""));
        stranger["metadata"]["annotations"][CLUSTER_ANNOTATION] =
            json!("0196f0a0-0000-7000-8000-0000000000c2");
        assert_eq!(say(&mut owners(), &[Arc::new(stranger.clone())]), [false]);
        stranger["metadata"]["annotations"] = json!({});
        let unmarked = [Arc::new(stranger)];
        assert_eq!(say(&mut owners(), &unmarked), [false]);
        assert_eq!(say(&mut Owners::default(), &unmarked), [false]);
    }
}
