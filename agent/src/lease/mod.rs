//! Lease: what the control plane promised to this life of the agent, and what follows from it.
//!
//! Owns the shell around [`core::lease::Holder`](squadron_core::lease::Holder): it notes when heartbeats are sent and what
//! they were answered, and which of them the present desired state answers. Invariant: nothing here judges; what may start
//! and what must stop is the holder's word. The end of the lease is kept on the disk with the boot of the machine whose
//! clock it was read from, so that the next life knows it. Lost with the disk; then the next life stops nothing by itself,
//! and the fencer, which is another pod, does.

pub mod disk;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use squadron_core::{
    id::{AttemptId, Epoch},
    lease::{Grant, Holder, NotStarted, Policy, Standing, Terms, Tick},
};
use squadron_proto::link::Lease as Promise;
use tokio::{sync::watch, task::block_in_place};

use self::disk::Kept;
use crate::{
    plan::{Desired, DesiredAttempt},
    spool::DiskError,
};

/// The lease of this life. Cheap to clone.
#[derive(Clone)]
pub struct Lease(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    kept: Kept,
    /// Grows with every promise.
    promises: watch::Sender<u64>,
}

struct State {
    holder: Holder,
    /// Length of the lease that was promised last, in milliseconds; 0 before the first.
    ttl: u64,
    /// Newest timeline of the database that was heard of, and the one under which the desired state came that is held.
    timeline: u64,
    under: u64,
    /// The timeline under which the control plane wants to know what is held; 0 while it does not.
    asked: u64,
    /// The desired state that is held, and the renewal that it answers.
    generation: u64,
    answers: u64,
    /// Renewals of all lives of this cluster, by the newest promise and by the Lease object.
    renewals: u64,
    noted: u64,
}

/// What the lease says of the desired attempts at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Leave {
    /// Attempts that may not be started, or not yet.
    pub not_started: BTreeMap<AttemptId, NotStarted>,
    /// Attempts that must stop.
    pub stops: BTreeSet<AttemptId>,
    /// Why, for the log; empty while nothing must.
    pub why: String,
}

impl Lease {
    /// The lease of the life `epoch`, whose Lease object counts `noted` renewals; knows of the life before if `folder` and the
    /// machine are the same.
    pub fn begin(folder: &Path, epoch: u64, noted: u64) -> Lease {
        let kept = Kept::open(folder);
        let holder = match kept.until() {
            Some(until) => Holder::recovered(Epoch(epoch), until),
            None => Holder::new(Epoch(epoch)),
        };
        Lease::of(holder, kept, noted)
    }

