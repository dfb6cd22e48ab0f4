//! Paper: the fleet as it will be when everything that stops is gone and everything that was promised runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::dispatch::{
    pack::{Charge, Packing},
    plan::Pass,
    preempt::{ledger::Ledger, steps::Steps},
    quota::{Place, Quotas},
    room::Room,
    soft::{self, Holder},
};

/// A fleet on paper.
pub(super) struct Paper<'a> {
    pub(super) quotas: Quotas,
    /// What is on its way out, with what goes by this plan.
    pub(super) gone: BTreeSet<Holder>,
    /// What jobs will be charged that start in room that comes anyway; nothing is promised to them.
    pub(super) anyway: Vec<(Place, String, Charge)>,
    pub(super) steps: Steps,
    sites: BTreeMap<usize, Sheet<'a>>,
}

/// A cluster on paper.
struct Sheet<'a> {
    ledger: Ledger<'a>,
    /// Its nodes beside all that stays.
    beside: Room,
    /// The same without what was placed or promised since the snapshot.
    left: Room,
}

impl<'a> Paper<'a> {
    /// As the pass left the fleet.
    pub(super) fn new(pass: &Pass<'a>) -> Paper<'a> {
        let mut quotas = pass.quotas.clone();
        // The gang for which a cluster is kept is among those that may take back what they are guaranteed.
        if let Some(kept) = &pass.kept {
            kept.give_back(&mut quotas);
        }
        let mut gone = BTreeSet::new();
        for cluster in &pass.input.clusters {
            let all = cluster.attempts.iter().chain(&cluster.leaving);
            for held in all.filter(|held| held.stake.is_leaving(pass.input.now)) {
                gone.insert(Holder::Gang(held.id));
                if let Some(place) = quotas.limited(&held.queue) {
                    let charge = quotas.charge_of(cluster, held);
                    quotas.give_back(place, &held.queue, &charge);
                }
            }
            for soft in soft::of(cluster).iter().filter(|soft| soft.is_leaving(pass.input.now)) {
                gone.insert(soft.holder());
                if let Some(place) = quotas.limited(&soft.held.queue) {
                    let charge = soft.charge(&quotas.flavors, cluster);
                    quotas.give_back(place, &soft.held.queue, &charge);
                }
            }
        }
        let steps = Steps::new(pass.input.terms.steps);
        Paper { quotas, gone, anyway: Vec::new(), steps, sites: BTreeMap::new() }
    }

    /// What the cluster has left.
    pub(super) fn room(&mut self, pass: &Pass<'a>, site: usize) -> Room {
        let Sheet { ledger, beside, left } = self.sheet(pass, site);
        ledger.room().less(beside, left)
    }

    /// Nodes that are looked at to tell that.
    pub(super) fn cost(&mut self, pass: &Pass<'a>, site: usize) -> usize {
        self.sheet(pass, site).ledger.cost()
    }

    /// A gang or a pod beyond one is thought gone.
    pub(super) fn go(&mut self, pass: &Pass<'a>, site: usize, holder: Holder) {
        self.sheet(pass, site).ledger.go(holder);
    }

    /// It stays after all.
    pub(super) fn come_back(&mut self, pass: &Pass<'a>, site: usize, holder: Holder) {
        self.sheet(pass, site).ledger.come_back(holder);
    }

    /// These go too, and what is packed takes its place.
    pub(super) fn promise(
        &mut self,
        pass: &Pass<'a>,
        site: usize,
        more: &BTreeSet<Holder>,
        packing: &Packing,
    ) {
        let sheet = self.sheet(pass, site);
        more.iter().for_each(|holder| sheet.ledger.go(*holder));
        sheet.beside = sheet.ledger.room();
        sheet.left = packing.left.clone();
        self.gone.extend(more);
    }

    /// The pass has placed a job on the cluster since.
    pub(super) fn placed(&mut self, site: usize, place: Option<Place>, queue: &str, charge: &Charge) {
        self.sites.remove(&site);
        if let Some(place) = place {
            self.quotas.take(place, queue, charge);
        }
    }

    fn sheet(&mut self, pass: &Pass<'a>, site: usize) -> &mut Sheet<'a> {
        let gone = &self.gone;
        self.sites.entry(site).or_insert_with(|| sheet(pass, site, gone))
    }
}

fn sheet<'a>(pass: &Pass<'a>, site: usize, gone: &BTreeSet<Holder>) -> Sheet<'a> {
    let open = &pass.sites[site];
    let ledger = Ledger::new(&open.empty, open.cluster, gone);
    let beside = ledger.room();
    let left = match pass.claimed.beside.get(&site) {
        Some(left) => left.clone(),
        None => beside.less(&Room::left_of(&open.empty, open.cluster, |_| true), &open.free),
    };
    Sheet { ledger, beside, left }
}
