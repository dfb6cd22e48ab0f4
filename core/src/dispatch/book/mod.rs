//! Book: who goes next and where, over a whole fleet, decided step by step as jobs come and end.
//!
//! Owns the waiting jobs in their groups, what every cluster has free, what tenants use, and the reservations. Invariants:
//! nothing is placed beyond a cluster's capacity or a tenant's quota; a job that fits some cluster and its quota waits
//! only because of a reservation, or of room that was just taken back, and that is stated; a job of a tenant under its guarantee goes before all that borrow. Same
//! calls in the same order, same decisions. Rebuilt from waiting and running jobs at any time; it keeps no secret state but
//! the history that predictions come from.
//!
//! Waiting jobs of one tenant and shape are equal but for their age, so they wait in one line and only its head is ever
//! compared: a decision costs the number of lines and clusters, not the number of jobs.

mod account;
mod claim;
mod cooling;
#[cfg(test)]
mod cooling_tests;
mod decide;
mod line;
mod rank;
mod reclaim;
#[cfg(test)]
mod reclaim_tests;
mod reserve;
mod site;
#[cfg(test)]
mod tests;
mod why;

use std::collections::BTreeMap;

pub use crate::dispatch::book::{
    rank::{Class, Rank, Terms},
    reclaim::Stop,
    reserve::Reservation,
    site::{Part, Pool, Site},
    why::Why,
};
use crate::dispatch::{
    book::{claim::Claim, cooling::Cooling, line::Line, site::Hold},
    owed::Account,
    predict::{Basis, Errors, History, Kind, Prediction, outlasting},
    tenants::Tenants,
};

/// Milliseconds on the caller's clock, which only moves forward.
pub type Millis = u64;

/// What makes jobs alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Shape {
    /// Node of the tenant tree.
    pub tenant: usize,
    /// GPUs of the gang.
    pub gpus: u32,
    /// Capacity that the gang takes, in thousandths of a GPU.
    pub milli: i64,
    /// Which GPU models it may use: bit `n` is model `n` of the fleet.
    pub models: u64,
    /// How long its owner says it will run; believed instead of history.
    pub declared: Option<Millis>,
}

impl Shape {
    fn kind(self) -> Kind {
        Kind { tenant: self.tenant, gpus: self.gpus }
    }
}

/// A job that asks for a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The caller's number for it; lower numbers came first where times are equal.
    pub job: u64,
    pub shape: Shape,
    pub submitted: Millis,
}

/// A job that gets its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    pub job: u64,
    /// Index of the cluster.
    pub site: usize,
    /// Capacity taken from each of its pools.
    pub parts: Vec<Part>,
    pub because: Because,
}

/// The terms of a placement, as they were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Because {
    pub class: Class,
    pub waited: Millis,
    pub predicted: Prediction,
    /// Use over guarantee with this job, in thousandths.
    pub pressure: u64,
    /// What the cluster has left afterwards for jobs of this kind, in thousandths of a GPU.
    pub left: i64,
}

/// Running, by job.
#[derive(Clone, Debug)]
struct Running {
    shape: Shape,
    site: usize,
    parts: Vec<Part>,
    submitted: Millis,
    started: Millis,
    /// Of the line that it came from.
    ran: Millis,
    predicted: Prediction,
}

/// The decider's state.
#[derive(Clone, Debug)]
pub struct Book {
    terms: Terms,
    tenants: Tenants,
    sites: Vec<Site>,
    lines: Vec<Line>,
    by_shape: BTreeMap<(Shape, Millis), usize>,
    running: BTreeMap<u64, Running>,
    history: History,
    reservations: Vec<Reservation>,
    claims: Vec<Claim>,
    cooling: Vec<Cooling>,
    /// By tenant.
    accounts: Vec<Account>,
    /// When [`Book::decide`] was last called.
    decided: Millis,
    /// How often a job was stopped to make room for others.
    suffered: BTreeMap<u64, u32>,
    /// Something ended or the fleet changed since the last decision, so every line may have a chance.
    released: bool,
    /// Lines whose head came since the last decision.
    touched: Vec<usize>,
}

