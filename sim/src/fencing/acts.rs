//! What an agent does to its cluster: it compares what is wanted with what exists, and obeys its lease.

use squadron_core::{
    id::AttemptId,
    lease::{Found, Grant, NotStarted, compare},
};

use crate::fencing::{
    ablation::Rule,
    agent::Memory,
    kube::{Ended, Object, PodState},
    message::{Report, Want},
    show,
    world::World,
};

impl World {
    /// One comparison. The API server answers.
    pub fn act(&mut self, index: usize) {
        if self.agents[index].refused {
            return;
        }
        self.stop_for_the_lease(index);
        self.tell_what_happened(index);
        let Some((_, wants)) = self.agents[index].desired.clone() else { return };
        self.agents[index].accepts.clear();
        for want in &wants {
            self.hold(index, want);
        }
        self.let_go(index, &wants);
        self.tell_what_happened(index);
    }

    fn stop_for_the_lease(&mut self, index: usize) {
        let (agent, terms) = (&self.agents[index], self.scenario.terms);
        let kube = agent.kube;
        let Some(holder) = &agent.holder else { return };
        let now = agent.clock.read(self.now);
        let stopped = holder.must_stop(&self.kubes[kube].held(), &terms, now);
        for (attempt, why) in stopped {
            let Some((uid, policy)) =
                self.object_of(index, attempt).map(|object| (object.uid, object.policy))
            else {
                continue;
            };
            if self.finished(kube, uid) {
                continue;
            }
            self.say(|| format!("agent {index}: stops {}: {why}", show(attempt)));
            self.evict(kube, attempt, policy);
            self.agents[index].disk.memory.insert(attempt, Memory::Fencing { uid, why });
            self.delete(kube, uid);
        }
    }

    fn object_of(&self, index: usize, attempt: AttemptId) -> Option<&Object> {
        let (kube, id) = (self.agents[index].kube, self.agents[index].id);
        let ours =
            |object: &&Object| object.marks.attempt == Some(attempt) && object.marks.cluster == Some(id);
        self.kubes[kube].objects.values().find(ours)
    }

    /// Tells what became of everything that is remembered.
    fn tell_what_happened(&mut self, index: usize) {
        let remembered: Vec<(AttemptId, Memory)> =
            self.agents[index].disk.memory.iter().map(|(id, memory)| (*id, memory.clone())).collect();
        for (attempt, memory) in remembered {
            match memory {
                Memory::Started { uid, told_running, told_finished } => {
                    self.tell_started(index, attempt, uid, told_running, told_finished);
                }
                Memory::Fencing { why, uid } => {
                    if self.object_of(index, attempt).is_none() {
                        self.over(index, attempt, Report::Fenced { attempt, why });
                    } else {
                        self.delete(self.agents[index].kube, uid);
                    }
                }
                Memory::Over(_) => {}
            }
        }
    }

    fn tell_started(
        &mut self,
        index: usize,
        attempt: AttemptId,
        uid: u64,
        told_running: bool,
        told_finished: bool,
    ) {
        let kube = self.agents[index].kube;
        let exists = self.object_of(index, attempt).is_some_and(|object| object.uid == uid);
        if !exists {
            let fenced = self.kubes[kube].fenced.contains(&attempt);
            let why = "the fencer stopped it while the agent was away".to_owned();
            let report = if fenced { Report::Fenced { attempt, why } } else { Report::Removed { attempt } };
            return self.over(index, attempt, report);
        }
        if self.kubes[kube].node_cut > 0 {
            return;
        }
        let state = self.kubes[kube].pods.get(&uid).map(|pod| pod.state);
        let running = state == Some(PodState::Running) && !told_running;
        let finished = state == Some(PodState::Gone(Ended::Finished)) && !told_finished;
        if state == Some(PodState::Gone(Ended::Watchdog)) {
            let why = "its watchdog ended it when the lease was over".to_owned();
            self.agents[index].disk.memory.insert(attempt, Memory::Fencing { uid, why });
            self.delete(kube, uid);
            return self.tell_what_happened(index);
        }
        if running || finished {
            let report = if running { Report::Running { attempt } } else { Report::Finished { attempt } };
            self.agents[index].report(report);
            let memory = Memory::Started {
                uid,
                told_running: told_running || running,
                told_finished: told_finished || finished,
            };
            self.agents[index].disk.memory.insert(attempt, memory);
        }
    }

    fn over(&mut self, index: usize, attempt: AttemptId, report: Report) {
        self.say(|| format!("agent {index}: {report:?}"));
        self.agents[index].report(report.clone());
        self.agents[index].disk.memory.insert(attempt, Memory::Over(report));
    }

