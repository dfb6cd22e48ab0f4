//! Victims: who may be stopped or shrunk for a job, and whether a queue can lose an attempt without losing what it is guaranteed.

use std::collections::BTreeSet;

use crate::{
    dispatch::{
        Held, Waiting,
        pack::Charge,
        plan::Pass,
        preempt::{
            Kind, cost,
            paper::Paper,
            rules::{Rule, Rules},
            search::{Case, Use},
        },
        quota::{Place, Quotas, parts},
        soft::{self, Holder, Soft},
    },
    quota::{Reclaim, Resource, Within},
};

/// Attempts of a cluster that are looked at for one job, at most: those that lose least.
const MOST: usize = 1_000;

/// An attempt that may be stopped, or a pod of it beyond its gang that may go.
#[derive(Clone, Debug)]
pub(super) struct Victim<'a> {
    pub(super) held: &'a Held,
    /// The pod, by its place in the cluster, if only that goes.
    pub(super) pod: Option<usize>,
    /// All that goes with it.
    pub(super) parts: Vec<Holder>,
    pub(super) place: Option<Place>,
    /// Of its gang or of the pod: what an attempt has beyond its gang is offered by itself.
    pub(super) charge: Charge,
    pub(super) kind: Kind,
    pub(super) lost: i128,
}

/// By which right others may be stopped for a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Right<'a> {
    pub(super) job: &'a Waiting,
    /// None if its queue may have nobody stopped.
    pub(super) rule: Option<Rule<'a>>,
    pub(super) place: Option<Place>,
    /// The queue whose guarantee covers the job, if that is used; borrowers below it are not stopped.
    pub(super) guarantor: Option<usize>,
}

impl<'a> Pass<'a> {
    /// What the job may have taken away on a cluster: what is beyond gangs first, then borrowers, and the cheapest first.
    pub(super) fn victims(
        &self,
        site: usize,
        (case, right): (Case<'_>, Right<'_>),
        rules: &Rules<'_>,
        paper: &Paper<'_>,
    ) -> Vec<Victim<'a>> {
        let cluster = self.sites[site].cluster;
        let soft = soft::of(cluster);
        let mut victims = self.that_shrink(site, &soft, (case, right), rules, paper);
        if case.stops {
            victims.extend(self.that_stop(site, &soft, right, rules, paper));
        }
        victims.sort_by_key(|victim| {
            let priority = if victim.kind == Kind::Reclaim { 0 } else { victim.held.stake.priority };
            (victim.kind, priority, victim.lost, victim.held.id)
        });
        victims.truncate(MOST);
        victims
    }

    /// Pods beyond gangs: they yield to every job within a guarantee or without a quota, and within a quota to all that are as
    /// urgent.
    fn that_shrink(
        &self,
        site: usize,
        soft: &[Soft<'a>],
        (case, right): (Case<'_>, Right<'_>),
        rules: &Rules<'_>,
        paper: &Paper<'_>,
    ) -> Vec<Victim<'a>> {
        let cluster = self.sites[site].cluster;
        let open = soft.iter().filter(|soft| {
            let yields = match right.shares_quota(soft.held, rules) {
                true => soft.held.stake.priority <= case.job.priority,
                false => case.place.is_none() || case.using == Use::Guarantee,
            };
            yields && !soft.named && !paper.gone.contains(&soft.holder())
        });
        open.map(|soft| {
            let place = paper.quotas.limited(&soft.held.queue);
            let charge = place.map_or_else(Charge::new, |_| soft.charge(&paper.quotas.flavors, cluster));
            let (pod, parts) = (Some(soft.pod), vec![soft.holder()]);
            Victim { held: soft.held, pod, parts, place, charge, kind: Kind::Shrink, lost: 0 }
        })
        .collect()
    }

    fn that_stop(
        &self,
        site: usize,
        soft: &[Soft<'a>],
        right: Right<'_>,
        rules: &Rules<'_>,
        paper: &Paper<'_>,
    ) -> Vec<Victim<'a>> {
        let cluster = self.sites[site].cluster;
        let now = self.input.now;
        let open = cluster.attempts.iter().filter(|held| {
            let protected = cost::protected(self.input.terms.protected_ms, held.stake.stops);
            let stays = held.stake.asked.is_none() && !paper.gone.contains(&Holder::Gang(held.id));
            stays && cost::age(held, now) >= protected
        });
        let patient = right.place.is_some_and(|place| self.is_patient(place));
        let beyond = |held: &Held| {
            soft.iter().filter(|soft| soft.held.id == held.id).map(Soft::holder).collect::<Vec<_>>()
        };
        open.filter_map(|held| {
            let place = paper.quotas.limited(&held.queue);
            let kind = right.over(held, place, rules, &paper.quotas)?;
            if kind == Kind::Reclaim && (cost::is_left_to_end(held) || patient && !self.lasts(held)) {
                return None;
            }
            let charge = place.map_or_else(Charge::new, |_| paper.quotas.charge_of(cluster, held));
            let parts = [vec![Holder::Gang(held.id)], beyond(held)].concat();
            Some(Victim { held, pod: None, parts, place, charge, kind, lost: cost::lost(held, now) })
        })
        .collect()
    }
}

