//! Rounds: a fault after another on two real clusters under jobs that run for ever, and after each the question whether two
//! copies of a job ran at once, or one stopped for nothing.
//!
//! Owns the order of a round. Invariant: what counts is what containers wrote and what kubelets say, never what the control
//! plane believes. The faults follow from the seed and the number of the round, and a run goes on where the last one ended.
//! A round in which something else fails is written down with its problem, and the next one begins when the fleet is whole.

mod draw;
mod fault;
mod fleet;
mod judge;
mod life;
mod probe;
mod record;
mod side;
mod squadron;
mod table;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};

pub use self::{
    draw::Draw,
    fault::Fault,
    fleet::{fenced, manifest},
    probe::{Request, call},
    side::{Side, Trouble, Wanted},
    squadron::Squadron,
};
use self::{
    fleet::{Fleet, PATIENCE, alive},
    judge::Watched,
    life::Life,
    probe::{Probing, Took},
    record::{Book, Record},
};
use crate::{
    clock,
    wait::{self, found_if},
};

/// Between two submissions while a cluster is lost.
const PAUSE: Duration = Duration::from_secs(2);

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rounds of this run, beside those that the file holds.
    pub rounds: u32,
    /// Names of faults, or of kinds of them.
    pub faults: String,
    pub seed: u64,
    /// Seconds for which a cluster must be lost before jobs may move.
    pub lease: u32,
    /// Fenced jobs.
    pub jobs: u32,
    /// Submissions that are measured before a loss; during it there is one every 2 s.
    pub probes: u32,
    /// The file with a line for each round.
    pub file: PathBuf,
}

/// Runs the rounds, prints each and the table of all that the file holds. Fails if one of them found an overlap or a stop
/// for nothing, or if a loss moved nothing or met another problem.
pub fn run(side: &dyn Side, plan: &Plan) -> Result<()> {
    let faults = fault::named(&plan.faults, &side.faults())?;
    let book = Book::new(plan.file.clone());
    let done = book.read()?;
    let ours = done.iter().filter(|record| record.side == side.name() && record.seed == plan.seed);
    let first = ours.map(|record| record.round).max().map_or(0, |last| last + 1);
    let (mut fleet, mut last) = (Fleet::default(), Vec::new());
    for round in first..first + plan.rounds {
        let mut draw = Draw::new(plan.seed, round);
        let fault = draw::dealt(plan.seed, round, &faults);
        let record = Round { side, plan, fleet: &mut fleet, last: &mut last, round, fault }.run(&mut draw)?;
        println!("{}", record.told());
        book.add(&record)?;
    }
    let records = book.read()?;
    println!("\n{}\nthe rounds are in {}", table::table(&records), book.path().display());
    let bad = records.iter().filter(|record| !record.is_good()).count();
    anyhow::ensure!(
        bad == 0,
        "{bad} of {} rounds found two copies at once or a stop for nothing, or were losses that count for nothing",
        records.len()
    );
    Ok(())
}

/// Ends what rounds left running, and waits for it.
pub fn dismiss(side: &dyn Side) -> Result<()> {
    let known = side.known()?;
    let ids: Vec<&str> = known.values().map(String::as_str).collect();
    if ids.is_empty() {
        return Ok(());
    }
    side.cancel(&ids)?;
    wait::until("the jobs of the rounds to end", PATIENCE, || {
        let left = side.known()?;
        Ok(found_if(left.is_empty(), format!("{} left", left.len())))
    })
}

struct Round<'a> {
    side: &'a dyn Side,
    plan: &'a Plan,
    fleet: &'a mut Fleet,
    /// The containers that lived when the round before was judged.
    last: &'a mut Vec<Life>,
    round: u32,
    fault: Fault,
}

