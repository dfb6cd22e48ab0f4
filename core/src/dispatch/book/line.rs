//! Line: waiting jobs that differ in age only, the oldest first.

use std::collections::BTreeSet;

use crate::dispatch::book::{Ask, Millis, Shape};

/// The jobs of one shape.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) shape: Shape,
    /// How long its jobs ran before they were stopped to make room for others, rounded up to a power of two; 0 if they were
    /// not.
    pub(super) ran: Millis,
    jobs: BTreeSet<(Millis, u64)>,
    /// Not before then is it worth looking again for what to stop for it.
    pub(super) rest_until: Millis,
}

impl Line {
    pub(super) fn new(shape: Shape, ran: Millis) -> Self {
        Line { shape, ran, jobs: BTreeSet::new(), rest_until: 0 }
    }

    pub(super) fn join(&mut self, ask: Ask) {
        self.jobs.insert((ask.submitted, ask.job));
    }

    pub(super) fn head(&self) -> Option<(Millis, u64)> {
        self.jobs.first().copied()
    }

    pub(super) fn leave(&mut self) -> Option<Ask> {
        let (submitted, job) = self.jobs.pop_first()?;
        Some(Ask { job, shape: self.shape, submitted })
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }
}
