//! Plans reach a fixed point and touch nothing that is not ours.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::lease::Leave;
use proptest::prelude::*;
use serde_json::{Value, json};
use squadron_core::{
    dispatch::soft::{Cap, Caps},
    id::ClusterId,
};
use std::collections::BTreeSet;

const NOW: Timestamp = Timestamp(1_000_000_000);

fn attempt(number: u32) -> AttemptId {
    AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number }
}

fn wanted(number: u32, namespace: &str) -> DesiredAttempt {
    let manifest = r#"{"apiVersion":"ray.io/v1","kind":"RayJob","metadata":{"name":"t"},"spec":{}}"#;
    DesiredAttempt {
        queue: "default".into(),
        name: format!("t-{number}"),
        namespace: namespace.into(),
        manifest: manifest.into(),
        ..DesiredAttempt::bare(attempt(number))
    }
}

fn desired(attempts: Vec<DesiredAttempt>) -> Desired {
    Desired::of(1, attempts.into_iter().map(|attempt| (attempt.id, attempt)))
}

fn policy() -> Policy {
    let cluster: ClusterId = "0196f0a0-0000-7000-8000-0000000000c1".parse().unwrap();
    Policy {
        cluster,
        home: "squadron".into(),
        namespaces: Some(BTreeSet::from(["ml".to_owned()])),
        watchdog: None,
    }
}

fn key(number: u32) -> (String, String) {
    ("ml".to_owned(), format!("t-{number}"))
}

fn seen(ours: Option<AttemptId>, ended: bool) -> SeenJob {
    SeenJob { uid: "u".into(), ours, deleting: false, ended }
}

fn steps(plan: &Plan) -> Vec<(AttemptStep, &str)> {
    let reports = plan.actions.iter().filter_map(|action| match action {
        Action::Report { step, message, .. } => Some((*step, message.as_str())),
        _ => None,
    });
    reports.collect()
}

/// The world after the actions, as an API server that does everything at once would have it.
fn apply(plan: &Plan, observed: &mut Observed, memory: &mut Memory) {
    for action in &plan.actions {
        match action {
            Action::Create { attempt, object } => {
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                let namespace = object["metadata"]["namespace"].as_str().unwrap().to_owned();
                observed.jobs.insert((namespace, name), seen(Some(*attempt), false));
            }
            Action::Delete { namespace, name, .. } => {
                observed.jobs.remove(&(namespace.clone(), name.clone()));
            }
            Action::Cap { attempt, patch, .. } => {
                for cluster in observed.capped.get_mut(attempt).unwrap() {
                    let mut changed = Value::clone(cluster);
                    changed["metadata"]["annotations"] = patch["metadata"]["annotations"].clone();
                    changed["spec"] = patch["spec"].clone();
                    *cluster = changed.into();
                }
            }
            Action::Fence { attempt } => {
                observed.jobs.retain(|_, job| job.ours != Some(*attempt));
                observed.remains.remove(attempt);
            }
            Action::Report { attempt, phase, .. } | Action::Remember { attempt, phase } => {
                memory.set(*attempt, *phase);
            }
        }
    }
}

#[test]
fn creates_once_then_tells_then_rests() {
    let want = desired(vec![wanted(1, "ml")]);
    let (mut observed, mut memory) = (Observed::default(), Memory::default());
    let first = plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), NOW);
    assert!(matches!(first.actions.as_slice(), [Action::Create { .. }]));
    apply(&first, &mut observed, &mut memory);
    let second = plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), NOW);
    assert_eq!(steps(&second), [(AttemptStep::Created, "")]);
    apply(&second, &mut observed, &mut memory);
    assert_eq!(plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), NOW), Plan::default());
}

