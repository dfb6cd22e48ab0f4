//! Step: everything that can happen next, and what it does.
//!
//! Time passes in units and is urgent: when it passes, the fencer, a living agent and a leader that does not stand still
//! do what their deciders say, and containers that were asked to stop take their whole grace. Everything else may happen at any moment or never.

use std::collections::BTreeMap;

use squadron_core::{
    id::{AttemptId, ClusterId, Epoch, JobId},
    lease::{
        Ears, Fencing, Grant, Holder, LeaseObject, Live, NotStarted, Policy, ProofKind, Renewal, Row, Terms,
        Tick, Verdict, is_news, judge,
    },
};
use uuid::Uuid;

use super::fleet::{Answer, Beat, Cluster, Fleet, Pending, Pods, Without};

/// Something that may happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A unit of time passes; the clocks of cluster 0 may miss it.
    Pass {
        slips: bool,
    },
    Send {
        cluster: usize,
    },
    Hear(Beat),
    Answered(Answer),
    Dies {
        cluster: usize,
    },
    Returns {
        cluster: usize,
    },
    Take {
        leader: usize,
    },
    /// It stands still, or goes on.
    Pause {
        leader: usize,
    },
    Commit {
        leader: usize,
    },
}

/// All actions that are possible.
pub fn actions(fleet: &Fleet) -> Vec<Action> {
    let (bounds, mut all) = (fleet.bounds, Vec::new());
    if fleet.now < bounds.time {
        all.push(Action::Pass { slips: false });
        if fleet.slips < bounds.slips {
            all.push(Action::Pass { slips: true });
        }
    }
    for (cluster, it) in fleet.clusters.iter().enumerate() {
        match it.agent {
            Some(_) if it.beats < bounds.beats[cluster] => all.push(Action::Send { cluster }),
            None => all.push(Action::Returns { cluster }),
            Some(_) => {}
        }
        if it.agent.is_some() && it.deaths < bounds.deaths[cluster] {
            all.push(Action::Dies { cluster });
        }
    }
    all.extend(fleet.beats.iter().map(|beat| Action::Hear(*beat)));
    all.extend(fleet.answers.iter().map(|answer| Action::Answered(*answer)));
    for leader in 0..2 {
        let it = &fleet.leaders[leader];
        let believes = it.held.holder == leader as u64 + 1;
        if fleet.takeovers < bounds.takeovers && fleet.term.holder != leader as u64 + 1 {
            all.push(Action::Take { leader });
        }
        if believes && (it.paused || fleet.pauses < bounds.pauses) {
            all.push(Action::Pause { leader });
        }
        if it.pending.is_some() && !it.paused {
            all.push(Action::Commit { leader });
        }
    }
    all
}

/// The state after an action.
pub fn apply(fleet: &Fleet, action: Action) -> Fleet {
    let mut next = fleet.clone();
    match action {
        Action::Pass { slips } => pass(&mut next, slips),
        Action::Send { cluster } => {
            let beat = send(&mut next, cluster);
            if let Some(beat) = beat.filter(|_| fleet.bounds.quick[cluster]) {
                let answer = hear(&mut next, beat);
                next.beats.remove(&beat);
                arrives(&mut next, answer);
            }
        }
        Action::Hear(beat) => {
            hear(&mut next, beat);
        }
        Action::Answered(answer) => answered(&mut next, answer),
        Action::Dies { cluster } => {
            next.clusters[cluster].agent = None;
            next.clusters[cluster].deaths += 1;
        }
        Action::Returns { cluster } => returns(&mut next.clusters[cluster]),
        Action::Take { leader } => take(&mut next, leader),
        Action::Pause { leader } => {
            let it = &mut next.leaders[leader];
            it.paused = !it.paused;
            next.pauses += u8::from(it.paused);
        }
        Action::Commit { leader } => commit(&mut next, leader),
    }
    next
}

fn attempt(number: u32) -> AttemptId {
    AttemptId { job: JobId(Uuid::from_u128(1)), number }
}

fn id(cluster: usize) -> ClusterId {
    ClusterId(Uuid::from_u128(cluster as u128 + 1))
}

fn pass(fleet: &mut Fleet, slips: bool) {
    fleet.now += 1;
    fleet.slips += u8::from(slips);
    let (policy, fenced) = (fleet.bounds.policy, !fleet.without(Without::Fencer));
    let terms = fleet.bounds.terms();
    for (index, cluster) in fleet.clusters.iter_mut().enumerate() {
        for pods in cluster.pods.values_mut() {
            *pods = match *pods {
                Pods::Stopping(left) if left > 1 => Pods::Stopping(left - 1),
                Pods::Stopping(_) | Pods::Gone => Pods::Gone,
                Pods::Running => Pods::Running,
            };
        }
        cluster.clock += u64::from(!slips || index == 1);
        cluster.obey(policy, &terms, fenced);
    }
    for leader in 0..2 {
        let it = &fleet.leaders[leader];
        if !it.paused && it.pending.is_none() && it.held.holder == leader as u64 + 1 {
            look(fleet, leader);
        }
    }
}

