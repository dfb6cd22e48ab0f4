//! Reclaim: decides which borrowing jobs stop, so that a tenant which waits below its guarantee gets its part.
//!
//! Everything is decided on paper first: the one cluster and the jobs there whose stop loses least work, and only if the
//! head then really fits. A job that is not known to write checkpoints loses all it did. Waiting costs something too: a
//! plan is carried out once what the head missed is worth what would be lost ([`Terms`](super::Terms)), and jobs that should
//! end soon are left to end. A tenant that was below its guarantee for a notable part of what it was owed waits for neither.
//! What was taken back is not lent at once to those that were stopped. Invariants: nobody is pushed below its guarantee, so no job is
//! stopped whose tenant is within it; none stops that has run less than its protected time, which doubles with every stop it
//! suffered, and none that was stopped [`MOST_STOPS`] times. Fails by stopping nothing: the head then waits for whatever ends, and is looked at again.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
};

use crate::dispatch::{
    book::{Book, Millis, claim::Claim, rank::Rank},
    preempt::cost::{MOST_STOPS, protected, spare},
};

/// After a look in vain, a line is looked at again this many milliseconds later.
const REST: Millis = 60_000;

/// A running job that has to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    pub job: u64,
    /// Index of the cluster that it runs on.
    pub site: usize,
    /// The job that it makes room for.
    pub makes_room_for: u64,
    /// Thousandths of a GPU times milliseconds that have to be done again.
    pub lost: i128,
}

/// What a claim would cost.
struct Plan {
    lost: i128,
    site: usize,
    victims: Vec<u64>,
}

/// A job that may be stopped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Victim {
    ran: Millis,
    job: u64,
    tenant: usize,
    milli: i64,
}

impl Victim {
    fn lost(&self) -> i128 {
        i128::from(self.ran) * i128::from(self.milli)
    }
}

/// How what tenants hold will change once everything stopping is gone and everything claimed runs.
#[derive(Default)]
struct Paper(BTreeMap<usize, i64>);

impl Paper {
    fn of(&self, tenant: usize) -> i64 {
        self.0.get(&tenant).copied().unwrap_or(0)
    }

    fn add(&mut self, tenant: usize, milli: i64) {
        *self.0.entry(tenant).or_default() += milli;
    }
}

impl Book {
    /// Chooses what must stop. Call it after [`Book::decide`], so that only those wait that fit nowhere.
    pub fn reclaim(&mut self, now: Millis) -> Vec<Stop> {
        let mut stops = Vec::new();
        if !self.terms.reclaim {
            return stops;
        }
        let mut paper = self.paper();
        while let Some(line) = self.next_owed(&paper, now) {
            match self.plan(line, &paper, now).filter(|plan| self.worth(line, plan, now)) {
                Some(plan) => stops.extend(self.commit(line, plan, &mut paper, now)),
                None => self.lines[line].rest_until = now.saturating_add(REST),
            }
        }
        stops
    }

    fn paper(&self) -> Paper {
        let mut paper = Paper::default();
        for claim in &self.claims {
            let shape = self.lines[claim.line].shape;
            paper.add(shape.tenant, shape.milli);
            for victim in claim.victims.iter().filter_map(|job| self.running.get(job)) {
                paper.add(victim.shape.tenant, -victim.shape.milli);
            }
        }
        paper
    }

    /// The first head in order that is owed its place and has no claim yet.
    fn next_owed(&self, paper: &Paper, now: Millis) -> Option<usize> {
        let mut best: Option<(Rank, usize)> = None;
        for line in 0..self.lines.len() {
            if !self.is_owed(line, paper, now) {
                continue;
            }
            let Some(rank) = self.rank(line, now) else { continue };
            if best.as_ref().is_none_or(|(known, _)| rank.before(known)) {
                best = Some((rank, line));
            }
        }
        best.map(|(_, line)| line)
    }

    fn is_owed(&self, line: usize, paper: &Paper, now: Millis) -> bool {
        let waiting = &self.lines[line];
        let shape = waiting.shape;
        waiting.rest_until <= now
            && waiting.len() > self.claims.iter().filter(|claim| claim.line == line).count()
            && self.tenants.within_guarantee(shape.tenant, paper.of(shape.tenant) + shape.milli)
    }

    /// The cluster where room for the head of a line costs least.
    fn plan(&self, line: usize, paper: &Paper, now: Millis) -> Option<Plan> {
        let plans = (0..self.sites.len()).filter_map(|site| self.plan_on(line, site, paper, now));
        plans.min_by_key(|plan| (plan.lost, plan.site))
    }

