//! An agent: the shell around `core::lease::Holder`, and what it does to its cluster.
//!
//! Owns no rule. What it remembers lies on a disk that may be lost; what it observes waits in a spool until the control
//! plane has committed it.

use std::collections::BTreeMap;

use squadron_core::{
    id::{AttemptId, ClusterId, Epoch},
    lease::{Holder, LeaseObject, Standing, Tick},
};

use crate::fencing::{
    ablation::Rule,
    ids::{self, Clock},
    message::{Answer, Beat, Record, Report, Want},
    scenario::Ms,
    world::{Event, World},
};

/// How soon an unanswered beat is sent again.
const RETRY: Ms = 2_000;

/// What the agent remembers of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    Started {
        uid: u64,
        told_running: bool,
        told_finished: bool,
    },
    /// It is being stopped because the lease ended.
    Fencing {
        uid: u64,
        why: String,
    },
    /// It was here and is gone, or was refused; this was told.
    Over(Report),
}

/// What survives a restart in the same pod.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub memory: BTreeMap<AttemptId, Memory>,
    pub spool: Vec<Record>,
    pub acknowledged: u64,
    /// The end of the lease on this machine's clock.
    pub until: Option<Tick>,
}

/// One agent.
#[derive(Debug)]
pub struct Agent {
    /// The cluster that it lives in, and the id that it claims.
    pub kube: usize,
    pub id: ClusterId,
    pub pod: String,
    pub up: bool,
    pub paused_until: Ms,
    pub clock: Clock,
    pub holder: Option<Holder>,
    pub disk: Disk,
    pub next_seq: u64,
    /// Newest record of this epoch that was acknowledged.
    pub committed: u64,
    /// Newest timeline of the database that was heard of.
    pub timeline: u32,
    /// The control plane forgot records after a failover, and no new epoch was taken yet.
    forgotten: bool,
    /// The set that the cluster should hold, with its order: a generation counts within its timeline.
    pub desired: Option<((u32, u64), Vec<Want>)>,
    pub accepts: Vec<AttemptId>,
    pub refused: bool,
    /// An operator was told that it is refused.
    pub alarmed: bool,
    /// The replica that it talks to, and whether its last beat still waits for an answer.
    pub replica: usize,
    unanswered: bool,
    pub next_beat: Ms,
    pub next_wake: Ms,
}

impl Agent {
    pub fn new(index: usize, id: usize, clock: Clock) -> Agent {
        Agent {
            kube: index,
            id: ids::cluster(id),
            pod: format!("agent-{index}-0"),
            up: false,
            paused_until: 0,
            clock,
            holder: None,
            disk: Disk::default(),
            next_seq: 0,
            committed: 0,
            timeline: 0,
            forgotten: false,
            desired: None,
            accepts: Vec::new(),
            refused: false,
            alarmed: false,
            replica: index,
            unanswered: false,
            next_beat: 0,
            next_wake: Ms::MAX,
        }
    }

    /// Puts a report into the spool.
    pub fn report(&mut self, report: Report) {
        let Some(holder) = &self.holder else { return };
        self.next_seq += 1;
        self.disk.spool.push(Record { epoch: holder.session(), seq: self.next_seq, report });
        self.next_beat = 0;
    }
}

impl World {
    /// A life of the agent begins with the next epoch of its cluster. It needs the API server for that.
    pub fn agent_starts(&mut self, index: usize) -> bool {
        let kube = &mut self.kubes[self.agents[index].kube];
        if kube.destroyed || !kube.answers() {
            return false;
        }
        kube.epoch += 1;
        let (epoch, acknowledged) = (Epoch(kube.epoch), kube.acknowledged);
        let agent = &mut self.agents[index];
        agent.up = true;
        agent.holder = Some(match agent.disk.until {
            Some(until) => Holder::recovered(epoch, until),
            None => Holder::new(epoch),
        });
        agent.disk.acknowledged = agent.disk.acknowledged.max(acknowledged);
        (agent.next_seq, agent.committed, agent.next_beat) = (0, 0, 0);
        (agent.desired, agent.refused, agent.next_wake) = (None, false, Ms::MAX);
        agent.accepts.clear();
        self.say(|| format!("agent {index}: a life begins, epoch {}", epoch.0));
        self.wake_agent(index, 1);
        true
    }

    /// Wakes an agent in `after` milliseconds, unless it wakes earlier anyway.
    pub fn wake_agent(&mut self, agent: usize, after: Ms) {
        let at = self.now + after;
        if at < self.agents[agent].next_wake {
            self.agents[agent].next_wake = at;
            self.after(after, Event::Agent { agent });
        }
    }

    /// One pass of an agent.
    pub fn agent(&mut self, index: usize) {
        if !self.agents[index].up || self.agents[index].next_wake > self.now {
            return;
        }
        self.agents[index].next_wake = Ms::MAX;
        if self.kubes[self.agents[index].kube].answers() {
            self.write_lease_object(index);
            self.act(index);
        }
        self.beat(index);
        let agent = &self.agents[index];
        let mut next = agent.next_beat.saturating_sub(self.now).clamp(1, self.scenario.terms.heartbeat);
        if let Some(Standing::Held { until }) =
            agent.holder.as_ref().map(|holder| holder.standing(agent.clock.read(self.now)))
        {
            let left = until.since(agent.clock.read(self.now));
            next = next.min(agent.clock.real(left).max(1));
        }
        self.wake_agent(index, next);
    }

