//! Cache: the shelves of all kinds, shared between the watches that fill them and the passes that read them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use squadron_ray::view::Object;

use super::{Kind, Shelf, owning_job};

/// Kinds that reconcilers' views are made of.
pub const VIEWED: [Kind; 5] = [Kind::RayJob, Kind::RayCluster, Kind::Pod, Kind::Service, Kind::BatchJob];

/// Objects as last seen, by kind.
pub struct Cache {
    shelves: BTreeMap<Kind, Mutex<Shelf>>,
    /// Uids that this agent asked the API server to delete.
    deleted_by_us: Mutex<BTreeSet<String>>,
}

impl Default for Cache {
    fn default() -> Self {
        let shelves = Kind::ALL.iter().map(|kind| (*kind, Mutex::default())).collect();
        Cache { shelves, deleted_by_us: Mutex::default() }
    }
}

impl Cache {
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
