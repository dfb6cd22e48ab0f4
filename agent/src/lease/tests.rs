//! The holder's shell, with a clock that is passed in.

#![allow(clippy::unwrap_used)]
use super::*;

const JOB: &str = "0196f0a0-0000-7000-8000-000000000001";

fn lease(folder: &Path, epoch: u64, boot: &str) -> Lease {
    let kept = Kept::of(folder, boot.to_owned());
    let holder = kept
        .until()
        .map_or_else(|| Holder::new(Epoch(epoch)), |until| Holder::recovered(Epoch(epoch), until));
    Lease::of(holder, kept, 40)
}

fn promise(number: u64, generation: u64) -> Promise {
    Promise {
        number,
        lease_ms: 60_000,
        generation,
        timeline: 1,
        renewals: 40 + number,
        wants_holdings: false,
    }
}

fn attempt(on_lost: &str, accepted_by: Option<u64>) -> DesiredAttempt {
    DesiredAttempt {
        on_lost: on_lost.into(),
        accepted_by,
        ..DesiredAttempt::bare(AttemptId { job: JOB.parse().unwrap(), number: 1 })
    }
}

fn desired(attempt: DesiredAttempt) -> Desired {
    Desired::of(4, [(attempt.id, attempt)])
}

fn refused(lease: &Lease, attempt: DesiredAttempt, now: u64) -> Option<NotStarted> {
    let leave = lease.leave(&desired(attempt), &BTreeSet::new(), Tick(now));
    leave.not_started.into_values().next()
}

#[test]
fn an_attempt_starts_only_under_a_lease_an_acceptance_and_a_fresh_answer() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    let number = lease.send(Tick(1_000));
    lease.desired(4, 0, 0);
    assert_eq!(refused(&lease, attempt("wait", None), 1_100), Some(NotStarted::NotAccepted));
    assert_eq!(
        refused(&lease, attempt("wait", Some(7)), 1_100),
        Some(NotStarted::Late),
        "it answers nothing"
    );
    lease.promised(&promise(number, 4));
    assert_eq!(refused(&lease, attempt("wait", Some(7)), 1_200), None);
    assert_eq!(
        refused(&lease, attempt("wait", Some(6)), 1_200),
        Some(NotStarted::NotAccepted),
        "another life's"
    );
    let made = DesiredAttempt { created: true, ..attempt("wait", Some(7)) };
    assert_eq!(refused(&lease, made, 1_200), Some(NotStarted::CreatedBefore));
    assert_eq!(
        refused(&lease, attempt("wait", Some(7)), 61_000),
        Some(NotStarted::Late),
        "from its sending on"
    );
}

#[test]
fn a_promise_for_another_desired_state_does_not_freshen_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    lease.desired(4, 0, 0);
    let number = lease.send(Tick(0));
    lease.promised(&promise(number, 5));
    assert_eq!(refused(&lease, attempt("fence", Some(7)), 100), Some(NotStarted::Late));
    let number = lease.send(Tick(200));
    lease.promised(&promise(number, 4));
    assert_eq!(refused(&lease, attempt("fence", Some(7)), 300), None);
}

#[test]
fn what_must_stop_stops_at_the_end_counted_from_the_sending() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    let number = lease.send(Tick(1_000));
    lease.promised(&promise(number, 4));
    let id = attempt("fence", None).id;
    let stops = |policy: &str, now: u64| {
        !lease.leave(&desired(attempt(policy, None)), &BTreeSet::from([id]), Tick(now)).stops.is_empty()
    };
    assert!(!stops("fence", 60_999) && stops("fence", 61_000) && stops("rerun", 61_000));
    assert!(!stops("wait", 999_000), "nobody starts it elsewhere by time");
    assert_eq!(lease.left(Tick(60_000)), 1_000);
}

#[test]
fn an_older_timeline_promises_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    let (first, second) = (lease.send(Tick(0)), lease.send(Tick(10)));
    lease.promised(&Promise { timeline: 2, ..promise(first, 4) });
    lease.promised(&promise(second, 4));
    assert_eq!(lease.standing(Tick(20)).0, Standing::Held { until: Tick(60_000) });
}

