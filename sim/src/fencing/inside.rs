//! Inside a cluster: the fencer and the watchdogs, which act when the agent does not.

use squadron_core::{
    id::AttemptId,
    lease::{Fencing, Policy},
};

use crate::fencing::{
    ablation::Rule,
    ids,
    kube::{Ended, PodState},
    scenario::Ms,
    show,
    world::{Event, World},
};

/// How often a watchdog asks.
const ASKS_EVERY: Ms = 5_000;

impl World {
    /// One look of the fencer: it leaves a mark, reads the Lease object, and stops what must stop.
    pub fn fencer(&mut self, kube: usize) {
        if self.kubes[kube].destroyed || self.without(Rule::R7) {
            return;
        }
        let terms = self.scenario.terms;
        let mut next = terms.look;
        let (up, answers) = (self.kubes[kube].fencer_up, self.kubes[kube].answers());
        if up && answers {
            let cluster = &mut self.kubes[kube];
            let now = cluster.clock.read(self.now);
            let object = cluster.lease;
            cluster.fencer.read(object, &terms, now);
            cluster.mark = cluster.fencer.mark(now);
            match cluster.fencer.judge(&cluster.held(), now) {
                Fencing::Calm { until } => {
                    next = next.min(cluster.clock.real(until.since(now)).max(1));
                }
                Fencing::Stop(stopped) => self.fence(kube, &stopped),
            }
        }
        self.after(next, Event::Fencer { kube });
    }

    fn fence(&mut self, kube: usize, stopped: &[(AttemptId, String)]) {
        for (attempt, why) in stopped {
            let found =
                self.kubes[kube].objects.values().find(|object| object.marks.attempt == Some(*attempt));
            let Some((uid, job, policy)) = found.map(|object| (object.uid, object.job, object.policy)) else {
                continue;
            };
            if self.finished(kube, uid) {
                continue;
            }
            self.say(|| format!("fencer {kube}: stops job {job} attempt {}: {why}", attempt.number));
            let (lasted, survives) = (self.fence_trouble(kube), self.survives());
            self.history.evicted(*attempt, policy, lasted, survives, self.now);
            self.kubes[kube].fenced.insert(*attempt);
            self.delete(kube, uid);
        }
    }

    /// Whether a pod's driver has ended by itself.
    pub fn finished(&self, kube: usize, uid: u64) -> bool {
        self.kubes[kube].pods.get(&uid).is_some_and(|pod| pod.state == PodState::Gone(Ended::Finished))
    }

    /// Notes that an attempt is stopped for its lease.
    pub fn evict(&mut self, kube: usize, attempt: AttemptId, policy: Policy) {
        if kube < self.links.len() {
            let (lasted, survives) = (self.trouble(kube), self.survives());
            self.history.evicted(attempt, policy, lasted, survives, self.now);
        }
    }

    /// A pod's watchdog asks the agent and judges.
    pub fn watchdog(&mut self, kube: usize, uid: u64) {
        let running = self.kubes[kube].pods.get(&uid).is_some_and(|pod| pod.state == PodState::Running);
        if !running || self.kubes[kube].destroyed {
            return;
        }
        if self.dog_agrees(kube, uid) {
            let now = self.kubes[kube].clock.read(self.now);
            let ends = self.kubes[kube].pods.get(&uid).and_then(|pod| pod.dog.as_ref()?.ends());
            let left = ends.map_or(ASKS_EVERY, |ends| self.kubes[kube].clock.real(ends.since(now)));
            self.after(left.clamp(1, ASKS_EVERY), Event::Watchdog { kube, uid });
            return;
        }
        let Some(pod) = self.kubes[kube].pods.get_mut(&uid).filter(|pod| !pod.stopping) else { return };
        (pod.stopping, pod.why) = (true, Ended::Watchdog);
        let (attempt, (at, before)) = (pod.attempt, pod.contact);
        let policy = self.scenario.jobs[ids::job_index(attempt.job)].policy;
        self.say(|| format!("watchdog {kube}: ends {}", show(attempt)));
        let (lasted, survives) = (self.now - at + before, self.survives());
        self.history.evicted(attempt, policy, lasted, survives, self.now);
        let grace = self.scenario.terms.grace;
        let delay = self.between(0, grace + 1);
        self.after(delay, Event::PodStop { kube, uid });
    }

    /// Whether the pod's driver may run now; the watchdog asks the agent if it can reach it.
    pub fn dog_agrees(&mut self, kube: usize, uid: u64) -> bool {
        let now = self.now;
        let index = ids::index_of(self.agents[self.kubes[kube].agent].id);
        let trouble = self.trouble(index);
        let cluster = &mut self.kubes[kube];
        let agent = &self.agents[cluster.agent];
        let reachable = agent.up && agent.paused_until <= now && cluster.node_cut == 0;
        let left = agent.holder.as_ref().map(|holder| holder.left(agent.clock.read(now)));
        let tick = cluster.clock.read(now);
        let Some(pod) = cluster.pods.get_mut(&uid) else { return true };
        let Some(dog) = pod.dog.as_mut() else { return true };
        if let (true, Some(left)) = (reachable, left) {
            let question = dog.ask(tick);
            dog.answered(question, left);
            pod.contact = (now, trouble);
        }
        dog.allows(tick)
    }
}