    fn of(holder: Holder, kept: Kept, noted: u64) -> Lease {
        let renewals = noted;
        let [ttl, timeline, under, asked, generation, answers] = [0; 6];
        let state = State { holder, ttl, timeline, under, asked, generation, answers, renewals, noted };
        let state = Mutex::new(state);
        Lease(Arc::new(Shared { state, kept, promises: watch::channel(0).0 }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a heartbeat is sent now; answers its number.
    pub fn send(&self, now: Tick) -> u64 {
        self.state().holder.send(now)
    }

    /// Takes a promise; under a newer timeline nothing starts until the next desired state. False if it is of an older one: it
    /// may be forgotten by the database and is ignored, and whoever gave it is not to be obeyed.
    pub fn promised(&self, promise: &Promise) -> bool {
        let mut state = self.state();
        if promise.timeline < state.timeline {
            return false;
        }
        if state.timeline == 0 {
            state.under = promise.timeline;
        }
        state.timeline = promise.timeline;
        state.asked = if promise.wants_holdings { promise.timeline } else { 0 };
        let session = state.holder.session();
        if !state.holder.acknowledged(session, promise.number, promise.lease_ms) {
            return true;
        }
        state.ttl = promise.lease_ms;
        state.renewals = state.renewals.max(promise.renewals);
        if state.generation == promise.generation {
            state.answers = state.answers.max(promise.number);
        }
        drop(state);
        self.0.promises.send_modify(|count| *count += 1);
        true
    }

    /// Milliseconds left for an attempt of the desired state `generation`, which a watchdog may be told.
    pub fn left_for(&self, generation: u64, now: Tick) -> u64 {
        let state = self.state();
        if state.generation == generation { state.holder.left_of(state.answers, state.ttl, now) } else { 0 }
    }

    /// Renewals of this cluster so far, which its Lease object is to count.
    pub fn renewals(&self) -> u64 {
        self.state().renewals
    }

    /// The Lease object counts as many.
    pub fn note(&self, renewals: u64) {
        let mut state = self.state();
        state.noted = state.noted.max(renewals);
    }

    /// Renewals that the Lease object counts: the next life knows of them, whatever becomes of this one.
    pub fn noted(&self) -> u64 {
        self.state().noted
    }

    /// Whether a desired state that was read under `timeline` (0: the control plane is too old to tell) is to be taken.
    pub fn obeys(&self, timeline: u64) -> bool {
        timeline == 0 || timeline >= self.state().timeline
    }

    /// A desired state came that is to be taken, which answers a renewal. A renewal of a timeline before its own may be forgotten.
    pub fn desired(&self, generation: u64, answers: u64, timeline: u64) {
        let mut state = self.state();
        let answers = if timeline > state.timeline { 0 } else { answers };
        state.timeline = state.timeline.max(timeline);
        (state.generation, state.answers, state.under) = (generation, answers, state.timeline);
    }

    /// The database failed over since the desired state came that is held.
    pub fn is_outlived(&self) -> bool {
        let state = self.state();
        state.under < state.timeline
    }

    /// The timeline under which the control plane wants to know what is held; 0 while it does not.
    pub fn asked(&self) -> u64 {
        self.state().asked
    }

    /// From now on, every promise.
    pub fn promises(&self) -> watch::Receiver<u64> {
        self.0.promises.subscribe()
    }

    /// How it stands, with the length of the lease in milliseconds.
    pub fn standing(&self, now: Tick) -> (Standing, u64) {
        let state = self.state();
        (state.holder.standing(now), state.ttl)
    }

    /// Milliseconds left.
    pub fn left(&self, now: Tick) -> u64 {
        self.state().holder.left(now)
    }

    /// Keeps the end of the lease on the disk with every promise, for ever. A disk that is slow delays nothing else.
    pub async fn keep_on_disk(&self) {
        let mut promises = self.promises();
        while promises.changed().await.is_ok() {
            if let Err(error) = block_in_place(|| self.keep()) {
                tracing::warn!(%error, "the end of the lease is not kept; a next life would not know it");
            }
        }
    }

    fn keep(&self) -> Result<(), DiskError> {
        let until = self.state().holder.until();
        until.map_or(Ok(()), |until| self.0.kept.write(until))
    }

    /// What it says of a desired state; `running` are the attempts whose RayJob exists and has not ended.
    pub fn leave(&self, desired: &Desired, running: &BTreeSet<AttemptId>, now: Tick) -> Leave {
        let state = self.state();
        let current = state.generation == desired.generation && state.under == state.timeline;
        let answers = if current { state.answers } else { 0 };
        let refusal = |attempt: &DesiredAttempt| {
            let refused = state.holder.may_start(&grant(attempt, answers), state.ttl, now).err()?;
            Some((attempt.id, refused))
        };
        let running: BTreeSet<AttemptId> = running.iter().copied().collect();
        let held: Vec<(AttemptId, Policy)> = desired
            .attempts
            .values()
            .filter(|attempt| running.contains(&attempt.id))
            .map(|attempt| (attempt.id, attempt.on_lost()))
            .collect();
        let terms = Terms { ttl: state.ttl, ..Terms::default() };
        let stops = state.holder.must_stop(&held, &terms, now);
        Leave {
            not_started: desired.attempts.values().filter_map(|attempt| refusal(attempt)).collect(),
            why: stops.first().map(|(_, why)| why.clone()).unwrap_or_default(),
            stops: stops.into_iter().map(|(attempt, _)| attempt).collect(),
        }
    }
}

fn grant(attempt: &DesiredAttempt, answers: u64) -> Grant {
    Grant {
        attempt: attempt.id,
        answers,
        accepted_by: attempt.accepted_by.map(Epoch),
        created: attempt.created,
    }
}