#[test]
fn what_was_granted_before_a_failover_does_not_start_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    let number = lease.send(Tick(0));
    lease.promised(&promise(number, 4));
    lease.desired(4, number, 0);
    let granted = || lease.leave(&desired(attempt("wait", Some(7))), &BTreeSet::new(), Tick(10));
    assert!(granted().not_started.is_empty() && !lease.is_outlived() && lease.asked() == 0);
    let next = lease.send(Tick(1));
    lease.promised(&Promise { timeline: 2, wants_holdings: true, ..promise(next, 4) });
    assert!(!granted().not_started.is_empty() && lease.is_outlived());
    assert_eq!(lease.asked(), 2);
    lease.desired(4, next, 0);
    assert!(granted().not_started.is_empty() && !lease.is_outlived());
    lease.promised(&Promise { timeline: 2, ..promise(lease.send(Tick(2)), 4) });
    assert_eq!(lease.asked(), 0, "it was answered");
}

#[test]
fn a_desired_state_of_an_older_timeline_is_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    let number = lease.send(Tick(0));
    assert!(lease.promised(&Promise { timeline: 2, ..promise(number, 4) }));
    assert!(!lease.promised(&promise(number, 4)), "whoever gave it is on the database from before");
    assert!(!lease.obeys(1) && lease.obeys(2) && lease.obeys(3));
    assert!(lease.obeys(0), "a control plane that does not tell it");
    lease.desired(4, number, 2);
    assert_eq!(refused(&lease, attempt("wait", Some(7)), 10), None);
}

#[test]
fn a_desired_state_of_a_newer_timeline_answers_no_renewal_that_may_be_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    let number = lease.send(Tick(0));
    lease.promised(&promise(number, 4));
    lease.desired(4, number, 2);
    assert_eq!(refused(&lease, attempt("wait", Some(7)), 10), Some(NotStarted::Late));
    assert!(!lease.obeys(1) && !lease.is_outlived());
    let next = lease.send(Tick(20));
    lease.promised(&Promise { timeline: 2, ..promise(next, 4) });
    assert_eq!(refused(&lease, attempt("wait", Some(7)), 30), None);
}

#[test]
fn the_next_life_on_this_boot_knows_the_end_and_no_other_does() {
    let folder = tempfile::tempdir().unwrap();
    let before = lease(folder.path(), 7, "b");
    let number = before.send(Tick(1_000));
    before.promised(&promise(number, 4));
    before.keep().unwrap();
    assert_eq!(
        lease(folder.path(), 8, "b").standing(Tick(70_000)).0,
        Standing::Ended { since: Tick(61_000) }
    );
    assert_eq!(lease(folder.path(), 8, "another").standing(Tick(70_000)).0, Standing::Unknown);
    assert_eq!(lease(folder.path(), 8, "").standing(Tick(70_000)).0, Standing::Unknown);
}

#[test]
fn renewals_are_told_only_as_far_as_the_lease_object_counts_them() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    assert_eq!((lease.renewals(), lease.noted()), (40, 40), "what the life before left");
    let (first, second) = (lease.send(Tick(0)), lease.send(Tick(10)));
    lease.promised(&promise(second, 4));
    assert_eq!((lease.renewals(), lease.noted()), (42, 40), "it was not written yet");
    lease.note(42);
    lease.promised(&promise(first, 4));
    lease.note(41);
    assert_eq!((lease.renewals(), lease.noted()), (42, 42), "neither falls");
    let third = lease.send(Tick(20));
    lease.promised(&Promise { renewals: 3, ..promise(third, 4) });
    assert_eq!(lease.renewals(), 42, "a database that forgot some");
}

#[test]
fn a_watchdog_is_told_what_the_state_that_is_held_was_promised() {
    let folder = tempfile::tempdir().unwrap();
    let lease = lease(folder.path(), 7, "b");
    let number = lease.send(Tick(1_000));
    lease.desired(4, 0, 0);
    assert_eq!(lease.left_for(4, Tick(2_000)), 0, "nothing was promised yet");
    lease.promised(&promise(number, 4));
    assert_eq!((lease.left_for(4, Tick(2_000)), lease.left_for(3, Tick(2_000))), (59_000, 0));
    let number = lease.send(Tick(5_000));
    lease.promised(&promise(number, 5));
    assert_eq!(lease.left_for(4, Tick(6_000)), 0, "the next state may be without the attempt");
    lease.desired(5, number, 0);
    assert_eq!(lease.left_for(5, Tick(6_000)), 59_000);
}
