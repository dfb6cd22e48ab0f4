//! The life of an incident and the topology behind it, on a real database.

#![allow(clippy::unwrap_used)]

use squadron_core::{
    fact::{ContainerFact, PodFact},
    id::AttemptId,
    incident::{Change, Severity},
};

use super::*;
use crate::{
    cursor::Position,
    testing::{
        self,
        fixture::{self, NOW},
    },
};

fn evidence(seq: u64) -> Evidence {
    Evidence { epoch: 1, seq, at: NOW, sentence: "the kernel killed it".into(), raw: format!("line {seq}") }
}

fn opened(job: squadron_core::id::JobId) -> Change {
    Change::Open(Box::new(Opened {
        fingerprint: "oom/x".into(),
        verdict: "OOM_KILLED".into(),
        severity: Severity::Warning,
        title: "A pod was killed".into(),
        explanation: "It used too much.".into(),
        next_step: "Give it more.".into(),
        node: "n1".into(),
        evidence: evidence(1),
        hits: vec![Hit { job, because: "its pod".into() }],
    }))
}

#[tokio::test]
async fn an_incident_opens_grows_and_is_resolved() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    let mut db = store.pool().acquire().await.unwrap();
    let id = Uuid::now_v7();
    let (incident, _) = apply(&mut db, east, &opened(job.id), id, NOW).await.unwrap().unwrap();
    let twice = apply(&mut db, east, &opened(job.id), Uuid::now_v7(), NOW).await.unwrap_err();
    assert!(twice.violates("incident_open"));
    assert_eq!(store.clusters_with_incidents().await.unwrap(), [east]);
    let later = NOW.plus_millis(9_000);
    for change in [
        Change::Append { fingerprint: "oom/x".into(), evidence: evidence(2), hits: vec![] },
        Change::Touch { fingerprint: "oom/x".into(), at: later },
    ] {
        assert!(apply(&mut db, east, &change, Uuid::now_v7(), NOW).await.unwrap().is_some());
    }
    let row = store.incident(incident).await.unwrap().unwrap();
    assert_eq!(
        (row.cluster.as_str(), row.evidence.len(), row.last_seen_at, row.version),
        ("east", 2, later, 3)
    );
    assert_eq!((row.jobs[0].name.as_str(), row.jobs[0].because.as_str()), ("train", "its pod"));
    let known = &store.known_incidents(east, NOW).await.unwrap()[0];
    assert_eq!((known.raws.len(), known.jobs.iter().collect::<Vec<_>>()), (2, vec![&job.id]));
    let resolve = Change::Resolve { fingerprint: "oom/x".into(), why: "it is quiet".into() };
    apply(&mut db, east, &resolve, Uuid::now_v7(), later).await.unwrap().unwrap();
    assert_eq!(apply(&mut db, east, &resolve, Uuid::now_v7(), later).await.unwrap(), None);
    assert_eq!(store.incidents(Some("open"), None, 10).await.unwrap(), []);
    let listed = store.incidents(None, None, 10).await.unwrap();
    let end = Resolved { at: later, by: String::new(), because: "it is quiet".into() };
    assert_eq!(
        (listed[0].resolved.as_ref(), listed[0].explanation.as_str()),
        (Some(&end), "It used too much.")
    );
    assert_eq!(store.incidents(None, Some((NOW, id)), 10).await.unwrap(), []);
    assert_eq!(store.incidents_of_job(job.id).await.unwrap(), listed);
    assert_eq!(store.known_incidents(east, later).await.unwrap()[0].resolved, Some(end));
    assert_eq!(store.known_incidents(east, later.plus_millis(8 * 86_400_000)).await.unwrap(), []);
}

#[tokio::test]
async fn a_person_ends_an_incident_once_and_a_fact_judged_before_that_is_judged_again() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    let mut db = store.pool().acquire().await.unwrap();
    let (id, _) = apply(&mut db, east, &opened(job.id), Uuid::now_v7(), NOW).await.unwrap().unwrap();
    let entry = audit::Entry {
        id: Uuid::now_v7(),
        at: NOW.plus_millis(5_000),
        actor: "ann".into(),
        action: "incident.resolve".into(),
        object: id.0.to_string(),
        allowed: true,
        detail: "the limit was raised".into(),
        request_id: String::new(),
    };
    let refused = store.resolve_incident(id, " ", &entry).await.unwrap().unwrap();
    assert_eq!(refused, Err(Refused::NoReason));
    assert_eq!(store.resolve_incident(id, "the limit was raised", &entry).await.unwrap(), Some(Ok(2)));
    let repeat = audit::Entry { id: Uuid::now_v7(), ..entry.clone() };
    assert_eq!(store.resolve_incident(id, "the limit was raised", &repeat).await.unwrap(), Some(Ok(2)));
    let again = audit::Entry { id: Uuid::now_v7(), actor: "bob".into(), ..entry.clone() };
    let refused = store.resolve_incident(id, "mine", &again).await.unwrap().unwrap().unwrap_err();
    assert!(refused.to_string().ends_with("by ann: the limit was raised"), "{refused}");
    assert_eq!(store.resolve_incident(IncidentId(Uuid::nil()), "x", &again).await.unwrap(), None);
    assert_eq!(store.audit_page(None, 10).await.unwrap().len(), 1, "what was refused changed nothing");
    let row = store.incident(id).await.unwrap().unwrap();
    assert_eq!((row.state.as_str(), row.resolved.unwrap().by.as_str()), ("resolved", "ann"));

    let late = Change::Append { fingerprint: "oom/x".into(), evidence: evidence(2), hits: vec![] };
    let stale = apply(&mut db, east, &late, Uuid::now_v7(), NOW).await.unwrap_err();
    assert!(matches!(stale, StoreError::Changed { .. }), "{stale}");
    let touch = Change::Touch { fingerprint: "oom/x".into(), at: NOW };
    assert_eq!(apply(&mut db, east, &touch, Uuid::now_v7(), NOW).await.unwrap(), None, "nothing to lose");
}

#[tokio::test]
async fn the_topology_leaves_out_what_ended_before() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let job = fixture::queued(&store, "train").await;
    let id = AttemptId { job: job.id, number: 1 };
    let mut db = store.pool().acquire().await.unwrap();
    let before = crate::job::advance::lock(&mut db, job.id).await.unwrap().unwrap();
    let event = squadron_core::attempt::Event::Assigned { cluster: east, cluster_name: "east", because: "" };
    let step = squadron_core::attempt::advance(&before, event, NOW).unwrap();
    crate::job::advance::save(&mut db, &step).await.unwrap();
    let stuck =
        ContainerFact { state: "waiting".into(), reason: "ErrImagePull".into(), ..ContainerFact::default() };
    let waits = PodFact { containers: vec![stuck], ..fixture::pod("w", Some(id)) };
    let old = PodFact { finished_at: Some(NOW), ..fixture::pod("old", None) };
    fixture::show_node(&mut db, east, &fixture::node("n1"), Position { epoch: 1, seq: 1 }, NOW)
        .await
        .unwrap();
    for (seq, pod) in (2..).zip([waits, old]) {
        fixture::show_pod(&mut db, east, &pod, Position { epoch: 1, seq }, NOW).await.unwrap();
    }
    let topology = store.topology(east, NOW).await.unwrap();
    assert_eq!(topology.pods.keys().collect::<Vec<_>>(), ["uid-w"]);
    assert!(topology.pods["uid-w"].image_trouble);
    assert_eq!(topology.attempts[&id].job_name, "train");
    assert!(topology.nodes.contains("n1"));
}
