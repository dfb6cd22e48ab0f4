//! Arrivals driven through the tasks on a real database.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use squadron_core::{
    fact::{AttemptFact, AttemptStep, Fact, RayJobFact},
    id::AttemptId,
    job::JobState,
};
use squadron_store::{
    arrival::{Page, Rule, ToldRow},
    job::{Filter, JobRow},
    testing::fixture::{self, NOW},
};

use super::*;
use crate::tasks::{dispatch, release};

const MANIFEST: &str = r#"{"apiVersion": "ray.io/v1", "kind": "RayJob",
  "metadata": {"name": "train", "namespace": "ml"},
  "spec": {"entrypoint": "python train.py", "rayClusterSpec": {"headGroupSpec": {"rayStartParams": {}, "template":
    {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.60.0",
      "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}}}}}"#;

fn fact(uid: &str) -> ArrivalFact {
    ArrivalFact {
        namespace: "ml".into(),
        name: "train".into(),
        uid: uid.into(),
        queue: "research".into(),
        created_at: Some(NOW),
        generation: 1,
        manifest: MANIFEST.into(),
        ..ArrivalFact::default()
    }
}

fn told(fact: ArrivalFact) -> Fact {
    Fact::Arrival(Box::new(fact))
}

/// A control plane with the queue `research` and a cluster `east` with room.
struct Plane {
    app: AppState,
    holder: Uuid,
    east: ClusterId,
}

impl Plane {
    async fn new() -> Plane {
        let app = crate::tasks::tests::app_with(squadron_core::lease::Terms::default()).await;
        app.store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
        let east = fixture::cluster(&app.store, "east").await;
        Plane { app, holder: Uuid::now_v7(), east }
    }

    async fn allow(&self, cluster: ClusterId) {
        let rule = Rule {
            namespace: "ml".into(),
            queue: "research".into(),
            created_at: NOW,
            created_by: "ann".into(),
        };
        let mut db = self.app.store.pool().acquire().await.unwrap();
        arrival::allow(&mut db, cluster, &rule).await.unwrap();
    }

    /// The cluster tells this, and all of it takes effect.
    async fn tell(&self, cluster: ClusterId, facts: Vec<Fact>) {
        fixture::facts(&self.app.store, cluster, facts).await;
        self.settle().await;
    }

    async fn settle(&self) {
        while project::pass(&self.app, self.holder).await.unwrap() == Left::More {}
        while pass(&self.app, self.holder).await.unwrap() == Left::More {}
    }

    async fn dispatch(&self) {
        let heard = "update cluster set last_heard_at = to_timestamp($1::float8 / 1000000)";
        fixture::execute(&self.app.store, heard, clock::now().0).await;
        dispatch::pass(&self.app, self.holder).await.unwrap();
    }

    async fn jobs(&self) -> Vec<JobRow> {
        let filter = Filter { limit: 100, ..Filter::default() };
        self.app.store.jobs(&filter).await.unwrap()
    }

    /// What is to be told on the objects of east.
    async fn rows(&self) -> Vec<ToldRow> {
        let page = Page { cluster: self.east, after: None, limit: 100 };
        self.app.store.arrivals_to_tell(&[page]).await.unwrap().remove(0)
    }

    /// The same: reason or state, and the sentence.
    async fn words(&self) -> Vec<(String, String)> {
        let rows = self.rows().await;
        let word =
            |row: &ToldRow| row.job.as_ref().map_or_else(|| row.refusal.clone(), |job| job.state.to_string());
        rows.iter().map(|row| (word(row), row.sentence.clone())).collect()
    }
}

#[tokio::test]
async fn an_object_that_is_told_again_and_again_is_one_job() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    plane.tell(plane.east, vec![told(fact("u")), told(fact("u"))]).await;
    // The next life of the agent tells everything anew; by now the object carries its mark.
    let job = plane.jobs().await[0].id;
    let marked = ArrivalFact { imported_as: Some(job), manifest: String::new(), ..fact("u") };
    plane.tell(plane.east, vec![told(fact("u")), told(marked)]).await;
    let jobs = plane.jobs().await;
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].owner.as_str(), jobs[0].namespace.as_str()), ("cluster:east/ml", "ml"));
    let audit = plane.app.store.audit_page(None, 10).await.unwrap();
    assert_eq!(audit.len(), 1);
    assert_eq!((audit[0].actor.as_str(), audit[0].action.as_str()), ("cluster:east/ml/train", "job.submit"));
}

