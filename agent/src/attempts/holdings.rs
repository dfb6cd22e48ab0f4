//! Holdings: what this cluster holds, told when the control plane asks because its database may have forgotten some of it.
//!
//! Owns which question was answered. Invariant: told in the loop that creates, between two passes, and after a promise of the
//! timeline that asks; so nothing that was granted before it starts after it was told. What the database forgot of the objects
//! themselves follows behind, because a fact of an attempt that it does not know changes nothing. Lost with the process; the next
//! one is asked again.

use std::{collections::BTreeSet, sync::Arc};

use squadron_core::{
    fact::{Fact, HoldingsFact, MOST_HELD},
    id::AttemptId,
};
use tokio::sync::Notify;

use crate::{
    clock,
    plan::{Desired, DesiredAttempt, Memory, Observed, Phase},
    record::Recorder,
};

/// The questions of the control plane.
pub struct Asked {
    /// The timeline under which the last was answered.
    answered: u64,
    /// Wakes the watches to tell everything again.
    again: Arc<Notify>,
}

impl Asked {
    pub fn new(again: Arc<Notify>) -> Asked {
        Asked { answered: 0, again }
    }

    /// Whether the question that was asked under `timeline` (0 for none) was not answered yet.
    pub(super) fn is_open(&self, timeline: u64) -> bool {
        timeline > self.answered
    }

    /// Answers the question that was asked under `timeline`; a disk that fails is tried by the next pass.
    pub(super) async fn answer(
        &mut self,
        timeline: u64,
        desired: Option<&Desired>,
        observed: &Observed,
        recorder: &Recorder,
    ) {
        let facts = holdings(timeline, desired, observed);
        tracing::warn!(
            timeline,
            "the database failed over and may have forgotten attempts; telling what is held"
        );
        for fact in facts {
            if !recorder.fact_durable(clock::now(), Fact::Holdings(fact)).await {
                return;
            }
        }
        self.answered = timeline;
        self.again.notify_one();
    }
}

/// Phases of wanted attempts as they were before their end or their refusal was told, which may be forgotten.
pub(super) fn untold(desired: Option<&Desired>, memory: &Memory) -> Vec<(AttemptId, Option<Phase>)> {
    let wanted = desired.into_iter().flat_map(|desired| desired.attempts.keys());
    let before = |attempt: &AttemptId| match memory.get(*attempt) {
        Some(Phase::Removed) => Some((*attempt, Some(Phase::Created))),
        Some(Phase::Fenced) => Some((*attempt, Some(Phase::Fencing))),
        Some(Phase::Refused) => Some((*attempt, None)),
        _ => None,
    };
    wanted.filter_map(before).collect()
}

/// Everything of which something exists, and what else may have been under way when the database failed over.
fn holdings(timeline: u64, desired: Option<&Desired>, observed: &Observed) -> Vec<HoldingsFact> {
    let there = observed.jobs.values().filter_map(|job| job.ours);
    let held: BTreeSet<AttemptId> = there.chain(observed.remains.iter().copied()).collect();
    let wanted = desired.into_iter().flat_map(|desired| desired.attempts.values());
    let begun = |attempt: &DesiredAttempt| attempt.accepted_by.is_some() || attempt.created;
    let accepted =
        wanted.map(|attempt| &**attempt).filter(|attempt| begun(attempt) && !held.contains(&attempt.id));
    let all: Vec<(AttemptId, bool)> = held
        .iter()
        .map(|attempt| (*attempt, true))
        .chain(accepted.map(|attempt| (attempt.id, false)))
        .collect();
    let mut parts: Vec<HoldingsFact> = all.chunks(MOST_HELD).map(|part| of(timeline, part)).collect();
    if let Some((_, before)) = parts.split_last_mut() {
        before.iter_mut().for_each(|part| part.more = true);
    } else {
        parts.push(of(timeline, &[]));
    }
    parts
}

fn of(timeline: u64, part: &[(AttemptId, bool)]) -> HoldingsFact {
    let those = |exists: bool| part.iter().filter(move |one| one.1 == exists).map(|one| one.0).collect();
    HoldingsFact { timeline, held: those(true), accepted: those(false), more: false }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::plan::SeenJob;

    fn id(job: u32) -> AttemptId {
        AttemptId { job: format!("0196f0a0-0000-7000-8000-{job:012x}").parse().unwrap(), number: 1 }
    }

    fn seen(jobs: impl Iterator<Item = u32>) -> Observed {
        let job = |ours| SeenJob { uid: "u".into(), ours: Some(id(ours)), deleting: false, ended: false };
        let jobs = jobs.map(|n| (("ml".to_owned(), n.to_string()), job(n))).collect();
        Observed { jobs, remains: [id(1), id(7)].into(), ..Observed::default() }
    }

    #[test]
    fn what_exists_and_what_may_be_under_way_is_told() {
        let offered = |n, accepted_by| DesiredAttempt { accepted_by, ..DesiredAttempt::bare(id(n)) };
        let made = DesiredAttempt { created: true, ..offered(4, None) };
        let wanted = [offered(1, Some(4)), offered(2, Some(4)), offered(3, None), made];
        let desired = Desired::of(9, wanted.into_iter().map(|one| (one.id, one)));
        let told = holdings(2, Some(&desired), &seen([1].into_iter()));
        let all =
            HoldingsFact { timeline: 2, held: vec![id(1), id(7)], accepted: vec![id(2), id(4)], more: false };
        assert_eq!(told, [all]);
    }

    #[test]
    fn an_end_that_was_told_is_told_again() {
        let desired = Desired::of(9, (1..=5).map(|n| (id(n), DesiredAttempt::bare(id(n)))));
        let mut memory = Memory::default();
        let told = [(1, Phase::Removed), (2, Phase::Refused), (3, Phase::Created), (5, Phase::Fenced)];
        for (n, phase) in told.into_iter().chain([(7, Phase::Removed)]) {
            memory.set(id(n), Some(phase));
        }
        let again = [(id(1), Some(Phase::Created)), (id(2), None), (id(5), Some(Phase::Fencing))];
        assert_eq!(
            untold(Some(&desired), &memory),
            again,
            "nobody deleted what the end of the lease stopped"
        );
        assert_eq!(untold(None, &memory), []);
    }

    #[test]
    fn many_are_told_in_parts_and_nothing_is_told_as_well() {
        let told = holdings(2, None, &seen(1..=4_500));
        let sizes: Vec<(usize, bool)> = told.iter().map(|part| (part.held.len(), part.more)).collect();
        assert_eq!(sizes, [(MOST_HELD, true), (MOST_HELD, true), (500, false)]);
        let longest = serde_json::to_string(&Fact::Holdings(told[0].clone())).map(|text| text.len());
        assert!(longest.is_ok_and(|bytes| bytes < 256 * 1024));
        assert_eq!(holdings(2, None, &Observed::default()), [of(2, &[])]);
    }
}
