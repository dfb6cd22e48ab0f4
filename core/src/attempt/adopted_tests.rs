//! Attempts that a failover of the database forgot.

#![allow(clippy::unwrap_used)]

use super::{tests::*, *};
use crate::fact::AttemptStep;

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
