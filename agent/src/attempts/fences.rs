//! Fences: stops of attempts that are under way, beside everything else that passes do.
//!
//! Invariant: one stop at a time works on an attempt, and no pass waits for it, so an object that cannot be deleted quickly holds
//! up neither other attempts nor the next look at the lease. A stop that failed, or that was asked for again meanwhile, wakes the
//! next pass when it ends.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use squadron_core::id::AttemptId;
use tokio::{sync::Notify, task::JoinHandle};

use super::fence::fence;
use crate::{controller::Writer, watch::Cache};

/// What is under way.
#[derive(Default)]
pub struct Fences(Vec<Stop>);

struct Stop {
    attempts: BTreeSet<AttemptId>,
    /// One of them was asked for again.
    again: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

/// How a stop is made.
pub struct Means<'a> {
    pub writer: &'a Writer,
    pub cache: &'a Arc<Cache>,
    pub wake: &'a Arc<Notify>,
    /// Milliseconds that containers get.
    pub grace: u64,
    /// Pause after a stop that failed.
    pub pause: Duration,
}

impl Fences {
    /// Begins to stop those of which no stop is under way.
    pub fn begin(&mut self, mut attempts: BTreeSet<AttemptId>, means: &Means<'_>) {
        self.0.retain(|stop| !stop.task.is_finished());
        for stop in &self.0 {
            if !stop.attempts.is_disjoint(&attempts) {
                stop.again.store(true, Ordering::Relaxed);
                attempts.retain(|attempt| !stop.attempts.contains(attempt));
            }
        }
        if !attempts.is_empty() {
            self.0.push(stop(attempts, means));
        }
    }
}

fn stop(attempts: BTreeSet<AttemptId>, means: &Means<'_>) -> Stop {
    let again = Arc::new(AtomicBool::new(false));
    let (asked, these, grace, pause) = (again.clone(), attempts.clone(), means.grace, means.pause);
    let (writer, cache, wake) = (means.writer.clone(), means.cache.clone(), means.wake.clone());
    let task = tokio::spawn(async move {
        let failed = fence(&writer, &cache, &these, grace).await > 0;
        if failed {
            tokio::time::sleep(pause).await;
        }
        if failed || asked.load(Ordering::Relaxed) {
            wake.notify_one();
        }
    });
    Stop { attempts, again, task }
}
