//! Emitter: decides whether an observation is news.
//!
//! Owns the last fact emitted for each uid of one kind. Invariant: the same fact is emitted once, however often the API
//! server repeats the object; an object missing from a complete list is emitted as gone exactly once. Memory is lost
//! with the process; the next one emits everything again, which consumers must take as the same news.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{fact::Fact, time::Timestamp};

/// One observation of an object: its uid and what it says.
#[derive(Clone, PartialEq, Debug)]
pub struct Observed {
    pub uid: String,
    pub fact: Fact,
}

/// The memory of one kind.
#[derive(Default, Debug)]
pub struct Emitter {
    last: BTreeMap<String, Fact>,
    listing: Option<BTreeSet<String>>,
}

impl Emitter {
    /// The fact, if it says something new.
    pub fn seen(&mut self, observed: Observed) -> Option<Fact> {
        if let Some(listing) = &mut self.listing {
            listing.insert(observed.uid.clone());
        }
        if self.last.get(&observed.uid) == Some(&observed.fact) {
            return None;
        }
        self.last.insert(observed.uid, observed.fact.clone());
        Some(observed.fact)
    }

    /// The last word on an object that was deleted at `now`, if it was not said before. `why` goes to RayClusters.
    pub fn gone(&mut self, observed: Observed, now: Timestamp, why: &str) -> Option<Fact> {
        self.last.remove(&observed.uid)?;
        mark_gone(observed.fact, now, why)
    }

    /// A complete list begins.
    pub fn list_begins(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    /// The list ended: what was known and not listed is gone.
    pub fn list_ends(&mut self, now: Timestamp, why: &str) -> Vec<Fact> {
        let Some(listed) = self.listing.take() else { return Vec::new() };
        let missing: Vec<String> = self.last.keys().filter(|uid| !listed.contains(*uid)).cloned().collect();
        let lost = missing.iter().filter_map(|uid| self.last.remove(uid));
        lost.filter_map(|fact| mark_gone(fact, now, why)).collect()
    }

    /// Uids of everything that exists, as far as is known.
    pub fn uids(&self) -> impl Iterator<Item = &String> {
        self.last.keys()
    }

    /// Every fact that stands.
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.last.values()
    }
}

/// The same fact with its object gone; `None` for kinds that do not end.
fn mark_gone(fact: Fact, now: Timestamp, why: &str) -> Option<Fact> {
    match fact {
        Fact::Node(mut node) => {
            node.gone = true;
            Some(Fact::Node(node))
        }
        Fact::Pod(mut pod) => {
            pod.gone = true;
            pod.finished_at = pod.finished_at.or(Some(now));
            Some(Fact::Pod(pod))
        }
        Fact::RayCluster(mut cluster) => {
            cluster.gone = true;
            why.clone_into(&mut cluster.gone_why);
            Some(Fact::RayCluster(cluster))
        }
        Fact::RayJob(mut job) => {
            job.gone = true;
            Some(Fact::RayJob(job))
        }
        Fact::Attempt(_)
        | Fact::Kernel(_)
        | Fact::Event(_)
        | Fact::Inventory(_)
        | Fact::Listed(_)
        | Fact::Arrival(_)
        | Fact::Holdings(_) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use squadron_core::fact::PodFact;

    const NOW: Timestamp = Timestamp(1_000);

    fn pod(uid: &str, phase: &str) -> Observed {
        let fact = PodFact { uid: uid.into(), phase: phase.into(), ..PodFact::default() };
        Observed { uid: uid.into(), fact: Fact::Pod(Box::new(fact)) }
    }

    #[test]
    fn repetition_is_silent_and_change_is_news() {
        let mut emitter = Emitter::default();
        assert!(emitter.seen(pod("a", "Pending")).is_some());
        assert!(emitter.seen(pod("a", "Pending")).is_none());
        assert!(emitter.seen(pod("a", "Running")).is_some());
        assert!(emitter.seen(pod("b", "Running")).is_some());
    }

    #[test]
    fn relist_is_silent_except_for_what_vanished() {
        let mut emitter = Emitter::default();
        emitter.seen(pod("a", "Running"));
        emitter.seen(pod("b", "Running"));
        emitter.list_begins();
        assert!(emitter.seen(pod("a", "Running")).is_none());
        let lost = emitter.list_ends(NOW, "");
        let [Fact::Pod(fact)] = lost.as_slice() else { panic!("{lost:?}") };
        assert_eq!((fact.uid.as_str(), fact.gone, fact.finished_at), ("b", true, Some(NOW)));
        assert_eq!(emitter.uids().collect::<Vec<_>>(), ["a"]);
        assert!(emitter.list_ends(NOW, "").is_empty(), "an end without a beginning says nothing");
    }

    #[test]
    fn deletion_is_said_once_and_keeps_the_true_end() {
        let mut emitter = Emitter::default();
        let mut ended = pod("a", "Succeeded");
        if let Fact::Pod(fact) = &mut ended.fact {
            fact.finished_at = Some(Timestamp(7));
        }
        emitter.seen(ended.clone());
        let Some(Fact::Pod(fact)) = emitter.gone(ended.clone(), NOW, "") else { panic!("not said") };
        assert_eq!(fact.finished_at, Some(Timestamp(7)));
        assert!(emitter.gone(ended, NOW, "").is_none());
    }
}
