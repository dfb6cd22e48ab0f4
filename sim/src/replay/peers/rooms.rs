//! Rooms: what clusters have free, as the models count it.

use std::collections::BTreeMap;

use squadron_core::dispatch::book::Part;

use crate::replay::{
    input::{Fleet, Job},
    policy::Placed,
    world::{milli, milli_of},
};

/// Free capacity of every pool, in thousandths of a GPU.
pub(super) struct Rooms<'a> {
    jobs: &'a [Job],
    fleet: &'a Fleet,
    free: Vec<Vec<i64>>,
    places: BTreeMap<usize, (usize, Vec<Part>)>,
}

impl<'a> Rooms<'a> {
    pub(super) fn new(jobs: &'a [Job], fleet: &'a Fleet) -> Self {
        let free = fleet.sites.iter().map(|site| site.pools.iter().map(|pool| milli(pool.gpus())).collect());
        Rooms { jobs, fleet, free: free.collect(), places: BTreeMap::new() }
    }

    /// What the cluster has left after the job; negative if it does not fit.
    pub(super) fn left(&self, site: usize, job: usize) -> i64 {
        self.usable(site, job).map(|pool| self.free[site][pool]).sum::<i64>() - milli_of(&self.jobs[job])
    }

    pub(super) fn fits(&self, site: usize, job: usize) -> bool {
        self.left(site, job) >= 0
    }

    /// Whether the cluster could hold the job when empty.
    pub(super) fn ever(&self, site: usize, job: usize) -> bool {
        milli(self.fleet.sites[site].gpus_of(&self.jobs[job].models)) >= milli_of(&self.jobs[job])
    }

    /// The most that any cluster has free.
    pub(super) fn largest(&self) -> i64 {
        self.free.iter().map(|pools| pools.iter().sum()).max().unwrap_or(0)
    }

    fn usable(&self, site: usize, job: usize) -> impl Iterator<Item = usize> + '_ {
        let models = &self.jobs[job].models;
        let pools = &self.fleet.sites[site].pools;
        (0..pools.len()).filter(move |pool| models.is_empty() || models.contains(&pools[*pool].model))
    }

    /// Puts the job there, into the first pools with room.
    pub(super) fn place(&mut self, site: usize, job: usize, reason: &str) -> Placed {
        let mut wanted = milli_of(&self.jobs[job]);
        let mut parts = Vec::new();
        for pool in self.usable(site, job).collect::<Vec<_>>() {
            let milli = self.free[site][pool].min(wanted);
            if milli > 0 {
                self.free[site][pool] -= milli;
                wanted -= milli;
                parts.push(Part { pool, milli });
            }
        }
        self.places.insert(job, (site, parts.clone()));
        Placed { job, site, parts, reason: reason.to_owned() }
    }

    pub(super) fn end(&mut self, job: usize) {
        if let Some((site, parts)) = self.places.remove(&job) {
            for part in parts {
                self.free[site][part.pool] += part.milli;
            }
        }
    }
}
