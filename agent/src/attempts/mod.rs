//! Attempts: makes the cluster hold the RayJobs that the control plane wants, and tells what became of them.
//!
//! Owns the loop around [`crate::plan`]: load what is wanted and what exists, plan, act, remember. Invariant: what was
//! told is durable before it is remembered as told; a desired state is on disk before it is acted on, so that a restart
//! without the control plane goes on and deletes nothing that is still wanted.

mod acts;
pub(crate) mod fence;
mod fences;
mod holdings;
mod journal;
mod observe;
mod store;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::future::join_all;
use k8s_openapi::api::coordination::v1::Lease as LeaseObject;
use kube::Api;
use squadron_core::{
    fact::{AttemptFact, AttemptStep, Fact},
    id::AttemptId,
    lease::{Standing, Terms},
};
use tokio::{
    sync::{Notify, watch},
    task::block_in_place,
    time::{Instant, timeout},
};

use crate::{
    clock,
    controller::{Writer, reference},
    fencer::mark,
    lease::{Lease, Leave},
    logs::Logs,
    pace::Pace,
    plan::{self, Desired, DesiredAttempt, Observed, Phase, Policy, SeenJob},
    record::Recorder,
    uplink::Applied,
    watch::Cache,
};

use acts::{Act, Acted, Ended, Todo, creation_failed};
use fences::{Fences, Means};
pub use holdings::Asked;
pub use store::Store;

/// The full pass is made this often even if nothing woke it.
const RESYNC: Duration = Duration::from_secs(5);
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Reading the fencer's note delays what must be stopped by no more than this.
const NOTE: Duration = Duration::from_millis(500);
/// Writes that are under way at the same time.
const AT_ONCE: usize = 32;
/// No pass goes on to create, or to delete, longer than this beyond its first writes; then it looks at everything anew.
const FRESH: Duration = Duration::from_secs(1);

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
    pub asked: Asked,
}

/// What a pass leaves to the loop.
struct Passed {
    /// How long it looked, without what it waited for.
    looked: Duration,
    /// When the next must come at the latest.
    pause: Duration,
}

impl Passed {
    const FAILED: Passed = Passed { looked: Duration::ZERO, pause: AFTER_FAILURE };
}

