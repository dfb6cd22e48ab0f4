//! The leader: the passes of a replica that holds the duty, and the commits of what they decided.
//!
//! Owns no rule: who leads is judged by `lease::Race`, what silence means by `lease::judge`. A pass reads, then its
//! transactions come a little later; a pause may lie between (T7).

use squadron_core::{
    attempt::{AttemptState, Event as Told, reason},
    id::AttemptId,
    job::JobState,
    lease::{
        Duty, Ears, Failover, Live, Policy, Proof, ProofKind, Race, Renewal, Row, Silence, Told as Since,
        Verdict, judge,
    },
};

use crate::fencing::{
    ablation::Rule,
    ids::{self, Clock},
    postgres::JobRow,
    scenario::{Ms, pick},
    world::{Event, World},
};

/// How often a replica looks.
pub const PASS_EVERY: Ms = 1_000;
/// How long a duty stands still before another replica takes it.
const PATIENCE: u64 = 4_000;
/// How long a finished job's object is kept.
const RETENTION: Ms = 120_000;

/// One control plane.
#[derive(Debug)]
pub struct Replica {
    pub index: usize,
    pub down: u32,
    pub life: u32,
    pub paused_until: Ms,
    /// It will stand still until then, as soon as it has decided something.
    pub pauses_next: Option<Ms>,
    pub clock: Clock,
    /// How wrong its wall clock is, in milliseconds.
    pub wall: i64,
    race: Race,
    ears: Ears,
    /// The row under which it leads, and since when.
    held: Option<Row>,
    led_since: Ms,
}

/// Something a pass decided.
#[derive(Clone, Debug)]
pub struct Intent {
    /// The term under which it was decided.
    held: Row,
    attempt: AttemptId,
    cluster: usize,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    /// Close the attempt, if nothing was heard since.
    Close {
        proof: Proof,
        renewal: Renewal,
        accepted: bool,
    },
    Tell(Verdict),
    Heard,
    NeverCreated,
    LetGo,
    Assign,
}

impl Replica {
    pub fn new(index: usize, clock: Clock) -> Replica {
        Replica {
            index,
            down: 0,
            life: 0,
            paused_until: 0,
            pauses_next: None,
            clock,
            wall: 0,
            race: Race::default(),
            ears: Ears::default(),
            held: None,
            led_since: 0,
        }
    }

    /// The process starts anew: it remembers nothing.
    pub fn restart(&mut self, clock: Clock) {
        *self = Replica {
            life: self.life + 1,
            down: self.down,
            wall: self.wall,
            ..Replica::new(self.index, clock)
        };
    }
}

impl World {
    /// One pass.
    pub fn pass(&mut self, replica: usize) {
        self.after(PASS_EVERY, Event::Pass { replica });
        if self.replicas[replica].down > 0 || self.plane_down > 0 || self.postgres.down {
            return;
        }
        let Some(held) = self.lead(replica) else { return };
        let terms = self.scenario.terms;
        let rows = self
            .postgres
            .now
            .clusters
            .iter()
            .enumerate()
            .map(|(index, row)| (ids::cluster(index), row.renewal))
            .collect();
        let now = self.replicas[replica].clock.read(self.now);
        self.replicas[replica].ears.look(&rows, &terms, now);
        let intents = self.decide(replica, held);
        if !intents.is_empty() {
            let life = self.replicas[replica].life;
            let slow = if self.rng.below(20) == 0 { 3_000 } else { 30 };
            let delay = self.between(1, slow);
            self.after(delay, Event::Commit { replica, life, intents });
            if let Some(until) = self.replicas[replica].pauses_next.take() {
                self.replicas[replica].paused_until = until;
                self.review();
            }
        }
    }

    /// Takes or keeps the duty (R10).
    fn lead(&mut self, replica: usize) -> Option<Row> {
        let (row, history, at) = (self.postgres.now.term, u64::from(self.postgres.timeline), self.now);
        let me = &mut self.replicas[replica];
        let now = me.clock.read(at);
        match me.race.look(row, replica as u64 + 1, history, PATIENCE, now) {
            Duty::Wait => me.held = None,
            Duty::Keep(next) => {
                self.postgres.now.term = next;
                if me.held.is_none_or(|held| !held.stands(&next, history)) {
                    (me.ears, me.led_since) = (Ears::default(), at);
                }
                me.held = Some(next);
            }
            Duty::Take(next) => {
                self.postgres.now.term = next;
                (me.ears, me.led_since, me.held) = (Ears::default(), at, Some(next));
                self.say(|| format!("replica {replica}: leads with term {}", next.term));
            }
        }
        self.replicas[replica].held
    }