    fn plan_on(&self, line: usize, site: usize, paper: &Paper, now: Millis) -> Option<Plan> {
        let shape = self.lines[line].shape;
        let needed = shape.milli - self.room(site, shape);
        let mut missing = needed;
        if !self.sites[site].open || self.sites[site].total(shape.models) < shape.milli || missing <= 0 {
            return None;
        }
        let mut gone = Paper::default();
        let mut chosen: Vec<Victim> = Vec::new();
        // What is lost for one GPU is the time that a job ran, so the youngest go first.
        for victim in self.victims(line, site, now) {
            let left = paper.of(victim.tenant) + gone.of(victim.tenant) - victim.milli;
            if missing > 0 && self.tenants.used(victim.tenant) + left >= self.tenants.nominal(victim.tenant) {
                gone.add(victim.tenant, -victim.milli);
                missing -= victim.milli;
                chosen.push(victim);
            }
        }
        (missing <= 0).then(|| spare_needless(chosen, needed, site))
    }

    /// Jobs on a cluster that may be stopped for a line, the youngest first.
    fn victims(&self, line: usize, site: usize, now: Millis) -> Vec<Victim> {
        let shape = self.lines[line].shape;
        let wronged = self.is_wronged(shape.tenant);
        let here = self.sites[site].jobs(shape.models).filter_map(|(job, milli)| {
            let running = self.running.get(&job)?;
            let ran = now.saturating_sub(running.started);
            Some(Victim { ran, job, tenant: running.shape.tenant, milli })
        });
        let mut victims: Vec<Victim> = here
            .filter(|victim| victim.tenant != shape.tenant && victim.ran >= self.protected(victim.job))
            .filter(|victim| self.stops(victim.job) < MOST_STOPS)
            .filter(|victim| !self.is_stopping(victim.job) && (wronged || self.lasts(victim)))
            .collect();
        victims.sort_unstable();
        victims
    }

    /// Whether the tenant was below its guarantee for too much of what it was owed.
    fn is_wronged(&self, tenant: usize) -> bool {
        self.terms.before_stops.is_wronged(&self.accounts[tenant])
    }

    /// Whether a job is expected to hold its room for long, so that stopping it is worth more than a little patience.
    fn lasts(&self, victim: &Victim) -> bool {
        let expected = self.running.get(&victim.job).map_or(0, |running| running.predicted.millis);
        self.terms.before_stops.lasts(expected, victim.ran)
    }

    /// How long a job runs at least before it may be stopped.
    fn protected(&self, job: u64) -> Millis {
        protected(self.terms.protected, self.stops(job))
    }

    /// How often a job was stopped to make room for others.
    fn stops(&self, job: u64) -> u32 {
        self.suffered.get(&job).copied().unwrap_or(0)
    }

    /// Whether what the head missed so far is worth what the plan loses; always, if its tenant was wronged.
    fn worth(&self, line: usize, plan: &Plan, now: Millis) -> bool {
        let Some((submitted, _)) = self.lines[line].head() else { return false };
        let shape = self.lines[line].shape;
        let missed = i128::from(shape.milli) * i128::from(now.saturating_sub(submitted));
        self.is_wronged(shape.tenant) || self.terms.before_stops.is_worth(plan.lost, missed)
    }

    fn commit(&mut self, line: usize, plan: Plan, paper: &mut Paper, now: Millis) -> Vec<Stop> {
        let shape = self.lines[line].shape;
        paper.add(shape.tenant, shape.milli);
        let head = self.lines[line].head().map_or(0, |(_, job)| job);
        let (mut stops, mut taken) = (Vec::new(), 0);
        for job in &plan.victims {
            let Some(victim) = self.running.get(job) else { continue };
            paper.add(victim.shape.tenant, -victim.shape.milli);
            taken += victim.shape.milli;
            let lost = i128::from(victim.shape.milli) * i128::from(now.saturating_sub(victim.started));
            stops.push(Stop { job: *job, site: plan.site, makes_room_for: head, lost });
        }
        let victims: BTreeSet<u64> = plan.victims.into_iter().collect();
        self.cool(plan.site, taken, now);
        self.claims.push(Claim { line, site: plan.site, victims });
        stops
    }
}

/// The last one chosen may have made others needless: spares those that would lose most.
fn spare_needless(chosen: Vec<Victim>, missing: i64, site: usize) -> Plan {
    let sum = |rest: &[Victim]| rest.iter().map(|victim| victim.milli).sum::<i64>();
    let enough = |rest: &[Victim], _: &Victim| Ok::<_, Infallible>(sum(rest) >= missing);
    let Ok(chosen) = spare(chosen, |victim| (victim.lost(), victim.job), enough);
    let lost = chosen.iter().map(Victim::lost).sum();
    Plan { lost, site, victims: chosen.iter().map(|victim| victim.job).collect() }
}
