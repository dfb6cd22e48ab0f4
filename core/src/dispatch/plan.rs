//! One pass over all waiting jobs and all clusters.
//!
//! Equal jobs are judged together: a group that does not fit into a cluster is not tried there again before the cluster
//! changed, so a pass costs the number of groups and placements, not the number of jobs.

use std::borrow::Cow;

use crate::{
    dispatch::{
        Assign, Choice, Input, Plan, Refusal, Waiting,
        choice::KEPT,
        choose::{Best, Candidate, best},
        explain::blocked,
        group::{Group, Look, groups},
        keep::Kept,
        pack::{Charge, Packing},
        preempt::Claimed,
        price::Prices,
        quota::{Place, Quotas},
        refused::refusal,
        room::Room,
        site::{Open, open},
        turns::Turns,
    },
    sentence::amount,
};

/// Places what fits and explains the rest. Same snapshot in any order, same plan.
pub fn plan(input: &Input) -> Plan {
    let plan = |input: &Input| counted(input).0;
    match &input.forgotten {
        Some(forgotten) => forgotten.around(input, plan),
        None => plan(input),
    }
}

/// The plan without its explanations: nobody is told why it waits. The rest is what [`plan`] decides.
pub fn moves(input: &Input) -> Plan {
    moved(&mut settled(input))
}

/// The plan as if only those waited that are part of the snapshot.
pub(super) fn plan_of_read(input: &Input) -> Plan {
    let mut pass = Pass::new(input);
    pass.groups.iter_mut().for_each(|group| group.edge = None);
    pass.settle();
    finished(pass).0
}

/// The plan, and how many times a gang was tried on a cluster to find it.
pub(super) fn counted(input: &Input) -> (Plan, u64) {
    finished(settled(input))
}

fn finished(mut pass: Pass<'_>) -> (Plan, u64) {
    let (plan, packings) = (moved(&mut pass), pass.packings);
    if plan.cut {
        return (plan, packings);
    }
    (Plan { blocked: blocked(pass), ..plan }, packings)
}

/// What a pass that has placed all that it can decided.
fn moved(pass: &mut Pass<'_>) -> Plan {
    let making = if pass.cut { Vec::new() } else { pass.make_room() };
    let lifts = if pass.cut { Vec::new() } else { pass.lift_caps() };
    let owed = pass.accounts();
    let assign = std::mem::take(&mut pass.assign);
    let dropped = std::mem::take(&mut pass.claimed.dropped);
    Plan { assign, blocked: Vec::new(), making, lifts, dropped, owed, cut: pass.cut }
}

/// A pass that has placed all that it can.
pub(super) fn settled(input: &Input) -> Pass<'_> {
    let mut pass = Pass::new(input);
    pass.settle();
    pass
}

/// A place for a group's next job.
struct Chosen {
    site: usize,
    packing: Packing,
    because: String,
    choice: Choice,
}

/// Everything while a pass goes on.
pub(super) struct Pass<'a> {
    pub(super) input: &'a Input,
    pub(super) quotas: Quotas,
    pub(super) sites: Vec<Open<'a>>,
    pub(super) groups: Vec<Group<'a>>,
    pub(super) turns: Turns<'a>,
    pub(super) kept: Option<Kept>,
    pub(super) claimed: Claimed<'a>,
    pub(super) assign: Vec<Assign>,
    pub(super) packings: u64,
    /// See [`Plan::cut`].
    pub(super) cut: bool,
}

impl<'a> Pass<'a> {
    fn new(input: &'a Input) -> Pass<'a> {
        let quotas = Quotas::new(&input.policy, &input.clusters);
        let sites = open(&input.clusters, &quotas.flavors);
        let groups = groups(&input.waiting, &quotas, sites.len());
        let mut turns = Turns::new(input, &quotas);
        for (index, group) in groups.iter().enumerate() {
            if let Some(head) = group.head() {
                turns.join(head, index, group.place);
            }
        }
        Pass {
            input,
            quotas,
            sites,
            groups,
            turns,
            kept: None,
            claimed: Claimed::default(),
            assign: Vec::new(),
            packings: 0,
            cut: false,
        }
    }

    fn settle(&mut self) {
        self.honour_claims();
        self.keep_for_the_starving();
        self.place_all();
        // First fit may succeed in less room than it failed in; so whoever failed is tried once more.
        self.look_again();
        self.place_all();
    }

    /// What nodes cost now.
    pub(super) fn prices(&self) -> Prices<'a> {
        Prices { sheet: self.input.sheet.as_ref(), now: self.input.now }
    }

