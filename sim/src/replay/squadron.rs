//! Squadron: hands the events of a replay to the decider of the control plane, and its decisions back.
//!
//! Owns no rule. Teams become tenants with equal guarantees that together are the fleet; GPU models become bits.

use squadron_core::dispatch::{
    book::{Ask, Because, Book, Class, Pool, Shape, Site, Terms},
    tenants::Tenants,
};

use crate::replay::{
    input::{Fleet, Job, Trace},
    policy::{Millis, Placed, Policy},
    world::{milli, milli_of},
};

pub(super) struct Squadron<'a> {
    jobs: &'a [Job],
    book: Book,
    models: Vec<String>,
    /// Told every run time, rounded up to a power of two.
    oracle: bool,
}

impl<'a> Squadron<'a> {
    pub(super) fn new(trace: &'a Trace, fleet: &Fleet, terms: Terms, oracle: bool) -> Self {
        let models = models(fleet);
        let sites = fleet.sites.iter().map(|site| {
            let pools = site.pools.iter().map(|pool| Pool {
                model: bit(&models, &pool.model),
                total: milli(pool.gpus()),
                free: milli(pool.gpus()),
            });
            Site::new(site.name.clone(), pools.collect())
        });
        let tenants = Tenants::equal(&trace.teams, milli(fleet.gpus())).unwrap_or_default();
        Squadron { jobs: &trace.jobs, book: Book::new(terms, tenants, sites.collect()), models, oracle }
    }

    fn shape(&self, job: &Job) -> Shape {
        let bits = job.models.iter().map(|model| bit(&self.models, model)).filter(|bit| *bit < 63);
        let models = if job.models.is_empty() { u64::MAX } else { bits.fold(0, |mask, bit| mask | 1 << bit) };
        let declared = self.oracle.then(|| job.duration_ms.next_power_of_two());
        Shape { tenant: job.team + 1, gpus: job.gpus, milli: milli_of(job), models, declared }
    }
}

impl Policy for Squadron<'_> {
    fn arrive(&mut self, job: usize, _: Millis) -> bool {
        let known = &self.jobs[job];
        let ask = Ask { job: job as u64, shape: self.shape(known), submitted: known.submit_ms };
        self.book.arrive(ask).is_ok()
    }

    fn end(&mut self, job: usize, now: Millis) {
        self.book.end(job as u64, now);
    }

    fn decide(&mut self, now: Millis) -> Vec<Placed> {
        let starts = self.book.decide(now);
        let placed = starts.into_iter().map(|start| Placed {
            job: usize::try_from(start.job).unwrap_or(usize::MAX),
            site: start.site,
            parts: start.parts,
            reason: sentence(&start.because),
        });
        placed.collect()
    }

    fn stop(&mut self, now: Millis) -> Vec<usize> {
        self.book.reclaim(now).iter().filter_map(|stop| usize::try_from(stop.job).ok()).collect()
    }

    fn stopped(&mut self, job: usize, now: Millis) {
        self.book.stopped(job as u64, now);
    }

    fn wake(&self, now: Millis) -> Option<Millis> {
        self.book.wake(now)
    }
}

fn sentence(because: &Because) -> String {
    let class = match because.class {
        Class::Reserved => "kept for it",
        Class::Guaranteed => "within guarantee",
        Class::Borrowing => "borrowing",
    };
    format!(
        "{class}; predicted {} s; tenant at {} permille; {} milli-GPUs left beside it",
        because.predicted.millis / 1_000,
        because.pressure,
        because.left
    )
}

/// All models of the fleet, sorted.
fn models(fleet: &Fleet) -> Vec<String> {
    let mut models: Vec<String> =
        fleet.sites.iter().flat_map(|site| &site.pools).map(|pool| pool.model.clone()).collect();
    models.sort();
    models.dedup();
    models
}

/// The bit of a model; 63 for one that the fleet does not have.
fn bit(models: &[String], model: &str) -> u32 {
    models.iter().position(|known| known == model).map_or(63, |at| u32::try_from(at).unwrap_or(63))
}