impl Attempts {
    /// Runs until the process ends.
    pub async fn run(mut self, mut wanted: watch::Receiver<Option<Desired>>) {
        let (mut promises, mut fences) = (self.lease.promises(), Fences::default());
        let mut pace = Pace::new(Instant::now());
        loop {
            let complete = self.cache.is_complete();
            let Passed { looked, pause } =
                if complete { self.pass(&mut wanted, &mut fences).await } else { Passed::FAILED };
            tokio::time::sleep(pace.rest(looked, Instant::now())).await;
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() { return },
                () = self.wake.notified() => {}
                Ok(()) = promises.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// One full pass.
    async fn pass(&mut self, wanted: &mut watch::Receiver<Option<Desired>>, fences: &mut Fences) -> Passed {
        let begun = Instant::now();
        let desired = wanted.borrow_and_update().clone();
        let news = desired.as_ref().filter(|desired| self.store.is_news(desired));
        if let Some(news) = news
            && let Err(error) = block_in_place(|| self.store.keep_desired(news))
        {
            tracing::error!(%error, "a desired state cannot be stored; it is not applied yet");
            return Passed::FAILED;
        }
        if let Some(desired) = &desired {
            expect(desired, &self.cache);
        }
        // What is wanted is remembered too.
        self.cache.expect_only(&self.store.memory.attempts().map(|(attempt, _)| attempt).collect());
        let mut observed = observe::observe(&self.cache, &self.logs, desired.as_ref(), &self.store.memory);
        observed.ready.clone_from(&self.accepts.borrow());
        let looked = Instant::now();
        self.tell_holdings(desired.as_ref(), &observed).await;
        if self.misses_one(desired.as_ref(), &observed) {
            self.read_note(&mut observed).await;
        }
        let (noted, leave) = (Instant::now(), self.leave(desired.as_ref(), &observed));
        let memory = &self.store.memory;
        let plan = plan::plan(desired.as_ref(), &observed, memory, &self.policy, &leave, clock::now());
        let looked = (looked - begun) + noted.elapsed();
        self.accepts.send_if_modified(|known| {
            let news = *known != plan.accepts;
            known.clone_from(&plan.accepts);
            news
        });
        let acted = self.act_all(Todo::of(plan.actions), &leave.why, desired.as_ref(), fences).await;
        let ended = if acted == Ended::Done && observed.note_unread { Ended::Failed } else { acted };
        if let Some(desired) = desired.filter(|_| ended == Ended::Done) {
            self.applied.set(desired.generation);
        }
        let at_most = RESYNC.min(self.until_the_lease_ends());
        let pause = match plan.wake_at {
            _ if ended == Ended::Again => Duration::ZERO,
            _ if ended == Ended::Failed => AFTER_FAILURE,
            Some(at) => {
                let left = u64::try_from(at.millis_since(clock::now())).unwrap_or(0);
                Duration::from_millis(left.max(50)).min(at_most)
            }
            None => at_most,
        };
        Passed { looked, pause }
    }

    /// Answers the control plane if it asks what is held; what was told of ends is told again then.
    async fn tell_holdings(&mut self, desired: Option<&Desired>, observed: &Observed) {
        let timeline = self.lease.asked();
        let untold = holdings::untold(desired, &self.store.memory);
        if self.asked.is_open(timeline) && self.remember(&untold) {
            self.asked.answer(timeline, desired, observed, &self.recorder).await;
        }
    }

    /// The fencer notes first and stops then, so what it stopped is in the note by now. A note that cannot be read holds up
    /// the word on what is gone, and nothing else.
    async fn read_note(&self, observed: &mut Observed) {
        match timeout(NOTE, mark::read(&self.notes)).await {
            Ok(Ok(left)) => {
                let note = left.unwrap_or_default().stopped;
                (observed.fenced, observed.fenced_more) = (note.attempts(), note.more);
                return;
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "an attempt is gone, and the fencer's note cannot be read yet");
            }
            Err(_late) => tracing::warn!("an attempt is gone, and reading the fencer's note takes long"),
        }
        observed.note_unread = true;
    }

    /// Whether a RayJob is gone that was made and is wanted.
    fn misses_one(&self, desired: Option<&Desired>, observed: &Observed) -> bool {
        let made = |attempt: &DesiredAttempt| match self.store.memory.get(attempt.id) {
            Some(Phase::Created | Phase::Released(_)) => true,
            Some(Phase::Refused | Phase::Removed | Phase::Fencing | Phase::Fenced) => false,
            Some(Phase::Wanted) | None => attempt.created,
        };
        let key = |attempt: &DesiredAttempt| (attempt.namespace.clone(), attempt.name.clone());
        let mut wanted = desired.into_iter().flat_map(|desired| desired.attempts.values());
        wanted.any(|attempt| made(attempt) && !observed.jobs.contains_key(&key(attempt)))
    }

    /// What the lease says now.
    fn leave(&self, desired: Option<&Desired>, observed: &Observed) -> Leave {
        let ours = |job: &&SeenJob| !job.ended;
        let running = observed.jobs.values().filter(ours).filter_map(|job| job.ours).collect();
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

    /// What is only remembered comes first, in one write; then what must stop begins to stop, because the guard is short, and
    /// nothing waits for it; then the rest, some at a time.
    async fn act_all(
        &mut self,
        todo: Todo,
        why: &str,
        desired: Option<&Desired>,
        fences: &mut Fences,
    ) -> Ended {
        let mut done = self.remember(&todo.remembered);
        self.fence(todo.fenced, why, fences);
        done &= self.tell(todo.said).await;
        let told = if done { Ended::Done } else { Ended::Failed };
        let capped = self.act_some(todo.caps, desired, RESYNC).await;
        let deleted = self.act_some(todo.deletes, desired, RESYNC).await;
        let created = self.act_some(todo.creates, desired, Duration::MAX).await;
        told.and(capped).and(deleted).and(created)
    }

    /// Acts, some at a time, each lot for no longer than `at_most` and no longer than the lease lasts. The first lot is always
    /// begun, so that every pass gets on.
    async fn act_some(&mut self, acts: Vec<Act>, desired: Option<&Desired>, at_most: Duration) -> Ended {
        let (began, held) = (Instant::now(), self.holds_the_lease());
        let (mut ended, mut rest) = (Ended::Done, acts.into_iter());
        loop {
            let lot: Vec<Act> = rest.by_ref().take(AT_ONCE).collect();
            if lot.is_empty() {
                return ended;
            }
            if began.elapsed() >= FRESH || held != self.holds_the_lease() {
                return Ended::Again;
            }
            let asked = lot.len();
            let lot = self.permitted(lot, desired);
            if lot.len() < asked {
                ended = ended.and(Ended::Again);
            }
            match timeout(at_most.min(self.until_the_lease_ends()), self.act_together(lot)).await {
                Ok(true) => {}
                Ok(false) => ended = ended.and(Ended::Failed),
                // What was sent is seen by the next pass, whether it was carried out or not.
                Err(_over) => return Ended::Again,
            }
        }
    }

    /// Without what the lease does not allow now: writing, telling and other acts may have taken long since the pass looked.
    fn permitted(&self, mut acts: Vec<Act>, desired: Option<&Desired>) -> Vec<Act> {
        if acts.iter().any(|act| matches!(act, Act::Create(..))) {
            let leave = self.leave(desired, &Observed::default());
            acts.retain(|act| match act {
                Act::Create(attempt, _) => !leave.not_started.contains_key(attempt),
                Act::Delete(..) | Act::Cap(..) => true,
            });
        }
        acts
    }

    fn holds_the_lease(&self) -> bool {
        matches!(self.lease.standing(clock::tick()).0, Standing::Held { .. })
    }

    /// Begins to stop everything of these attempts with the grace of the fence.
    fn fence(&self, attempts: BTreeSet<AttemptId>, why: &str, fences: &mut Fences) {
        if !attempts.is_empty() {
            tracing::warn!(attempts = attempts.len(), why, "the lease has ended; attempts are stopped");
        }
        let (writer, cache, wake) = (&self.writer, &self.cache, &self.wake);
        let grace = Terms::default().grace;
        fences.begin(attempts, &Means { writer, cache, wake, grace, pause: AFTER_FAILURE });
    }

    /// Writes at the same time, and tells together what came of it. False when something must be tried again.
    async fn act_together(&mut self, acts: Vec<Act>) -> bool {
        let acted = join_all(acts.into_iter().map(|act| self.act(act))).await;
        let done = acted.iter().all(|acted| !matches!(acted, Acted::Again));
        let said = acted.into_iter().filter_map(|acted| match acted {
            Acted::Said(fact, phase) => Some((fact, Some(phase))),
            Acted::Done | Acted::Again => None,
        });
        self.tell(said.collect()).await && done
    }

    async fn act(&self, act: Act) -> Acted {
        match act {
            Act::Create(attempt, object) => match self.writer.create(&object).await {
                Ok(_) => {
                    let created = AttemptFact { attempt, step: AttemptStep::Created, message: String::new() };
                    Acted::Said(created, Phase::Created)
                }
                Err(error) => creation_failed(attempt, &reference(&object), &error),
            },
            Act::Cap(attempt, target, patch) => match self.writer.patch(&target, &patch).await {
                Ok(_) => Acted::Done,
                Err(error) => {
                    tracing::warn!(%error, %attempt, "worker groups cannot be made smaller or larger yet");
                    Acted::Again
                }
            },
            Act::Delete(attempt, target) => match self.writer.delete(&target).await {
                Ok(()) => Acted::Done,
                Err(error) => {
                    tracing::warn!(%error, %attempt, "a RayJob cannot be deleted");
                    Acted::Again
                }
            },
        }
    }

    /// Tells all of it, then remembers what was told in one write.
    async fn tell(&mut self, said: Vec<(AttemptFact, Option<Phase>)>) -> bool {
        let (recorder, now) = (self.recorder.clone(), clock::now());
        let told = join_all(said.into_iter().map(|(fact, phase)| {
            let (attempt, recorder) = (fact.attempt, &recorder);
            async move {
                let durable = recorder.fact_durable(now, Fact::Attempt(fact)).await;
                durable.then_some((attempt, phase))
            }
        }));
        let told = told.await;
        let kept: Vec<_> = told.iter().flatten().copied().collect();
        self.remember(&kept) && kept.len() == told.len()
    }

    fn remember(&mut self, phases: &[(AttemptId, Option<Phase>)]) -> bool {
        if phases.is_empty() {
            return true;
        }
        let stored = block_in_place(|| self.store.remember(phases));
        stored.inspect_err(|error| tracing::error!(%error, "what was done cannot be stored")).is_ok()
    }
}
