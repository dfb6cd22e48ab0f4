//! World: what is true during a replay, kept apart from what a policy believes.
//!
//! Invariant, checked at every start: the job waits and runs nowhere, its parts are of one cluster and of models it may
//! use, they add up to what it asks, and the pools have that much free.

use std::collections::BTreeMap;

use squadron_core::dispatch::book::Part;

use crate::replay::{
    input::{Fleet, Job},
    policy::Placed,
};

/// A rule that a policy broke. Not the input's fault: the policy's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Broken {
    #[error("job {job} was started although it {state}")]
    NotWaiting { job: String, state: &'static str },
    #[error("job {job} was placed on cluster {site} beyond what is free there")]
    OverCapacity { job: String, site: String },
    #[error("job {job} was given other capacity than it asked for")]
    WrongAmount { job: String },
    #[error("job {job} was put on a model that it may not use")]
    WrongModel { job: String },
    #[error("jobs still wait, the fleet is idle, and the policy starts none of them ({waiting} jobs)")]
    Stuck { waiting: usize },
}

/// State of one job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Coming,
    Waiting,
    Running,
    Ended,
    Never,
}

pub(super) struct World<'a> {
    jobs: &'a [Job],
    fleet: &'a Fleet,
    free: Vec<Vec<i64>>,
    states: Vec<State>,
    places: BTreeMap<usize, (usize, Vec<Part>)>,
    pub(super) waiting: usize,
}

impl<'a> World<'a> {
    pub(super) fn new(jobs: &'a [Job], fleet: &'a Fleet) -> Self {
        let free = fleet.sites.iter().map(|site| site.pools.iter().map(|pool| milli(pool.gpus())).collect());
        World {
            jobs,
            fleet,
            free: free.collect(),
            states: vec![State::Coming; jobs.len()],
            places: BTreeMap::new(),
            waiting: 0,
        }
    }

    pub(super) fn arrive(&mut self, job: usize, fits: bool) {
        self.states[job] = if fits { State::Waiting } else { State::Never };
        self.waiting += usize::from(fits);
    }

    pub(super) fn start(&mut self, placed: &Placed) -> Result<(), Broken> {
        let job = self.jobs[placed.job].id.clone();
        let state = match self.states[placed.job] {
            State::Waiting => None,
            State::Coming => Some("was not submitted yet"),
            State::Running => Some("runs already"),
            State::Ended => Some("ended already"),
            State::Never => Some("was said to fit nowhere"),
        };
        if let Some(state) = state {
            return Err(Broken::NotWaiting { job, state });
        }
        self.check_parts(placed)?;
        for part in &placed.parts {
            self.free[placed.site][part.pool] -= part.milli;
        }
        if self.free[placed.site].iter().any(|free| *free < 0) {
            let site = self.fleet.sites[placed.site].name.clone();
            return Err(Broken::OverCapacity { job, site });
        }
        self.states[placed.job] = State::Running;
        self.waiting -= 1;
        self.places.insert(placed.job, (placed.site, placed.parts.clone()));
        Ok(())
    }

    fn check_parts(&self, placed: &Placed) -> Result<(), Broken> {
        let job = &self.jobs[placed.job];
        let sum: i64 = placed.parts.iter().map(|part| part.milli).sum();
        if sum != milli_of(job) || placed.parts.iter().any(|part| part.milli <= 0) {
            return Err(Broken::WrongAmount { job: job.id.clone() });
        }
        let pools = &self.fleet.sites[placed.site].pools;
        let allowed = |part: &Part| job.models.is_empty() || job.models.contains(&pools[part.pool].model);
        if !placed.parts.iter().all(allowed) {
            return Err(Broken::WrongModel { job: job.id.clone() });
        }
        Ok(())
    }

    pub(super) fn end(&mut self, job: usize) {
        self.states[job] = State::Ended;
        if let Some((site, parts)) = self.places.remove(&job) {
            for part in parts {
                self.free[site][part.pool] += part.milli;
            }
        }
    }

    /// A running job that was stopped waits again.
    pub(super) fn stop(&mut self, job: usize) {
        self.end(job);
        self.states[job] = State::Waiting;
        self.waiting += 1;
    }

    pub(super) fn idle(&self) -> bool {
        self.places.is_empty()
    }
}

/// GPUs in thousandths.
pub(super) fn milli(gpus: u64) -> i64 {
    i64::try_from(gpus.saturating_mul(1_000)).unwrap_or(i64::MAX)
}

/// What a job takes, in thousandths of a GPU.
pub(super) fn milli_of(job: &Job) -> i64 {
    i64::try_from(job.gpu_milli).unwrap_or(i64::MAX)
}
