//! Facts of one small cluster and the incidents they become.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::fact::{ContainerFact, KernelFact, KernelSignal, PodFact, RayClusterFact};

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_796_000_000_000 + second * 1_000)
}

fn attempt(last: u32) -> AttemptId {
    AttemptId { job: format!("01938f2e-7a3c-7d31-9d4e-0000000000{last:02}").parse().unwrap(), number: 1 }
}

fn topology() -> Topology {
    let pod = |name: &str, attempt, gpus| PodPlace {
        namespace: "default".into(),
        name: name.into(),
        node: "n1".into(),
        role: "worker".into(),
        requests: Resources { cpu_milli: 1_000, memory_bytes: 2 << 30, gpus },
        attempt,
        bound_at: Some(at(0)),
        ..PodPlace::default()
    };
    let place = |name: &str| AttemptPlace { job_name: name.into(), ..AttemptPlace::default() };
    Topology {
        pods: [
            ("u1".to_owned(), pod("train-w", Some(attempt(1)), 1)),
            ("u2".to_owned(), pod("etl-w", Some(attempt(2)), 0)),
            ("u3".to_owned(), pod("web", None, 0)),
        ]
        .into(),
        attempts: [(attempt(1), place("train")), (attempt(2), place("etl"))].into(),
        nodes: ["n1".to_owned()].into(),
    }
}

fn seen(seq: u64, fact: Fact) -> Seen {
    Seen { epoch: 1, seq, at: at(i64::try_from(seq).unwrap()), fact }
}

fn kill(seq: u64, pod_uid: &str) -> Seen {
    let signal = KernelSignal::OomKill { pod_uid: pod_uid.into(), process: "ray::eat".into(), pid: 4_711 };
    seen(
        seq,
        Fact::Kernel(KernelFact { node: "n1".into(), line: format!("Killed process 4711 #{seq}"), signal }),
    )
}

fn pod_fact(seq: u64, container: ContainerFact) -> Seen {
    let pod = PodFact {
        namespace: "default".into(),
        name: "train-w".into(),
        uid: "u1".into(),
        node: "n1".into(),
        role: "worker".into(),
        attempt: Some(attempt(1)),
        containers: vec![container],
        ..PodFact::default()
    };
    seen(seq, Fact::Pod(Box::new(pod)))
}

fn ended(seq: u64, reason: &str) -> Seen {
    let container = ContainerFact {
        name: "ray-worker".into(),
        state: "terminated".into(),
        reason: reason.into(),
        exit_code: Some(137),
        finished_at: Some(at(i64::try_from(seq).unwrap())),
        ..ContainerFact::default()
    };
    pod_fact(seq, container)
}

fn xid(seq: u64, code: u32, pods: &[&str]) -> Seen {
    let signal = KernelSignal::Xid {
        code,
        pci: "PCI:0000:3B:00".into(),
        pods: pods.iter().map(|pod| (*pod).to_owned()).collect(),
    };
    let line = format!("NVRM: Xid (PCI:0000:3b:00): {code}, line {seq}");
    seen(seq, Fact::Kernel(KernelFact { node: "n1".into(), line, signal }))
}

fn opened(changes: &[Change]) -> Vec<&Opened> {
    changes
        .iter()
        .filter_map(|change| if let Change::Open(opened) = change { Some(&**opened) } else { None })
        .collect()
}

/// Applies changes as the store would.
fn known(changes: &[Change], resolved_at: Option<Timestamp>) -> Vec<Known> {
    opened(changes)
        .into_iter()
        .map(|opened| Known {
            fingerprint: opened.fingerprint.clone(),
            node: opened.node.clone(),
            verdict: opened.verdict.clone(),
            last_seen_at: opened.evidence.at,
            resolved: resolved_at.map(|at| Resolved { at, by: String::new(), because: String::new() }),
            raws: [opened.evidence.raw.clone()].into(),
            jobs: opened.hits.iter().map(|hit| hit.job).collect(),
        })
        .collect()
}

#[test]
fn the_kernel_s_word_and_the_container_s_end_are_one_incident_in_either_order() {
    for facts in [vec![kill(1, "u1"), ended(2, "OOMKilled")], vec![ended(1, "OOMKilled"), kill(2, "u1")]] {
        let changes = correlate(&[], &facts, &topology(), at(10));
        let found = opened(&changes);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].verdict, "OOM_KILLED");
        assert_eq!(found[0].title, "The worker pod train-w of job train was killed for memory");
        assert_eq!(
            found[0].hits,
            [Hit { job: attempt(1).job, because: "its worker pod train-w was killed".into() }]
        );
        assert!(
            matches!(&changes[1], Change::Append { evidence, .. } if (evidence.epoch, evidence.seq) == (1, 2))
        );
    }
}

