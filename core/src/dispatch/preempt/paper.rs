//! Paper: the fleet as it will be when everything that stops is gone and everything that was promised runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        pack::{Charge, Packing},
        plan::Pass,
        quota::{Place, Quotas},
        room::Room,
        site::Open,
    },
    id::AttemptId,
};

/// A fleet on paper.
pub(super) struct Paper {
    pub(super) quotas: Quotas,
    /// Attempts that are on their way out, with those of this plan.
    pub(super) gone: BTreeSet<AttemptId>,
    /// What jobs will be charged that start in room that comes anyway; nothing is promised to them.
    pub(super) anyway: Vec<(Place, String, Charge)>,
    sites: BTreeMap<usize, Sheet>,
}

/// A cluster on paper.
struct Sheet {
    /// Its nodes beside all that stays.
    beside: Room,
    /// The same without what was placed or promised since the snapshot.
    left: Room,
}

impl Paper {
    /// As the pass left the fleet.
    pub(super) fn new(pass: &Pass<'_>) -> Paper {
        let mut quotas = pass.quotas.clone();
        // The gang for which a cluster is kept is among those that may take back what they are guaranteed.
        if let Some(kept) = &pass.kept {
            kept.give_back(&mut quotas);
        }
        let mut gone = BTreeSet::new();
        for cluster in &pass.input.clusters {
            let all = cluster.attempts.iter().chain(&cluster.leaving);
            for held in all.filter(|held| held.stake.is_leaving(pass.input.now)) {
                gone.insert(held.id);
                if let Some(place) = quotas.limited(&held.queue) {
                    let charge = quotas.charge_of(cluster, held);
                    quotas.give_back(place, &held.queue, &charge);
                }
            }
        }
        Paper { quotas, gone, anyway: Vec::new(), sites: BTreeMap::new() }
    }

    /// What the cluster has left when `more` are gone as well.
    pub(super) fn room(&mut self, pass: &Pass<'_>, site: usize, more: &BTreeSet<AttemptId>) -> Room {
        let open = &pass.sites[site];
        let gone = &self.gone;
        let sheet = self.sites.entry(site).or_insert_with(|| sheet(pass, site, gone));
        if more.is_empty() {
            return sheet.left.clone();
        }
        beside(open, |id| !gone.contains(&id) && !more.contains(&id)).less(&sheet.beside, &sheet.left)
    }

    /// These go too, and what is packed takes its place.
    pub(super) fn promise(
        &mut self,
        pass: &Pass<'_>,
        site: usize,
        more: &BTreeSet<AttemptId>,
        packing: &Packing,
    ) {
        self.gone.extend(more);
        let gone = &self.gone;
        let beside = beside(&pass.sites[site], |id| !gone.contains(&id));
        self.sites.insert(site, Sheet { beside, left: packing.left.clone() });
    }
}

fn beside(open: &Open<'_>, stays: impl Fn(AttemptId) -> bool) -> Room {
    Room::left_of(&open.empty, open.cluster, stays)
}

fn sheet(pass: &Pass<'_>, site: usize, gone: &BTreeSet<AttemptId>) -> Sheet {
    let open = &pass.sites[site];
    let beside = beside(open, |id| !gone.contains(&id));
    let left = match pass.claimed.beside.get(&site) {
        Some(left) => left.clone(),
        None => beside.less(&Room::left_of(&open.empty, open.cluster, |_| true), &open.free),
    };
    Sheet { beside, left }
}
