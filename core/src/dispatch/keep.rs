//! Keeping: a cluster is held for the gang that has starved longest, so that small work cannot nibble away its room for ever.
//!
//! Only age triggers it. While a cluster is kept, another job may go there only if it fits beside the gang as if it, and
//! everything that was started there since the gang starves, ran for ever: how long work runs is not known, so only what was
//! there before is waited for. The gang's quota is kept as well. Invariants: at most one cluster is kept; what borrows
//! keeps nothing while a job waits that stays within a guarantee. Nothing is remembered between passes: the same rule picks
//! the same cluster again, because only there the room for the gang is not given away. Fails by waiting for work that runs
//! long; repaired by its end.

use std::collections::BTreeSet;

use crate::{
    dispatch::{
        Cluster, Waiting, gang_total,
        pack::{Charge, Limits, Packing},
        plan::Pass,
        price::Prices,
        quota::{Place, Quotas},
        room::Room,
        site::Open,
        soft::Holder,
        turns::Class,
    },
    id::{AttemptId, JobId},
    resources::Resources,
    time::Timestamp,
};

/// A job that has waited so long for room, in milliseconds, has a cluster kept for it. After less, some job nearly always has,
/// and what is kept idle makes all others wait: docs/benchmarks/replay.md.
pub const STARVES_AFTER_MS: i64 = 96 * 3_600_000;
/// The same for a job that would borrow.
const BORROWER_STARVES_AFTER_MS: i64 = 336 * 3_600_000;

/// A cluster that is held for the next job of a group.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) group: usize,
    pub(super) site: usize,
    /// What others may take for as long as they like.
    pub(super) beside: Room,
    pub(super) job: JobId,
    charge: Charge,
    place: Option<Place>,
    queue: String,
}

/// Where a starving job would go, once what was there before it starved is over.
struct Hope {
    site: usize,
    beside: Room,
    charge: Charge,
}

impl Kept {
    /// Takes the gang's charge out of a count that holds it.
    pub(super) fn give_back(&self, quotas: &mut Quotas) {
        if let Some(place) = self.place {
            quotas.give_back(place, &self.queue, &self.charge);
        }
    }
}