#[test]
fn exit_code_137_alone_begins_nothing_but_joins() {
    assert_eq!(correlate(&[], &[ended(1, "Error")], &topology(), at(10)), []);
    let changes = correlate(&[], &[kill(1, "u1"), ended(2, "Error")], &topology(), at(10));
    assert_eq!((opened(&changes).len(), changes.len()), (1, 2));
}

#[test]
fn the_same_word_told_again_adds_nothing_even_after_the_end() {
    let first = correlate(&[], &[ended(1, "OOMKilled")], &topology(), at(10));
    assert_eq!(correlate(&known(&first, None), &[ended(1, "OOMKilled")], &topology(), at(20)), []);
    assert_eq!(correlate(&known(&first, Some(at(30))), &[ended(1, "OOMKilled")], &topology(), at(40)), []);
    let again = correlate(&known(&first, Some(at(30))), &[ended(50, "OOMKilled")], &topology(), at(60));
    assert_eq!(opened(&again).len(), 1);
}

#[test]
fn a_node_without_memory_names_its_neighbours_as_possible() {
    let changes = correlate(&[], &[kill(1, "")], &topology(), at(10));
    let found = opened(&changes);
    assert_eq!((found[0].severity, found[0].hits.len()), (Severity::Critical, 2));
    assert!(found[0].hits[0].because.starts_with("possibly"));
    let foreign = correlate(&[], &[kill(1, "u3")], &topology(), at(10));
    assert_eq!((opened(&foreign)[0].severity, opened(&foreign)[0].hits.len()), (Severity::Info, 0));
}

#[test]
fn a_lost_gpu_names_the_cause_and_how_sure_the_hit_jobs_are() {
    let mut without_gpus = topology();
    without_gpus.pods.values_mut().for_each(|pod| pod.requests.gpus = 0);
    for (pods, topology, jobs, how) in [
        (&["u2"][..], topology(), vec![attempt(2).job], "certain: its pod etl-w held the device"),
        (&["default/train-w"], topology(), vec![attempt(1).job], "certain: its pod train-w held the device"),
        (&[], topology(), vec![attempt(1).job], "likely: its pod train-w asks for GPUs"),
        (&[], without_gpus, vec![attempt(1).job, attempt(2).job], "possible: its pod train-w ran on node n1"),
    ] {
        let changes = correlate(&[], &[xid(1, 79, pods)], &topology, at(10));
        let found = opened(&changes)[0];
        assert_eq!(found.title, "GPU 0000:3b:00 on node n1: it fell off the bus (Xid 79)");
        assert_eq!((found.verdict.as_str(), found.severity), ("GPU_XID_79", Severity::Critical));
        assert_eq!(found.hits.iter().map(|hit| hit.job).collect::<Vec<_>>(), jobs);
        assert!(found.hits[0].because.starts_with(how), "{}", found.hits[0].because);
    }
}

#[test]
fn a_job_hit_by_a_repeated_line_is_added_with_the_line_as_its_evidence() {
    let first = correlate(&[], &[xid(1, 79, &["u2"])], &topology(), at(10));
    let mut repeated = xid(1, 79, &["u1"]);
    (repeated.seq, repeated.at) = (7, at(7));
    let changes = correlate(&known(&first, None), &[repeated.clone()], &topology(), at(20));
    let [Change::Append { evidence, hits, .. }] = changes.as_slice() else { panic!("{changes:?}") };
    assert_eq!(evidence.seq, 7);
    assert_eq!(hits.iter().map(|hit| hit.job).collect::<Vec<_>>(), [attempt(1).job]);
    let mut full = known(&first, None);
    full[0].raws.extend((0..EVIDENCE_KEPT).map(|line| line.to_string()));
    let past_the_limit = correlate(&full, &[xid(8, 79, &["u1"])], &topology(), at(20));
    assert!(matches!(past_the_limit.as_slice(), [Change::Append { .. }]), "{past_the_limit:?}");
}

#[test]
fn a_pod_that_ended_before_is_not_hit() {
    let mut topology = topology();
    topology.pods.values_mut().for_each(|pod| pod.finished_at = Some(at(1)));
    assert_eq!(opened(&correlate(&[], &[xid(1, 79, &[])], &topology, at(2)))[0].hits, []);
}

#[test]
fn teardown_after_a_loss_joins_it_and_alone_is_information() {
    let together = correlate(&[], &[xid(1, 79, &[]), xid(5, 45, &[]), xid(6, 154, &[])], &topology(), at(10));
    assert_eq!((opened(&together).len(), together.len()), (1, 3));
    let late = correlate(&[], &[xid(1, 79, &[]), xid(300, 45, &[])], &topology(), at(301));
    assert_eq!(opened(&late)[1].severity, Severity::Info);
}

