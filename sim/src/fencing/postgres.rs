//! A fake of Postgres: rows, one transaction at a time, a unique index, a term row, and a failover that forgets.
//!
//! Invariant: what a transaction changes it changes at one moment. The index `attempt_live` refuses a second live attempt
//! of a job (R1); a write under another term is refused (R10).

use std::collections::BTreeMap;

use squadron_core::{
    attempt::{Job, Step},
    fencing::InCharge,
    id::{AttemptId, Epoch},
    lease::{Policy, Renewal, Row, Word},
};

use crate::fencing::{ids, scenario::Ms};

/// A row of the attempt table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttemptRow {
    pub number: u32,
    pub cluster: usize,
    pub live: bool,
    pub desired: bool,
    /// The cluster's generation from which on it is not desired any more.
    pub released: u64,
    pub accepted_by: Option<Epoch>,
    /// Uid of the object that the agent reported.
    pub uid: Option<u64>,
    /// Timeline under which its cluster told that it holds it.
    pub named: u32,
}

/// A row of the job table with its attempts.
#[derive(Clone, Debug)]
pub struct JobRow {
    pub job: Job,
    pub policy: Policy,
    pub retries_removed: bool,
    /// Timeline under which it was submitted.
    pub timeline: u32,
    pub attempts: Vec<AttemptRow>,
    pub ended: Option<Ms>,
}

/// A row of the cluster table.
#[derive(Clone, Debug, Default)]
pub struct ClusterRow {
    pub in_charge: InCharge,
    pub renewal: Renewal,
    /// Wall clock of the replica that committed the newest renewal.
    pub renewed_wall: i64,
    /// The same in virtual time, for the checker.
    pub renewed: Ms,
    pub generation: u64,
    pub applied: u64,
    /// Epoch and timeline of the newest whole inventory.
    pub inventory: (Epoch, u32),
    pub word: Option<Word>,
}

/// All rows.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub term: Row,
    pub jobs: Vec<JobRow>,
    pub clusters: Vec<ClusterRow>,
    pub watermarks: BTreeMap<(usize, Epoch), u64>,
}

/// The server.
#[derive(Debug, Default)]
pub struct Postgres {
    pub down: bool,
    pub timeline: u32,
    pub now: Tables,
    /// States that an asynchronous replica may still be at; kept only when the run has a failover.
    trail: Option<Vec<(Ms, Tables)>>,
}

/// Why a transaction changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aborted {
    /// The index `attempt_live`.
    SecondLiveAttempt,
}

impl Postgres {
    pub fn new(clusters: usize, replicated: bool) -> Postgres {
        Postgres {
            timeline: 1,
            now: Tables { clusters: vec![ClusterRow::default(); clusters], ..Tables::default() },
            trail: replicated.then(Vec::new),
            down: false,
        }
    }

    /// Notes a commit for the replica. Call it after every transaction.
    pub fn committed(&mut self, at: Ms) {
        let Some(trail) = &mut self.trail else { return };
        trail.retain(|(when, _)| *when + 3_000 > at);
        trail.push((at, self.now.clone()));
    }

    /// The replica takes over; what was committed in the last `lag` milliseconds is gone.
    pub fn fail_over(&mut self, at: Ms, lag: Ms) {
        let kept = self.trail.iter().flatten().rev().find(|(when, _)| when + lag <= at);
        if let Some((_, tables)) = kept {
            self.now = tables.clone();
        }
        self.timeline += 1;
        if let Some(trail) = &mut self.trail {
            *trail = vec![(at, self.now.clone())];
        }
    }

    /// Writes a step of `core::attempt` (R1: the new attempt and the end of the old one are one transaction).
    pub fn save(
        &mut self,
        job: usize,
        step: &Step,
        cluster: usize,
        indexed: bool,
        at: Ms,
    ) -> Result<(), Aborted> {
        let row = &mut self.now.jobs[job];
        if let Some(attempt) = &step.job.attempt {
            let live = !attempt.state.is_terminal();
            let known = row.attempts.iter().position(|known| known.number == attempt.number);
            let second = row.attempts.iter().any(|known| known.live && known.number != attempt.number);
            if live && second && indexed {
                return Err(Aborted::SecondLiveAttempt);
            }
            let index = known.unwrap_or_else(|| {
                let (accepted_by, uid) = (None, None);
                row.attempts.push(AttemptRow {
                    number: attempt.number,
                    cluster,
                    live,
                    desired: true,
                    released: 0,
                    accepted_by,
                    uid,
                    named: 0,
                });
                row.attempts.len() - 1
            });
            row.attempts[index].live = live;
            row.attempts[index].desired = attempt.desired;
        }
        row.job = step.job.clone();
        if row.job.state.is_terminal() {
            row.ended = row.ended.or(Some(at));
        }
        if let Some(changed) = step.desired_changed {
            let index = ids::index_of(changed);
            let generation = self.now.clusters[index].generation + 1;
            self.now.clusters[index].generation = generation;
            for attempt in self.now.jobs[job].attempts.iter_mut().filter(|attempt| !attempt.desired) {
                if attempt.released == 0 {
                    attempt.released = generation;
                }
            }
        }
        Ok(())
    }
}

impl JobRow {
    /// The row of the newest attempt.
    pub fn newest(&self) -> Option<&AttemptRow> {
        let number = self.job.attempt.as_ref()?.number;
        self.attempts.iter().find(|row| row.number == number)
    }

    /// The id of an attempt of this job.
    pub fn id(&self, number: u32) -> AttemptId {
        AttemptId { job: self.job.id, number }
    }
}
