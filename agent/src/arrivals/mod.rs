//! Arrivals: tells the control plane of RayJobs that wait for it, and writes on them what became of them.
//!
//! Owns the loop around [`plan`]: look at what exists and what is to be told, plan, act, remember. Invariant: nothing is
//! remembered on disk, because the object's mark and status say what was done and the control plane knows each object by
//! its uid; so a restart repeats words and no effects. The spec of an object is never written, so nobody who keeps it in
//! Git has anything to put back. A write that fails is made by a later pass.

mod picture;
mod plan;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use squadron_core::{fact::Fact, job::marks};
use squadron_ray::{arrival, plan::Event, view::Object};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

pub use picture::{Pictures, hear};
use plan::{Action, Memory, plan};

use crate::{
    clock,
    controller::{Events, Writer, reference},
    pace::Pace,
    plan::Policy,
    record::Recorder,
    watch::{Cache, Kind, object},
};

/// The full pass is made this often even if nothing woke it.
const RESYNC: Duration = Duration::from_secs(5);
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What the loop works with.
pub struct Arrivals {
    pub writer: Writer,
    pub events: Events,
    pub cache: Arc<Cache>,
    pub recorder: Recorder,
    pub policy: Policy,
    /// Woken by every change of a RayJob.
    pub wake: Arc<Notify>,
}

impl Arrivals {
    /// Runs until the process ends.
    pub async fn run(self, mut pictures: watch::Receiver<Pictures>) {
        let (mut memory, mut pace) = (Memory::default(), Pace::new(Instant::now()));
        loop {
            let (looked, pause) = if self.cache.is_complete() {
                let now = pictures.borrow_and_update().clone();
                self.pass(&now, &mut memory).await
            } else {
                (Duration::ZERO, AFTER_FAILURE)
            };
            tokio::time::sleep(pace.rest(looked, Instant::now())).await;
            tokio::select! {
                changed = pictures.changed() => if changed.is_err() { return },
                () = self.wake.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// One full pass; answers how long it looked, and when the next must come at the latest.
    async fn pass(&self, pictures: &Pictures, memory: &mut Memory) -> (Duration, Duration) {
        let begun = Instant::now();
        let mut jobs = self.cache.all(Kind::RayJob);
        // Nearly all are of attempts, and those are looked at only if they were something else.
        let spoken_of = |uid: &str| memory.has_told(uid) || pictures.contains_key(uid);
        jobs.retain(|job| !arrival::is_attempt(job) || spoken_of(object::uid(job)));
        let plan = plan(&jobs, pictures, memory, &self.policy, clock::now());
        let (looked, mut failed) = (begun.elapsed(), false);
        for action in plan.actions {
            let done = self.act(&action).await;
            failed |= !done;
            if done {
                memory.done(action, clock::now());
            }
        }
        memory.keep_only(&jobs, pictures);
        let pause = match plan.wake_at {
            _ if failed => AFTER_FAILURE,
            Some(at) => {
                let left = u64::try_from(at.millis_since(clock::now())).unwrap_or(0);
                Duration::from_millis(left.max(50)).min(RESYNC)
            }
            None => RESYNC,
        };
        (looked, pause)
    }

    /// False when the action must be tried again.
    async fn act(&self, action: &Action) -> bool {
        match action {
            Action::Tell(fact) => self.recorder.fact_durable(clock::now(), Fact::Arrival(fact.clone())).await,
            Action::Warn { object, fault } => {
                self.events.emit(object, Event::warning(fault.reason, "Import", fault.message.clone()));
                true
            }
            Action::Mark { object, job } => {
                let mark = arrival::mark_of(*job, object::uid(object));
                let patch = serde_json::json!({"metadata": {"annotations": {marks::IMPORTED_AS: mark}}});
                let target = reference(object);
                self.written(object, self.writer.patch(&target, &patch).await.err())
            }
            Action::Write { object, status, event } => {
                let mut changed = serde_json::Value::clone(object);
                changed["status"] = status.clone();
                let done = self.written(object, self.writer.replace_status(&changed).await.err());
                if let Some(event) = event.as_ref().filter(|_| done) {
                    self.events.emit(object, event.clone());
                }
                done
            }
        }
    }

    fn written(&self, object: &Object, error: Option<crate::controller::WriteError>) -> bool {
        let Some(error) = error else { return true };
        // It changed or went meanwhile: the watch brings what it is now.
        if !matches!(error.code(), 404 | 409) {
            let (namespace, name) = (object::namespace(object), object::name(object));
            tracing::warn!(namespace, name, error = error.sentence(), "an arrival cannot be written yet");
        }
        false
    }
}