#[tokio::test]
async fn a_database_from_before_the_import_starts_nothing_a_second_time() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    let lost = id(plane.east, &fact("u"));
    let marked = ArrivalFact { imported_as: Some(lost), manifest: String::new(), ..fact("u") };
    plane.tell(plane.east, vec![told(marked)]).await;
    assert_eq!(plane.jobs().await.len(), 0);
    let words = plane.words().await;
    assert_eq!(words[0].0, "FORGOTTEN");
    assert!(words[0].1.contains("delete it and apply it again"), "{}", words[0].1);
    // One whose mark was not written yet becomes the same job again, under the same id and attempt names.
    plane.tell(plane.east, vec![told(fact("v"))]).await;
    assert_eq!(plane.jobs().await[0].id, id(plane.east, &fact("v")));
    assert_eq!(plane.jobs().await.len(), 1);
}

#[test]
fn ids_differ_by_cluster_and_object_and_follow_their_time() {
    let clusters = [ClusterId(Uuid::from_u128(1)), ClusterId(Uuid::from_u128(2))];
    let later = ArrivalFact { created_at: Some(NOW.plus_millis(1)), ..fact("a") };
    let ids: BTreeSet<JobId> = clusters
        .iter()
        .flat_map(|cluster| [id(*cluster, &fact("a")), id(*cluster, &fact("b")), id(*cluster, &later)])
        .collect();
    assert_eq!(ids.len(), 6);
    assert!(id(clusters[0], &fact("a")) < id(clusters[0], &later));
    assert_eq!(id(clusters[0], &fact("a")).0.get_version_num(), 7);
}

#[tokio::test]
async fn what_may_not_is_refused_until_a_rule_lets_it_in() {
    let plane = Plane::new().await;
    plane.tell(plane.east, vec![told(fact("u"))]).await;
    assert_eq!(plane.jobs().await.len(), 0);
    assert_eq!(plane.words().await[0].0, "NOT_ALLOWED");
    let west = fixture::cluster(&plane.app.store, "west").await;
    plane.allow(west).await;
    plane.settle().await;
    assert_eq!(plane.jobs().await.len(), 0, "a rule of another cluster is another rule");
    plane.allow(plane.east).await;
    plane.settle().await;
    assert_eq!(plane.jobs().await.len(), 1);
    assert_eq!(plane.words().await[0].0, "queued");
}

#[tokio::test]
async fn a_refused_object_that_is_deleted_is_never_let_in() {
    let plane = Plane::new().await;
    let gone = ArrivalFact { gone: true, gone_why: "its RayJob was deleted".into(), ..fact("u") };
    plane.tell(plane.east, vec![told(fact("u")), told(gone)]).await;
    plane.allow(plane.east).await;
    plane.settle().await;
    assert_eq!((plane.jobs().await.len(), plane.words().await.len()), (0, 0));
}

