//! A cluster while a pass goes on.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    desired,
    dispatch::{
        Cluster, Held, Standing, Waiting,
        location::Location,
        pack::{Kind, Limits, Packing},
        price::{Dear, Ground, Prices},
        quota::{Binds, Bound, Flavors, bound},
        room::Room,
    },
    id::ClusterId,
};

/// Jobs that keep apart, by queue and group, with how many of them are somewhere.
type Apart = BTreeMap<(String, String), usize>;

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
    pub(super) location: Arc<Location<'a>>,
    apart: Apart,
    /// What binds pods to the flavors of its nodes, once somebody asked.
    binds: Option<Binds>,
    /// Grows with every job that is placed there.
    pub(super) version: u32,
}

impl Open<'_> {
    /// Whether it is one of the fleet's clusters, heard or not.
    pub(super) fn is_accepted(&self) -> bool {
        self.cluster.standing != Standing::NotAccepted
    }

    /// Whether some attempt there may have more than its gang.
    pub(super) fn is_elastic(&self) -> bool {
        self.cluster.attempts.iter().any(Held::is_elastic)
    }

    /// Whether the job may go there at all, now or later.
    pub(super) fn may_take(&self, job: &Waiting) -> bool {
        self.cluster.standing == Standing::Heard
            && is_allowed(job.pinned, self.cluster.id)
            && self.location.admits(&job.preferences)
    }

    /// Whether the job may go there now as far as its nodes are not asked.
    pub(super) fn takes(&self, job: &Waiting) -> bool {
        self.may_take(job) && self.set.takes(job.manifest)
    }

    /// Places the job into `room`, which has the nodes of this cluster that are usable, at a price that it may cost.
    pub(super) fn pack(
        &self,
        room: &Room,
        job: &Waiting,
        limits: &Limits,
        prices: Prices<'_>,
    ) -> Result<Packing, Dear> {
        let ground = Ground { cluster: &self.cluster.name, room, kinds: &self.kinds };
        prices.pack(ground, job, limits)
    }

    /// What keeps the pods of a job where they were packed.
    pub(super) fn bound(&mut self, flavors: &Flavors, job: &Waiting, packing: &Packing) -> Bound {
        if packing.kinds.is_empty() {
            return Bound::new();
        }
        let binds = self.binds.get_or_insert_with(|| flavors.binds(self.cluster));
        bound(binds, &job.gang, &packing.kinds)
    }

    /// Live jobs of its queue there that want to keep apart from it.
    pub(super) fn of_its_group(&self, job: &Waiting) -> usize {
        let key = (job.queue.clone(), job.preferences.spread.clone());
        self.apart.get(&key).copied().unwrap_or(0)
    }

    /// The job goes there, into what leaves `left`.
    pub(super) fn put(&mut self, job: &Waiting, left: Room) {
        self.free = left;
        self.attempts += 1;
        self.set = self.set.with(job.manifest);
        self.version += 1;
        note(&mut self.apart, &job.queue, &job.preferences.spread);
    }
}

fn note(apart: &mut Apart, queue: &str, group: &str) {
    if !group.is_empty() {
        *apart.entry((queue.to_owned(), group.to_owned())).or_default() += 1;
    }
}

fn apart(attempts: &[Held]) -> Apart {
    let mut apart = Apart::new();
    attempts.iter().for_each(|held| note(&mut apart, &held.queue, &held.spread));
    apart
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
            let location = Arc::new(Location::of(cluster));
            let (attempts, set, apart) = (cluster.attempts.len(), cluster.set, apart(&cluster.attempts));
            Open { cluster, free, empty, kinds, set, attempts, location, apart, binds: None, version: 0 }
        })
        .collect();
    sites.sort_by(|a, b| (&a.cluster.name, a.cluster.id).cmp(&(&b.cluster.name, b.cluster.id)));
    sites
}
