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

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result};

use self::{
    draw::Draw,
    fault::{Fault, Trouble},
    fleet::{Fleet, PATIENCE, alive},
    judge::Watched,
    life::Life,
    record::{Book, Record},
};
use crate::{
    clock,
    stage::Stage,
    wait::{self, found_if},
};

/// Longer than a control plane keeps a duty without a word, and shorter than any lease.
const TAKE_OVER: Duration = Duration::from_secs(5);
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
    /// Seconds.
    pub lease: u32,
    /// Fenced jobs.
    pub jobs: u32,
    /// Submissions that are measured before a loss; during it one follows the other.
    pub probes: u32,
    /// The file with a line for each round.
    pub file: PathBuf,
}

/// Runs the rounds, prints each and the table of all that the file holds. Fails if one of them found an overlap or a stop
/// for nothing, or if a loss moved nothing or met another problem.
pub fn run(stage: &Stage, plan: &Plan) -> Result<()> {
    let faults = fault::named(&plan.faults)?;
    let book = Book::new(plan.file.clone());
    let first =
        book.read()?.iter().filter(|record| record.seed == plan.seed).map(|record| record.round).max();
    let first = first.map_or(0, |last| last + 1);
    let (mut fleet, mut last) = (Fleet::muster(stage, plan.jobs)?, Vec::new());
    for round in first..first + plan.rounds {
        let mut draw = Draw::new(plan.seed, round);
        let fault = draw.one_of(&faults);
        let record =
            Round { stage, plan, fleet: &mut fleet, last: &mut last, round, fault }.run(&mut draw)?;
        println!("{}", record.told());
        book.add(&record)?;
    }
    let records = book.read()?;
    println!("\n{}\nthe rounds are in {}", record::table(&records), book.path().display());
    let bad = records.iter().filter(|record| !record.is_good()).count();
    anyhow::ensure!(
        bad == 0,
        "{bad} of {} rounds found two copies at once or a stop for nothing, or were losses that count for nothing",
        records.len()
    );
    Ok(())
}

/// Ends what rounds left running.
pub fn dismiss(stage: &Stage, plan: &Plan) -> Result<()> {
    Fleet::muster(stage, plan.jobs)?.dismiss(stage)
}

struct Round<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
    fleet: &'a mut Fleet,
    /// The containers that lived when the round before was judged.
    last: &'a mut Vec<Life>,
    round: u32,
    fault: Fault,
}