#[tokio::test]
async fn a_manifest_is_checked_like_a_submitted_one_and_may_be_corrected() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    let with = |manifest: &str, cluster: &str, generation| {
        told(ArrivalFact { manifest: manifest.into(), cluster: cluster.into(), generation, ..fact("u") })
    };
    let extras = MANIFEST.replace(
        r#""namespace": "ml""#,
        r#""namespace": "ml", "annotations": {"squadron.dev/ray-submission": "{}"}"#,
    );
    let broken = [
        (MANIFEST.replace("entrypoint", "entrypiont"), "", "INVALID_MANIFEST", "entrypiont"),
        (
            MANIFEST.replace(r#""namespace": "ml""#, r#""namespace": "prod""#),
            "",
            "INVALID_MANIFEST",
            "another namespace",
        ),
        (extras, "", "INVALID_MANIFEST", "ray-submission"),
        (MANIFEST.to_owned(), "north", "UNKNOWN_CLUSTER", "no such cluster"),
    ];
    for (generation, (manifest, cluster, reason, part)) in (1..).zip(&broken) {
        plane.tell(plane.east, vec![with(manifest, cluster, generation)]).await;
        let words = plane.words().await;
        assert_eq!(words[0].0, *reason, "{words:?}");
        assert!(words[0].1.contains(part), "{words:?}");
    }
    plane.tell(plane.east, vec![with(MANIFEST, "east", 9)]).await;
    assert_eq!(plane.jobs().await.len(), 1);
}

#[tokio::test]
async fn names_are_judged_like_those_of_a_submission_and_again_when_what_they_lacked_is_there() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    let labelled = MANIFEST.replace(
        r#""namespace": "ml""#,
        r#""namespace": "ml", "labels": {"kueue.x-k8s.io/priority-class": "urgent"}"#,
    );
    let offer = ArrivalFact { manifest: labelled, ..fact("u") };
    plane.tell(plane.east, vec![told(offer)]).await;
    let words = plane.words().await;
    assert_eq!(words[0].0, "UNKNOWN_PRIORITY_CLASS", "{words:?}");
    let below =
        "insert into queue (name, created_at, parent) select 'research/a', now(), 'research' where $1 > 0";
    fixture::execute(&plane.app.store, below, 1).await;
    let class = "insert into priority_class (name, value) values ('urgent', $1)";
    fixture::execute(&plane.app.store, class, 1_000).await;
    plane.settle().await;
    let words = plane.words().await;
    assert_eq!(words[0].0, "INNER_QUEUE", "{words:?}");
    assert!(words[0].1.contains("jobs wait in those: research/a"), "{words:?}");
    assert_eq!(plane.jobs().await.len(), 0);
    fixture::execute(&plane.app.store, "delete from queue where name = 'research/a' and $1 > 0", 1).await;
    plane.settle().await;
    let job = plane.jobs().await.remove(0);
    assert_eq!((job.priority_class.as_deref(), job.priority), (Some("urgent"), 1_000));
}

#[tokio::test]
async fn an_agent_that_names_another_class_than_the_manifest_holds_nobody_back() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    let labelled = |class: &str| {
        let labels =
            format!(r#""namespace": "ml", "labels": {{"kueue.x-k8s.io/priority-class": "{class}"}}"#);
        MANIFEST.replace(r#""namespace": "ml""#, &labels)
    };
    let class = "insert into priority_class (name, value) values ('normal', $1)";
    fixture::execute(&plane.app.store, class, 1).await;
    let lies = ArrivalFact { manifest: labelled("nobody"), priority_class: "normal".into(), ..fact("a") };
    let waits = ArrivalFact { manifest: labelled("urgent"), ..fact("b") };
    plane.tell(plane.east, vec![told(lies), told(waits)]).await;
    assert!(!plane.app.store.any_allowed_since().await.unwrap(), "its class is the one of its manifest");
    // Even a row that seems to be allowed at every look is tried once in a pass.
    let wrong = "update arrival set offer = jsonb_set(offer, '{priority_class}', '\"normal\"') where uid = 'a' and $1 > 0";
    fixture::execute(&plane.app.store, wrong, 1).await;
    let class = "insert into priority_class (name, value) values ('urgent', $1)";
    fixture::execute(&plane.app.store, class, 1_000).await;
    assert_eq!(pass(&plane.app, plane.holder).await.unwrap(), Left::Nothing);
    assert_eq!(plane.jobs().await.len(), 1);
}

#[tokio::test]
async fn a_cluster_that_was_unknown_lets_the_object_in_when_it_is_there() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    plane.tell(plane.east, vec![told(ArrivalFact { cluster: "north".into(), ..fact("u") })]).await;
    assert_eq!(plane.words().await[0].0, "UNKNOWN_CLUSTER");
    fixture::cluster(&plane.app.store, "north").await;
    plane.settle().await;
    assert_eq!(plane.jobs().await.len(), 1);
}

