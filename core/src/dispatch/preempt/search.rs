//! Search: the one cluster, and the attempts there, whose stop makes room for a job and loses least work.
//!
//! First every cluster is asked how many of those who lose least would be enough, and then, the cheapest first, who of them may stay.
//! Both are bounded by a count of steps. Invariant: what is found needs all that it stops; a bound that is met makes a job wait, or
//! clusters that look dear be left out of the comparison, and is told.

use std::collections::BTreeSet;

use crate::{
    dispatch::{
        GangPart, Waiting,
        pack::Packing,
        plan::Pass,
        preempt::{
            Kind, cost,
            paper::Paper,
            rules::{Rule, Rules},
            steps::Cut,
            trial::{Trial, guarantee},
            victims::{Right, Victim},
        },
        quota::Place,
    },
    id::AttemptId,
    quota::{Reclaim, Resource, Within},
    resources::Resources,
};

/// Judging whether an attempt may go costs as much as so many nodes that are looked at.
const PER_ATTEMPT: usize = 16;

/// What a search found.
pub(super) enum Found<'a> {
    Stops(Plan<'a>),
    /// Nothing is to be stopped; `looked` says that there was something to look at.
    Nothing {
        looked: bool,
    },
    /// What stops would lose is worth more than what the job missed so far.
    TooEarly,
    /// The bound of a pass was met before anything was found.
    Cut,
}

/// Who stops where, and where the job goes then.
pub(super) struct Plan<'a> {
    pub(super) site: usize,
    pub(super) victims: Vec<Victim<'a>>,
    pub(super) packing: Packing,
    /// Clusters that were not compared, because the bound of a pass was met.
    pub(super) unseen: usize,
}

/// Attempts of a cluster that would be enough if they were gone; some of them may be needless.
struct Enough<'a> {
    site: usize,
    victims: Vec<Victim<'a>>,
}

/// What of a job's quota may be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Its guarantee, for which borrowers stop.
    Guarantee,
    /// Loans too; only less urgent jobs of its own quota stop.
    All,
}

/// A job for which room is looked for.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) job: &'a Waiting,
    pub(super) place: Option<Place>,
    pub(super) using: Use,
    /// Attempts may be stopped; else only what they have beyond their gangs may go.
    pub(super) stops: bool,
}

