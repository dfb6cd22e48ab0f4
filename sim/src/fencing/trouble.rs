//! Trouble: what each fault does to the world when it begins and when it ends.

use squadron_core::{
    id::AttemptId,
    lease::{Marks, Policy, Word},
};

use crate::fencing::{
    agent::{Agent, Disk},
    fault::{Fault, Kind},
    ids::{self, Clock},
    kube::{Ended, Kube, Object, PodState},
    scenario::{Ms, pick},
    world::{Event, World},
};

/// How long an upgrade of the agent takes.
const UPGRADE: Ms = 5_000;

impl World {
    pub fn begin(&mut self, fault: Fault) {
        let Fault { kind, cluster, replica, draw, until, .. } = fault;
        self.say(|| format!("fault {} begins ({cluster}, {replica})", kind.word()));
        match kind {
            Kind::AgentCrash | Kind::AgentUpgrade => self.agents[cluster].up = false,
            Kind::AgentPause => {
                let agent = &mut self.agents[cluster];
                agent.paused_until = agent.paused_until.max(until);
            }
            Kind::Cut | Kind::BlackHole => {}
            Kind::PlaneDown => self.plane_down += 1,
            Kind::PostgresDown => self.postgres.down = true,
            Kind::ApiDown => self.kubes[cluster].api_down += 1,
            Kind::NodeCut => self.kubes[cluster].node_cut += 1,
            Kind::Destroyed => self.destroy(cluster, draw),
            Kind::ReplicaPause if draw.is_multiple_of(2) => {
                let replica = &mut self.replicas[replica];
                replica.paused_until = replica.paused_until.max(until);
            }
            // Between a decision and its commit is the worst moment.
            Kind::ReplicaPause => self.replicas[replica].pauses_next = Some(until),
            Kind::ReplicaCrash => self.replicas[replica].down += 1,
            Kind::ClockJump => {
                self.replicas[replica].wall += if draw.is_multiple_of(2) { 3_600_000 } else { -3_600_000 }
            }
            Kind::Failover => {
                self.postgres.fail_over(self.now, draw % 2_000);
                self.say(|| "postgres: a replica takes over".to_owned());
            }
            Kind::Copy => return self.copy(fault),
            Kind::HumanDeletes => self.human_deletes(cluster),
            Kind::HumanTakesName => self.human_takes_name(cluster, draw),
            Kind::FencerCrash => self.kubes[cluster].fencer_up = false,
        }
        self.review();
        let lasts = match kind {
            Kind::AgentUpgrade => UPGRADE,
            _ => until.saturating_sub(self.now),
        };
        self.after(lasts, Event::End(fault));
    }

    pub fn end(&mut self, fault: Fault) {
        let Fault { kind, cluster, replica, draw, .. } = fault;
        match kind {
            Kind::AgentCrash => return self.agent_returns(fault, !draw.is_multiple_of(3)),
            Kind::AgentUpgrade => return self.agent_returns(fault, true),
            Kind::PlaneDown => self.plane_returns(),
            Kind::PostgresDown => self.postgres.down = false,
            Kind::ApiDown => self.api_returns(cluster),
            Kind::NodeCut => self.node_returns(cluster),
            Kind::ReplicaCrash => self.replica_returns(replica),
            Kind::ReplicaPause => self.replicas[replica].pauses_next = None,
            Kind::FencerCrash => {
                self.kubes[cluster].fencer_up = true;
                self.kubes[cluster].hindered = self.now;
            }
            _ => {}
        }
        self.say(|| format!("fault {} ends ({cluster}, {replica})", kind.word()));
        self.review();
    }

    /// A new life; a new pod has no disk of the old one.
    fn agent_returns(&mut self, fault: Fault, same_disk: bool) {
        let cluster = fault.cluster;
        if self.agents[cluster].up {
            return;
        }
        if !self.kubes[cluster].answers() {
            self.after(2_000, Event::End(fault));
            return;
        }
        if !same_disk {
            let clock = Clock::draw(&mut self.rng);
            let agent = &mut self.agents[cluster];
            agent.disk = Disk::default();
            agent.clock = clock;
        }
        let life = self.kubes[cluster].epoch + 1;
        self.agents[cluster].pod = format!("agent-{cluster}-{life}");
        self.agent_starts(cluster);
        self.review();
    }

    fn plane_returns(&mut self) {
        self.plane_down -= 1;
        for replica in 0..self.replicas.len() {
            let clock = Clock::draw(&mut self.rng);
            self.replicas[replica].restart(clock);
        }
    }

    fn replica_returns(&mut self, replica: usize) {
        let clock = Clock::draw(&mut self.rng);
        self.replicas[replica].restart(clock);
        self.replicas[replica].down -= 1;
    }

    fn api_returns(&mut self, cluster: usize) {
        self.kubes[cluster].api_down -= 1;
        self.kubes[cluster].hindered = self.now;
        self.wake_agent(self.kubes[cluster].agent, 200);
    }