#[tokio::test]
async fn deletion_cancels_what_waits_and_what_runs_elsewhere() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    let west = fixture::cluster(&plane.app.store, "west").await;
    plane.tell(west, vec![Fact::Node(fixture::node("n1"))]).await;
    plane.tell(plane.east, vec![told(fact("runs"))]).await;
    plane.dispatch().await;
    let job = plane.jobs().await.remove(0);
    assert_eq!((job.state, job.cluster.as_deref()), (JobState::Assigned, Some("west")), "east has no node");
    let attempt = AttemptId { job: job.id, number: 1 };
    let step = |step| Fact::Attempt(AttemptFact { attempt, step, message: String::new() });
    plane.tell(west, vec![step(AttemptStep::Created)]).await;
    plane.tell(plane.east, vec![told(fact("waits"))]).await;
    let gone =
        |uid: &str| told(ArrivalFact { gone: true, gone_why: "its RayJob was deleted".into(), ..fact(uid) });
    plane.tell(plane.east, vec![gone("waits"), gone("runs"), gone("runs"), gone("stranger")]).await;
    let states: BTreeSet<&str> = plane.jobs().await.iter().map(|job| job.state.word()).collect();
    assert_eq!(states, BTreeSet::from(["cancelled", "stopping"]));
    plane.tell(west, vec![step(AttemptStep::Removed)]).await;
    release::pass(&plane.app, plane.holder).await.unwrap();
    let ended = plane.jobs().await;
    assert!(ended.iter().all(|job| job.state == JobState::Cancelled), "{ended:?}");
    let why = "cancelled by cluster:east/ml/train (its RayJob was deleted)";
    assert!(ended.iter().any(|job| job.sentence.starts_with(why)), "{ended:?}");
}

#[tokio::test]
async fn an_edit_changes_nothing_and_is_told() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    plane.tell(plane.east, vec![told(fact("u"))]).await;
    let edited =
        ArrivalFact { generation: 2, manifest: MANIFEST.replace("train.py", "other.py"), ..fact("u") };
    plane.tell(plane.east, vec![told(edited)]).await;
    assert!(plane.rows().await[0].edited);
    let job = plane.jobs().await.remove(0);
    assert!(plane.app.store.manifest(job.id).await.unwrap().unwrap().contains("train.py"));
}

#[tokio::test]
async fn the_end_is_told_until_the_object_tells_it() {
    let plane = Plane::new().await;
    plane.allow(plane.east).await;
    plane.tell(plane.east, vec![Fact::Node(fixture::node("n1")), told(fact("u"))]).await;
    plane.dispatch().await;
    let job = plane.jobs().await.remove(0);
    let attempt = AttemptId { job: job.id, number: 1 };
    let name = squadron_core::attempt::object_name("train", job.id, 1);
    let done = Fact::RayJob(RayJobFact {
        namespace: "ml".into(),
        name,
        attempt: Some(attempt),
        deployment_status: "Complete".into(),
        job_status: "SUCCEEDED".into(),
        ..RayJobFact::default()
    });
    plane.tell(plane.east, vec![done]).await;
    assert_eq!(plane.words().await[0].0, "succeeded");
    let settled =
        ArrivalFact { imported_as: Some(job.id), settled: true, manifest: String::new(), ..fact("u") };
    plane.tell(plane.east, vec![told(settled)]).await;
    assert_eq!(plane.words().await, []);
}
