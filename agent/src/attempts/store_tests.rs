//! What is held survives restarts, upgrades and a change of the cluster's id.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn cluster(number: u128) -> ClusterId {
    format!("0196f0a0-0000-7000-8000-{number:012}").parse().unwrap()
}

fn attempt(number: u32) -> AttemptId {
    AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number }
}

fn wanted(number: u32, accepted_by: Option<u64>) -> (AttemptId, DesiredAttempt) {
    let manifest = format!("manifest {number}");
    (attempt(number), DesiredAttempt { manifest, accepted_by, ..DesiredAttempt::bare(attempt(number)) })
}

#[test]
fn what_was_held_for_another_cluster_id_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::load(folder.path(), cluster(1)).unwrap();
    store.keep_desired(&Desired::of(57, [])).unwrap();
    drop(store);
    let mut added_again = Store::load(folder.path(), cluster(2)).unwrap();
    assert!(added_again.desired().is_none(), "generation 57 of the old id would outrank the new one's first");
    added_again.keep_desired(&Desired::of(1, [])).unwrap();
    assert_eq!(Store::load(folder.path(), cluster(2)).unwrap().desired().unwrap().generation, 1);
}

#[test]
fn files_of_versions_before_are_taken_over_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let one = serde_json::to_string(&wanted(1, None).1).unwrap();
    write("desired.json", format!(r#"{{"generation": 9, "attempts": [{one}]}}"#));
    write("attempts.json", serde_json::to_string(&[(attempt(1), Phase::Created)]).unwrap());
    for _ in 0..2 {
        let store = Store::load(folder.path(), cluster(1)).unwrap();
        assert_eq!(store.desired().unwrap(), Desired::of(9, [wanted(1, None)]));
        assert_eq!(store.memory.get(attempt(1)), Some(Phase::Created));
        assert!(
            !folder.path().join("desired.json").exists() && !folder.path().join("attempts.json").exists()
        );
    }
}

#[test]
fn a_fenced_end_survives_and_is_an_end_to_versions_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::load(folder.path(), cluster(1)).unwrap();
    store.remember(&[(attempt(1), Some(Phase::Fenced)), (attempt(2), Some(Phase::Removed))]).unwrap();
    let phases = |store: &Store| [1, 2].map(|number| store.memory.get(attempt(number)));
    let mut again = Store::load(folder.path(), cluster(1)).unwrap();
    assert_eq!(phases(&again), [Some(Phase::Fenced), Some(Phase::Removed)]);
    again.rewrite().unwrap();
    let anew = Store::load(folder.path(), cluster(1)).unwrap();
    assert_eq!(phases(&anew), [Some(Phase::Fenced), Some(Phase::Removed)], "in one line as well");
    let text = std::fs::read_to_string(folder.path().join("held.jsonl")).unwrap();
    assert_eq!(text.matches(r#""removed""#).count(), 2, "words that they can read: {text}");
}

#[test]
fn a_kill_in_the_middle_of_the_take_over_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let one = serde_json::to_string(&wanted(1, None).1).unwrap();
    let desired = format!(r#"{{"generation": 9, "attempts": [{one}]}}"#);
    let memory = serde_json::to_string(&[(attempt(1), Phase::Created)]).unwrap();
    write("desired.json", &desired);
    write("attempts.json", &memory);
    drop(Store::load(folder.path(), cluster(1)).unwrap());
    // The journal is written, and one of both files is not removed yet.
    for (name, text) in [("desired.json", &desired), ("attempts.json", &memory)] {
        write(name, text);
        let store = Store::load(folder.path(), cluster(1)).unwrap();
        assert_eq!(store.desired(), Some(Desired::of(9, [wanted(1, None)])), "{name}");
        assert_eq!(store.memory.get(attempt(1)), Some(Phase::Created), "{name}");
        assert!(!folder.path().join(name).exists());
    }
}

#[test]
fn a_journal_that_restarts_found_long_is_shortened() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::load(folder.path(), cluster(1)).unwrap();
    let size = || std::fs::metadata(folder.path().join("held.jsonl")).unwrap().len();
    let held = |generation: u64| {
        let manifest = format!("{generation}").repeat(300 << 10);
        Desired::of(generation, [(attempt(1), DesiredAttempt { manifest, ..wanted(1, None).1 })])
    };
    let mut longest = 0;
    for generation in 1..=9 {
        store.keep_desired(&held(generation)).unwrap();
        longest = longest.max(size());
        store = Store::load(folder.path(), cluster(1)).unwrap();
        assert_eq!(store.desired(), Some(held(generation)));
    }
    assert!(longest < 3 << 20, "{longest} bytes for one attempt of 300 KiB");
}

#[test]
fn damage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::load(folder.path(), cluster(1)).unwrap();
    store.keep_desired(&Desired::of(7, [])).unwrap();
    store.remember(&[(attempt(1), Some(Phase::Created))]).unwrap();
    std::fs::write(folder.path().join("held.jsonl"), "{\n{}\n").unwrap();
    assert!(Store::load(folder.path(), cluster(1)).is_err());
}

#[test]
fn a_change_costs_what_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::load(folder.path(), cluster(1)).unwrap();
    let size = || std::fs::metadata(folder.path().join("held.jsonl")).unwrap().len();
    let set =
        |accepted: Option<u64>| (0..500).map(move |number| wanted(number, accepted.filter(|_| number == 7)));
    store.keep_desired(&Desired::of(1, set(None))).unwrap();
    let before = size();
    store.keep_desired(&Desired::of(2, set(Some(3)))).unwrap();
    assert!(size() - before < 400, "{} bytes for one attempt of 500", size() - before);
    assert_eq!(Store::load(folder.path(), cluster(1)).unwrap().desired(), store.desired());
}

#[derive(Clone, Debug)]
enum Op {
    Keep(Vec<(u32, Option<u64>)>),
    Remember(Vec<(u32, bool)>),
    Restart,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_restart_finds_what_was_held(ops in prop::collection::vec(prop_oneof![
        prop::collection::vec((0..6_u32, prop::option::of(0..3_u64)), 0..6).prop_map(Op::Keep),
        prop::collection::vec((0..6_u32, any::<bool>()), 0..4).prop_map(Op::Remember),
        Just(Op::Restart),
    ], 0..12)) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::load(folder.path(), cluster(1)).unwrap();
        for (generation, op) in (1..).zip(ops) {
            match op {
                Op::Keep(set) => {
                    let set = set.into_iter().map(|(number, accepted)| wanted(number, accepted));
                    store.keep_desired(&Desired::of(generation, set)).unwrap();
                }
                Op::Remember(phases) => {
                    let phase = |(number, kept): (u32, bool)| (attempt(number), kept.then_some(Phase::Created));
                    store.remember(&phases.into_iter().map(phase).collect::<Vec<_>>()).unwrap();
                }
                Op::Restart => {
                    let again = Store::load(folder.path(), cluster(1)).unwrap();
                    prop_assert_eq!(again.desired(), store.desired());
                    prop_assert_eq!(&again.memory, &store.memory);
                    store = again;
                }
            }
        }
    }
}
