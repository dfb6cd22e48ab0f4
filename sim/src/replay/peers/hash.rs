//! Static hash: the number of a job in the trace chooses its cluster by capacity, before anything is known of load.

use std::collections::BTreeSet;

use crate::{
    replay::{
        input::{Fleet, Trace},
        peers::rooms::Rooms,
        policy::{Millis, Placed, Policy},
    },
    rng::Rng,
};

pub struct Hash<'a> {
    fleet: &'a Fleet,
    rooms: Rooms<'a>,
    queues: Vec<BTreeSet<usize>>,
    dirty: BTreeSet<usize>,
    places: std::collections::BTreeMap<usize, usize>,
}

impl<'a> Hash<'a> {
    pub fn new(trace: &'a Trace, fleet: &'a Fleet) -> Self {
        Hash {
            fleet,
            rooms: Rooms::new(&trace.jobs, fleet),
            queues: vec![BTreeSet::new(); fleet.sites.len()],
            dirty: BTreeSet::new(),
            places: std::collections::BTreeMap::new(),
        }
    }

    /// The cluster that the job's number falls on, among those that could ever hold it.
    fn choose(&self, job: usize) -> Option<usize> {
        let able: Vec<usize> =
            (0..self.fleet.sites.len()).filter(|site| self.rooms.ever(*site, job)).collect();
        let gpus = |site: &usize| self.fleet.sites[*site].gpus_of(&[]);
        let mut at = Rng::new(job as u64).below(able.iter().map(gpus).sum());
        able.into_iter().find(|site| {
            let inside = at < gpus(site);
            at = at.saturating_sub(gpus(site));
            inside
        })
    }
}

impl Policy for Hash<'_> {
    fn arrive(&mut self, job: usize, _: Millis) -> bool {
        let chosen = self.choose(job);
        if let Some(site) = chosen {
            self.queues[site].insert(job);
            self.dirty.insert(site);
        }
        chosen.is_some()
    }

    fn end(&mut self, job: usize, _: Millis) {
        self.rooms.end(job);
        self.dirty.extend(self.places.remove(&job));
    }

    fn decide(&mut self, _: Millis) -> Vec<Placed> {
        let mut placed = Vec::new();
        for site in std::mem::take(&mut self.dirty) {
            for job in self.queues[site].iter().copied().collect::<Vec<_>>() {
                if self.rooms.fits(site, job) {
                    self.queues[site].remove(&job);
                    self.places.insert(job, site);
                    placed.push(self.rooms.place(site, job, "hashed to this cluster"));
                }
            }
        }
        placed
    }

    fn wake(&self, _: Millis) -> Option<Millis> {
        None
    }
}
