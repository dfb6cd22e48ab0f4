//! Attempts that a failover of the database forgot.

#![allow(clippy::unwrap_used)]

use super::{tests::*, *};
use crate::{fact::AttemptStep, lease::FORGOTTEN};

#[test]
fn a_forgotten_attempt_is_adopted_with_its_number() {
    let adopted = live(job(), &[Told::Adopted(3, true)]);
    let attempt = adopted.attempt.as_ref().unwrap();
    assert_eq!((adopted.state, attempt.number), (JobState::Starting, 3));
    let (cluster, cluster_name) = (attempt.cluster, "east");
    let newer = Event::Adopted { cluster, cluster_name, number: 4, exists: true };
    assert!(advance(&adopted, newer, at(9)).is_err(), "the one that lives must be closed first");
}

#[test]
fn a_forgotten_attempt_of_which_nothing_exists_is_given_again() {
    let adopted = live(job(), &[Told::Adopted(3, false)]);
    let attempt = adopted.attempt.clone().unwrap();
    assert_eq!((adopted.state, attempt.number, attempt.created_at), (JobState::Assigned, 3, None));
    let created = live(adopted, &[step_numbered(3, AttemptStep::Created)]);
    assert_eq!(created.state, JobState::Starting);
}

#[test]
fn what_is_found_closes_an_older_attempt_and_what_is_old_or_over_is_left() {
    let found = |job: &Job, number: u32| take_back(job, &told(job, number), false, at(9));
    let live = live(job(), &[Told::Assigned, ray_job("Running", "RUNNING")]);
    assert_eq!(found(&live, 1), TakenBack::default(), "it is known");
    let taken = found(&live, 2);
    let older = taken.closed.unwrap().job.attempt.unwrap();
    assert_eq!((older.number, older.state), (1, AttemptState::Lost));
    let newest = taken.adopted.unwrap().job;
    assert_eq!((newest.state, newest.attempt.unwrap().cluster_name.as_str()), (JobState::Starting, "west"));
    let over = super::tests::live(live, &[ray_job("Complete", "SUCCEEDED")]);
    assert_eq!(found(&over, 2), TakenBack::default(), "its job is over");
}

#[test]
fn of_a_known_attempt_it_is_noted_that_it_was_made() {
    let assigned = live(job(), &[Told::Assigned]);
    let made = take_back(&assigned, &told(&assigned, 1), false, at(9)).made.unwrap().job;
    assert_eq!((made.state, made.attempt.clone().unwrap().created_at), (JobState::Starting, Some(at(9))));
    assert_eq!(take_back(&made, &told(&made, 1), false, at(10)), TakenBack::default(), "it is known");
    let accepted = Found { exists: false, ..told(&assigned, 1) };
    assert_eq!(take_back(&assigned, &accepted, false, at(9)), TakenBack::default());
    let elsewhere = Found { cluster: ClusterId(uuid::Uuid::from_u128(77)), ..told(&assigned, 1) };
    assert_eq!(take_back(&assigned, &elsewhere, false, at(9)), TakenBack::default());
}

#[test]
fn what_was_to_stop_and_is_not_held_has_stopped() {
    let running = live(job(), &[Told::Assigned, ray_job("Running", "RUNNING")]);
    let cluster = running.attempt.as_ref().unwrap().cluster;
    assert_eq!(let_go(&running, cluster, at(9)), None, "nobody wanted it to stop");
    let cancel = Event::CancelRequested { by: "ann", why: "" };
    let stopping = advance(&running, cancel, at(5)).unwrap().job;
    assert_eq!(let_go(&stopping, ClusterId(uuid::Uuid::from_u128(77)), at(9)), None, "it is not its cluster");
    let gone = let_go(&stopping, cluster, at(9)).unwrap().job;
    assert_eq!((gone.state, gone.attempt.unwrap().removed_at), (JobState::Cancelled, Some(at(9))));
}

#[test]
fn what_is_made_up_takes_no_attempt_from_a_cluster_that_holds_it() {
    let live = live(job(), &[Told::Assigned, ray_job("Running", "RUNNING")]);
    let here = told(&live, 2);
    let elsewhere = Found { cluster: ClusterId(uuid::Uuid::from_u128(77)), ..here };
    assert_eq!(take_back(&live, &elsewhere, true, at(9)), TakenBack::default(), "its own cluster holds it");
    assert!(take_back(&live, &elsewhere, false, at(9)).adopted.is_some(), "nobody said that it is there");
    assert!(take_back(&live, &here, true, at(9)).adopted.is_some(), "one cluster knows what came later");
    for number in [2 + FORGOTTEN, u32::MAX] {
        assert_eq!(take_back(&live, &told(&live, number), false, at(9)), TakenBack::default());
    }
}

/// That the cluster of its attempt holds attempt `number`.
fn told(job: &Job, number: u32) -> Found<'static> {
    let cluster = job.attempt.as_ref().unwrap().cluster;
    Found { cluster, cluster_name: "west", attempt: AttemptId { job: job.id, number }, exists: true }
}