impl Round<'_> {
    fn run(mut self, draw: &mut Draw) -> Result<Record> {
        let before = self.prepare()?;
        let late = judge::replaced(self.fleet, self.last, &before);
        let victim = self.victim(&before, draw);
        let healthy = self.other(&victim)?;
        let idle = if self.fault.leaves_dispatch() { self.idle(&healthy) } else { Vec::new() };
        if self.fault == Fault::LeaderStopped {
            self.stage.let_lead(&victim, TAKE_OVER)?;
        }
        let watched = Watched::begin(self.stage, before, &victim)?;
        let begun = clock::now();
        let (outcome, during) = self.suffer(&victim, &healthy, draw, &watched);
        let settled = outcome.and_then(|()| self.settle());
        let mut found = watched.judge(self.stage, self.fleet, self.fault.loses(), begun)?;
        found.needless.extend(late);
        *self.last = alive(self.stage)?;
        Ok(Record {
            seed: self.plan.seed,
            round: self.round,
            fault: self.fault,
            cluster: victim,
            lease: self.plan.lease,
            found,
            idle_s: idle,
            during_s: during,
            took_s: clock::now() - begun,
            problem: settled.err().map(|problem| format!("{problem:#}")).unwrap_or_default(),
        })
    }

    /// Everything is as it should be.
    fn prepare(&mut self) -> Result<Vec<Life>> {
        for cluster in &self.stage.spec.clusters {
            self.stage.wait_for_state(cluster, &["active"])?;
        }
        life::prune(&self.stage.lives(), clock::now())?;
        self.fleet.mend(self.stage, self.plan.jobs)
    }

    /// The cluster with more fenced jobs, because they are what has to move.
    fn victim(&self, before: &[Life], draw: &mut Draw) -> String {
        let fenced = |cluster: &str| {
            let there = before.iter().filter(|life| life.cluster == cluster);
            there.filter(|life| self.fleet.member(&life.job).is_some_and(|member| member.is_fenced)).count()
        };
        let clusters = &self.stage.spec.clusters;
        let most = clusters.iter().map(|cluster| fenced(cluster)).max().unwrap_or(0);
        let best: Vec<&String> = clusters.iter().filter(|cluster| fenced(cluster) == most).collect();
        draw.one_of(&best).clone()
    }

    fn other(&self, victim: &str) -> Result<String> {
        let other = self.stage.spec.clusters.iter().find(|cluster| *cluster != victim);
        other.cloned().context("rounds need two clusters")
    }

    /// Inflicts the fault, waits for what must follow and mends; measures dispatch to the other cluster meanwhile.
    fn suffer(
        &self,
        victim: &str,
        healthy: &str,
        draw: &mut Draw,
        watched: &Watched,
    ) -> (Result<()>, Vec<f64>) {
        let over = AtomicBool::new(!self.fault.leaves_dispatch());
        thread::scope(|scope| {
            let probing = scope.spawn(|| self.during(healthy, &over));
            let outcome = self.trouble(victim, draw, watched);
            over.store(true, Ordering::Relaxed);
            (outcome, probing.join().unwrap_or_default())
        })
    }

    fn trouble(&self, victim: &str, draw: &mut Draw, watched: &Watched) -> Result<()> {
        let mut trouble = Trouble::begin(self.stage, victim, self.fault, draw)?;
        trouble.go_on(self.fault, draw, Duration::from_secs(self.plan.lease.into()))?;
        if self.fault.loses() {
            self.wait_moved(watched)?;
            thread::sleep(draw.millis(500, 4_000));
        }
        trouble.mend()?;
        if matches!(self.fault, Fault::AgentKill | Fault::AgentRestart | Fault::AgentKilled) {
            // A pod that is killed again and again is held back by the kubelet for minutes; a new one is not.
            self.stage.wait_for_state(victim, &["active"])?;
            self.stage.replace_agent(victim)?;
        }
        Ok(())
    }

    fn wait_moved(&self, watched: &Watched) -> Result<()> {
        wait::until("the next attempts of the fenced jobs", PATIENCE, || {
            let left = watched.unmoved(self.fleet, &alive(self.stage)?);
            Ok(found_if(left.is_empty(), left.join(", ")))
        })
    }

    /// Everybody is heard again, and has been for long enough that a stop that was under way has come.
    fn settle(&self) -> Result<()> {
        for cluster in &self.stage.spec.clusters {
            self.stage.wait_for_state(cluster, &["active"])?;
        }
        self.fleet.wait_whole(self.stage)?;
        thread::sleep(Duration::from_secs(3));
        Ok(())
    }

    /// Submissions to a cluster while nothing is lost.
    fn idle(&self, cluster: &str) -> Vec<f64> {
        (0..self.plan.probes).filter_map(|number| self.probe(cluster, &format!("idle-{number}"))).collect()
    }

    /// Submissions to a cluster until `over`.
    fn during(&self, cluster: &str, over: &AtomicBool) -> Vec<f64> {
        let mut took = Vec::new();
        for number in 0.. {
            if over.load(Ordering::Relaxed) {
                break;
            }
            took.extend(self.probe(cluster, &format!("during-{number}")));
            thread::sleep(PAUSE);
        }
        took
    }

    fn probe(&self, cluster: &str, word: &str) -> Option<f64> {
        let name = format!("probe-{}-{word}", self.round);
        match probe::one(self.stage, cluster, &name) {
            Ok(seconds) => Some(seconds),
            Err(problem) => {
                eprintln!("{name}: {problem:#}");
                None
            }
        }
    }
}
