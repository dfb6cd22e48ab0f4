//! Attempts: makes the cluster hold the RayJobs that the control plane wants, and tells what became of them.
//!
//! Owns the loop around [`crate::plan`]: load what is wanted and what exists, plan, act, remember. Invariant: what was
//! told is durable before it is remembered as told; a desired state is on disk before it is acted on, so that a restart
//! without the control plane goes on and deletes nothing that is still wanted.

mod journal;
mod observe;
mod store;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use k8s_openapi::api::coordination::v1::Lease as LeaseObject;
use kube::Api;
use squadron_core::{
    fact::{AttemptFact, AttemptStep, Fact},
    id::AttemptId,
    lease::{Standing, Terms},
};
use squadron_ray::plan::ObjectRef;
use tokio::{
    sync::{Notify, watch},
    task::block_in_place,
};

use crate::{
    clock,
    controller::{WriteError, Writer, reference},
    fencer::mark,
    lease::{Lease, Leave},
    logs::Logs,
    plan::{self, Action, Desired, DesiredAttempt, Observed, Phase, Policy, SeenJob},
    record::Recorder,
    uplink::Applied,
    watch::{Cache, Kind, object},
};

pub use store::Store;

/// The full pass is made this often even if nothing woke it.
const RESYNC: Duration = Duration::from_secs(5);
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Says to the cache where these attempts' RayJobs belong.
pub fn expect(desired: &Desired, cache: &Cache) {
    for attempt in desired.attempts.values() {
        cache.expect(attempt.id, &attempt.namespace, &attempt.name);
    }
}

/// What the loop works with.
pub struct Attempts {
    pub writer: Writer,
    pub cache: Arc<Cache>,
    pub logs: Logs,
    pub recorder: Recorder,
    pub policy: Policy,
    pub store: Store,
    pub applied: Applied,
    pub lease: Lease,
    /// Attempts that we would start.
    pub accepts: watch::Sender<BTreeSet<AttemptId>>,
    /// Where the fencer notes what it stopped.
    pub notes: Api<LeaseObject>,
    /// Woken by every change of an object of ours.
    pub wake: Arc<Notify>,
}