    fn place_all(&mut self) {
        while let Some(group) = self.next().filter(|_| !self.cut) {
            match self.choose(group) {
                None => self.set_aside(group),
                Some(chosen) if self.is_still_next(group, &chosen) => self.place(group, chosen),
                Some(_) => {}
            }
        }
    }

    fn next(&mut self) -> Option<usize> {
        let groups = &self.groups;
        self.turns.next(&self.quotas, |group| groups[group].charge.as_ref())
    }

    /// Whether it is the group's turn with what it would really be charged.
    fn is_still_next(&mut self, group: usize, chosen: &Chosen) -> bool {
        let known = &mut self.groups[group];
        if known.place.is_none() || known.charge.as_ref() == Some(&chosen.packing.charge) {
            return true;
        }
        known.charge = Some(chosen.packing.charge.clone());
        self.next() == Some(group)
    }

    /// The group's next job waits on.
    pub(super) fn set_aside(&mut self, group: usize) {
        if let Some(head) = self.groups[group].head() {
            self.turns.leave(head, group);
        }
    }

    /// Every group that was set aside takes part again, but for the one for which a cluster is kept.
    fn look_again(&mut self) {
        let kept = self.kept.as_ref().map(|kept| kept.group);
        self.ask_again(kept);
    }

    /// Every group that was set aside takes part again.
    pub(super) fn ask_all_again(&mut self) {
        self.ask_again(None);
    }

    fn ask_again(&mut self, but: Option<usize>) {
        for (index, group) in self.groups.iter().enumerate().filter(|(index, _)| Some(*index) != but) {
            if let Some(head) = group.head() {
                self.turns.join(head, index, group.place);
            }
        }
    }

    /// Places the group's next job if it fits now.
    pub(super) fn place_now(&mut self, group: usize) -> bool {
        match self.choose(group) {
            Some(chosen) => {
                self.place(group, chosen);
                true
            }
            None => false,
        }
    }

    /// Places the group's next job on this cluster if it fits there now.
    pub(super) fn place_there(&mut self, group: usize, site: usize) -> bool {
        let there = if self.look(group, site) { vec![site] } else { Vec::new() };
        match self.choose_among(group, &there) {
            Some(chosen) => {
                self.place(group, chosen);
                true
            }
            None => false,
        }
    }

    /// The best place for the group's next job. Clusters where it stays within its guarantee come first.
    fn choose(&mut self, group: usize) -> Option<Chosen> {
        let fitting: Vec<usize> = (0..self.sites.len()).filter(|site| self.look(group, *site)).collect();
        self.choose_among(group, &fitting)
    }

    /// `fitting` ascends.
    fn choose_among(&mut self, group: usize, fitting: &[usize]) -> Option<Chosen> {
        let job = self.groups[group].head()?;
        let looks = &self.groups[group].looks;
        let candidates = fitting.iter().filter_map(|site| match &looks[*site] {
            Look::Fits { packing, guaranteed, .. } => {
                Some(Candidate::new(&self.sites[*site], job, Cow::Borrowed(packing), !guaranteed))
            }
            _ => None,
        });
        let Best { cluster, packing, because, ranked } = best(candidates.collect(), job)?;
        let accepted = self.sites.iter().enumerate().filter(|(_, site)| site.is_accepted());
        let refused: Vec<usize> =
            accepted.map(|(at, _)| at).filter(|at| fitting.binary_search(at).is_err()).collect();
        let all = fitting.len() + refused.len();
        let choice = Choice::new(ranked, self.refusals(group, job, &refused), all);
        let site = self.sites.iter().position(|site| site.cluster.id == cluster)?;
        Some(Chosen { site, packing, because, choice })
    }