#[test]
fn worker_groups_get_their_caps_and_lose_them_again_but_not_while_the_attempt_stops() {
    let cluster = json!({"apiVersion": "ray.io/v1", "kind": "RayCluster",
        "metadata": {"namespace": "ml", "name": "t-1-x", "uid": "c"},
        "spec": {"workerGroupSpecs": [{"groupName": "w", "replicas": 4, "minReplicas": 1, "maxReplicas": 8}]}});
    let caps = |caps: Caps| desired(vec![DesiredAttempt { caps, ..wanted(1, "ml") }]);
    let capped = caps([("w".to_owned(), Cap { most: 2, leaves: vec!["a".into()] })].into());
    let mut observed = Observed::default();
    observed.jobs.insert(key(1), seen(Some(attempt(1)), false));
    observed.capped.insert(attempt(1), vec![cluster.into()]);
    let mut memory = Memory::default();
    memory.set(attempt(1), Some(Phase::Created));
    let most = |observed: &Observed| {
        observed.capped[&attempt(1)][0]["spec"]["workerGroupSpecs"][0]["maxReplicas"].as_u64()
    };
    for (want, expected) in [(&capped, Some(2)), (&caps(Caps::new()), Some(8))] {
        let first = plan(Some(want), &observed, &memory, &policy(), &Leave::default(), NOW);
        assert!(
            matches!(first.actions.as_slice(), [Action::Cap { cluster, .. }] if cluster.uid == "c"),
            "{first:?}"
        );
        apply(&first, &mut observed, &mut memory);
        assert_eq!(most(&observed), expected);
        assert_eq!(plan(Some(want), &observed, &memory, &policy(), &Leave::default(), NOW), Plan::default());
    }
    let over = Leave { stops: [attempt(1)].into(), ..Leave::default() };
    let stops = plan(Some(&capped), &observed, &memory, &policy(), &over, NOW);
    assert!(stops.actions.iter().all(|action| !matches!(action, Action::Cap { .. })), "{stops:?}");
}

#[test]
fn a_namespace_outside_the_list_is_refused_once() {
    let want = desired(vec![wanted(1, "default")]);
    let (mut observed, mut memory) = (Observed::default(), Memory::default());
    let first = plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), NOW);
    let told = steps(&first);
    assert_eq!(told[0].0, AttemptStep::Refused);
    assert!(told[0].1.contains("namespace \"default\""), "{told:?}");
    apply(&first, &mut observed, &mut memory);
    assert_eq!(plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), NOW), Plan::default());
}

#[test]
fn no_list_opens_the_namespaces_of_the_agent_and_of_kubernetes() {
    let closed = ["squadron", "kube-system", "kube-public", "kube-node-lease"];
    let listed: BTreeSet<String> = closed.iter().map(|name| (*name).to_owned()).collect();
    for namespaces in [None, Some(listed)] {
        let policy = Policy { namespaces, ..policy() };
        for namespace in closed {
            let want = desired(vec![wanted(1, namespace)]);
            let told =
                plan(Some(&want), &Observed::default(), &Memory::default(), &policy, &Leave::default(), NOW);
            let [(AttemptStep::Refused, why)] = steps(&told)[..] else { panic!("{namespace}: {told:?}") };
            assert!(why.contains(namespace) && why.contains("submit to another namespace"), "{why}");
        }
    }
}

#[test]
fn without_a_list_every_ordinary_namespace_is_open() {
    let policy = Policy { namespaces: None, ..policy() };
    for namespace in ["default", "ml", "kubeflow", "squadron-tests"] {
        let want = desired(vec![wanted(1, namespace)]);
        let first =
            plan(Some(&want), &Observed::default(), &Memory::default(), &policy, &Leave::default(), NOW);
        assert!(matches!(first.actions.as_slice(), [Action::Create { .. }]), "{namespace}: {first:?}");
    }
}

#[test]
fn a_foreign_object_of_the_same_name_is_never_adopted_or_deleted() {
    let mut observed = Observed::default();
    observed.jobs.insert(key(1), seen(None, false));
    let memory = Memory::default();
    let refused =
        plan(Some(&desired(vec![wanted(1, "ml")])), &observed, &memory, &policy(), &Leave::default(), NOW);
    assert_eq!(steps(&refused)[0].0, AttemptStep::Refused);
    assert_eq!(
        plan(Some(&desired(vec![])), &observed, &memory, &policy(), &Leave::default(), NOW),
        Plan::default()
    );
}

#[test]
fn silence_deletes_nothing() {
    let mut observed = Observed::default();
    observed.jobs.insert(key(1), seen(Some(attempt(1)), false));
    assert_eq!(plan(None, &observed, &Memory::default(), &policy(), &Leave::default(), NOW), Plan::default());
}

#[test]
fn a_job_deleted_by_others_is_told_when_nothing_remains_and_not_made_again() {
    let want = desired(vec![wanted(1, "ml")]);
    let mut memory = Memory::default();
    memory.set(attempt(1), Some(Phase::Created));
    let mut observed = Observed::default();
    observed.remains.insert(attempt(1));
    assert_eq!(plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), NOW), Plan::default());
    observed.remains.clear();
    let told = plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), NOW);
    assert_eq!(steps(&told), [(AttemptStep::Removed, "someone other than Squadron deleted the RayJob")]);
    apply(&told, &mut observed, &mut memory);
    assert_eq!(plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), NOW), Plan::default());
}

