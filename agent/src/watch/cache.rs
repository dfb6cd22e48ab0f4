//! Cache: the shelves of all kinds, shared between the watches that fill them and the passes that read them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use squadron_core::id::{AttemptId, ClusterId};
use squadron_ray::view::Object;

use super::{Kind, Shelf, object, owners::Owners, owning_job};

/// Kinds that reconcilers' views are made of.
pub const VIEWED: [Kind; 5] = [Kind::RayJob, Kind::RayCluster, Kind::Pod, Kind::Service, Kind::BatchJob];

/// Objects as last seen, by kind.
pub struct Cache {
    shelves: BTreeMap<Kind, Mutex<Shelf>>,
    /// Uids that this agent asked the API server to delete.
    deleted_by_us: Mutex<BTreeSet<String>>,
    owners: Mutex<Owners>,
}

impl Default for Cache {
    fn default() -> Self {
        let shelves = Kind::ALL.iter().map(|kind| (*kind, Mutex::default())).collect();
        Cache { shelves, deleted_by_us: Mutex::default(), owners: Mutex::default() }
    }
}

impl Cache {
    /// The cache of a cluster's agent; the default one takes nothing for its own.
    pub fn of(cluster: ClusterId) -> Cache {
        Cache { owners: Mutex::new(Owners::of(cluster)), ..Cache::default() }
    }

    /// Where the RayJob of an attempt belongs.
    pub fn expect(&self, attempt: AttemptId, namespace: &str, name: &str) {
        self.owners().expect(attempt, namespace, name);
    }

    /// Forgets where the RayJobs of all other attempts belong.
    pub fn expect_only(&self, known: &BTreeSet<AttemptId>) {
        self.owners().expect_only(known);
    }

    /// The attempt whose an object is, proven by its owners. Never call this while a shelf is locked.
    pub fn attempt(&self, object: &Value) -> Option<AttemptId> {
        self.owners().attempt(object, &|uid| self.by_uid(uid))
    }

    /// Like [`Cache::attempt`], but also takes the labels' word for an object whose owner is gone: Kubernetes deletes
    /// such an object soon, and until then something of the attempt may still run.
    pub fn attempt_or_remains(&self, object: &Value) -> Option<AttemptId> {
        self.attempt(object).or_else(|| {
            let orphaned = object::controller(object).is_some_and(|owner| self.by_uid(owner).is_none());
            object::attempt(object).filter(|_| orphaned)
        })
    }

    /// An object is gone, and all was said of it.
    pub fn forget(&self, uid: &str) {
        self.owners().forget(uid);
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All objects of a kind, as they are now.
    pub fn all(&self, kind: Kind) -> Vec<Object> {
        self.shelf(kind).all().cloned().collect()
    }

    /// The shelf of a kind, locked. Hold it for moments only.
    pub fn shelf(&self, kind: Kind) -> MutexGuard<'_, Shelf> {
        self.shelves[&kind].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Object> {
        self.shelf(kind).get(namespace, name)
    }

    /// Whether every kind that views need was listed completely.
    pub fn is_complete(&self) -> bool {
        VIEWED.iter().all(|kind| self.shelf(*kind).is_complete())
    }

    /// The object of this uid, of any viewed kind.
    pub fn by_uid(&self, uid: &str) -> Option<Object> {
        VIEWED.iter().find_map(|kind| self.shelf(*kind).by_uid(uid))
    }

    /// The RayJob that owns a RayCluster.
    pub fn owner_of_cluster(&self, namespace: &str, cluster: &str) -> Option<String> {
        let cluster = self.get(Kind::RayCluster, namespace, cluster)?;
        owning_job(&cluster).map(str::to_owned)
    }

    /// Notes that we had this uid deleted, so that its end is not blamed on others.
    pub fn note_deletion(&self, uid: &str) {
        self.deleted_by_us.lock().unwrap_or_else(PoisonError::into_inner).insert(uid.to_owned());
    }

    /// Whether we had this uid deleted; forgets it.
    pub fn take_deletion(&self, uid: &str) -> bool {
        self.deleted_by_us.lock().unwrap_or_else(PoisonError::into_inner).remove(uid)
    }
}