impl Cluster {
    /// Agent and fencer look at their clocks.
    fn obey(&mut self, policy: Policy, terms: &Terms, fenced: bool) {
        let now = Tick(self.clock);
        let running = self.pods.iter().filter(|(_, pods)| **pods == Pods::Running);
        let held: Vec<_> = running.map(|(number, _)| (attempt(*number), policy)).collect();
        let mut stop: Vec<AttemptId> = Vec::new();
        if let Some(agent) = &self.agent {
            stop.extend(agent.must_stop(&held, terms, now).into_iter().map(|(id, _)| id));
        }
        if fenced {
            self.mark = self.fencer.mark(now);
            self.write_lease();
            self.fencer.read(self.lease, terms, now);
            if let Fencing::Stop(stopped) = self.fencer.judge(&held, now) {
                stop.extend(stopped.into_iter().map(|(id, _)| id));
            }
        }
        for id in stop {
            self.pods.insert(id.number, Pods::Stopping(terms.grace));
        }
    }

    fn write_lease(&mut self) {
        let now = Tick(self.clock);
        if let Some(agent) = self.agent.as_ref().filter(|agent| agent.until().is_some()) {
            self.lease = Some(LeaseObject { echo: self.mark, left: agent.left(now) });
        }
    }
}

fn send(fleet: &mut Fleet, cluster: usize) -> Option<Beat> {
    let it = &mut fleet.clusters[cluster];
    let now = Tick(it.clock);
    let agent = it.agent.as_mut()?;
    let accepts = it.wants.filter(|(number, by, created, _)| {
        !created && *by != Some(agent.session()) && !it.pods.contains_key(number)
    });
    let beat = Beat {
        cluster,
        epoch: agent.session(),
        number: agent.send(now),
        accepts: accepts.map(|(number, ..)| number),
        fenced: it.pods.iter().find(|(_, pods)| **pods == Pods::Gone).map(|(number, _)| *number),
        created: it.pods.iter().find(|(_, pods)| **pods == Pods::Running).map(|(number, _)| *number),
    };
    it.beats += 1;
    fleet.beats.insert(beat);
    Some(beat)
}

fn hear(fleet: &mut Fleet, beat: Beat) -> Option<Answer> {
    let (cluster, ttl) = (beat.cluster, fleet.bounds.terms().ttl);
    let known = &mut fleet.renewals[cluster];
    if beat.epoch < known.epoch {
        return None;
    }
    if is_news(known, beat.epoch, beat.number) {
        *known = Renewal { epoch: beat.epoch, number: beat.number, ttl };
    }
    let newest = |number: Option<u32>| number == Some(fleet.number) && fleet.placed == Some(cluster);
    if newest(beat.fenced) {
        close(fleet);
    } else if newest(beat.created) {
        fleet.created = true;
    } else if newest(beat.accepts) && !fleet.created {
        fleet.accepted_by = Some(beat.epoch);
    }
    let wants = (fleet.placed == Some(cluster)).then_some((fleet.number, fleet.accepted_by, fleet.created));
    let (epoch, number, generation) = (beat.epoch, beat.number, fleet.generations[cluster]);
    let answer = Answer { cluster, epoch, number, generation, wants };
    fleet.answers.insert(answer);
    Some(answer)
}

/// A message of a cluster whose messages are quick.
fn arrives(fleet: &mut Fleet, answer: Option<Answer>) {
    if let Some(answer) = answer.filter(|answer| fleet.bounds.quick[answer.cluster]) {
        fleet.answers.remove(&answer);
        answered(fleet, answer);
    }
}

/// The newest attempt ends and the job is queued again, in one transaction.
fn close(fleet: &mut Fleet) {
    if let Some(cluster) = fleet.placed.take() {
        fleet.generations[cluster] += 1;
        fleet.number += 1;
        (fleet.accepted_by, fleet.created) = (None, false);
    }
}