    /// Why the first of the clusters that do not fit do not, told anew only where something changed.
    fn refusals(&mut self, group: usize, job: &Waiting, refused: &[usize]) -> Vec<Refusal> {
        let (kept, prices) = (self.kept.as_ref().map(|kept| kept.site), self.prices());
        let is_kept = |at: usize| kept == Some(at) || self.claimed.beside.contains_key(&at);
        let known = &mut self.groups[group].refusals;
        let refused = refused.iter().take(KEPT).map(|&at| {
            let site = &self.sites[at];
            let tell = || (site.version, refusal(job, site, is_kept(at), prices));
            let told = known.entry(at).or_insert_with(tell);
            if told.0 != site.version {
                *told = tell();
            }
            told.1.clone()
        });
        refused.collect()
    }

    /// Whether the group's next job fits into the cluster now, looking only where something changed.
    pub(super) fn look(&mut self, group: usize, site: usize) -> bool {
        let Some(job) = self.groups[group].head() else { return false };
        let version = self.sites[site].version;
        if !self.sites[site].takes(job) {
            return false;
        }
        let place = self.groups[group].place;
        match &self.groups[group].looks[site] {
            Look::TooFull { at } if *at == version => return false,
            Look::Fits { at, packing, guaranteed } if *at == version => {
                let same = |place| {
                    self.quotas.allows(place, &packing.charge)
                        && self.quotas.is_guaranteed(place, &packing.charge) == *guaranteed
                };
                if place.is_none_or(same) {
                    return true;
                }
            }
            _ => {}
        }
        let look = self.look_closely(job, group, site);
        let fits = matches!(look, Look::Fits { .. });
        self.groups[group].looks[site] = look;
        fits
    }

    fn look_closely(&mut self, job: &Waiting, group: usize, site: usize) -> Look {
        let place = self.groups[group].place;
        let limits = self.quotas.limits(place);
        let Open { free, version, .. } = &self.sites[site];
        let at = *version;
        self.packings += 1;
        let tight = self.beside(site);
        let room = tight.as_ref().unwrap_or(free);
        let Ok(mut packing) = self.sites[site].pack(room, job, &limits, self.prices()) else {
            return Look::TooFull { at };
        };
        if tight.is_some() {
            packing.left = free.less(room, &packing.left);
        }
        let guaranteed = place.is_none_or(|place| self.quotas.is_guaranteed(place, &packing.charge));
        Look::Fits { at, packing, guaranteed }
    }

    /// What may be taken of a cluster of which something is kept for others; `None` if nothing is.
    pub(super) fn beside(&self, site: usize) -> Option<Room> {
        let free = &self.sites[site].free;
        let kept = self.kept.as_ref().filter(|kept| kept.site == site);
        let kept = kept.map(|kept| free.least(&kept.beside));
        match self.claimed.beside.get(&site) {
            Some(beside) => Some(kept.as_ref().unwrap_or(free).least(beside)),
            None => kept,
        }
    }

    fn place(&mut self, group: usize, chosen: Chosen) {
        let Some(job) = self.groups[group].head() else { return };
        let Chosen { site, packing, mut because, choice } = chosen;
        self.take_beside(site, &packing);
        let bound = self.sites[site].bound(&self.quotas.flavors, job, &packing);
        because.push_str(&self.quotas.flavors.stays(&bound, &packing.kinds));
        if let Some(place) = self.groups[group].place {
            because.push_str(&self.charged(place, &job.queue, &packing.charge));
            self.quotas.take(place, &job.queue, &packing.charge);
        }
        self.turns.start(&self.quotas, job, &packing.charge);
        let usage = self.quotas.usage(&packing.charge);
        let open = &mut self.sites[site];
        open.put(job, packing.left);
        self.assign.push(Assign { job: job.job, cluster: open.cluster.id, because, usage, bound, choice });
        self.turns.leave(job, group);
        self.groups[group].next += 1;
        self.cut |= self.groups[group].is_spent();
        if let Some(head) = self.groups[group].head() {
            self.turns.join(head, group, self.groups[group].place);
        }
    }

    /// The clause that tells what a queue is charged.
    fn charged(&self, place: Place, queue: &str, charge: &Charge) -> String {
        let parts = charge
            .iter()
            .map(|(flavor, sum)| format!("{} of {}", amount(*sum), self.quotas.flavors.name(*flavor)));
        let how = if self.quotas.is_guaranteed(place, charge) { "within its guarantee" } else { "borrowed" };
        format!("; {queue} is charged {}, {how}", parts.collect::<Vec<_>>().join(" and "))
    }
}
