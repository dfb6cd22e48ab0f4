//! MultiKueue's built-in dispatchers, as a model.
//!
//! The manager's quota is the sum of the fleet and its queue is BestEffortFIFO: the oldest job that fits the quota reserves
//! it. A reserved job is nominated to clusters, where copies wait in the order of reservation, BestEffortFIFO again. Clusters
//! that can admit it at the same moment race, and chance decides. A job that waits on the clusters keeps its quota, as in
//! the product. AllAtOnce nominates every cluster at once; Incremental three more every five minutes, in the order of the
//! fleet file. Zero delay, no preemption.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    replay::{
        input::{Fleet, Job, Trace},
        peers::rooms::Rooms,
        policy::{Millis, Placed, Policy},
        world::{milli, milli_of},
    },
    rng::Rng,
};

/// Milliseconds between two rounds of the incremental dispatcher.
const ROUND: Millis = 300_000;

pub struct MultiKueue<'a> {
    jobs: &'a [Job],
    sites: usize,
    rooms: Rooms<'a>,
    rng: Rng,
    /// Clusters nominated in each round.
    step: usize,
    /// Manager quota that is left.
    quota: i64,
    /// Waiting for quota, by number, which is the order of submission.
    pending: BTreeSet<usize>,
    /// Waiting on clusters, in the order of reservation, with its time.
    nominated: BTreeMap<u64, (usize, Millis)>,
    reserved: u64,
}

impl<'a> MultiKueue<'a> {
    pub fn new(trace: &'a Trace, fleet: &'a Fleet, rng: Rng, step: usize) -> Self {
        MultiKueue {
            jobs: &trace.jobs,
            sites: fleet.sites.len(),
            rooms: Rooms::new(&trace.jobs, fleet),
            rng,
            step,
            quota: milli(fleet.gpus()),
            pending: BTreeSet::new(),
            nominated: BTreeMap::new(),
            reserved: 0,
        }
    }

    fn reserve(&mut self, now: Millis) {
        if self.quota == 0 {
            return;
        }
        for job in self.pending.iter().copied().collect::<Vec<_>>() {
            let asked = milli_of(&self.jobs[job]);
            if asked <= self.quota {
                self.quota -= asked;
                self.pending.remove(&job);
                self.nominated.insert(self.reserved, (job, now));
                self.reserved += 1;
            }
            if self.quota == 0 {
                return;
            }
        }
    }

    /// How many clusters of the fleet's order the job is nominated to by now.
    fn reach(&self, since: Millis, now: Millis) -> usize {
        let rounds = usize::try_from((now - since) / ROUND).unwrap_or(usize::MAX);
        self.step.saturating_mul(rounds.saturating_add(1)).min(self.sites)
    }

    fn race(&mut self, now: Millis) -> Vec<Placed> {
        let mut placed = Vec::new();
        for (order, (job, since)) in self.nominated.clone() {
            let able: Vec<usize> =
                (0..self.reach(since, now)).filter(|site| self.rooms.fits(*site, job)).collect();
            let winner = self.rng.below(able.len() as u64);
            if let Some(site) = usize::try_from(winner).ok().and_then(|winner| able.get(winner)) {
                self.nominated.remove(&order);
                placed.push(self.rooms.place(*site, job, "won the race"));
            }
        }
        placed
    }
}

impl Policy for MultiKueue<'_> {
    fn arrive(&mut self, job: usize, _: Millis) -> bool {
        let fits = (0..self.sites).any(|site| self.rooms.ever(site, job));
        if fits {
            self.pending.insert(job);
        }
        fits
    }

    fn end(&mut self, job: usize, _: Millis) {
        self.quota += milli_of(&self.jobs[job]);
        self.rooms.end(job);
    }

    fn decide(&mut self, now: Millis) -> Vec<Placed> {
        self.reserve(now);
        self.race(now)
    }

    fn wake(&self, now: Millis) -> Option<Millis> {
        let growing = self.nominated.values().filter(|(_, since)| self.reach(*since, now) < self.sites);
        growing.map(|(_, since)| since + ((now - since) / ROUND + 1) * ROUND).min()
    }
}
