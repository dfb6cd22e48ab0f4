//! Reclaim: takes lent capacity back for a tenant that waits below its guarantee.
//!
//! Owns the claims: which waiting head gets which cluster once which running jobs are gone. It decides on paper first: the
//! cluster and the jobs whose stop loses least work, and only if the head then really fits. Invariants: no job is stopped
//! whose tenant is within its guarantee, nor one that has run less than its protected time, which doubles with every stop
//! it suffered; a stopping job keeps its room and quota until [`Book::stopped`] says that it is gone; what comes free is
//! kept for its claim. Fails by stopping nothing: the head then waits for whatever ends. A claim whose head is gone is
//! dropped at the next decision, and its room is everyone's.

use std::collections::{BTreeMap, BTreeSet};

use crate::dispatch::book::{Book, Millis, Start, rank::Rank};

/// A running job that has to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    pub job: u64,
    /// Index of the cluster that it runs on.
    pub site: usize,
    /// The job that it makes room for.
    pub makes_room_for: u64,
    /// Thousandths of a GPU times milliseconds that have to be done again, if it writes no checkpoint.
    pub lost: i128,
}

/// Room that is being made on one cluster for the head of a line.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) line: usize,
    pub(super) site: usize,
    victims: BTreeSet<u64>,
}

/// What a claim would cost.
struct Plan {
    lost: i128,
    site: usize,
    victims: Vec<u64>,
}

