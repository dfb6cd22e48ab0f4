//! Trial: whether a job fits on a cluster if some of its attempts were gone, with one more or one less at a time.
//!
//! Invariant: whoever was thought gone is back in the paper's count of nodes and quota when the trial ends, however it ends.

use std::collections::BTreeSet;

use crate::dispatch::{
    pack::{Limit, Limits, Packing},
    plan::Pass,
    preempt::{
        paper::Paper,
        search::{Case, Use},
        steps::Cut,
        victims::Victim,
    },
};

/// A job on trial on a cluster.
pub(super) struct Trial<'t, 'a> {
    pass: &'t Pass<'a>,
    paper: &'t mut Paper<'a>,
    case: Case<'a>,
    site: usize,
    victims: &'t [Victim<'a>],
    gone: BTreeSet<usize>,
    /// The guarantee before anybody is gone, if no more may be used.
    most: Option<Limits>,
}

impl<'t, 'a> Trial<'t, 'a> {
    pub(super) fn new(
        pass: &'t Pass<'a>,
        paper: &'t mut Paper<'a>,
        (site, case): (usize, Case<'a>),
        victims: &'t [Victim<'a>],
    ) -> Trial<'t, 'a> {
        let own = case.using == Use::Guarantee;
        let most = own.then(|| guarantee(paper.quotas.limits(case.place)));
        Trial { pass, paper, case, site, victims, gone: BTreeSet::new(), most }
    }

    /// The first so many are gone, and no others.
    pub(super) fn only_the_first(&mut self, count: usize) {
        let back: Vec<usize> = self.gone.range(count..).copied().collect();
        back.into_iter().for_each(|at| self.come_back(at));
        (0..count).for_each(|at| self.go(at));
    }

    pub(super) fn go(&mut self, at: usize) {
        if self.gone.insert(at) {
            let victim = &self.victims[at];
            victim.parts.iter().for_each(|part| self.paper.go(self.pass, self.site, *part));
            if let Some(place) = victim.place {
                self.paper.quotas.give_back(place, &victim.held.queue, &victim.charge);
            }
        }
    }

    pub(super) fn come_back(&mut self, at: usize) {
        if self.gone.remove(&at) {
            let victim = &self.victims[at];
            victim.parts.iter().for_each(|part| self.paper.come_back(self.pass, self.site, *part));
            if let Some(place) = victim.place {
                self.paper.quotas.take(place, &victim.held.queue, &victim.charge);
            }
        }
    }

    /// Where the job would go now.
    pub(super) fn fits(&mut self) -> Result<Option<Packing>, Cut> {
        let cost = self.paper.cost(self.pass, self.site).saturating_mul(1 + self.case.job.gang.len());
        self.paper.steps.spend(cost)?;
        let room = self.paper.room(self.pass, self.site);
        let limits = self.paper.quotas.limits(self.case.place);
        let limits = match &self.most {
            Some(most) => least(limits, most),
            None => limits,
        };
        Ok(self.pass.sites[self.site].pack(&room, self.case.job, &limits, self.pass.prices()).ok())
    }
}

impl Drop for Trial<'_, '_> {
    fn drop(&mut self) {
        self.only_the_first(0);
    }
}

/// Only what is guaranteed, even where others have it now.
pub(super) fn guarantee(limits: Limits) -> Limits {
    let own = |limit: Limit| Limit { left: limit.own, ..limit };
    match limits {
        Limits::None => Limits::None,
        Limits::Flavors(flavors) => Limits::Flavors(flavors.into_iter().map(own).collect()),
    }
}

/// The lesser of both; the flavors are the same.
fn least(limits: Limits, most: &Limits) -> Limits {
    match (limits, most) {
        (Limits::Flavors(ours), Limits::Flavors(most)) => {
            let both = ours.into_iter().zip(most);
            Limits::Flavors(both.map(|(one, most)| Limit { left: one.left.min(most.left), ..one }).collect())
        }
        (limits, _) => limits,
    }
}