#[test]
fn a_broken_gpu_lasts_until_its_node_is_gone_and_a_program_s_fault_until_it_is_quiet() {
    let lost = known(&correlate(&[], &[xid(1, 79, &[])], &topology(), at(1)), None);
    assert_eq!(correlate(&lost, &[], &topology(), at(1_000_000)), []);
    let gone = Topology { nodes: BTreeSet::new(), ..topology() };
    assert!(matches!(&correlate(&lost, &[], &gone, at(2))[..], [Change::Resolve { .. }]));
    let fault = known(&correlate(&[], &[xid(1, 31, &[])], &topology(), at(1)), None);
    assert_eq!(correlate(&fault, &[], &topology(), at(3_600)), []);
    assert!(matches!(&correlate(&fault, &[], &topology(), at(3_601))[..], [Change::Resolve { .. }]));
}

#[test]
fn an_image_that_cannot_be_pulled_is_over_when_no_pod_waits_for_it() {
    let container = ContainerFact {
        state: "waiting".into(),
        reason: "ErrImagePull".into(),
        message: "failed to pull image \"example.com/nope:1\": not found".into(),
        ..ContainerFact::default()
    };
    let mut waiting = topology();
    waiting.pods.get_mut("u1").unwrap().image_trouble = true;
    let changes = correlate(&[], &[pod_fact(1, container)], &waiting, at(2));
    assert_eq!(
        opened(&changes)[0].title,
        "Job train cannot start: image example.com/nope:1 cannot be pulled"
    );
    assert_eq!(changes.len(), 1);
    let open = known(&changes, None);
    let over = |topology: &Topology| match &correlate(&open, &[], topology, at(3))[..] {
        [Change::Resolve { why, .. }] => why.clone(),
        other => format!("{other:?}"),
    };
    assert_eq!(over(&topology()), "no pod waits for the image any more");
    waiting.attempts.get_mut(&attempt(1)).unwrap().ended_at = Some(at(2));
    assert_eq!(over(&waiting), "the job ended");
}

#[test]
fn a_ray_cluster_deleted_under_a_job_is_an_incident_only_when_the_job_did_not_expect_it() {
    let gone = RayClusterFact {
        attempt: Some(attempt(1)),
        name: "train-x".into(),
        gone: true,
        ..RayClusterFact::default()
    };
    let facts = [seen(1, Fact::RayCluster(gone))];
    assert_eq!(correlate(&[], &facts, &topology(), at(2)), []);
    let mut hit = topology();
    hit.attempts.get_mut(&attempt(1)).unwrap().reason = "CLUSTER_DELETED".into();
    assert_eq!(opened(&correlate(&[], &facts, &hit, at(2)))[0].verdict, "CLUSTER_DELETED");
}

#[test]
fn a_fact_that_concerns_nothing_changes_nothing() {
    for seen in [ended(1, "Completed"), ended(2, "OOMKilled"), kill(3, "u1"), xid(4, 79, &[])] {
        let changes = correlate(&[], std::slice::from_ref(&seen), &topology(), at(10));
        assert!(concerns(&seen.fact) || changes.is_empty(), "{:?}", seen.fact);
    }
    let healthy = ContainerFact { state: "running".into(), ..ContainerFact::default() };
    assert!(!concerns(&pod_fact(1, healthy).fact));
}

#[test]
fn addresses_of_one_device_are_one_device() {
    for text in ["0000:3b:00", "PCI:0000:3B:00", "00000000:3b:00.0"] {
        assert_eq!(xid::normal_pci(text), "0000:3b:00");
    }
}

#[test]
fn what_a_person_resolved_stays_so_and_what_is_seen_afterwards_is_a_new_incident() {
    let first = correlate(&[], &[xid(1, 79, &["default/train-w"])], &topology(), at(2));
    let by_hand = |incidents: Vec<Known>| -> Vec<Known> {
        let resolved = resolve::by_hand(None, "ann", "the GPU was replaced", at(60)).ok();
        incidents.into_iter().map(|known| Known { resolved: resolved.clone(), ..known }).collect()
    };
    let resolved = by_hand(known(&first, None));
    let late = correlate(&resolved, &[xid(59, 79, &["default/train-w"])], &topology(), at(90));
    assert_eq!(late, [], "seen before the word, told after it");
    let again = correlate(&resolved, &[xid(61, 79, &["default/train-w"])], &topology(), at(90));
    let found = opened(&again);
    assert_eq!(found.len(), 1);
    let explanation = &found[0].explanation;
    let said = format!("ann resolved the incident before this one at {}", crate::sentence::when(at(60)));
    assert!(explanation.contains(&said) && explanation.contains("(the GPU was replaced)"), "{explanation}");
    assert!(explanation.ends_with("; this was seen afterwards, so it is a new one."), "{explanation}");
}