#[test]
fn a_finished_job_waits_for_its_log_and_a_running_one_does_not() {
    let nothing = desired(vec![]);
    for (ended, log_ended, waits) in [(true, false, true), (true, true, false), (false, false, false)] {
        let mut memory = Memory::default();
        memory.set(attempt(1), Some(Phase::Released(NOW)));
        let mut observed = Observed::default();
        observed.jobs.insert(key(1), seen(Some(attempt(1)), ended));
        if log_ended {
            observed.log_ended.insert(attempt(1));
        }
        let soon =
            plan(Some(&nothing), &observed, &memory, &policy(), &Leave::default(), NOW.plus_millis(29_999));
        assert_eq!(soon.actions.is_empty(), waits, "{ended} {log_ended}");
        assert_eq!(soon.wake_at.is_some(), waits);
        let late =
            plan(Some(&nothing), &observed, &memory, &policy(), &Leave::default(), NOW.plus_millis(30_000));
        assert!(matches!(late.actions.as_slice(), [Action::Delete { .. }]));
    }
}

#[test]
fn an_attempt_that_was_never_created_is_told_removed_when_released() {
    let mut memory = Memory::default();
    memory.set(attempt(1), Some(Phase::Wanted));
    let told = plan(Some(&desired(vec![])), &Observed::default(), &memory, &policy(), &Leave::default(), NOW);
    assert_eq!(steps(&told), [(AttemptStep::Removed, "")]);
}

#[test]
fn twenty_thousand_attempts_are_let_go_of_by_looking_at_each_rayjob_once() {
    const COUNT: u32 = 20_000;
    let (mut observed, mut memory) = (Observed::default(), Memory::default());
    for number in 0..COUNT {
        memory.set(attempt(number), Some(Phase::Released(NOW)));
        observed.jobs.insert(key(number), seen(Some(attempt(number)), false));
    }
    observed.jobs.insert(("ml".into(), "zz-copy".into()), seen(Some(attempt(7)), false));
    let gone = plan(Some(&desired(vec![])), &observed, &memory, &policy(), &Leave::default(), NOW);
    let deleted = gone.actions.iter().filter_map(|action| match action {
        Action::Delete { attempt, name, .. } => Some((attempt.number, name.clone())),
        _ => None,
    });
    let each: Vec<_> = (0..COUNT).map(|number| (number, key(number).1)).collect();
    assert_eq!(deleted.collect::<Vec<_>>(), each, "of two with the same marks the first by name");
}

proptest! {
    /// Whatever the start, a few rounds reach a plan without actions; foreign objects stay.
    #[test]
    fn planning_reaches_a_fixed_point(
        want in prop::collection::btree_set(1_u32..5, 0..4),
        there in prop::collection::btree_map(1_u32..5, (0_u8..3, any::<bool>()), 0..4),
        known in prop::collection::btree_map(1_u32..5, 0_u8..5, 0..4),
    ) {
        let want = desired(want.into_iter().map(|number| wanted(number, "ml")).collect());
        let (mut observed, mut memory) = (Observed::default(), Memory::default());
        for (number, (whose, ended)) in there {
            let ours = match whose { 0 => None, 1 => Some(attempt(number)), _ => Some(attempt(number + 10)) };
            observed.jobs.insert(key(number), seen(ours, ended));
        }
        for (number, phase) in known {
            let phases = [Phase::Wanted, Phase::Created, Phase::Released(NOW), Phase::Refused, Phase::Removed, Phase::Fenced];
            memory.set(attempt(number), Some(phases[usize::from(phase)]));
        }
        let foreign: Vec<_> = observed.jobs.iter().filter(|(_, job)| job.ours.is_none()).map(|(key, _)| key.clone()).collect();
        let mut now = NOW;
        for _ in 0..6 {
            let next = plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), now);
            apply(&next, &mut observed, &mut memory);
            now = now.plus_millis(LOG_GRACE_MILLIS);
        }
        let last = plan(Some(&want), &observed, &memory, &policy(), &Leave::default(), now);
        prop_assert_eq!(last, Plan::default());
        for key in foreign {
            prop_assert!(observed.jobs.contains_key(&key));
        }
    }
}
