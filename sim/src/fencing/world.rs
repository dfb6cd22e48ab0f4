//! World: all processes of a fleet, their clocks, and the events between them, in virtual time.
//!
//! Owns the order of events: by time, then by the order in which they were put in, so that a seed is one run. A paused
//! process keeps its events until it goes on; a dead one never sees them.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{
    fencing::{
        ablation::Rule,
        agent::Agent,
        fault::{Fault, Kind},
        history::History,
        ids::{self, Clock},
        kube::Kube,
        leader::{Intent, Replica},
        message::{Answer, Beat},
        postgres::Postgres,
        scenario::{Ms, Scenario},
    },
    rng::Rng,
};

/// Something that happens.
#[derive(Debug)]
pub enum Event {
    /// A message reaches a replica of the control plane.
    Beat {
        replica: usize,
        beat: Box<Beat>,
    },
    /// A message reaches an agent.
    Answer {
        agent: usize,
        answer: Box<Answer>,
    },
    Agent {
        agent: usize,
    },
    Fencer {
        kube: usize,
    },
    Pass {
        replica: usize,
    },
    /// A leader's decisions reach the database.
    Commit {
        replica: usize,
        life: u32,
        intents: Vec<Intent>,
    },
    PodStart {
        kube: usize,
        uid: u64,
    },
    PodDone {
        kube: usize,
        uid: u64,
    },
    PodStop {
        kube: usize,
        uid: u64,
    },
    Watchdog {
        kube: usize,
        uid: u64,
    },
    Cancel {
        job: usize,
    },
    Begin(Fault),
    End(Fault),
    /// An operator says what became of a destroyed cluster.
    Word {
        kube: usize,
    },
    /// An operator looks at an agent that was refused.
    Accept {
        agent: usize,
    },
}

struct Queued {
    at: Ms,
    number: u64,
    event: Event,
}

impl Ord for Queued {
    fn cmp(&self, other: &Queued) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Queued) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Queued) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Queued {}

/// A way that works or does not.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// When the last good stretch ended, and when the present one began.
    until: Ms,
    since: Option<Ms>,
}

/// The link of one cluster, as it is now.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// From the agent to the database.
    renewals: Way,
    /// From the database over agent and API server to the fencer.
    fence: Way,
}

impl Way {
    const NEW: Way = Way { until: 0, since: Some(0) };

    fn turn(&mut self, good: bool, now: Ms) {
        match (good, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(since)) => {
                if now - since >= GOOD || self.until == 0 {
                    self.until = now;
                }
                self.since = None;
            }
            _ => {}
        }
    }

    fn trouble(&self, now: Ms) -> Ms {
        let good = self.since.is_some_and(|since| now - since >= GOOD || since == 0);
        if good { 0 } else { now - self.until }
    }
}

/// A stretch of working links that surely lets a renewal through, however many messages are lost.
const GOOD: Ms = 20_000;

/// Everything there is.
pub struct World {
    pub now: Ms,
    pub rng: Rng,
    pub scenario: Scenario,
    pub without: Option<Rule>,
    pub postgres: Postgres,
    pub replicas: Vec<Replica>,
    pub plane_down: u32,
    pub agents: Vec<Agent>,
    pub kubes: Vec<Kube>,
    pub links: Vec<Link>,
    pub history: History,
    /// Cluster of each job that was lost, and when.
    pub lost: Vec<Option<Ms>>,
    pub uids: u64,
    trace: Option<Vec<String>>,
    queue: BinaryHeap<Queued>,
    number: u64,
}

impl World {
    pub fn new(mut rng: Rng, scenario: Scenario, without: Option<Rule>, trace: bool) -> World {
        let replicated = scenario.has(Kind::Failover);
        let clusters = scenario.clusters;
        let replicas =
            (0..scenario.replicas).map(|index| Replica::new(index, Clock::draw(&mut rng))).collect();
        let agents = (0..clusters).map(|index| Agent::new(index, index, Clock::draw(&mut rng))).collect();
        let kubes =
            (0..clusters).map(|index| Kube::new(index, Clock::draw(&mut rng), &scenario.terms)).collect();
        let jobs = scenario.jobs.len();
        World {
            now: 0,
            rng,
            without,
            postgres: Postgres::new(clusters, replicated),
            replicas,
            plane_down: 0,
            agents,
            kubes,
            links: vec![Link { renewals: Way::NEW, fence: Way::NEW }; clusters],
            history: History::default(),
            lost: vec![None; jobs],
            uids: 0,
            trace: trace.then(Vec::new),
            queue: BinaryHeap::new(),
            number: 0,
            scenario,
        }
    }

    /// Puts an event `after` milliseconds from now.
    pub fn after(&mut self, after: Ms, event: Event) {
        self.number += 1;
        self.queue.push(Queued { at: self.now + after, number: self.number, event });
    }

