//! Claim: room that is being made on one cluster for the head of a line, while running jobs are stopped there.
//!
//! Owns what is kept for whom. Invariants: a stopping job keeps its room and quota until [`Book::stopped`] or
//! [`Book::end`] says that it is gone; what comes free until then is kept for the claim, and nothing else is. Fails by a
//! stop that is never confirmed, which keeps the claim waiting and gives nobody room that is still in use. A claim whose
//! head is gone is dropped once its room is there, and that room is everyone's.

use std::collections::BTreeSet;

use crate::dispatch::{
    book::{Ask, Book, Shape, Start},
    predict::about,
};

/// Room on a cluster for the head of a line, once the victims are gone.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) line: usize,
    pub(super) site: usize,
    pub(super) victims: BTreeSet<u64>,
}

impl Book {
    /// The agent confirmed that an attempt was stopped: its room is free, and the job waits again with the age it had. Its kind
    /// is not learnt from, but that this job has run so long says more of it than its kind does. An unknown job changes
    /// nothing.
    pub fn stopped(&mut self, job: u64, now: super::Millis) {
        let Some(running) = self.running.remove(&job) else { return };
        self.sites[running.site].release(job, &running.parts);
        self.tenants.give_back(running.shape.tenant, running.shape.milli);
        *self.suffered.entry(job).or_default() += 1;
        let ran = about(now.saturating_sub(running.started)).max(running.ran);
        let index = self.line_of(running.shape, ran);
        self.lines[index].join(Ask { job, shape: running.shape, submitted: running.submitted });
        self.touched.push(index);
        self.released = true;
    }

    /// Starts the heads whose room is there.
    pub(super) fn honour_claims(&mut self, now: super::Millis) -> Vec<Start> {
        let running = &self.running;
        for claim in &mut self.claims {
            claim.victims.retain(|job| running.contains_key(job));
        }
        let (ready, open): (Vec<Claim>, Vec<Claim>) =
            std::mem::take(&mut self.claims).into_iter().partition(|claim| claim.victims.is_empty());
        self.claims = open;
        ready.into_iter().filter_map(|claim| self.honour(&claim, now)).collect()
    }

    fn honour(&mut self, claim: &Claim, now: super::Millis) -> Option<Start> {
        let line = &self.lines[claim.line];
        line.head()?;
        let shape = line.shape;
        let allowed = self.tenants.available(shape.tenant) >= shape.milli;
        if !allowed || self.room(claim.site, shape) < shape.milli {
            return None;
        }
        let because = self.because(claim.line, claim.site, now);
        self.start(claim.line, claim.site, because, now)
    }

    /// Free on a cluster for a shape, without what claims keep there.
    pub(super) fn room(&self, site: usize, shape: Shape) -> i64 {
        let claims = self.claims.iter().filter(|claim| claim.site == site);
        let rivals = claims.filter(|claim| self.lines[claim.line].shape.models & shape.models != 0);
        let kept: i64 = rivals.map(|claim| self.kept_by(claim)).sum();
        self.sites[site].free(shape.models) - kept
    }

    /// What a claim keeps of the room that is free now: all that does not come from its victims.
    fn kept_by(&self, claim: &Claim) -> i64 {
        let victims = claim.victims.iter().filter_map(|job| self.running.get(job));
        let coming: i64 = victims.map(|running| running.shape.milli).sum();
        (self.lines[claim.line].shape.milli - coming).max(0)
    }

    pub(super) fn is_stopping(&self, job: u64) -> bool {
        self.claims.iter().any(|claim| claim.victims.contains(&job))
    }
}
