//! Kept: what a pod's row becomes by a newer fact.
//!
//! Invariant: an older fact changes nothing, and a pod that is gone stays gone. Pure, so that a batch with many facts of one
//! pod is worked out in memory, in the order of the facts, and written once.

use squadron_core::{fact::PodFact, meter, resources::Resources, time::Timestamp};

use crate::cursor::Position;

/// A pod's row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Kept {
    /// As its newest fact shows it, with the times that older ones told.
    pub(super) pod: PodFact,
    /// The end is when the pod was missed, not when it ended.
    pub(super) end_estimated: bool,
    /// Since when it asks for what it asks for, where that changed.
    pub(super) requests_since: Option<Timestamp>,
    pub(super) observed_at: Timestamp,
    pub(super) position: Position,
}

/// What a pod asked for before it was resized.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Past {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    pub(super) requests: Resources,
}

impl Kept {
    /// The row of a pod that was never seen before.
    pub(super) fn first(pod: &PodFact, position: Position, seen: Timestamp) -> Kept {
        let (bound_at, finished_at) = meter::held(pod, seen);
        let pod = PodFact { bound_at, finished_at, ..pod.clone() };
        Kept { pod, end_estimated: false, requests_since: None, observed_at: seen, position }
    }

    /// The row after a fact, and what it asked for before if that changed; None if the fact is no news.
    pub(super) fn next(
        &self,
        pod: &PodFact,
        position: Position,
        seen: Timestamp,
    ) -> Option<(Kept, Option<Past>)> {
        if self.position >= position {
            return None;
        }
        let (bound, ended) = meter::held(pod, seen);
        let next = PodFact {
            bound_at: self.pod.bound_at.or(bound),
            finished_at: ended.filter(|_| self.end_estimated).or(self.pod.finished_at).or(ended),
            gone: self.pod.gone || pod.gone,
            ..pod.clone()
        };
        let kept = Kept {
            pod: next,
            end_estimated: self.end_estimated && ended.is_none(),
            requests_since: self.since(pod, seen),
            observed_at: seen,
            position,
        };
        Some((kept, self.past(pod, seen)))
    }

    fn since(&self, pod: &PodFact, seen: Timestamp) -> Option<Timestamp> {
        match self.pod.bound_at {
            Some(bound) if self.pod.requests != pod.requests => {
                Some(seen.max(self.requests_since.unwrap_or(bound)))
            }
            _ => self.requests_since,
        }
    }

    fn past(&self, pod: &PodFact, seen: Timestamp) -> Option<Past> {
        let from = self.requests_since.or(self.pod.bound_at).filter(|from| *from < seen)?;
        let resized = self.pod.finished_at.is_none() && self.pod.requests != pod.requests;
        resized.then_some(Past { from, to: seen, requests: self.pod.requests })
    }
}