impl Book {
    pub fn new(terms: Terms, tenants: Tenants, sites: Vec<Site>) -> Self {
        Book {
            accounts: vec![Account::default(); tenants.count()],
            decided: 0,
            terms,
            tenants,
            sites,
            lines: Vec::new(),
            by_shape: BTreeMap::new(),
            running: BTreeMap::new(),
            history: History::default(),
            reservations: Vec::new(),
            claims: Vec::new(),
            cooling: Vec::new(),
            suffered: BTreeMap::new(),
            released: true,
            touched: Vec::new(),
        }
    }

    /// A job joins its line. Refused if no cluster could ever hold it.
    pub fn arrive(&mut self, ask: Ask) -> Result<(), Why> {
        if let Some(why) = self.never(ask.shape) {
            return Err(why);
        }
        let index = self.line_of(ask.shape, 0);
        self.lines[index].join(ask);
        self.touched.push(index);
        Ok(())
    }

    /// Those that were stopped for others wait in lines of their own, by how long they had run.
    fn line_of(&mut self, shape: Shape, ran: Millis) -> usize {
        let lines = &mut self.lines;
        *self.by_shape.entry((shape, ran)).or_insert_with(|| {
            lines.push(Line::new(shape, ran));
            lines.len() - 1
        })
    }

    /// An attempt ended by itself; its room is free and its run time is learnt. An unknown job changes nothing.
    pub fn end(&mut self, job: u64, now: Millis) {
        let Some(running) = self.running.remove(&job) else { return };
        let ran = now.saturating_sub(running.started);
        self.history.ended(running.shape.kind(), ran, running.predicted);
        self.suffered.remove(&job);
        self.sites[running.site].release(job, &running.parts);
        self.tenants.give_back(running.shape.tenant, running.shape.milli);
        self.released = true;
    }

    pub fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    pub fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }

    pub fn waiting(&self) -> usize {
        self.lines.iter().map(Line::len).sum()
    }

    /// Shapes with waiting jobs, and how many of each; what holds for one holds for all.
    pub fn shapes(&self) -> impl Iterator<Item = (Shape, usize)> {
        self.lines.iter().filter(|line| line.len() > 0).map(|line| (line.shape, line.len()))
    }

    pub fn errors(&self) -> Errors {
        self.history.errors()
    }

    /// How long jobs of this shape are expected to run.
    pub fn predict(&self, shape: Shape) -> Prediction {
        match shape.declared {
            Some(millis) => Prediction { millis, late_millis: millis, basis: Basis::Declared },
            None => self.history.predict(shape.kind()),
        }
    }

    /// How long jobs of a line are expected to run. One that was stopped has shown that it runs long.
    fn predict_line(&self, line: usize) -> Prediction {
        let Line { shape, ran, .. } = &self.lines[line];
        let mut found = self.predict(*shape);
        found.millis = found.millis.max(outlasting(*ran));
        found.late_millis = found.late_millis.max(found.millis);
        found
    }

    /// Moves a job from its line to its place.
    fn start(&mut self, line: usize, site: usize, because: Because, now: Millis) -> Option<Start> {
        let ask = self.lines[line].leave()?;
        let parts = self.sites[site].best_parts(ask.shape);
        let hold = Hold { ends: now.saturating_add(because.predicted.millis), since: now };
        self.sites[site].take(ask.job, &parts, hold);
        self.tenants.take(ask.shape.tenant, ask.shape.milli);
        let running = Running {
            shape: ask.shape,
            site,
            parts: parts.clone(),
            submitted: ask.submitted,
            started: now,
            ran: self.lines[line].ran,
            predicted: because.predicted,
        };
        self.running.insert(ask.job, running);
        Some(Start { job: ask.job, site, parts, because })
    }
}
