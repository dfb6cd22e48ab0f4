//! A cluster while a pass goes on.

use crate::{
    desired,
    dispatch::{Cluster, Standing, Waiting, pack::Kind, quota::Flavors, room::Room},
    id::ClusterId,
};

/// What is left of a cluster, and how often that changed.
#[derive(Clone, Debug)]
pub(super) struct Open<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) free: Room,
    /// Its usable nodes as if nothing ran on them.
    pub(super) empty: Room,
    /// Flavors of its usable nodes.
    pub(super) kinds: Vec<Kind>,
    /// Its desired set, with the attempts of this pass.
    pub(super) set: desired::Size,
    /// Attempts there that have not ended, with those of this pass.
    pub(super) attempts: usize,
    /// Grows with every job that is placed there.
    pub(super) version: u32,
}

impl Open<'_> {
    /// Whether it is one of the fleet's clusters, heard or not.
    pub(super) fn is_accepted(&self) -> bool {
        self.cluster.standing != Standing::NotAccepted
    }

    /// Whether the job may go there at all, now or later.
    pub(super) fn may_take(&self, job: &Waiting) -> bool {
        self.cluster.standing == Standing::Heard && is_allowed(job.pinned, self.cluster.id)
    }

    /// Whether the job may go there now as far as its nodes are not asked.
    pub(super) fn takes(&self, job: &Waiting) -> bool {
        self.may_take(job) && self.set.takes(job.manifest)
    }
}

/// Whether a job may use the cluster as far as its pin goes.
pub(super) fn is_allowed(pinned: Option<ClusterId>, cluster: ClusterId) -> bool {
    pinned.is_none_or(|pin| pin == cluster)
}

/// All clusters in the order of their names.
pub(super) fn open<'a>(clusters: &'a [Cluster], flavors: &Flavors) -> Vec<Open<'a>> {
    let mut sites: Vec<Open<'_>> = clusters
        .iter()
        .map(|cluster| {
            let (free, empty) = (Room::free(cluster), Room::empty(cluster));
            let kinds = flavors.of_room(&empty);
            let (attempts, set) = (cluster.attempts.len(), cluster.set);
            Open { cluster, free, empty, kinds, set, attempts, version: 0 }
        })
        .collect();
    sites.sort_by(|a, b| (&a.cluster.name, a.cluster.id).cmp(&(&b.cluster.name, b.cluster.id)));
    sites
}
