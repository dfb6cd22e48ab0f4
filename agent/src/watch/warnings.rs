//! Warnings: Warning events on objects of ours, matched to their attempt.
//!
//! Owns the wait for an object that an event outran: the two come by different watches. Invariant: bounded; an event
//! whose object does not show up within a few tries is not ours.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::Event;
use squadron_core::{fact::Fact, id::AttemptId};

use super::Cache;
use crate::facts::{Observed, about, event_fact};

/// How often an event is tried, and how long to wait between two tries.
const TRIES: u32 = 4;
pub const PAUSE: Duration = Duration::from_millis(500);
const MOST_WAITING: usize = 256;
const KINDS: [&str; 4] = ["Pod", "Job", "RayCluster", "RayJob"];

/// Events whose object was not seen yet.
pub struct Warnings {
    cache: Arc<Cache>,
    waiting: VecDeque<(u32, Event)>,
}

impl Warnings {
    pub fn new(cache: Arc<Cache>) -> Warnings {
        Warnings { cache, waiting: VecDeque::new() }
    }

    /// The fact of an event on an object of ours; keeps it for a while if the object is unknown.
    pub fn take(&mut self, event: Event) -> Option<Observed> {
        self.try_once(0, event)
    }

    /// Tries every waiting event once more.
    pub fn retry(&mut self) -> Vec<Observed> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().filter_map(|(tries, event)| self.try_once(tries, event)).collect()
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn try_once(&mut self, tries: u32, event: Event) -> Option<Observed> {
        let (kind, _, _, uid) = about(&event);
        if !KINDS.contains(&kind) {
            return None;
        }
        match self.cache.by_uid(uid) {
            Some(subject) => self.cache.attempt(&subject).map(|attempt| observed(&event, attempt)),
            None => {
                if tries + 1 < TRIES && self.waiting.len() < MOST_WAITING {
                    self.waiting.push_back((tries + 1, event));
                }
                None
            }
        }
    }
}

fn observed(event: &Event, attempt: AttemptId) -> Observed {
    let uid = event.metadata.uid.clone().unwrap_or_default();
    Observed { uid, fact: Fact::Event(event_fact(event, attempt)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::watch::Kind;
    use serde_json::json;

    const CLUSTER: &str = "0196f0a0-0000-7000-8000-0000000000c1";

    fn event(uid: &str) -> Event {
        serde_json::from_value(json!({
            "metadata": {"uid": "e1", "name": "e", "namespace": "ns"}, "type": "Warning", "reason": "FailedMount",
            "message": "no such volume", "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p", "uid": uid},
        }))
        .unwrap()
    }

    /// A pod that an attempt's RayJob owns.
    fn put_pod(cache: &Cache, job: &str) {
        let labels = json!({"squadron.dev/job-id": job, "squadron.dev/attempt": "1"});
        cache.shelf(Kind::RayJob).put(Arc::new(json!({"kind": "RayJob", "metadata": {"namespace": "ns",
            "name": "t-00000001-1", "uid": "j", "labels": labels,
            "annotations": {crate::plan::CLUSTER_ANNOTATION: CLUSTER}}})));
        cache
            .shelf(Kind::Pod)
            .put(Arc::new(json!({"kind": "Pod", "metadata": {"namespace": "ns", "name": "p",
            "uid": "u", "labels": labels, "ownerReferences": [{"uid": "j", "controller": true}]}})));
    }

    #[test]
    fn an_event_waits_for_its_object() {
        let cache = Arc::new(Cache::of(CLUSTER.parse().unwrap()));
        let mut warnings = Warnings::new(cache.clone());
        assert!(warnings.take(event("u")).is_none());
        put_pod(&cache, "0196f0a0-0000-7000-8000-000000000001");
        let told = warnings.retry();
        let [Observed { fact: Fact::Event(fact), .. }] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((fact.reason.as_str(), fact.object_name.as_str(), fact.count), ("FailedMount", "p", 1));
        assert!(!warnings.is_waiting());
    }

    #[test]
    fn events_of_strangers_are_dropped_after_a_few_tries() {
        let mut warnings = Warnings::new(Arc::new(Cache::default()));
        assert!(warnings.take(event("stranger")).is_none());
        for _ in 0..TRIES {
            assert!(warnings.retry().is_empty());
        }
        assert!(!warnings.is_waiting());
    }
}