    fn silence(&self, replica: usize, cluster: usize) -> Silence {
        if self.without(Rule::R9) {
            let row = &self.postgres.now.clusters[cluster];
            let wall = ids::wall(self.now, self.replicas[replica].wall).millis();
            let counted = u64::try_from(wall - row.renewed_wall).unwrap_or(0);
            let counted = if row.renewed_wall == 0 { 0 } else { counted };
            return Silence { counted, elapsed: counted, ttl: row.renewal.ttl };
        }
        self.replicas[replica].ears.silence(ids::cluster(cluster)).unwrap_or_default()
    }

    /// What the clusters have told since the failover; nothing before there was one.
    pub fn failover(&self, replica: usize) -> Option<Failover> {
        (self.postgres.timeline > 1).then(|| {
            let clusters = self.postgres.now.clusters.iter().enumerate().map(|(index, row)| {
                let inventory = row.inventory.1 == self.postgres.timeline;
                let silence = self.silence(replica, index);
                (ids::cluster(index), Since { inventory, vouched: row.word.is_some(), silence })
            });
            Failover { clusters: clusters.collect() }
        })
    }

    fn decide(&mut self, replica: usize, held: Row) -> Vec<Intent> {
        let failover = self.failover(replica);
        let mut intents = Vec::new();
        for index in 0..self.postgres.now.jobs.len() {
            let row = &self.postgres.now.jobs[index];
            let before = failover.as_ref().filter(|_| row.timeline < self.postgres.timeline);
            let decided = match row.newest() {
                Some(newest) if newest.live => self.judge_live(replica, row, before),
                Some(newest) if newest.desired && row.ended.is_some_and(|at| at + RETENTION <= self.now) => {
                    Some((newest.cluster, Act::LetGo))
                }
                _ if row.job.state == JobState::Queued && self.scenario.jobs[index].submitted <= self.now => {
                    let free = before
                        .is_none_or(|failover| failover.may_start(row.policy, &self.scenario.terms).is_ok());
                    if free {
                        self.choose(replica, index).map(|cluster| (cluster, Act::Assign))
                    } else {
                        None
                    }
                }
                _ => None,
            };
            let row = &self.postgres.now.jobs[index];
            let number = row.newest().map_or(0, |newest| newest.number);
            intents.extend(decided.map(|(cluster, act)| Intent {
                held,
                attempt: row.id(number),
                cluster,
                act,
            }));
        }
        intents
    }

    /// What the silence of its cluster means for a live attempt.
    fn judge_live(&self, replica: usize, row: &JobRow, failover: Option<&Failover>) -> Option<(usize, Act)> {
        let newest = row.newest()?;
        let cluster = newest.cluster;
        let said = &self.postgres.now.clusters[cluster];
        let known = newest.accepted_by.is_some() || newest.uid.is_some();
        let accepted =
            known || failover.is_some_and(|failover| failover.may_be_accepted(ids::cluster(cluster)));
        if row.job.state == JobState::Stopping
            && !newest.desired
            && newest.uid.is_none()
            && (!accepted || newest.released > 0 && said.applied >= newest.released)
        {
            return Some((cluster, Act::NeverCreated));
        }
        let live =
            Live { id: row.id(newest.number), cluster: ids::cluster(cluster), policy: row.policy, accepted };
        let silence = self.silence(replica, cluster);
        let live = if self.without(Rule::R5) && row.policy != Policy::Wait {
            Live { policy: Policy::Rerun, ..live }
        } else {
            live
        };
        let mut terms = self.scenario.terms;
        if self.without(Rule::R6Guard) {
            (terms.drift_permille, terms.grace, terms.poll) = (0, 0, 0);
        }
        let act = match judge(&live, silence, said.word.as_ref(), &terms) {
            Verdict::Gone(proof) => Act::Close { proof, renewal: said.renewal, accepted },
            Verdict::Heard if row.job.reason == reason::CLUSTER_SILENT => Act::Heard,
            Verdict::Heard => return None,
            verdict if row.job.reason != reason::CLUSTER_SILENT => Act::Tell(verdict),
            _ => return None,
        };
        Some((cluster, act))
    }

    /// A cluster for a job: one that is not suspected (R8), another than the last if there is one.
    fn choose(&mut self, replica: usize, job: usize) -> Option<usize> {
        let terms = self.scenario.terms;
        let last = self.postgres.now.jobs[job].newest().map(|newest| newest.cluster);
        let heard: Vec<usize> = (0..self.postgres.now.clusters.len())
            .filter(|&cluster| {
                let row = &self.postgres.now.clusters[cluster];
                let fresh =
                    self.silence(replica, cluster).elapsed < terms.suspect_after || self.without(Rule::R8);
                row.in_charge.epoch.0 > 0 && row.word.is_none() && fresh
            })
            .collect();
        let others: Vec<usize> = heard.iter().copied().filter(|cluster| Some(*cluster) != last).collect();
        let among = if others.is_empty() { heard } else { others };
        let chosen = (!among.is_empty()).then(|| among[pick(&mut self.rng, among.len())])?;
        self.check_choice(replica, chosen);
        Some(chosen)
    }