fn answered(fleet: &mut Fleet, answer: Answer) {
    let (late, no_deadline) = (fleet.without(Without::Sent), fleet.without(Without::Deadline));
    let (ttl, grace) = (fleet.bounds.terms().ttl, fleet.bounds.terms().grace);
    let it = &mut fleet.clusters[answer.cluster];
    let now = Tick(it.clock);
    let Some(agent) = &mut it.agent else { return };
    if agent.session() != answer.epoch {
        return;
    }
    let extra = if late { agent.sent_at(answer.number).map_or(0, |sent| now.since(sent)) } else { 0 };
    agent.acknowledged(answer.epoch, answer.number, ttl + extra);
    if answer.generation >= it.generation {
        it.generation = answer.generation;
        it.wants = answer.wants.map(|(number, by, created)| (number, by, created, answer.number));
    }
    if let Some((number, accepted_by, created, answers)) = it.wants {
        let grant = Grant { attempt: attempt(number), answers, accepted_by, created };
        let may = match agent.may_start(&grant, ttl, now) {
            Err(NotStarted::Late | NotStarted::NoLease) if no_deadline => Ok(()),
            may => may,
        };
        if may.is_ok() {
            it.pods.entry(number).or_insert(Pods::Running);
        }
    }
    let unwanted = |number: &u32| it.wants.is_none_or(|(wanted, ..)| wanted != *number);
    for (_, pods) in it.pods.iter_mut().filter(|(number, _)| unwanted(number)) {
        if *pods == Pods::Running {
            *pods = Pods::Stopping(grace);
        }
    }
    it.write_lease();
}

/// A new life without the memory of the old one.
fn returns(cluster: &mut Cluster) {
    cluster.epoch += 1;
    cluster.agent = Some(Holder::new(Epoch(cluster.epoch)));
    (cluster.generation, cluster.wants) = (0, None);
}

fn take(fleet: &mut Fleet, leader: usize) {
    fleet.takeovers += 1;
    fleet.term = Row { term: fleet.term.term + 1, holder: leader as u64 + 1, ..fleet.term };
    fleet.leaders[leader].ears = Ears::default();
    fleet.leaders[leader].held = fleet.term;
}

fn look(fleet: &mut Fleet, leader: usize) {
    let rows: BTreeMap<ClusterId, Renewal> =
        fleet.renewals.iter().enumerate().map(|(index, renewal)| (id(index), *renewal)).collect();
    let (now, policy) = (Tick(fleet.now), fleet.bounds.policy);
    let (real, mut terms) = (fleet.bounds.terms(), fleet.bounds.terms());
    if fleet.without(Without::Guard) {
        (terms.drift_permille, terms.grace, terms.suspect_after) = (0, 0, terms.ttl);
    }
    let assign = assign(fleet);
    let it = &mut fleet.leaders[leader];
    it.ears.look(&rows, &real, now);
    let Some(cluster) = fleet.placed else {
        it.pending = Some(assign);
        return;
    };
    let silence = it.ears.silence(id(cluster)).unwrap_or_default();
    let accepted = fleet.accepted_by.is_some() || fleet.created;
    let live = Live { id: attempt(fleet.number), cluster: id(cluster), policy, accepted };
    let gone = match judge(&live, silence, None, &terms) {
        Verdict::Gone(proof) => proof.kind() != ProofKind::OverlapAllowed || policy == Policy::Rerun,
        _ => fleet.bounds.without == Some(Without::Proof) && silence.counted >= real.grant,
    };
    if gone {
        it.pending = Some(Pending::Close { number: fleet.number, renewal: fleet.renewals[cluster] });
    }
}

/// The job goes where it was not before.
fn assign(fleet: &Fleet) -> Pending {
    Pending::Assign { cluster: usize::from(fleet.number.is_multiple_of(2)) }
}

fn commit(fleet: &mut Fleet, leader: usize) {
    let Some(pending) = fleet.leaders[leader].pending.take() else { return };
    if !fleet.leaders[leader].held.stands(&fleet.term, 1) {
        fleet.leaders[leader].held = Row::default();
        return;
    }
    match pending {
        Pending::Close { number, renewal } => {
            let same = fleet.placed.is_some_and(|cluster| fleet.renewals[cluster] == renewal);
            if number == fleet.number && same {
                close(fleet);
                // The dispatcher follows at once.
                fleet.leaders[leader].pending = Some(assign(fleet));
            }
        }
        Pending::Assign { cluster } if fleet.placed.is_none() => {
            fleet.placed = Some(cluster);
            fleet.generations[cluster] += 1;
            let (renewal, generation) = (fleet.renewals[cluster], fleet.generations[cluster]);
            let wants = Some((fleet.number, None, false));
            let (epoch, number) = (renewal.epoch, renewal.number);
            let answer = Answer { cluster, epoch, number, generation, wants };
            fleet.answers.insert(answer);
            arrives(fleet, Some(answer));
        }
        Pending::Assign { .. } => {}
    }
}