impl Right<'_> {
    fn over(self, held: &Held, place: Option<Place>, rules: &Rules<'_>, quotas: &Quotas) -> Option<Kind> {
        let rule = self.rule?;
        if self.shares_quota(held, rules) {
            return self.is_before(held, rule.says.within).then_some(Kind::Priority);
        }
        let (ours, theirs) = (self.place?, place?);
        let tree = &quotas.trees[ours.tree];
        let outside = ours.tree == theirs.tree && !tree.is_below(theirs.node, self.guarantor?);
        (outside && self.may_reclaim(held, rule.says.reclaim)).then_some(Kind::Reclaim)
    }

    /// Whether the job and the attempt use the same queue's quota.
    fn shares_quota(self, held: &Held, rules: &Rules<'_>) -> bool {
        let quota_of = |queue: &str| rules.get(queue).map(|rule| rule.quota_of);
        let ours = quota_of(&self.job.queue);
        self.job.queue == held.queue || ours.is_some() && ours == quota_of(&held.queue)
    }

    fn is_before(self, held: &Held, within: Within) -> bool {
        let (ours, theirs) = (self.job.priority, held.stake.priority);
        let newer = (held.stake.submitted_at, held.id.job) > (self.job.submitted_at, self.job.job);
        match within {
            Within::Never => false,
            Within::LowerPriority => theirs < ours,
            Within::LowerOrNewerEqualPriority => theirs < ours || (theirs == ours && newer),
        }
    }

    fn may_reclaim(self, held: &Held, reclaim: Reclaim) -> bool {
        match reclaim {
            Reclaim::Never => false,
            Reclaim::LowerPriority => held.stake.priority < self.job.priority,
            Reclaim::Any => true,
        }
    }
}

impl Quotas {
    /// The queue on the way up whose own guarantee covers `charge`, the lowest that covers all of it.
    pub(super) fn guarantor(&self, place: Place, charge: &Charge) -> Option<usize> {
        let tree = &self.trees[place.tree];
        let covers = |node: usize| {
            parts(charge).all(|(flavor, resource, amount)| {
                tree.book(flavor, resource).is_some_and(|book| {
                    let here = tree.arrives(book, place.node, node, amount);
                    book.used(node).saturating_add(here) <= book.nominal(node)
                })
            })
        };
        let mut node = place.node;
        while !covers(node) {
            node = tree.parent(node).filter(|parent| tree.parent(*parent).is_some())?;
        }
        Some(node)
    }

    /// Takes the victim's charge out of the count if its queue, and every queue above it that does not hold the
    /// beneficiary's too, keeps what it is guaranteed in all that is short. False, and nothing taken, otherwise.
    pub(super) fn lets_go(&mut self, victim: &Victim<'_>, of: Place, short: &BTreeSet<Resource>) -> bool {
        let Some(place) = victim.place else { return false };
        let way = self.way_to_common(place.node, of);
        let before = self.standing(place, &way, victim, short);
        if before.is_empty() {
            return false;
        }
        self.give_back(place, &victim.held.queue, &victim.charge);
        let after = self.standing(place, &way, victim, short);
        let keeps =
            before.iter().zip(&after).all(|(before, after)| after.1 <= after.0 || before.0 == after.0);
        if !keeps {
            self.take(place, &victim.held.queue, &victim.charge);
        }
        keeps
    }

    /// Queues from `node` up to, and without, the first that stands above the beneficiary's as well.
    fn way_to_common(&self, node: usize, of: Place) -> Vec<usize> {
        let tree = &self.trees[of.tree];
        let mut way = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| !tree.is_below(of.node, *node)) {
            way.push(node);
            next = tree.parent(node);
        }
        way
    }

    /// Used and nominal of every queue of the way, of what the victim holds of that which is short.
    fn standing(
        &self,
        place: Place,
        way: &[usize],
        victim: &Victim<'_>,
        short: &BTreeSet<Resource>,
    ) -> Vec<(i64, i64)> {
        let tree = &self.trees[place.tree];
        let held = parts(&victim.charge).filter(|(_, resource, _)| short.contains(resource));
        let books = held.filter_map(|(flavor, resource, _)| tree.book(flavor, resource));
        books.flat_map(|book| way.iter().map(|node| (book.used(*node), book.nominal(*node)))).collect()
    }
}