impl Pass<'_> {
    /// Places the first starving job that fits now, and keeps a cluster for the first that does not.
    pub(super) fn keep_for_the_starving(&mut self) {
        let mut placed = false;
        for (group, hope) in self.starving() {
            if self.cut {
                return;
            }
            if !self.fits_now(group) {
                self.keep(group, hope);
                return;
            }
            placed = placed || self.place_now(group);
        }
    }

    fn keep(&mut self, group: usize, hope: Hope) {
        let Some(job) = self.groups[group].head() else { return };
        let place = self.groups[group].place;
        if let Some(place) = place {
            self.quotas.take(place, &job.queue, &hope.charge);
        }
        self.set_aside(group);
        let Hope { site, beside, charge } = hope;
        let queue = job.queue.clone();
        self.kept = Some(Kept { group, site, beside, job: job.job, charge, place, queue });
    }

    /// Ends the hold on the gang's quota, so that others can be told what is really used.
    pub(super) fn release_kept_quota(&mut self) {
        if let Some(kept) = &self.kept {
            kept.give_back(&mut self.quotas);
        }
    }

    /// Keeps nothing any more for a group whose job has room made for it.
    pub(super) fn keep_no_more(&mut self, group: usize) {
        if self.kept.as_ref().is_some_and(|kept| kept.group == group) {
            self.release_kept_quota();
            self.kept = None;
        }
    }

    /// A job is placed on a cluster; if that is kept, it takes from what others may have.
    pub(super) fn take_beside(&mut self, site: usize, packing: &Packing) {
        let free = &self.sites[site].free;
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.site == site) {
            kept.beside = kept.beside.less(free, &packing.left);
        }
        if let Some(beside) = self.claimed.beside.get_mut(&site) {
            *beside = beside.less(free, &packing.left);
        }
    }

    fn fits_now(&mut self, group: usize) -> bool {
        (0..self.sites.len()).any(|site| self.look(group, site))
    }

    /// Groups whose next job starves and has hope, those within a guarantee first, then the older.
    fn starving(&self) -> Vec<(usize, Hope)> {
        let old = |job: &Waiting| self.input.now.millis_since(job.submitted_at) >= STARVES_AFTER_MS;
        let mut found: Vec<((Class, Timestamp, JobId), usize, Hope)> = Vec::new();
        for (index, group) in self.groups.iter().enumerate() {
            let Some(job) = group.head().filter(|job| old(job)) else { continue };
            if let Some(hope) = self.patient_hope(job, group.place) {
                let class = self.class(group.place, &hope.charge);
                found.push(((class, job.submitted_at, job.job), index, hope));
            }
        }
        let borrows = |class| class == Class::Borrowing;
        if found.iter().any(|(key, ..)| borrows(key.0)) && self.guaranteed_waits() {
            found.retain(|(key, ..)| !borrows(key.0));
        }
        found.sort_by_key(|(key, ..)| *key);
        found.into_iter().map(|(_, group, hope)| (group, hope)).collect()
    }

    fn class(&self, place: Option<Place>, charge: &Charge) -> Class {
        match place {
            Some(place) if self.quotas.is_guaranteed(place, charge) => Class::Guaranteed,
            _ => Class::Borrowing,
        }
    }

    /// Whether some job waits that would stay within a guarantee on a cluster without work.
    fn guaranteed_waits(&self) -> bool {
        self.groups.iter().any(|group| {
            let (Some(job), Some(place)) = (group.head(), group.place) else { return false };
            let limits = self.quotas.limits(group.place);
            let sites = self.sites.iter().filter(|site| site.may_take(job));
            let mut packings =
                sites.filter_map(|site| site.pack(&site.empty, job, &limits, self.prices()).ok());
            packings.any(|packing| self.quotas.is_guaranteed(place, &packing.charge))
        })
    }

    /// Where the job would go, if it has waited long enough for what it asks of its quota.
    fn patient_hope(&self, job: &Waiting, place: Option<Place>) -> Option<Hope> {
        let hope = self.hope(job, place, STARVES_AFTER_MS)?;
        if place.is_none_or(|place| self.quotas.is_guaranteed(place, &hope.charge)) {
            return Some(hope);
        }
        let old = self.input.now.millis_since(job.submitted_at) >= BORROWER_STARVES_AFTER_MS;
        old.then(|| self.hope(job, place, BORROWER_STARVES_AFTER_MS)).flatten()
    }

    /// The cluster where least work has to end before the job fits, that was there when it had waited so long.
    fn hope(&self, job: &Waiting, place: Option<Place>, after_ms: i64) -> Option<Hope> {
        let limits = self.quotas.limits(place);
        let since = job.submitted_at.plus_millis(after_ms);
        let sites = self.sites.iter().enumerate().filter(|(_, site)| site.may_take(job));
        let hopes = sites.filter_map(|(index, site)| {
            let hope = hope_at((index, site), job, &limits, since, self.prices())?;
            Some((work_before(site.cluster, since), index, hope))
        });
        hopes.min_by_key(|(work, index, _)| (*work, *index)).map(|(.., hope)| hope)
    }
}

fn hope_at(
    (site, open): (usize, &Open<'_>),
    job: &Waiting,
    limits: &Limits,
    since: Timestamp,
    prices: Prices<'_>,
) -> Option<Hope> {
    let cluster = open.cluster;
    let since_then = cluster.attempts.iter().filter(|held| held.assigned_at >= since);
    let stays: BTreeSet<AttemptId> = since_then.map(|held| held.id).collect();
    let room = Room::beside(cluster, |holder| matches!(holder, Holder::Gang(id) if stays.contains(&id)));
    let packing = open.pack(&room, job, limits, prices).ok()?;
    Some(Hope { site, beside: packing.left, charge: packing.charge })
}

/// GPUs and cores of the attempts that were there before.
fn work_before(cluster: &Cluster, since: Timestamp) -> (i64, i64) {
    let before = cluster.attempts.iter().filter(|held| held.assigned_at < since);
    let sum: Resources = before.map(|held| gang_total(&held.gang)).sum();
    (sum.gpus, sum.cpu_milli)
}