    /// A leader that has looked for long enough places nothing on a cluster that nobody heard (R8).
    fn check_choice(&mut self, replica: usize, chosen: usize) {
        let (terms, me) = (self.scenario.terms, &self.replicas[replica]);
        let looked = self.now - me.led_since.max(me.paused_until.min(self.now));
        let silent = self.now - self.postgres.now.clusters[chosen].renewed;
        let allowed = terms.suspect_after + terms.heartbeat + 5_000;
        if looked > allowed && silent > allowed {
            self.history.broke(self.now, "a job is given to a cluster that was silent for long");
        }
    }

    /// What a pass decided reaches the database.
    pub fn commit(&mut self, replica: usize, life: u32, intents: &[Intent]) {
        let gone = self.replicas[replica].life != life || self.replicas[replica].down > 0;
        if gone || self.plane_down > 0 || self.postgres.down {
            return;
        }
        for intent in intents {
            let stands = intent.held.stands(&self.postgres.now.term, u64::from(self.postgres.timeline));
            if !stands && !self.without(Rule::R10) {
                self.say(|| format!("postgres: replica {replica} is fenced"));
                return;
            }
            let changed = self.apply(intent);
            if changed && !stands {
                self.history.broke(self.now, "a former leader's write was committed");
            }
            if changed {
                let row = &self.postgres.now.clusters[intent.cluster];
                let answer = self.desired(replica, intent.cluster, row.renewal.epoch, row.renewal.number);
                let agent = self.agents.iter().position(|agent| agent.pod == row.in_charge.pod_uid);
                if let Some(agent) = agent {
                    self.send_down(agent, &answer);
                }
            }
        }
        self.postgres.committed(self.now);
    }

    fn apply(&mut self, intent: &Intent) -> bool {
        let job = ids::job_index(intent.attempt.job);
        let row = &self.postgres.now.jobs[job];
        match &intent.act {
            Act::Close { proof, renewal, accepted } => {
                let newest = row.newest().copied();
                let same = self.postgres.now.clusters[intent.cluster].renewal == *renewal;
                let accepted_since = newest
                    .is_some_and(|newest| newest.accepted_by.is_some() || newest.uid.is_some())
                    && !accepted;
                let by_time = matches!(proof.kind(), ProofKind::LeaseEnded | ProofKind::OverlapAllowed);
                if (by_time && !same) || (proof.kind() == ProofKind::NeverAccepted && accepted_since) {
                    return false;
                }
                self.close(intent, proof)
            }
            Act::Tell(verdict) => self.advance(intent.attempt, intent.cluster, Told::Silent { verdict }),
            Act::Heard => self.advance(intent.attempt, intent.cluster, Told::Heard),
            Act::NeverCreated => self.advance(intent.attempt, intent.cluster, Told::NeverCreated),
            Act::LetGo => self.advance(intent.attempt, intent.cluster, Told::RetentionOver),
            Act::Assign => self.assign(job, intent),
        }
    }

    fn close(&mut self, intent: &Intent, proof: &Proof) -> bool {
        let policy = self.postgres.now.jobs[ids::job_index(intent.attempt.job)].policy;
        let survives = match proof.kind() {
            ProofKind::LeaseEnded => self.survives(),
            ProofKind::OverlapAllowed if !self.lossy() => self.scenario.terms.survives().min(5_000),
            _ => 0,
        };
        let lasted = self.trouble(intent.cluster);
        let closed = self.advance(intent.attempt, intent.cluster, Told::NothingRuns { proof });
        if closed {
            self.history.evicted(intent.attempt, policy, lasted, survives, self.now);
            self.lost[ids::job_index(intent.attempt.job)] = Some(self.trouble_began(intent.cluster));
        }
        closed
    }

    fn assign(&mut self, job: usize, intent: &Intent) -> bool {
        let name = format!("cluster {}", intent.cluster);
        let id = ids::cluster(intent.cluster);
        if self.without(Rule::R1) && self.postgres.now.jobs[job].job.state == JobState::Assigned {
            // Without the rule the assignment trusts what its pass had read.
            self.postgres.now.jobs[job].job.state = JobState::Queued;
            if let Some(attempt) = &mut self.postgres.now.jobs[job].job.attempt {
                attempt.state = AttemptState::Lost;
            }
        }
        self.advance(
            intent.attempt,
            intent.cluster,
            Told::Assigned { cluster: id, cluster_name: &name, because: "it is heard" },
        )
    }
}