impl<'a> Pass<'a> {
    /// Room for the next job of a group. If what leaves anyway is enough, the job has its place on paper and nothing stops.
    pub(super) fn room_for(&self, group: usize, rules: &Rules<'_>, paper: &mut Paper<'a>) -> Found<'a> {
        paper.steps.begin();
        self.look_for_room(group, rules, paper).unwrap_or(Found::Cut)
    }

    fn look_for_room(
        &self,
        group: usize,
        rules: &Rules<'_>,
        paper: &mut Paper<'a>,
    ) -> Result<Found<'a>, Cut> {
        let nothing = Found::Nothing { looked: false };
        let Some(job) = self.groups[group].head() else { return Ok(nothing) };
        let rule = rules.get(&job.queue).filter(|rule| !rule.says.is_never());
        let place = self.groups[group].place;
        let kept = self.kept.as_ref().filter(|kept| kept.group != group).map(|kept| kept.site);
        let sites: Vec<usize> = (0..self.sites.len())
            .filter(|site| self.sites[*site].takes(job) && Some(*site) != kept)
            .collect();
        let shrinks = sites.iter().any(|site| self.sites[*site].is_elastic());
        if rule.is_none() && !shrinks {
            return Ok(nothing);
        }
        if self.comes_anyway(Case { job, place, using: Use::All, stops: false }, &sites, paper)? {
            return Ok(nothing);
        }
        let mut uses = Vec::new();
        if shrinks {
            uses.extend(place.map(|_| (Use::Guarantee, false)));
            uses.push((Use::All, false));
        }
        if let Some(Rule { says, .. }) = rule {
            uses.extend(
                (says.reclaim != Reclaim::Never && place.is_some()).then_some((Use::Guarantee, true)),
            );
            uses.extend((says.within != Within::Never).then_some((Use::All, true)));
        }
        let mut found = Found::Nothing { looked: true };
        for (using, stops) in uses {
            let case = Case { job, place, using, stops };
            let right = Right { job, rule, place, guarantor: None };
            let Some(best) = self.cheapest(&sites, case, right, rules, paper)? else { continue };
            if self.is_worth(case, &best.victims) {
                return Ok(Found::Stops(best));
            }
            found = Found::TooEarly;
        }
        Ok(found)
    }

    fn comes_anyway(&self, case: Case<'a>, sites: &[usize], paper: &mut Paper<'a>) -> Result<bool, Cut> {
        for site in sites {
            let Some(packing) = Trial::new(self, paper, (*site, case), &[]).fits()? else { continue };
            paper.promise(self, *site, &BTreeSet::new(), &packing);
            if let Some(place) = case.place {
                paper.quotas.take(place, &case.job.queue, &packing.charge);
                paper.anyway.push((place, case.job.queue.clone(), packing.charge));
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// The plan that loses least. Clusters for which there are no steps left are counted, not compared.
    fn cheapest(
        &self,
        sites: &[usize],
        case: Case<'a>,
        right: Right<'_>,
        rules: &Rules<'_>,
        paper: &mut Paper<'a>,
    ) -> Result<Option<Plan<'a>>, Cut> {
        let before = paper.steps.halve();
        let (mut open, mut unseen) = (Vec::new(), 0);
        for (at, site) in sites.iter().enumerate() {
            match self.enough_at(*site, case, right, rules, paper) {
                Ok(enough) => open.extend(enough),
                Err(Cut) => {
                    unseen = sites.len() - at;
                    break;
                }
            }
        }
        paper.steps.release(&before);
        open.sort_by_key(|enough| (lost(&enough.victims), enough.site));
        unseen += open.len();
        let mut best: Option<Plan<'a>> = None;
        for enough in open {
            let Ok(plan) = self.spared(enough, case, paper) else { break };
            unseen -= 1;
            let key =
                |plan: &Plan<'a>| (lost(&plan.victims), stops(&plan.victims), plan.victims.len(), plan.site);
            best = best.into_iter().chain(plan).min_by_key(key);
        }
        match best {
            Some(best) => Ok(Some(Plan { unseen, ..best })),
            None if unseen > 0 => Err(Cut),
            None => Ok(None),
        }
    }

    /// The first so many of those who lose least without whom the job fits on the cluster; nothing if it does not without any.
    fn enough_at(
        &self,
        site: usize,
        case: Case<'a>,
        right: Right<'_>,
        rules: &Rules<'_>,
        paper: &mut Paper<'a>,
    ) -> Result<Option<Enough<'a>>, Cut> {
        let packs = paper.cost(self, site).saturating_mul(5 * (1 + case.job.gang.len()));
        let lists =
            (self.sites[site].cluster.attempts.len() + paper.anyway.len()).saturating_mul(PER_ATTEMPT);
        paper.steps.spend(packs.saturating_add(lists))?;
        let right = Right { guarantor: self.guarantor(site, case, paper), ..right };
        if case.using == Use::Guarantee && right.guarantor.is_none() {
            return Ok(None);
        }
        let short = self.short(site, case, paper);
        let victims = self.victims(site, (case, right), rules, paper);
        let mut victims = self.that_may_go(victims, case, &short, paper);
        let mut trial = Trial::new(self, paper, (site, case), &victims);
        let mut enough = |count: usize| {
            trial.only_the_first(count);
            Ok::<_, Cut>(trial.fits()?.is_some())
        };
        if !enough(victims.len())? {
            return Ok(None);
        }
        let count = first_that(victims.len(), enough)?;
        drop(trial);
        victims.truncate(count);
        Ok(Some(Enough { site, victims }))
    }

    /// Without those who are needless, again and again, because one that stays may make another so.
    fn spared(
        &self,
        enough: Enough<'a>,
        case: Case<'a>,
        paper: &mut Paper<'a>,
    ) -> Result<Option<Plan<'a>>, Cut> {
        let Enough { site, victims } = enough;
        let mut trial = Trial::new(self, paper, (site, case), &victims);
        trial.only_the_first(victims.len());
        let mut chosen: Vec<usize> = (0..victims.len()).collect();
        loop {
            let before = chosen.len();
            let stopping = stopping(&victims, &chosen);
            let cost = |at: &usize| {
                let Victim { held, pod, lost, .. } = &victims[*at];
                (pod.is_none(), !stopping.contains(&held.id), *lost, held.id, *at)
            };
            chosen = cost::spare(chosen, cost, |_, at| {
                trial.come_back(*at);
                let enough = trial.fits()?.is_some();
                if !enough {
                    trial.go(*at);
                }
                Ok::<_, Cut>(enough)
            })?;
            if chosen.len() == before {
                break;
            }
        }
        let packing = trial.fits()?;
        drop(trial);
        let victims: Vec<Victim<'a>> = chosen.iter().map(|at| victims[*at].clone()).collect();
        let packing = packing.filter(|_| !victims.is_empty());
        Ok(packing.map(|packing| Plan { site, victims, packing, unseen: 0 }))
    }

    /// The queue whose guarantee would cover the job on the cluster if nobody else were there.
    fn guarantor(&self, site: usize, case: Case<'a>, paper: &Paper<'_>) -> Option<usize> {
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
        paper: &mut Paper<'a>,
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
                (Kind::Shrink | Kind::Priority, _) => {
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

    /// Resources of which there is too little for the job even if it asked for nothing else; all, if none is.
    fn short(&self, site: usize, case: Case<'a>, paper: &mut Paper<'a>) -> BTreeSet<Resource> {
        let asked: Vec<Resource> = Resource::ALL
            .into_iter()
            .filter(|resource| case.job.gang.iter().any(|part| of(part.requests, *resource) > 0))
            .collect();
        let room = paper.room(self, site);
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

fn put_back(gone: &[Victim<'_>], paper: &mut Paper<'_>) {
    for victim in gone.iter().rev() {
        if let Some(place) = victim.place {
            paper.quotas.take(place, &victim.held.queue, &victim.charge);
        }
    }
}

/// The attempts that stop as a whole. What they have beyond their gangs goes with them, so it is the last to be spared.
fn stopping(victims: &[Victim<'_>], chosen: &[usize]) -> BTreeSet<AttemptId> {
    let chosen = chosen.iter().map(|at| &victims[*at]);
    chosen.filter(|victim| victim.pod.is_none()).map(|victim| victim.held.id).collect()
}

/// How many of them are whole attempts.
fn stops(victims: &[Victim<'_>]) -> usize {
    victims.iter().filter(|victim| victim.pod.is_none()).count()
}

fn lost(victims: &[Victim<'_>]) -> i128 {
    victims.iter().map(|victim| victim.lost).sum()
}

/// The smallest count up to `most` that is enough; `most` is.
fn first_that(most: usize, mut enough: impl FnMut(usize) -> Result<bool, Cut>) -> Result<usize, Cut> {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(high)
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
