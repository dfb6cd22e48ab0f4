//! Queue: which object is judged next, and when.
//!
//! Owns the due times. Invariant: an object is in at most one worker's hands; a wake during its pass leads to another
//! pass afterwards; many wakes within the debounce time lead to one. Losing the queue loses nothing: start-up wakes all.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::watch::Target;

/// How long a wake waits for others to join it.
const DEBOUNCE: Duration = Duration::from_millis(10);

/// Due times, decided without a clock of their own.
#[derive(Default, Debug)]
struct Agenda {
    due: BTreeMap<Target, Instant>,
    by_time: BTreeSet<(Instant, Target)>,
    in_hand: BTreeSet<Target>,
}

impl Agenda {
    /// Makes `target` due at `at`, or earlier if it already is.
    fn schedule(&mut self, target: Target, at: Instant) {
        if let Some(known) = self.due.get(&target) {
            if *known <= at {
                return;
            }
            self.by_time.remove(&(*known, target.clone()));
        }
        self.by_time.insert((at, target.clone()));
        self.due.insert(target, at);
    }

    /// The first object that is due and in nobody's hands; else when to look again.
    fn take(&mut self, now: Instant) -> Result<Target, Option<Instant>> {
        let free = self.by_time.iter().find(|(_, target)| !self.in_hand.contains(target)).cloned();
        match free {
            Some((at, target)) if at <= now => {
                self.by_time.remove(&(at, target.clone()));
                self.due.remove(&target);
                self.in_hand.insert(target.clone());
                Ok(target)
            }
            Some((at, _)) => Err(Some(at)),
            None => Err(None),
        }
    }
}

/// The queue that watches fill and workers empty.
#[derive(Default, Debug)]
pub struct Queue {
    agenda: Mutex<Agenda>,
    changed: Notify,
}

impl Queue {
    /// Something about this object changed.
    pub fn wake(&self, target: Target) {
        self.schedule(target, DEBOUNCE);
    }

    /// Judge this object after `pause` at the latest.
    pub fn schedule(&self, target: Target, pause: Duration) {
        self.agenda().schedule(target, Instant::now() + pause);
        self.changed.notify_one();
    }

    /// The next object to judge; hand it back with [`Queue::done`].
    pub async fn next(&self) -> Target {
        loop {
            let waiting = self.agenda().take(Instant::now());
            match waiting {
                Ok(target) => {
                    // Another worker may sleep through what is left.
                    self.changed.notify_one();
                    return target;
                }
                Err(Some(at)) => {
                    let sleep = tokio::time::sleep_until(at.into());
                    tokio::select! { () = sleep => {}, () = self.changed.notified() => {} }
                }
                Err(None) => self.changed.notified().await,
            }
        }
    }

    /// A pass ended.
    pub fn done(&self, target: &Target) {
        self.agenda().in_hand.remove(target);
        self.changed.notify_one();
    }

    fn agenda(&self) -> MutexGuard<'_, Agenda> {
        self.agenda.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::watch::TargetKind;

    fn target(name: &str) -> Target {
        Target::new(TargetKind::Cluster, "ns", name)
    }

    #[test]
    fn many_wakes_are_one_pass_at_the_earliest_time() {
        let (mut agenda, start) = (Agenda::default(), Instant::now());
        let after = |millis| start + Duration::from_millis(millis);
        agenda.schedule(target("a"), after(50));
        agenda.schedule(target("a"), after(10));
        agenda.schedule(target("a"), after(90));
        assert_eq!(agenda.take(after(9)), Err(Some(after(10))));
        assert_eq!(agenda.take(after(10)), Ok(target("a")));
        assert_eq!(agenda.take(after(100)), Err(None));
    }

    #[test]
    fn a_wake_during_a_pass_waits_for_its_end_and_blocks_nobody_else() {
        let (mut agenda, now) = (Agenda::default(), Instant::now());
        agenda.schedule(target("a"), now);
        assert_eq!(agenda.take(now), Ok(target("a")));
        agenda.schedule(target("a"), now);
        agenda.schedule(target("b"), now);
        assert_eq!(agenda.take(now), Ok(target("b")));
        assert_eq!(agenda.take(now), Err(None));
        agenda.in_hand.remove(&target("a"));
        assert_eq!(agenda.take(now), Ok(target("a")));
    }

    #[tokio::test]
    async fn workers_get_each_object_once() {
        let queue = Queue::default();
        queue.wake(target("a"));
        queue.wake(target("a"));
        let first = queue.next().await;
        assert_eq!(first, target("a"));
        queue.done(&first);
        let nothing = tokio::time::timeout(Duration::from_millis(50), queue.next()).await;
        assert!(nothing.is_err());
    }
}