    /// The kubelet hears again what must go.
    fn node_returns(&mut self, cluster: usize) {
        self.kubes[cluster].node_cut -= 1;
        self.kubes[cluster].hindered = self.now;
        let deleted: Vec<u64> = self.kubes[cluster]
            .objects
            .values()
            .filter(|object| object.deleting)
            .map(|object| object.uid)
            .collect();
        for uid in deleted {
            self.kubelet_stops(cluster, uid);
        }
        self.wake_agent(self.kubes[cluster].agent, 200);
    }

    /// Everything in the cluster ends at once. An operator says so later.
    fn destroy(&mut self, cluster: usize, draw: u64) {
        // One cluster stays, or no job could ever end.
        let left = self.kubes[..self.links.len()].iter().filter(|kube| !kube.destroyed).count();
        if left < 2 || self.kubes[cluster].destroyed {
            return;
        }
        self.kubes[cluster].destroyed = true;
        self.agents[cluster].up = false;
        let (now, mut ended) = (self.now, Vec::new());
        for pod in self.kubes[cluster].pods.values_mut() {
            if pod.state == PodState::Running {
                ended.push(pod.attempt);
            }
            pod.state = PodState::Gone(Ended::Killed);
        }
        for attempt in ended {
            self.history.ended(attempt, cluster, now);
        }
        self.after(30_000 + draw % 300_000, Event::Word { kube: cluster });
    }

    /// An operator vouches for a destroyed cluster.
    pub fn word(&mut self, kube: usize) {
        if let Ok(word) = Word::new("an operator", "the machines were returned") {
            self.say(|| format!("operator: cluster {kube} is gone"));
            self.postgres.now.clusters[kube].word = Some(word);
            self.postgres.committed(self.now);
        }
    }

    /// A refused agent alarms an operator, once.
    pub fn ask_operator(&mut self, agent: usize) {
        if !std::mem::replace(&mut self.agents[agent].alarmed, true) {
            let after = self.between(60_000, 180_000);
            self.after(after, Event::Accept { agent });
        }
    }

    /// The operator accepts an agent that lives in the true cluster, and leaves a copy refused.
    pub fn accept(&mut self, agent: usize) {
        let it = &mut self.agents[agent];
        it.alarmed = false;
        let Some(holder) = it.holder.as_ref().filter(|_| it.up && it.kube == ids::index_of(it.id)) else {
            return;
        };
        let in_charge = &mut self.postgres.now.clusters[ids::index_of(it.id)].in_charge;
        (in_charge.epoch, in_charge.pod_uid) = (holder.session(), it.pod.clone());
        self.agents[agent].refused = false;
        self.say(|| format!("operator: accepts agent {agent}"));
    }

    /// A copy of the cluster as it was some leases ago, with its Secret, comes up beside it.
    fn copy(&mut self, fault: Fault) {
        let (cluster, draw) = (fault.cluster, fault.draw);
        let terms = self.scenario.terms;
        let past = 2 * (terms.ttl / terms.heartbeat) + 8 + draw % 5;
        let total = self.postgres.now.clusters[cluster].in_charge.renewals;
        if total <= past {
            // There is no past that old yet.
            if self.now < self.scenario.healed + 20 * terms.ttl {
                self.after(terms.heartbeat, Event::Begin(fault));
            }
            return;
        }
        let (index, clock) = (self.agents.len(), Clock::draw(&mut self.rng));
        let mut kube = Kube::new(index, clock, &terms);
        kube.epoch = (self.kubes[cluster].epoch + draw % 4).saturating_sub(2);
        kube.acknowledged = total - past;
        self.kubes.push(kube);
        let mut agent = Agent::new(index, cluster, clock);
        agent.pod = format!("copy-{index}");
        agent.kube = self.kubes.len() - 1;
        self.agents.push(agent);
        self.after(1, Event::Fencer { kube: self.kubes.len() - 1 });
        self.agent_starts(index);
    }

    fn human_deletes(&mut self, cluster: usize) {
        let objects: Vec<(u64, Option<AttemptId>)> =
            self.kubes[cluster].objects.values().map(|object| (object.uid, object.marks.attempt)).collect();
        if objects.is_empty() || !self.kubes[cluster].answers() {
            return;
        }
        let (uid, attempt) = objects[pick(&mut self.rng, objects.len())];
        self.kubes[cluster].human_deleted.extend(attempt);
        self.say(|| format!("human: deletes object {uid} in cluster {cluster}"));
        self.delete(cluster, uid);
        self.wake_agent(self.kubes[cluster].agent, 200);
    }

    fn human_takes_name(&mut self, cluster: usize, draw: u64) {
        let job = pick(&mut self.rng, self.scenario.jobs.len());
        let name = squadron_core::attempt::object_name(
            &job_name(job),
            ids::job(job),
            1 + u32::from(draw.is_multiple_of(2)),
        );
        if self.kubes[cluster].objects.contains_key(&name) {
            return;
        }
        self.uids += 1;
        let marks = Marks { uid: self.uids.to_string(), ..Marks::default() };
        let object = Object { marks, uid: self.uids, policy: Policy::Wait, job, deleting: false };
        self.kubes[cluster].objects.insert(name, object);
    }
}

/// The manifest's name of a job.
pub fn job_name(index: usize) -> String {
    format!("train-{index}")
}
