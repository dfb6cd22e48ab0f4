//! Search: the one cluster, and the attempts there, whose stop makes room for a job and loses least work.

use std::collections::BTreeSet;

use crate::{
    dispatch::{
        GangPart, Waiting,
        pack::{Limit, Limits, Packing},
        plan::Pass,
        preempt::{
            Kind, cost,
            paper::Paper,
            rules::Rules,
            victims::{Right, Victim},
        },
        quota::Place,
    },
    id::AttemptId,
    quota::{Reclaim, Resource, Within},
    resources::Resources,
};

/// What a search found.
pub(super) enum Found<'a> {
    Stops(Plan<'a>),
    /// Nothing is to be stopped; `looked` says that there was something to look at.
    Nothing {
        looked: bool,
    },
}

/// Who stops where, and where the job goes then.
pub(super) struct Plan<'a> {
    pub(super) site: usize,
    pub(super) victims: Vec<Victim<'a>>,
    pub(super) packing: Packing,
}

impl Plan<'_> {
    fn lost(&self) -> i128 {
        self.victims.iter().map(|victim| victim.lost).sum()
    }
}

/// What of a job's quota may be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Its guarantee, for which borrowers stop.
    Guarantee,
    /// Loans too; only less urgent jobs of its own quota stop.
    All,
}

/// A job for which room is looked for.
#[derive(Clone, Copy)]
struct Case<'a> {
    job: &'a Waiting,
    place: Option<Place>,
    using: Use,
}

impl<'a> Pass<'a> {
    /// Room for the next job of a group. If what leaves anyway is enough, the job has its place on paper and nothing stops.
    pub(super) fn room_for(&self, group: usize, rules: &Rules<'_>, paper: &mut Paper) -> Found<'a> {
        let nothing = Found::Nothing { looked: false };
        let Some(job) = self.groups[group].head() else { return nothing };
        let Some(rule) = rules.get(&job.queue).filter(|rule| !rule.says.is_never()) else { return nothing };
        let place = self.groups[group].place;
        let kept = self.kept.as_ref().filter(|kept| kept.group != group).map(|kept| kept.site);
        let sites: Vec<usize> = (0..self.sites.len())
            .filter(|site| self.sites[*site].takes(job) && Some(*site) != kept)
            .collect();
        if self.comes_anyway(Case { job, place, using: Use::All }, &sites, paper) {
            return nothing;
        }
        let mut uses = Vec::new();
        uses.extend((rule.says.reclaim != Reclaim::Never && place.is_some()).then_some(Use::Guarantee));
        uses.extend((rule.says.within != Within::Never).then_some(Use::All));
        for using in uses {
            let case = Case { job, place, using };
            let right = Right { job, rule, place, guarantor: None };
            let plans = sites.iter().filter_map(|site| self.plan_at(*site, case, right, rules, paper));
            if let Some(best) = plans.min_by_key(|plan| (plan.lost(), plan.victims.len(), plan.site)) {
                return Found::Stops(best);
            }
        }
        Found::Nothing { looked: true }
    }

    fn comes_anyway(&self, case: Case<'a>, sites: &[usize], paper: &mut Paper) -> bool {
        let fits = sites.iter().find_map(|site| Some((*site, self.fits(*site, case, &[], paper)?)));
        let Some((site, packing)) = fits else { return false };
        paper.promise(self, site, &BTreeSet::new(), &packing);
        if let Some(place) = case.place {
            paper.quotas.take(place, &case.job.queue, &packing.charge);
            paper.anyway.push((place, case.job.queue.clone(), packing.charge));
        }
        true
    }

    fn plan_at(
        &self,
        site: usize,
        case: Case<'a>,
        right: Right<'_>,
        rules: &Rules<'_>,
        paper: &mut Paper,
    ) -> Option<Plan<'a>> {
        let right = Right { guarantor: self.guarantor(site, case, paper), ..right };
        if case.using == Use::Guarantee && right.guarantor.is_none() {
            return None;
        }
        let short = self.short(site, case, paper);
        let victims = self.victims(site, right, rules, paper);
        let victims = self.that_may_go(victims, case, &short, paper);
        self.fits(site, case, &victims, paper)?;
        let enough = |count: &usize| self.fits(site, case, &victims[..*count], paper).is_some();
        let count = first_that(victims.len(), enough);
        let mut chosen = victims[..count].to_vec();
        loop {
            let before = chosen.len();
            let enough = |rest: &[Victim<'a>]| self.fits(site, case, rest, paper).is_some();
            chosen = cost::spare(chosen, |victim| (victim.lost, victim.held.id), enough);
            if chosen.len() == before {
                break;
            }
        }
        let packing = self.fits(site, case, &chosen, paper)?;
        (!chosen.is_empty()).then_some(Plan { site, victims: chosen, packing })
    }

    /// The queue whose guarantee would cover the job on the cluster if nobody else were there.
    fn guarantor(&self, site: usize, case: Case<'a>, paper: &Paper) -> Option<usize> {
        let place = case.place.filter(|_| case.using == Use::Guarantee)?;
        let open = &self.sites[site];
        let limits = guarantee(paper.quotas.limits(Some(place)));
        let packing = open.empty.pack_within(&open.kinds, &case.job.gang, &limits).ok()?;
        paper.quotas.guarantor(place, &packing.charge)
    }

    /// Those who can go one after the other, in their order, without a queue losing what it is guaranteed.
    fn that_may_go(
        &self,
        victims: Vec<Victim<'a>>,
        case: Case<'a>,
        short: &BTreeSet<Resource>,
        paper: &mut Paper,
    ) -> Vec<Victim<'a>> {
        let mut going: Vec<Victim<'a>> = Vec::new();
        // What a queue may come to use later is no reason to take from what it uses now.
        for (place, queue, charge) in &paper.anyway {
            paper.quotas.give_back(*place, queue, charge);
        }
        for victim in victims {
            let goes = match (victim.kind, case.place) {
                (Kind::Reclaim, Some(of)) => paper.quotas.lets_go(&victim, of, short),
                (Kind::Reclaim, None) => false,
                (Kind::Priority, _) => {
                    if let Some(place) = victim.place {
                        paper.quotas.give_back(place, &victim.held.queue, &victim.charge);
                    }
                    true
                }
            };
            if goes {
                going.push(victim);
            }
        }
        put_back(&going, paper);
        for (place, queue, charge) in &paper.anyway {
            paper.quotas.take(*place, queue, charge);
        }
        going
    }

