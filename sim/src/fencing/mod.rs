//! Fencing: the real deciders of leases in a fleet that breaks in every way of T1 to T12.
//!
//! Owns the run of one seed and its verdict. Invariant: a seed is one run, bit for bit. The fakes say in their names that
//! they are fakes: Postgres, API servers, kubelets, links, clocks and people. What is judged is what the kubelets did.

mod ablation;
mod acts;
mod agent;
mod fault;
mod history;
mod ids;
mod inside;
mod kube;
mod leader;
mod message;
#[cfg(test)]
mod model;
mod plane;
mod postgres;
mod report;
mod scenario;
#[cfg(test)]
mod tests;
mod trouble;
mod world;

use std::collections::BTreeMap;

use squadron_core::{attempt::Event as Told, attempt::Job, id::AttemptId, job::JobState, lease::Proof};

pub use crate::fencing::{
    ablation::Rule,
    history::{History, Overlap},
    report::{Broken, ByPolicy, Report, Times, Uncovered, run},
};
use crate::{
    fencing::{
        postgres::JobRow,
        scenario::Scenario,
        world::{Event, World},
    },
    rng::Rng,
};

/// What came of one seed.
#[derive(Debug)]
pub struct Outcome {
    pub history: History,
    /// Faults by kind, as they were drawn.
    pub faults: BTreeMap<&'static str, u64>,
    /// The run, line by line, if it was asked for.
    pub trace: Vec<String>,
}

/// Runs one seed, perhaps without one rule.
pub fn play(seed: u64, without: Option<Rule>, trace: bool) -> Outcome {
    // Neighbouring seeds of the generator are far apart after one step.
    let mut rng = Rng::new(Rng::new(seed).bits());
    let scenario = Scenario::draw(&mut rng);
    let mut faults = BTreeMap::new();
    for fault in &scenario.faults {
        *faults.entry(fault.kind.word()).or_insert(0) += 1;
    }
    let mut world = World::new(rng, scenario, without, trace);
    world.say_scenario(seed);
    world.set_up();
    world.go();
    let trace = world.trace();
    Outcome { history: world.history, faults, trace }
}

/// `job 2 attempt 1`.
pub(crate) fn show(attempt: AttemptId) -> String {
    format!("job {} attempt {}", ids::job_index(attempt.job), attempt.number)
}

impl World {
    fn say_scenario(&mut self, seed: u64) {
        let scenario = self.scenario.clone();
        self.say(|| format!("seed {seed}: {scenario:?}"));
    }

    fn set_up(&mut self) {
        for index in 0..self.scenario.clusters {
            self.agent_starts(index);
            self.after(1, Event::Fencer { kube: index });
        }
        for replica in 0..self.scenario.replicas {
            let first = self.between(1, leader::PASS_EVERY);
            self.after(first, Event::Pass { replica });
        }
        for (job, plan) in self.scenario.jobs.clone().into_iter().enumerate() {
            self.postgres.now.jobs.push(row(job, plan));
            if let Some(at) = plan.cancelled {
                self.after(at, Event::Cancel { job });
            }
        }
        self.postgres.committed(0);
        for fault in self.scenario.faults.clone() {
            self.after(fault.at, Event::Begin(fault));
        }
    }

    /// All events, until every job is over and nothing is broken any more.
    fn go(&mut self) {
        let longest = self.scenario.jobs.iter().map(|job| job.works).max().unwrap_or(0);
        let settle = 4 * (self.scenario.terms.expiry() + longest) + 600_000;
        let limit = self.scenario.healed + settle;
        while let Some(event) = self.next() {
            if self.now > limit || (self.now > self.scenario.healed && self.all_over()) {
                break;
            }
            self.happen(event);
        }
        if !self.all_over() {
            let open: Vec<String> = self
                .postgres
                .now
                .jobs
                .iter()
                .filter(|row| !row.job.state.is_terminal())
                .map(|row| {
                    format!("{} is {} ({}, {})", row.job.name, row.job.state, row.policy, row.job.sentence)
                })
                .collect();
            self.history.broke(self.now, &format!("not every job ended: {}", open.join("; ")));
        }
        let hindered: Vec<bool> = (0..self.kubes.len()).map(|kube| self.kubes[kube].hindered > 0).collect();
        let (watchdog, now) = (self.scenario.watchdog, self.now);
        self.history.close(now, |run, _| !watchdog && hindered[run.cluster]);
    }

    fn all_over(&self) -> bool {
        self.postgres.now.jobs.iter().all(|row| row.job.state.is_terminal())
    }

    fn happen(&mut self, event: Event) {
        let Some(event) = self.awake(event) else { return };
        match event {
            Event::Beat { replica, beat } => {
                if self.replicas[replica].down == 0 && self.plane_down == 0 {
                    self.hear(replica, &beat);
                }
            }
            Event::Answer { agent, answer } => self.answered(agent, &answer),
            Event::Agent { agent } => self.agent(agent),
            Event::Fencer { kube } => self.fencer(kube),
            Event::Pass { replica } => self.pass(replica),
            Event::Commit { replica, life, intents } => self.commit(replica, life, &intents),
            Event::PodStart { kube, uid } => self.pod_start(kube, uid),
            Event::PodDone { kube, uid } => self.pod_done(kube, uid),
            Event::PodStop { kube, uid } => self.pod_stop(kube, uid),
            Event::Watchdog { kube, uid } => self.watchdog(kube, uid),
            Event::Cancel { job } => self.cancel(job),
            Event::Begin(fault) => self.begin(fault),
            Event::End(fault) => self.end(fault),
            Event::Word { kube } => self.word(kube),
            Event::Accept { agent } => self.accept(agent),
        }
    }

    /// An event of a paused process comes when it goes on.
    fn awake(&mut self, event: Event) -> Option<Event> {
        let until = match &event {
            Event::Beat { replica, .. } | Event::Pass { replica } | Event::Commit { replica, .. } => {
                self.replicas[*replica].paused_until
            }
            Event::Answer { agent, .. } | Event::Agent { agent } => self.agents[*agent].paused_until,
            _ => 0,
        };
        if until <= self.now {
            return Some(event);
        }
        if let Event::Agent { agent } = &event {
            self.agents[*agent].next_wake = until;
        }
        self.after(until - self.now, event);
        None
    }

    fn cancel(&mut self, job: usize) {
        let row = &self.postgres.now.jobs[job];
        let Some(newest) = row.newest().copied() else {
            let attempt = row.id(0);
            self.advance(attempt, 0, Told::CancelRequested { by: "a person", why: "" });
            return;
        };
        let attempt = row.id(newest.number);
        self.advance(attempt, newest.cluster, Told::CancelRequested { by: "a person", why: "" });
        if self.without(Rule::R12)
            && let Ok(proof) = Proof::reported_gone(attempt, None, "", "is not asked")
        {
            self.advance(attempt, newest.cluster, Told::NothingRuns { proof: &proof });
        }
        self.postgres.committed(self.now);
    }
}

fn row(index: usize, plan: scenario::JobPlan) -> JobRow {
    let job = Job {
        id: ids::job(index),
        name: trouble::job_name(index),
        namespace: "default".to_owned(),
        state: JobState::Queued,
        reason: String::new(),
        sentence: "queued".to_owned(),
        started_at: None,
        ended_at: None,
        cancel_requested_at: None,
        cancelled_by: String::new(),
        cancel_reason: String::new(),
        attempt: None,
    };
    let (policy, retries_removed) = (plan.policy, plan.retries_removed);
    JobRow { job, policy, retries_removed, timeline: 1, attempts: Vec::new(), ended: None }
}