    fn write_lease_object(&mut self, index: usize) {
        let agent = &self.agents[index];
        let Some(holder) = &agent.holder else { return };
        let now = agent.clock.read(self.now);
        let known = !matches!(holder.standing(now), Standing::Unknown);
        let kube = &mut self.kubes[agent.kube];
        if known {
            kube.lease = Some(LeaseObject { echo: kube.mark, left: holder.left(now) });
        }
        kube.acknowledged = kube.acknowledged.max(agent.disk.acknowledged);
    }

    fn beat(&mut self, index: usize) {
        let now = self.now;
        let agent = &mut self.agents[index];
        if now < agent.next_beat {
            return;
        }
        let tick = agent.clock.read(now);
        let Some(holder) = &mut agent.holder else { return };
        let number = holder.send(tick);
        let beat = Beat {
            agent: index,
            cluster: agent.id,
            epoch: holder.session(),
            pod: agent.pod.clone(),
            acknowledged: agent.disk.acknowledged,
            number,
            applied: agent.desired.as_ref().map_or(0, |((_, generation), _)| *generation),
            accepts: agent.accepts.clone(),
            records: agent.disk.spool.iter().take(20).cloned().collect(),
        };
        agent.next_beat = now + RETRY;
        // A replica that does not answer is left for another.
        agent.replica += usize::from(std::mem::replace(&mut agent.unanswered, true));
        self.send_up(beat);
    }

    /// An answer of the control plane.
    pub fn answered(&mut self, index: usize, answer: &Answer) {
        if !self.agents[index].up {
            return;
        }
        let forgot = {
            let repeats = self.without(Rule::R13);
            let agent = &mut self.agents[index];
            let Some(holder) = &mut agent.holder else { return };
            // What was acknowledged before a failover may be forgotten.
            if holder.session() != answer.epoch || answer.timeline < agent.timeline {
                return;
            }
            if answer.refused {
                agent.refused = true;
                agent.next_beat = self.now + 30_000;
                return;
            }
            agent.unanswered = false;
            let tick = agent.clock.read(self.now);
            let late = if self.without == Some(Rule::R6Sent) {
                holder.sent_at(answer.number).map_or(0, |sent| tick.since(sent))
            } else {
                0
            };
            holder.acknowledged(answer.epoch, answer.number, answer.ttl + late);
            agent.disk.until = holder.until();
            agent.disk.acknowledged = agent.disk.acknowledged.max(answer.total);
            let order = (answer.timeline, answer.generation);
            let newer = agent.desired.as_ref().is_none_or(|(known, _)| *known <= order);
            if newer || repeats {
                agent.desired = Some((order, answer.wants.clone()));
            }
            agent.take_watermarks(answer) || agent.forgotten
        };
        if forgot {
            self.renumber(index);
        } else if answer.wants_inventory && !self.without(Rule::R4) {
            self.tell_inventory(index);
        }
        let spooled = !self.agents[index].disk.spool.is_empty();
        let heartbeat = self.scenario.terms.heartbeat;
        self.agents[index].next_beat = self.now + if spooled { RETRY } else { heartbeat };
        self.wake_agent(index, 1);
    }

    /// The whole list of what exists, once per epoch and question.
    fn tell_inventory(&mut self, index: usize) {
        let pending = |record: &Record| matches!(record.report, Report::Inventory { .. });
        let agent = &self.agents[index];
        let kube = &self.kubes[agent.kube];
        if !kube.answers() || agent.disk.spool.iter().any(pending) {
            return;
        }
        let ours = kube.objects.values().filter(|object| object.marks.cluster == Some(agent.id));
        let held = ours
            .filter_map(|object| Some((object.marks.attempt?, object.uid, kube.phase(object.uid))))
            .collect();
        let fenced = kube.fenced.iter().copied().collect();
        self.agents[index].report(Report::Inventory { held, fenced });
    }

    /// A new epoch in the same process, as soon as the API server gives one: what waits in the spool is numbered anew.
    fn renumber(&mut self, index: usize) {
        let agent = &mut self.agents[index];
        agent.forgotten = !self.kubes[agent.kube].answers();
        if agent.forgotten {
            return;
        }
        let waiting: Vec<Report> = agent.disk.spool.drain(..).map(|record| record.report).collect();
        self.say(|| format!("agent {index}: the control plane forgot records"));
        self.agent_starts(index);
        for report in waiting.into_iter().filter(|report| !matches!(report, Report::Inventory { .. })) {
            self.agents[index].report(report);
        }
    }
}

impl Agent {
    /// Drops what was committed. True if the control plane knows less than it had acknowledged, after a failover.
    fn take_watermarks(&mut self, answer: &Answer) -> bool {
        for (epoch, watermark) in &answer.watermarks {
            self.disk.spool.retain(|record| record.epoch != *epoch || record.seq > *watermark);
        }
        let of = |epoch: Epoch| answer.watermarks.iter().find(|(known, _)| *known == epoch);
        let newest = of(answer.epoch).map_or(0, |(_, watermark)| *watermark);
        let failed_over = answer.timeline > self.timeline;
        self.timeline = self.timeline.max(answer.timeline);
        let gap =
            self.disk.spool.first().is_some_and(|record| {
                of(record.epoch).is_some_and(|(_, watermark)| record.seq > watermark + 1)
            });
        let forgot = failed_over && (newest < self.committed || gap);
        self.committed = self.committed.max(newest);
        forgot
    }
}
