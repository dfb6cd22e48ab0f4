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

/// So many clusters as this there are before one is given several jobs one after another.
const CLUSTERS_A_JOB: usize = 32;
/// Jobs of a pass that one cluster is given one after another, at most.
const LONGEST_RUN: usize = 16;

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
    /// Jobs of a pass that it is given one after another, where other things are equal: each cluster that a pass touches is locked,
    /// written and told, and in a fleet of hundreds that would be a cluster for each job. 1 in a small fleet.
    run: u32,
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

    /// Whether jobs of this pass went there and some more are to follow; nothing in a small fleet, where none follow.
    pub(super) fn goes_on(&self) -> Option<bool> {
        (self.run > 1).then(|| !self.version.is_multiple_of(self.run))
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
    let run = run(clusters);
    let mut sites: Vec<Open<'_>> = clusters
        .iter()
        .map(|cluster| {
            let (free, empty) = (Room::free(cluster), Room::empty(cluster));
            let kinds = flavors.of_room(&empty);
            let location = Arc::new(Location::of(cluster));
            let (attempts, set, apart) = (cluster.attempts.len(), cluster.set, apart(&cluster.attempts));
            Open { cluster, free, empty, kinds, set, attempts, location, apart, binds: None, version: 0, run }
        })
        .collect();
    sites.sort_by(|a, b| (&a.cluster.name, a.cluster.id).cmp(&(&b.cluster.name, b.cluster.id)));
    sites
}

fn run(clusters: &[Cluster]) -> u32 {
    let heard = clusters.iter().filter(|cluster| cluster.standing == Standing::Heard).count();
    u32::try_from((heard / CLUSTERS_A_JOB).clamp(1, LONGEST_RUN)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::dispatch::{
        Assign, Input, plan,
        tests::{cluster, gang, res, waiting},
    };

    /// Where so many equal jobs go of so many equal clusters.
    fn placed(jobs: u128, clusters: u128) -> Vec<Assign> {
        let clusters = (1..=clusters).map(|n| cluster(n, &format!("c{n:03}"), &[res(20, 64, 0)])).collect();
        let waiting = (1..=jobs).map(|n| waiting(n, gang(res(1, 1, 0), 0, res(0, 0, 0)))).collect();
        plan(&Input { clusters, waiting, ..Input::default() }).assign
    }

    fn touched(jobs: u128, clusters: u128) -> usize {
        placed(jobs, clusters).iter().map(|assign| assign.cluster).collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn a_pass_over_hundreds_of_clusters_touches_few_of_them() {
        assert_eq!([touched(30, 2), touched(30, 63), touched(30, 64), touched(30, 320)], [2, 30, 15, 3]);
        assert_eq!(touched(48, 1_000), 3, "16 jobs each");
        assert_eq!(touched(2_000, 100), 100, "and all of them when all are needed");
    }

    #[test]
    fn it_is_told_why_the_next_job_follows() {
        let placed = placed(4, 64);
        let ends: Vec<_> =
            placed.iter().map(|one| one.because.rsplit("over ").next().unwrap_or("")).collect();
        assert_eq!(ends[1], "c002: it is given jobs of this pass, there it would be one more to be told");
        assert!(ends[2].ends_with("equal to c003 in every term, first by name"), "{ends:?}");
    }
}