impl Attempts {
    /// Runs until the process ends.
    pub async fn run(mut self, mut wanted: watch::Receiver<Option<Desired>>) {
        let mut promises = self.lease.promises();
        loop {
            let pause = if self.cache.is_complete() { self.pass(&mut wanted).await } else { AFTER_FAILURE };
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() { return },
                () = self.wake.notified() => {}
                Ok(()) = promises.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// One full pass; answers when the next must come at the latest.
    async fn pass(&mut self, wanted: &mut watch::Receiver<Option<Desired>>) -> Duration {
        let desired = wanted.borrow_and_update().clone();
        if let Err(error) = block_in_place(|| self.store.keep_desired(desired.as_ref())) {
            tracing::error!(%error, "a desired state cannot be stored; it is not applied yet");
            return AFTER_FAILURE;
        }
        if let Some(desired) = &desired {
            expect(desired, &self.cache);
        }
        // What is wanted is remembered too.
        self.cache.expect_only(&self.store.memory.attempts().map(|(attempt, _)| attempt).collect());
        let mut observed = observe::observe(&self.cache, &self.logs, desired.as_ref(), &self.store.memory);
        if self.misses_one(desired.as_ref(), &observed) {
            // The fencer notes first and stops then, so what it stopped is in the note by now.
            match mark::read(&self.notes).await {
                Ok(left) => observed.fenced = left.unwrap_or_default().stopped,
                Err(error) => {
                    tracing::warn!(%error, "an attempt is gone, and the fencer's note cannot be read yet");
                    return AFTER_FAILURE;
                }
            }
        }
        let leave = self.leave(desired.as_ref(), &observed);
        let memory = &self.store.memory;
        let plan = plan::plan(desired.as_ref(), &observed, memory, &self.policy, &leave, clock::now());
        self.accepts.send_if_modified(|known| {
            let news = *known != plan.accepts;
            known.clone_from(&plan.accepts);
            news
        });
        let mut failed = false;
        for action in plan.actions {
            failed |= !self.act(action).await;
        }
        if let Some(desired) = desired.filter(|_| !failed) {
            self.applied.set(desired.generation);
        }
        let at_most = RESYNC.min(self.until_the_lease_ends());
        match plan.wake_at {
            _ if failed => AFTER_FAILURE,
            Some(at) => {
                let left = u64::try_from(at.millis_since(clock::now())).unwrap_or(0);
                Duration::from_millis(left.max(50)).min(at_most)
            }
            None => at_most,
        }
    }

    /// Whether a RayJob is gone that was made and is wanted.
    fn misses_one(&self, desired: Option<&Desired>, observed: &Observed) -> bool {
        let made = |attempt: &DesiredAttempt| match self.store.memory.get(attempt.id) {
            Some(Phase::Created | Phase::Released(_)) => true,
            Some(Phase::Refused | Phase::Removed | Phase::Fencing) => false,
            Some(Phase::Wanted) | None => attempt.created,
        };
        let key = |attempt: &DesiredAttempt| (attempt.namespace.clone(), attempt.name.clone());
        let mut wanted = desired.into_iter().flat_map(|desired| desired.attempts.values());
        wanted.any(|attempt| made(attempt) && !observed.jobs.contains_key(&key(attempt)))
    }

    /// What the lease says now.
    fn leave(&self, desired: Option<&Desired>, observed: &Observed) -> Leave {
        let ours = |job: &&SeenJob| !job.ended;
        let running: Vec<AttemptId> =
            observed.jobs.values().filter(ours).filter_map(|job| job.ours).collect();
        desired.map(|desired| self.lease.leave(desired, &running, clock::tick())).unwrap_or_default()
    }

    /// What must stop then is stopped then.
    fn until_the_lease_ends(&self) -> Duration {
        let now = clock::tick();
        match self.lease.standing(now) {
            (Standing::Held { until }, _) => Duration::from_millis(until.since(now).max(1)),
            _ => RESYNC,
        }
    }

    /// Deletes everything of an attempt with the grace of the fence. The RayJob goes first, so that our own reconciler makes
    /// nothing anew; the submitter's Job leaves its pods behind, because the garbage collector would give them a longer
    /// grace; the RayCluster goes after its pods for the same reason.
    async fn fence(&self, attempt: AttemptId) -> bool {
        let grace = Terms::default().grace;
        let mut done = true;
        for kind in [Kind::RayJob, Kind::BatchJob, Kind::Pod, Kind::RayCluster] {
            for object in self.cache.all(kind) {
                let ends = object::is_deleted_within(&object, grace);
                if ends || self.cache.attempt_or_remains(&object) != Some(attempt) {
                    continue;
                }
                let deleted = self.writer.delete_within(&reference(&object), kind, grace).await;
                done &= deleted
                    .inspect_err(
                        |error| tracing::warn!(%error, %attempt, "a fenced attempt cannot be stopped yet"),
                    )
                    .is_ok();
            }
        }
        done
    }

    /// False when the action must be tried again.
    async fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Create { attempt, object } => match self.writer.create(&object).await {
                Ok(_) => self.tell(attempt, AttemptStep::Created, String::new(), Some(Phase::Created)).await,
                Err(error) => self.creation_failed(attempt, &reference(&object), &error).await,
            },
            Action::Delete { attempt, namespace, name, uid } => {
                let target = ObjectRef {
                    api_version: squadron_ray::names::API_VERSION.to_owned(),
                    kind: "RayJob".to_owned(),
                    namespace,
                    name,
                    uid,
                };
                let deleted = self.writer.delete(&target).await;
                deleted
                    .inspect_err(|error| tracing::warn!(%error, %attempt, "a RayJob cannot be deleted"))
                    .is_ok()
            }
            Action::Fence { attempt } => {
                tracing::warn!(%attempt, "the lease has ended; the attempt is stopped");
                self.fence(attempt).await
            }
            Action::Report { attempt, step, message, phase } => {
                self.tell(attempt, step, message, phase).await
            }
            Action::Remember { attempt, phase } => self.remember(attempt, phase),
        }
    }

    /// The API server's "no" is final for this attempt; anything else is tried again.
    async fn creation_failed(&mut self, attempt: AttemptId, target: &ObjectRef, error: &WriteError) -> bool {
        match error.code() {
            // It exists: the watch will show whose it is.
            409 => false,
            400 | 403 | 404 | 422 => {
                let message = format!(
                    "the cluster refuses RayJob {}/{}: {}",
                    target.namespace,
                    target.name,
                    error.sentence()
                );
                self.tell(attempt, AttemptStep::Refused, message, Some(Phase::Refused)).await
            }
            _ => {
                tracing::warn!(%error, %attempt, "a RayJob cannot be created yet");
                false
            }
        }
    }

    async fn tell(
        &mut self,
        attempt: AttemptId,
        step: AttemptStep,
        message: String,
        phase: Option<Phase>,
    ) -> bool {
        let fact = Fact::Attempt(AttemptFact { attempt, step, message });
        self.recorder.fact_durable(clock::now(), fact).await && self.remember(attempt, phase)
    }

    fn remember(&mut self, attempt: AttemptId, phase: Option<Phase>) -> bool {
        let stored = block_in_place(|| self.store.remember(&[(attempt, phase)]));
        stored.inspect_err(|error| tracing::error!(%error, "what was done cannot be stored")).is_ok()
    }
}