    /// The next event; time goes on to it.
    pub fn next(&mut self) -> Option<Event> {
        let next = self.queue.pop()?;
        self.now = next.at;
        Some(next.event)
    }

    /// Whether a rule is left out.
    pub fn without(&self, rule: Rule) -> bool {
        self.without == Some(rule)
    }

    /// Notes a line, if anybody reads it.
    pub fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let text = line();
            trace
                .push(format!("{:>9.3} s  {text}", std::time::Duration::from_millis(self.now).as_secs_f64()));
        }
    }

    /// All lines.
    pub fn trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }

    /// A number from `from` to below `to`.
    pub fn between(&mut self, from: Ms, to: Ms) -> Ms {
        from + self.rng.below(to.saturating_sub(from).max(1))
    }

    /// Sends an agent's beat to its replica, or to the next that takes connections.
    pub fn send_up(&mut self, beat: Beat) {
        let up: Vec<usize> =
            (0..self.replicas.len()).filter(|&replica| self.replicas[replica].down == 0).collect();
        if up.is_empty() || self.plane_down > 0 {
            return;
        }
        let replica = up[self.agents[beat.agent].replica % up.len()];
        let link = ids::index_of(beat.cluster);
        self.carry(link, true, move || Event::Beat { replica, beat: Box::new(beat.clone()) });
    }

    /// Sends an answer to an agent.
    pub fn send_down(&mut self, agent: usize, answer: &Answer) {
        let link = ids::index_of(self.agents[agent].id);
        let answer = answer.clone();
        self.carry(link, false, move || Event::Answer { agent, answer: Box::new(answer.clone()) });
    }

    /// Carries a message over a link: perhaps not, perhaps twice, perhaps late.
    fn carry(&mut self, link: usize, up: bool, event: impl Fn() -> Event) {
        let troubles: Vec<Fault> = self.troubles(link, up).copied().collect();
        let cut = troubles.iter().any(|fault| fault.kind == Kind::Cut);
        if cut || self.rng.below(1_000) < self.scenario.lost_permille {
            return;
        }
        let held = troubles.iter().map(|fault| fault.until).max().unwrap_or(self.now) - self.now;
        let copies = if self.rng.below(1_000) < self.scenario.twice_permille { 2 } else { 1 };
        for _ in 0..copies {
            let slow = self.scenario.slow;
            let late = if held > 0 { self.between(0, 2_000) } else { 0 };
            let delay = held + late + self.between(5, 5 + slow);
            self.after(delay, event());
        }
    }

    /// The cuts and holes that a message meets now; some close one direction only.
    fn troubles(&self, link: usize, up: bool) -> impl Iterator<Item = &Fault> {
        let now = self.now;
        self.scenario.faults.iter().filter(move |fault| {
            let open = match fault.draw % 4 {
                0 => up,
                1 => !up,
                _ => false,
            };
            let kind = matches!(fault.kind, Kind::Cut | Kind::BlackHole);
            kind && fault.cluster == link && fault.at <= now && now < fault.until && !open
        })
    }

    /// Looks again at which links work, after something changed.
    pub fn review(&mut self) {
        let now = self.now;
        let plane = self.plane_down == 0
            && !self.postgres.down
            && self.replicas.iter().any(|replica| replica.down == 0 && replica.paused_until <= now);
        for index in 0..self.links.len() {
            let agent = &self.agents[index];
            let good = plane
                && agent.up
                && agent.paused_until <= now
                && self.troubles(index, true).next().is_none()
                && self.troubles(index, false).next().is_none();
            let kube = &self.kubes[index];
            let fence = good && kube.answers() && kube.fencer_up;
            self.links[index].renewals.turn(good, now);
            self.links[index].fence.turn(fence, now);
        }
    }

    /// How long the cluster could not surely renew its lease, up to now.
    pub fn trouble(&self, cluster: usize) -> Ms {
        self.links[cluster].renewals.trouble(self.now)
    }

    /// How long its fencer could not surely hear of a renewal.
    pub fn fence_trouble(&self, cluster: usize) -> Ms {
        self.links.get(cluster).map_or(Ms::MAX, |link| link.fence.trouble(self.now))
    }

    /// When the present or last trouble of a cluster began.
    pub fn trouble_began(&self, cluster: usize) -> Ms {
        self.links[cluster].renewals.until
    }

    /// A trouble that is shorter than this ends no attempt.
    pub fn survives(&self) -> Ms {
        let terms = self.scenario.terms;
        terms.survives().saturating_sub(if self.lossy() { 2 * terms.heartbeat } else { 0 })
    }

    /// Whether many messages get lost without any fault of a link; a paused replica swallows what reaches it.
    pub fn lossy(&self) -> bool {
        let scenario = &self.scenario;
        scenario.lost_permille > 0 || scenario.slow > 100 || scenario.has(Kind::ReplicaPause)
    }
}
