//! What the lease makes of a plan.

#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;

use squadron_core::{fact::AttemptStep, id::AttemptId, lease::NotStarted, time::Timestamp};

use super::*;
use crate::lease::Leave;

const NOW: Timestamp = Timestamp(1_000_000_000);

fn id() -> AttemptId {
    AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 1 }
}

fn wanted() -> DesiredAttempt {
    let manifest = r#"{"apiVersion":"ray.io/v1","kind":"RayJob","metadata":{"name":"t"},"spec":{}}"#;
    DesiredAttempt {
        name: "t-1".into(),
        namespace: "ml".into(),
        manifest: manifest.into(),
        on_lost: "fence".into(),
        ..DesiredAttempt::bare(id())
    }
}

fn want() -> Desired {
    Desired::of(1, [(id(), wanted())])
}

fn policy() -> Policy {
    let cluster = "0196f0a0-0000-7000-8000-0000000000c1".parse().unwrap();
    Policy { cluster, home: "squadron".into(), namespaces: None, watchdog: None }
}

fn here(ended: bool) -> Observed {
    let job = SeenJob { uid: "u".into(), ours: Some(id()), deleting: false, ended };
    Observed { jobs: [(("ml".to_owned(), "t-1".to_owned()), job)].into(), ..Observed::default() }
}

fn remembered(phase: Phase) -> Memory {
    let mut memory = Memory::default();
    memory.set(id(), Some(phase));
    memory
}

fn refused(why: NotStarted) -> Leave {
    Leave { not_started: [(id(), why)].into(), ..Leave::default() }
}

fn over() -> Leave {
    Leave { stops: [id()].into(), ..Leave::default() }
}

fn planned(observed: &Observed, memory: &Memory, leave: &Leave) -> Plan {
    plan(Some(&want()), observed, memory, &policy(), leave, NOW)
}

fn step(plan: &Plan) -> Option<(AttemptStep, Option<Phase>)> {
    plan.actions.iter().find_map(|action| match action {
        Action::Report { step, phase, .. } => Some((*step, *phase)),
        _ => None,
    })
}

#[test]
fn an_offered_attempt_is_accepted_and_not_made() {
    let offered = planned(&Observed::default(), &Memory::default(), &refused(NotStarted::NotAccepted));
    assert_eq!((offered.actions, offered.accepts), (vec![], BTreeSet::from([id()])));
    let go = planned(&Observed::default(), &Memory::default(), &Leave::default());
    assert!(matches!(go.actions.as_slice(), [Action::Create { .. }]) && go.accepts.is_empty());
}

#[test]
fn nothing_is_made_late_without_a_lease_or_beside_remains() {
    for why in [NotStarted::Late, NotStarted::NoLease] {
        assert_eq!(planned(&Observed::default(), &Memory::default(), &refused(why)), Plan::default());
    }
    let remains = Observed { remains: BTreeSet::from([id()]), ..Observed::default() };
    assert_eq!(planned(&remains, &Memory::default(), &Leave::default()), Plan::default());
}

#[test]
fn what_was_made_before_is_told_gone_and_not_made_again() {
    let before = refused(NotStarted::CreatedBefore);
    let gone = planned(&Observed::default(), &Memory::default(), &before);
    assert_eq!(step(&gone), Some((AttemptStep::Removed, Some(Phase::Removed))));
    let fenced = Observed { fenced: BTreeSet::from([id()]), ..Observed::default() };
    let stopped = planned(&fenced, &Memory::default(), &before);
    assert_eq!(step(&stopped), Some((AttemptStep::Fenced, Some(Phase::Fenced))));
}

#[test]
fn a_note_that_cannot_name_everything_blames_no_person_for_a_fenced_attempt() {
    let full = Observed { fenced_more: true, ..Observed::default() };
    let before = refused(NotStarted::CreatedBefore);
    let stopped = planned(&full, &Memory::default(), &before);
    assert_eq!(step(&stopped), Some((AttemptStep::Fenced, Some(Phase::Fenced))));
    let waits = Desired::of(1, [(id(), DesiredAttempt { on_lost: "wait".into(), ..wanted() })]);
    let gone = plan(Some(&waits), &full, &Memory::default(), &policy(), &before, NOW);
    assert_eq!(
        step(&gone),
        Some((AttemptStep::Removed, Some(Phase::Removed))),
        "the fencer stops no such job"
    );
}

#[test]
fn a_note_that_cannot_be_read_holds_up_no_stop() {
    let second = AttemptId { number: 2, ..id() };
    let other = DesiredAttempt { id: second, name: "t-2".into(), ..wanted() };
    let both = Desired::of(1, [(id(), wanted()), (second, other)]);
    let unread = Observed { note_unread: true, ..here(false) };
    let mut leave = over();
    leave.not_started.insert(second, NotStarted::CreatedBefore);
    let plan = plan(Some(&both), &unread, &remembered(Phase::Created), &policy(), &leave, NOW);
    assert_eq!(plan.actions.last(), Some(&Action::Fence { attempt: id() }));
    assert_eq!(step(&plan), None, "whether a person deleted the other one is not known yet");
}

#[test]
fn at_the_end_of_the_lease_it_is_stopped_until_nothing_is_left_and_then_told() {
    let stop = planned(&here(false), &remembered(Phase::Created), &over());
    let remember = Action::Remember { attempt: id(), phase: Some(Phase::Fencing) };
    assert_eq!(stop.actions, [remember, Action::Fence { attempt: id() }]);
    // A lease that comes back does not bring back what is being stopped.
    let goes_on = planned(&here(false), &remembered(Phase::Fencing), &Leave::default());
    assert_eq!(goes_on.actions, [Action::Fence { attempt: id() }]);
    let remains = Observed { remains: BTreeSet::from([id()]), ..Observed::default() };
    let waits = planned(&remains, &remembered(Phase::Fencing), &Leave::default());
    assert_eq!(waits.actions, [Action::Fence { attempt: id() }]);
    let done = planned(&Observed::default(), &remembered(Phase::Fencing), &Leave::default());
    assert_eq!(step(&done), Some((AttemptStep::Fenced, Some(Phase::Fenced))));
}

#[test]
fn what_has_ended_is_not_stopped() {
    assert_eq!(planned(&here(true), &remembered(Phase::Created), &over()), Plan::default());
}

#[test]
fn what_was_ready_is_accepted_without_being_built_again_unless_something_remains() {
    // It cannot be built, so only a look at the last pass accepts it.
    let broken = DesiredAttempt { manifest: "{}".into(), ..wanted() };
    let want = Desired::of(1, [(id(), broken)]);
    let accepts = |observed: &Observed| {
        let leave = refused(NotStarted::NotAccepted);
        plan(Some(&want), observed, &Memory::default(), &policy(), &leave, NOW).accepts
    };
    let ready = Observed { ready: [id()].into(), ..Observed::default() };
    assert_eq!(accepts(&ready), BTreeSet::from([id()]));
    assert_eq!(accepts(&Observed { remains: [id()].into(), ..ready }), BTreeSet::new());
    assert_eq!(accepts(&Observed::default()), BTreeSet::new());
}
