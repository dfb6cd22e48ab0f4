//! Poll: asks Ray dashboards about jobs, outside the passes, and wakes the RayJob with each answer.
//!
//! Owns one asking task per RayJob and the latest answer. Invariant: at most [`AT_ONCE`] questions are under way, so
//! slow heads delay only answers of their own kind, never a pass.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use squadron_ray::{
    plan::Poll,
    view::{RayAnswer, RayOutcome},
};
use tokio::{sync::Semaphore, task::JoinHandle};

use super::{dashboard::Dashboards, queue::Queue};
use crate::{clock::now, watch::Target};

const AT_ONCE: usize = 32;

/// Questions under way and answers got.
pub struct Polls {
    dashboards: Dashboards,
    queue: Arc<Queue>,
    slots: Arc<Semaphore>,
    running: Mutex<BTreeMap<Target, Running>>,
    answers: Arc<Mutex<BTreeMap<Target, RayAnswer>>>,
}

struct Running {
    poll: Poll,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Polls {
    pub fn new(dashboards: Dashboards, queue: Arc<Queue>) -> Polls {
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        Polls { dashboards, queue, slots, running: Mutex::default(), answers: Arc::default() }
    }

    /// Asks this from now on, or nothing; the same question goes on undisturbed.
    pub fn set(&self, target: &Target, poll: Option<Poll>) {
        let mut running = self.running();
        let Some(poll) = poll else {
            running.remove(target);
            return;
        };
        if running.get(target).is_some_and(|known| known.poll == poll) {
            return;
        }
        let task = tokio::spawn(self.asking(target.clone(), poll.clone()));
        running.insert(target.clone(), Running { poll, task });
    }

    /// The latest answer.
    pub fn answer(&self, target: &Target) -> Option<RayAnswer> {
        lock(&self.answers).get(target).cloned()
    }

    /// The object is gone.
    pub fn forget(&self, target: &Target) {
        self.running().remove(target);
        lock(&self.answers).remove(target);
    }

    fn asking(&self, target: Target, poll: Poll) -> impl Future<Output = ()> + use<> {
        let (dashboards, queue) = (self.dashboards.clone(), self.queue.clone());
        let (slots, answers) = (self.slots.clone(), self.answers.clone());
        async move {
            loop {
                let answer = {
                    let _slot = slots.acquire().await;
                    ask(&dashboards, &poll).await
                };
                let news = lock(&answers).insert(target.clone(), answer.clone());
                if news.is_none_or(|old| old.outcome != answer.outcome)
                    || !matches!(answer.outcome, RayOutcome::Found(_))
                {
                    queue.wake(target.clone());
                }
                tokio::time::sleep(poll.every).await;
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Target, Running>> {
        lock(&self.running)
    }
}

async fn ask(dashboards: &Dashboards, poll: &Poll) -> RayAnswer {
    let outcome = match dashboards.job(&poll.dashboard, &poll.submission_id).await {
        Ok((code, body)) => RayOutcome::from_http(code, &body),
        Err(error) => RayOutcome::Failed(error.to_string()),
    };
    RayAnswer {
        submission_id: poll.submission_id.clone(),
        dashboard: poll.dashboard.clone(),
        at: now(),
        outcome,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
