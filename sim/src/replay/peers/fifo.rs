//! FIFO with best fit: one queue in the order of submission; one that fits nowhere is passed over.

use std::collections::BTreeSet;

use crate::replay::{
    input::{Fleet, Job, Trace},
    peers::rooms::Rooms,
    policy::{Millis, Placed, Policy},
    world::milli_of,
};

pub struct Fifo<'a> {
    jobs: &'a [Job],
    sites: usize,
    rooms: Rooms<'a>,
    queue: BTreeSet<usize>,
}

impl<'a> Fifo<'a> {
    pub fn new(trace: &'a Trace, fleet: &'a Fleet) -> Self {
        Fifo {
            jobs: &trace.jobs,
            sites: fleet.sites.len(),
            rooms: Rooms::new(&trace.jobs, fleet),
            queue: BTreeSet::new(),
        }
    }
}

impl Policy for Fifo<'_> {
    fn arrive(&mut self, job: usize, _: Millis) -> bool {
        let fits = (0..self.sites).any(|site| self.rooms.ever(site, job));
        if fits {
            self.queue.insert(job);
        }
        fits
    }

    fn end(&mut self, job: usize, _: Millis) {
        self.rooms.end(job);
    }

    fn decide(&mut self, _: Millis) -> Vec<Placed> {
        let mut placed = Vec::new();
        for job in self.queue.iter().copied().collect::<Vec<_>>() {
            let largest = self.rooms.largest();
            if largest == 0 {
                break;
            }
            if milli_of(&self.jobs[job]) > largest {
                continue;
            }
            let fitting = (0..self.sites).filter(|site| self.rooms.fits(*site, job));
            if let Some(site) = fitting.min_by_key(|site| (self.rooms.left(*site, job), *site)) {
                self.queue.remove(&job);
                placed.push(self.rooms.place(site, job, "first in the queue that fits"));
            }
        }
        placed
    }

    fn wake(&self, _: Millis) -> Option<Millis> {
        None
    }
}
