//! Patience: when it is better to wait for what borrowers hold than to stop them.
//!
//! Owns what a waiting job has missed against what stops would lose, and whose queue need not wait: one that was below its
//! guarantee for a notable part of what it was owed ([`Account`]). Invariant: only reclaiming waits, never a more urgent job;
//! a queue of which nothing is known is not asked for patience. Fails by waiting for a job that runs longer than foretold,
//! which makes its queue's account worse until it waits no more.

use std::collections::BTreeMap;

use crate::{
    dispatch::{
        Held, Waiting, gang_total,
        owed::Account,
        plan::Pass,
        preempt::{Kind, cost, rules::Rules, search::Case, victims::Victim},
        quota::{Place, Quotas},
        urgency::milli,
    },
    quota::Resource,
    time::Timestamp,
};

/// The account of a queue as it was at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owed {
    pub account: Account,
    pub at: Timestamp,
}

impl Owed {
    /// As it is at `now` for who is guaranteed so many thousandths of a GPU.
    fn seen(self, now: Timestamp, guarantee: i64) -> Account {
        self.account.after(now.millis_since(self.at), guarantee)
    }
}

/// GPUs of a queue and all below it, in thousandths.
#[derive(Clone, Copy)]
struct Gpus {
    guarantee: i64,
    used: i64,
}

impl Quotas {
    fn gpus(&self, place: Place) -> Gpus {
        let tree = &self.trees[place.tree];
        let books = tree.keys().filter(|(_, resource)| *resource == Resource::Gpu);
        let books = books.filter_map(|(flavor, resource)| tree.book(flavor, resource));
        let sums = books.fold((0_i64, 0_i64), |(nominal, used), book| {
            (nominal.saturating_add(book.nominal(place.node)), used.saturating_add(book.used(place.node)))
        });
        Gpus { guarantee: sums.0.saturating_mul(1_000), used: sums.1.saturating_mul(1_000) }
    }

    /// The nearest queue on the way up that is guaranteed GPUs.
    fn guaranteed(&self, place: Place) -> Option<(Place, Gpus)> {
        let tree = &self.trees[place.tree];
        let mut node = Some(place.node);
        while let Some(at) = node {
            let here = Place { node: at, ..place };
            let gpus = self.gpus(here);
            if gpus.guarantee > 0 {
                return Some((here, gpus));
            }
            node = tree.parent(at);
        }
        None
    }

    fn name(&self, place: Place) -> &str {
        self.trees[place.tree].name(place.node)
    }
}

impl Pass<'_> {
    /// Whether jobs of a queue can be asked to wait a little for what borrowers hold.
    pub(super) fn is_patient(&self, place: Place) -> bool {
        let Some((place, gpus)) = self.quotas.guaranteed(place) else { return false };
        let known = self.input.owed.get(self.quotas.name(place));
        let account = known.map(|owed| owed.seen(self.input.now, gpus.guarantee));
        account.is_some_and(|account| !self.input.terms.patience.is_wronged(&account))
    }

    /// Whether an attempt is expected to hold its room for long, so that stopping it is worth more than a little patience.
    pub(super) fn lasts(&self, held: &Held) -> bool {
        let (patience, ran) = (self.input.terms.patience, cost::age(held, self.input.now));
        held.stake.expected_ms.is_none_or(|expected| patience.lasts(expected, ran))
    }

    /// Whether what the job missed so far is worth what borrowers would lose.
    pub(super) fn is_worth(&self, case: Case<'_>, victims: &[Victim<'_>]) -> bool {
        let reclaimed = victims.iter().filter(|victim| victim.kind == Kind::Reclaim);
        let lost: i128 = reclaimed.map(|victim| victim.lost).sum();
        if lost == 0 || !case.place.is_some_and(|place| self.is_patient(place)) {
            return true;
        }
        let waited = self.input.now.millis_since(case.job.submitted_at).max(0);
        let missed = i128::from(milli(gang_total(&case.job.gang))) * i128::from(waited);
        self.input.terms.patience.is_worth(lost, missed)
    }

    /// How every queue with a guarantee stands from now on; nothing where no queue may have others stopped.
    pub(in crate::dispatch) fn accounts(&self) -> BTreeMap<String, Owed> {
        if Rules::of(&self.input.policy).is_empty() {
            return BTreeMap::new();
        }
        let mut wanted = self.wanted();
        let places = (0..self.quotas.trees.len())
            .flat_map(|tree| (0..self.quotas.trees[tree].len()).map(move |node| Place { tree, node }));
        let open = places.map(|place| (place, self.quotas.gpus(place)));
        let accounts = open.filter(|(_, gpus)| gpus.guarantee > 0).map(|(place, gpus)| {
            let name = self.quotas.name(place);
            let known = self.input.owed.get(name);
            let account =
                known.map_or_else(Account::default, |owed| owed.seen(self.input.now, gpus.guarantee));
            let account = account.rated(gpus.guarantee, gpus.used, wanted.remove(&place).unwrap_or(0));
            (name.to_owned(), Owed { account, at: self.input.now })
        });
        accounts.collect()
    }

    /// What waits and fits into what is left of a guarantee, in thousandths of a GPU.
    fn wanted(&self) -> BTreeMap<Place, i64> {
        let mut wanted = BTreeMap::new();
        for group in &self.groups {
            if let Some(head) = group.head() {
                let read = i64::try_from(group.waiting().len()).unwrap_or(i64::MAX);
                let behind = group.waiting().iter().map(|job| i64::from(job.behind)).sum::<i64>();
                self.want(head, read.saturating_add(behind), &mut wanted);
            }
        }
        for coming in &self.claimed.coming {
            self.want(coming.job, 1, &mut wanted);
        }
        wanted
    }

    fn want(&self, job: &Waiting, count: i64, wanted: &mut BTreeMap<Place, i64>) {
        let Some(place) = self.quotas.limited(&job.queue) else { return };
        let Some((place, gpus)) = self.quotas.guaranteed(place) else { return };
        let each = gang_total(&job.gang).gpus.saturating_mul(1_000);
        if each <= gpus.guarantee - gpus.used {
            let sum = wanted.entry(place).or_insert(0_i64);
            *sum = sum.saturating_add(each.saturating_mul(count));
        }
    }
}