    /// An attempt that should be here.
    fn hold(&mut self, index: usize, want: &Want) {
        let (attempt, kube) = (want.grant.attempt, self.agents[index].kube);
        let memory = self.agents[index].disk.memory.get(&attempt).cloned();
        if let (Some(Memory::Over(told)), false) = (&memory, self.without(Rule::R14)) {
            // Still wanted although everything was committed: the database forgot it.
            if self.agents[index].disk.spool.is_empty() {
                self.agents[index].report(told.clone());
            }
            return;
        }
        let known = match &memory {
            Some(Memory::Started { uid, .. } | Memory::Fencing { uid, .. }) => Some(*uid),
            _ => want.uid,
        };
        match self.kubes[kube].objects.get(&want.name).cloned() {
            Some(object) => self.name_is_taken(index, want, &object, known, memory.is_some()),
            None if memory.is_none() || matches!(memory, Some(Memory::Over(_))) => self.start(index, want),
            None => {}
        }
    }

    /// An object has the name already (R3).
    fn name_is_taken(
        &mut self,
        index: usize,
        want: &Want,
        object: &Object,
        known: Option<u64>,
        remembered: bool,
    ) {
        let attempt = want.grant.attempt;
        let known = known.map(|uid| uid.to_string());
        let id = self.agents[index].id;
        let found = match compare(attempt, id, known.as_deref(), &object.marks) {
            _ if self.without(Rule::R3) => Found::Ours,
            found => found,
        };
        match found {
            Found::Ours if remembered => {}
            Found::Ours => {
                if object.marks.attempt != Some(attempt) {
                    let what = format!("a foreign object is taken for attempt {}", attempt.number);
                    self.history.broke(self.now, &what);
                }
                self.remember(index, attempt, object.uid);
            }
            Found::Stale(why) | Found::Foreign(why) => {
                self.over(index, attempt, Report::Refused { attempt, why });
            }
        }
    }

    fn remember(&mut self, index: usize, attempt: AttemptId, uid: u64) {
        let memory = Memory::Started { uid, told_running: false, told_finished: false };
        self.agents[index].disk.memory.insert(attempt, memory);
        self.agents[index].report(Report::Created { attempt, uid });
    }

    /// Nothing has the name: the attempt starts, is accepted, or is told to be gone.
    fn start(&mut self, index: usize, want: &Want) {
        let (attempt, agent) = (want.grant.attempt, &self.agents[index]);
        let Some(holder) = &agent.holder else { return };
        let (kube, id, now) = (agent.kube, agent.id, agent.clock.read(self.now));
        let ttl = self.scenario.terms.ttl;
        let again = self.without(Rule::R14).then_some(Grant { created: false, ..want.grant });
        match holder.may_start(&again.unwrap_or(want.grant), ttl, now) {
            Ok(()) => {
                self.say(|| format!("agent {index}: creates {}", want.name));
                let uid = self.create(kube, &want.name, attempt, want.job, id);
                self.remember(index, attempt, uid);
            }
            Err(NotStarted::NotAccepted) => {
                self.agents[index].accepts.push(attempt);
                self.agents[index].next_beat = self.agents[index].next_beat.min(self.now + 500);
            }
            Err(NotStarted::CreatedBefore) => {
                self.over(index, attempt, gone(self.kubes[kube].fenced.contains(&attempt), attempt));
            }
            Err(NotStarted::Late | NotStarted::NoLease) => {}
        }
    }

    /// What exists and is not wanted goes.
    fn let_go(&mut self, index: usize, wants: &[Want]) {
        let (kube, id) = (self.agents[index].kube, self.agents[index].id);
        let unwanted: Vec<(u64, Option<AttemptId>)> = self.kubes[kube]
            .objects
            .values()
            .filter(|object| object.marks.cluster == Some(id))
            .filter(|object| wants.iter().all(|want| Some(want.grant.attempt) != object.marks.attempt))
            .map(|object| (object.uid, object.marks.attempt))
            .collect();
        for (uid, attempt) in unwanted {
            self.say(|| format!("agent {index}: lets go of object {uid}"));
            if let Some(attempt) = attempt {
                let memory = Memory::Started { uid, told_running: true, told_finished: true };
                self.agents[index].disk.memory.entry(attempt).or_insert(memory);
            }
            self.delete(kube, uid);
        }
    }
}

fn gone(fenced: bool, attempt: AttemptId) -> Report {
    let why = "it was stopped for its lease while the agent was away".to_owned();
    if fenced { Report::Fenced { attempt, why } } else { Report::Removed { attempt } }
}