    /// Where the job would go if these were gone.
    fn fits(&self, site: usize, case: Case<'a>, gone: &[Victim<'a>], paper: &mut Paper) -> Option<Packing> {
        let ids: BTreeSet<AttemptId> = gone.iter().map(|victim| victim.held.id).collect();
        let room = paper.room(self, site, &ids);
        let own = case.using == Use::Guarantee;
        let most = own.then(|| guarantee(paper.quotas.limits(case.place)));
        for victim in gone {
            if let Some(place) = victim.place {
                paper.quotas.give_back(place, &victim.held.queue, &victim.charge);
            }
        }
        let limits = paper.quotas.limits(case.place);
        put_back(gone, paper);
        let limits = most.map_or(limits.clone(), |most| least(limits, &most));
        self.sites[site].pack(&room, case.job, &limits, self.prices()).ok()
    }

    /// Resources of which there is too little for the job even if it asked for nothing else; all, if none is.
    fn short(&self, site: usize, case: Case<'a>, paper: &mut Paper) -> BTreeSet<Resource> {
        let asked: Vec<Resource> = Resource::ALL
            .into_iter()
            .filter(|resource| case.job.gang.iter().any(|part| of(part.requests, *resource) > 0))
            .collect();
        let room = paper.room(self, site, &BTreeSet::new());
        let limits = paper.quotas.limits(case.place);
        let kinds = &self.sites[site].kinds;
        let alone = |resource: &Resource| {
            let only =
                |part: &GangPart| GangPart { requests: only(part.requests, *resource), ..part.clone() };
            let gang: Vec<GangPart> = case.job.gang.iter().map(only).collect();
            room.pack_within(kinds, &gang, &limits).is_err()
        };
        let short: BTreeSet<Resource> = asked.iter().copied().filter(alone).collect();
        if short.is_empty() { asked.into_iter().collect() } else { short }
    }
}

fn put_back(gone: &[Victim<'_>], paper: &mut Paper) {
    for victim in gone.iter().rev() {
        if let Some(place) = victim.place {
            paper.quotas.take(place, &victim.held.queue, &victim.charge);
        }
    }
}

/// The smallest count up to `most` that is enough; `most` is.
fn first_that(most: usize, mut enough: impl FnMut(&usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low.midpoint(high);
        if enough(&middle) { high = middle } else { low = middle + 1 }
    }
    high
}

/// Only what is guaranteed, even where others have it now.
fn guarantee(limits: Limits) -> Limits {
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

fn of(amount: Resources, resource: Resource) -> i64 {
    crate::dispatch::quota::part(amount, resource)
}

fn only(amount: Resources, resource: Resource) -> Resources {
    let kept = of(amount, resource);
    match resource {
        Resource::Cpu => Resources { cpu_milli: kept, ..Resources::default() },
        Resource::Memory => Resources { memory_bytes: kept, ..Resources::default() },
        Resource::Gpu => Resources { gpus: kept, ..Resources::default() },
    }
}