/// Paper: what tenants will hold once everything stopping is gone and everything claimed runs.
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
    /// Chooses what must stop so that tenants below their guarantee get it. Call it after [`Book::decide`].
    pub fn reclaim(&mut self, now: Millis) -> Vec<Stop> {
        let mut stops = Vec::new();
        if self.terms.reclaim {
            let mut paper = self.paper();
            let mut hopeless = BTreeSet::new();
            while let Some(line) = self.next_owed(&paper, &hopeless, now) {
                match self.plan(line, &paper, now) {
                    Some(plan) => stops.extend(self.commit(line, plan, &mut paper, now)),
                    None => {
                        self.lines[line].rest = now + 60_000;
                        hopeless.insert(line);
                    }
                }
            }
        }
        stops
    }

    /// The agent confirmed that a stopping job is gone: its room is free, and it waits again from where it stood.
    pub fn stopped(&mut self, job: u64) {
        let Some(running) = self.running.remove(&job) else { return };
        self.sites[running.site].release(job, &running.parts);
        self.tenants.give_back(running.shape.tenant, running.shape.milli);
        *self.suffered.entry(job).or_default() += 1;
        self.released = true;
        let index = self.line_of(running.shape, self.terms.ret);
        self.lines[index].join(super::Ask { job, shape: running.shape, submitted: running.submitted });
        self.touched.push(index);
    }

    /// Starts the heads whose room is there.
    pub(super) fn honour_claims(&mut self, now: Millis) -> Vec<Start> {
        let mut starts = Vec::new();
        let running = &self.running;
        for claim in &mut self.claims {
            claim.victims.retain(|job| running.contains_key(job));
        }
        let (ready, open) = std::mem::take(&mut self.claims).into_iter().partition(|claim| claim.victims.is_empty());
        self.claims = open;
        for claim in Vec::<Claim>::from(ready) {
            let Some(shape) = self.lines[claim.line].head().map(|_| self.lines[claim.line].shape) else { continue };
            if self.room(claim.site, shape) >= shape.milli && self.tenants.available(shape.tenant) >= shape.milli {
                let because = self.because(claim.line, claim.site, now);
                starts.extend(self.start(claim.line, claim.site, because, now));
            }
        }
        starts
    }

    /// Free on a cluster for a shape, without what claims keep.
    pub(super) fn room(&self, site: usize, shape: super::Shape) -> i64 {
        let kept: i64 = self
            .claims
            .iter()
            .filter(|claim| claim.site == site)
            .map(|claim| (self.lines[claim.line].shape, claim))
            .filter(|(other, _)| other.models & shape.models != 0)
            .map(|(other, claim)| (other.milli - self.stopping(claim)).max(0))
            .sum();
        self.sites[site].free(shape.models) - kept
    }

    fn stopping(&self, claim: &Claim) -> i64 {
        claim.victims.iter().filter_map(|job| self.running.get(job)).map(|running| running.shape.milli).sum()
    }

    fn is_stopping(&self, job: u64) -> bool {
        self.claims.iter().any(|claim| claim.victims.contains(&job))
    }

    fn paper(&self) -> Paper {
        let mut paper = Paper(BTreeMap::new());
        for claim in &self.claims {
            let shape = self.lines[claim.line].shape;
            paper.add(shape.tenant, shape.milli);
            for victim in claim.victims.iter().filter_map(|job| self.running.get(job)) {
                paper.add(victim.shape.tenant, -victim.shape.milli);
            }
        }
        paper
    }

    /// The first head in order that is owed its place and has no claim.
    fn next_owed(&self, paper: &Paper, hopeless: &BTreeSet<usize>, now: Millis) -> Option<usize> {
        let mut best: Option<(Rank, usize)> = None;
        for (line, waiting) in self.lines.iter().enumerate() {
            let claimed = self.claims.iter().filter(|claim| claim.line == line).count();
            if waiting.len() <= claimed || waiting.rest > now || hopeless.contains(&line) {
                continue;
            }
            let shape = waiting.shape;
            let owed = self.tenants.within_guarantee(shape.tenant, paper.of(shape.tenant) + shape.milli);
            let due = waiting.head().is_some_and(|(at, _)| now >= at.saturating_add(self.terms.reclaim_after));
            if !owed || !due {
                continue;
            }
            let Some(rank) = self.rank(line, now) else { continue };
            if best.as_ref().is_none_or(|(known, _)| rank.before(known)) {
                best = Some((rank, line));
            }
        }
        best.map(|(_, line)| line)
    }

    /// The cluster where room for the head of a line costs least lost work.
    fn plan(&self, line: usize, paper: &Paper, now: Millis) -> Option<Plan> {
        let sites = (0..self.sites.len()).filter(|site| self.sites[*site].open);
        let (at, _) = self.lines[line].head()?;
        let error = self.accounts[self.lines[line].shape.tenant].error();
        let price = if self.terms.tol > 0 { i128::from(self.terms.worth) * (self.terms.tol - error).max(self.terms.floor) / self.terms.tol } else { i128::from(self.terms.worth) };
        let missed = i128::from(self.lines[line].shape.milli) * i128::from(now.saturating_sub(at));
        sites.filter_map(|site| self.plan_on(line, site, paper, now)).min_by_key(|plan| (plan.lost, plan.site)).filter(|plan| plan.lost * price <= missed * 1000)
    }

    fn plan_on(&self, line: usize, site: usize, paper: &Paper, now: Millis) -> Option<Plan> {
        let shape = self.lines[line].shape;
        let mut missing = shape.milli - self.room(site, shape);
        if self.sites[site].total(shape.models) < shape.milli || missing <= 0 {
            return None;
        }
        let mut candidates: Vec<(Millis, u64, usize, i64)> = self.sites[site]
            .jobs(shape.models)
            .filter_map(|(job, milli)| {
                let running = self.running.get(&job)?;
                let ran = now.saturating_sub(running.started);
                let free_game = running.shape.tenant != shape.tenant
                    && ran >= self.protected(job)
                    && self.borrows(running.shape.tenant, paper.of(running.shape.tenant))
                    && !self.is_stopping(job);
                free_game.then_some((ran, job, running.shape.tenant, milli))
            })
            .collect();
        candidates.sort_unstable();
        let mut taken: BTreeMap<usize, i64> = BTreeMap::new();
        let mut chosen: Vec<(i128, u64, i64)> = Vec::new();
        for (ran, job, tenant, milli) in candidates {
            if missing <= 0 {
                break;
            }
            let gone = taken.entry(tenant).or_default();
            let strict = if self.terms.strict { milli } else { 0 };
            if self.borrows(tenant, paper.of(tenant) - *gone - strict + i64::from(self.terms.strict)) {
                *gone += milli;
                missing -= milli;
                chosen.push((i128::from(ran) * i128::from(milli), job, milli));
            }
        }
        if missing > 0 {
            return None;
        }
        // The last ones may have made earlier ones needless: spare whoever would lose most.
        chosen.sort_unstable_by(|a, b| b.cmp(a));
        chosen.retain(|(_, _, milli)| {
            let spare = missing + milli <= 0;
            missing += if spare { *milli } else { 0 };
            !spare
        });
        let lost = chosen.iter().map(|(lost, ..)| lost).sum();
        Some(Plan { lost, site, victims: chosen.into_iter().map(|(_, job, _)| job).collect() })
    }

    /// Whether a tenant holds more than its guarantee, with what paper says on top.
    fn borrows(&self, tenant: usize, more: i64) -> bool {
        self.tenants.used(tenant) + more > self.tenants.nominal(tenant)
    }

    /// How long a job runs at least before it may be stopped.
    fn protected(&self, job: u64) -> Millis {
        let times = self.suffered.get(&job).copied().unwrap_or(0).min(20);
        self.terms.protected.saturating_mul(1 << times)
    }

    fn commit(&mut self, line: usize, plan: Plan, paper: &mut Paper, now: Millis) -> Vec<Stop> {
        let shape = self.lines[line].shape;
        paper.add(shape.tenant, shape.milli);
        let head = self.lines[line].head().map_or(0, |(_, job)| job);
        let mut stops = Vec::new();
        for job in &plan.victims {
            let Some(victim) = self.running.get(job) else { continue };
            paper.add(victim.shape.tenant, -victim.shape.milli);
            let lost = i128::from(victim.shape.milli) * i128::from(now.saturating_sub(victim.started));
            stops.push(Stop { job: *job, site: plan.site, makes_room_for: head, lost });
        }
        self.claims.push(Claim { line, site: plan.site, victims: plan.victims.into_iter().collect() });
        stops
    }
}