impl Round<'_> {
    fn run(mut self, draw: &mut Draw) -> Result<Record> {
        let started = clock::now();
        let before = self.prepare()?;
        let late = judge::replaced(self.fleet, self.last, &before);
        let victim = self.victim(&before, draw);
        let healthy = self.other(&victim)?;
        let idle = if self.fault.leaves_dispatch() { self.idle(&healthy)? } else { Took::default() };
        self.side.prepare(self.fault, &victim)?;
        let watched = Watched::begin(self.side.stage(), before, &victim)?;
        let begun = clock::now();
        let (outcome, during) = self.suffer(&victim, &healthy, draw, &watched);
        let settled = self.settle();
        let loses = self.side.loses(self.fault);
        let mut found = watched.judge(self.side.stage(), self.fleet, loses, begun)?;
        found.needless.extend(late);
        *self.last = alive(self.side.stage())?;
        let now = clock::now();
        Ok(Record {
            side: self.side.name().to_owned(),
            seed: self.plan.seed,
            round: self.round,
            fault: self.fault,
            cluster: victim,
            lease: self.plan.lease,
            found,
            idle_s: [idle.named, idle.any].concat(),
            during_s: during.named,
            any_s: during.any,
            took_s: now - begun,
            whole_s: now - started,
            problem: outcome.and(settled).err().map(|problem| format!("{problem:#}")).unwrap_or_default(),
        })
    }

    /// Everything is as it should be.
    fn prepare(&mut self) -> Result<Vec<Life>> {
        self.side.clear()?;
        self.side.wait_heard()?;
        *self.fleet = Fleet::muster(self.side, self.plan.jobs)?;
        life::prune(&self.side.stage().lives(), clock::now())?;
        self.fleet.mend(self.side, self.plan.jobs)
    }

    /// The cluster with more fenced jobs, because they are what has to move.
    fn victim(&self, before: &[Life], draw: &mut Draw) -> String {
        let fenced = |cluster: &str| {
            let there = before.iter().filter(|life| life.cluster == cluster);
            there.filter(|life| self.fleet.member(&life.job).is_some_and(|member| member.is_fenced)).count()
        };
        let clusters = &self.side.stage().spec.clusters;
        let most = clusters.iter().map(|cluster| fenced(cluster)).max().unwrap_or(0);
        let best: Vec<&String> = clusters.iter().filter(|cluster| fenced(cluster) == most).collect();
        draw.one_of(&best).clone()
    }

    fn other(&self, victim: &str) -> Result<String> {
        let other = self.side.stage().spec.clusters.iter().find(|cluster| *cluster != victim);
        other.cloned().context("rounds need two clusters")
    }

    /// Inflicts the fault, waits for what must follow and mends; measures dispatch to the other cluster meanwhile.
    fn suffer(&self, victim: &str, healthy: &str, draw: &mut Draw, watched: &Watched) -> (Result<()>, Took) {
        let over = AtomicBool::new(!self.fault.leaves_dispatch());
        thread::scope(|scope| {
            let probing = scope.spawn(|| self.during(healthy, &over));
            let outcome = self.trouble(victim, draw, watched, &over);
            over.store(true, Ordering::Relaxed);
            (outcome, probing.join().unwrap_or_default())
        })
    }

    fn trouble(&self, victim: &str, draw: &mut Draw, watched: &Watched, over: &AtomicBool) -> Result<()> {
        let mut trouble = self.side.begin(victim, self.fault, draw)?;
        trouble.go_on(draw, Duration::from_secs(self.plan.lease.into()))?;
        let moved = if self.side.loses(self.fault) { self.wait_moved(watched) } else { Ok(()) };
        if self.side.loses(self.fault) {
            thread::sleep(draw.millis(500, 4_000));
        }
        over.store(true, Ordering::Relaxed);
        trouble.mend().and(moved)
    }

    fn wait_moved(&self, watched: &Watched) -> Result<()> {
        wait::until("the next attempts of the fenced jobs", self.side.moves_within(), || {
            let left = watched.unmoved(self.fleet, &alive(self.side.stage())?);
            Ok(found_if(left.is_empty(), left.join(", ")))
        })
    }

    /// Everybody is heard again, and has been for long enough that a stop that was under way has come; one that comes later
    /// still is seen by the next round.
    fn settle(&self) -> Result<()> {
        self.side.wait_heard()?;
        self.fleet.wait_whole(self.side.stage())?;
        thread::sleep(Duration::from_secs(1));
        Ok(())
    }

    /// Submissions while nothing is lost, one after the other.
    fn idle(&self, healthy: &str) -> Result<Took> {
        let mut all = Took::default();
        for number in 0..self.plan.probes {
            let mut probing = self.probing(healthy, &format!("idle-{number}"))?;
            probing.send();
            let took = probing.finish();
            all.named.extend(took.named);
        }
        Ok(all)
    }

    /// One submission after another until `over`, whether the ones before have their objects or not.
    fn during(&self, healthy: &str, over: &AtomicBool) -> Took {
        let measured = self.probing(healthy, "during").and_then(|mut probing| {
            while !over.load(Ordering::Relaxed) {
                probing.send();
                thread::sleep(PAUSE);
                probing.look()?;
            }
            Ok(probing.finish())
        });
        measured.unwrap_or_else(|problem| {
            eprintln!("dispatch beside the loss could not be measured: {problem:#}");
            Took::default()
        })
    }

    fn probing<'b>(&'b self, healthy: &'b str, word: &str) -> Result<Probing<'b>> {
        // The time tells its probes from those of a round of this number in another run.
        let prefix = format!("probe-{}-{word}-{:.0}", self.round, clock::now());
        Probing::begin(self.side, healthy, prefix)
    }
}
