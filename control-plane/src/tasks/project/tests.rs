//! Batches of facts on a real database: they come to what their facts come to one by one, and cost a few statements.

#![allow(clippy::unwrap_used)]

use squadron_core::{
    fact::{
        ArrivalFact, AttemptFact, AttemptStep, Fact, InventoryFact, KernelFact, KernelSignal, ListedFact,
        ListedKind, NodeFact, PodFact, RayClusterFact, RayJobFact,
    },
    id::{AttemptId, ClusterId},
    job::JobState,
    lease::{Policy, Terms},
    time::Timestamp,
};
use squadron_store::{
    Store,
    arrival::{Page, Rule, allow},
    attempt::AttemptRow,
    cursor::{FactRow, Position},
    job::{Filter, advance},
    testing::{
        crowd,
        fixture::{self, NOW},
        link,
    },
    usage::Spans,
};

use super::*;
use crate::{
    http::jobs::tests::MANIFEST,
    tasks::{statements::Statements, tests::app_with},
};

fn id(number: u32) -> AttemptId {
    AttemptId { job: format!("0196f0a0-0000-7000-9000-{number:012}").parse().unwrap(), number: 1 }
}

fn step(number: u32, step: AttemptStep) -> Fact {
    Fact::Attempt(AttemptFact { attempt: id(number), step, message: String::new() })
}

fn ray_job(number: u32, deployment: &str, status: &str) -> Fact {
    Fact::RayJob(RayJobFact {
        namespace: "default".into(),
        name: format!("crowd-{number}"),
        attempt: Some(id(number)),
        deployment_status: deployment.into(),
        job_status: status.into(),
        ..RayJobFact::default()
    })
}

fn head(number: u32) -> Fact {
    Fact::Pod(Box::new(fixture::pod(&format!("head-{number}"), Some(id(number)))))
}

async fn all(app: &AppState, holder: Uuid) {
    while pass(app, holder).await.unwrap() == Left::More {}
}

#[tokio::test]
async fn five_facts_of_each_of_a_hundred_jobs_cost_a_few_statements() {
    let (statements, _counts) = Statements::counted();
    let (app, holder) = (app_with(Terms::default()).await, Uuid::now_v7());
    let east = fixture::cluster(&app.store, "east").await;
    crowd::held(&app.store, east, 100, Policy::Wait).await;
    all(&app, holder).await;
    let of = |number| {
        let running = ray_job(number, "Running", "RUNNING");
        let done = ray_job(number, "Complete", "SUCCEEDED");
        [step(number, AttemptStep::Created), head(number), running, head(number), done]
    };
    fixture::facts(&app.store, east, (1..=100).flat_map(of).collect()).await;
    statements.count();
    assert_eq!(pass(&app, holder).await.unwrap(), Left::More);
    let count = statements.count();
    eprintln!("500 facts of 100 jobs took effect with {count} statements");
    assert!((2..20).contains(&count), "{count} statements for one transaction");
    for number in [1, 50, 100] {
        let row = app.store.job(&id(number).job.to_string()).await.unwrap().unwrap();
        assert_eq!((row.state, row.version), (JobState::Succeeded, 2));
        let attempt = app.store.attempts(id(number).job).await.unwrap().remove(0);
        assert!(attempt.running_at.is_some() && attempt.end_learnt_at > attempt.ended_at, "{attempt:?}");
    }
}

#[tokio::test]
async fn a_checkpoint_is_kept_with_its_attempt() {
    let (app, holder) = (app_with(Terms::default()).await, Uuid::now_v7());
    let east = fixture::cluster(&app.store, "east").await;
    crowd::held(&app.store, east, 2, Policy::Fence).await;
    let saved = NOW.plus_millis(-90_000);
    let Fact::RayJob(running) = ray_job(1, "Running", "RUNNING") else { unreachable!() };
    let told = Fact::RayJob(RayJobFact { checkpointed_at: Some(saved), ..running });
    fixture::facts(&app.store, east, vec![told, ray_job(2, "Running", "RUNNING")]).await;
    all(&app, holder).await;
    let kept = async |number| app.store.attempts(id(number).job).await.unwrap().remove(0).checkpointed_at;
    assert_eq!((kept(1).await, kept(2).await), (Some(saved), None));
}

#[tokio::test]
async fn facts_of_many_clusters_share_a_transaction() {
    let (statements, _counts) = Statements::counted();
    let (app, holder) = (app_with(Terms::default()).await, Uuid::now_v7());
    all(&app, holder).await;
    for number in 0..40 {
        let cluster = fixture::cluster(&app.store, &format!("c{number}")).await;
        fixture::facts(&app.store, cluster, vec![Fact::Node(fixture::node("n1"))]).await;
    }
    statements.count();
    all(&app, holder).await;
    let count = statements.count();
    eprintln!("facts of 40 clusters took effect with {count} statements");
    assert!((2..20).contains(&count), "{count} statements");
    assert_eq!(app.store.capacities().await.unwrap().len(), 40);
}

#[test]
fn who_tells_of_an_arrival_shares_no_transaction() {
    let batch = |fact: Fact, count: usize| {
        let row = |seq| FactRow { position: Position { epoch: 1, seq }, at: NOW, fact: Some(fact.clone()) };
        let facts = (1..).take(count).map(row).collect();
        Batch { cluster: ClusterId(Uuid::nil()), epoch: 1, from: 0, to: 1, facts }
    };
    let node = || batch(Fact::Node(fixture::node("n1")), 200);
    let arrival = || batch(Fact::Arrival(Box::default()), 1);
    assert_eq!(together(&[node(), node(), node()]), 2, "500 facts at most");
    assert_eq!(together(&[node(), arrival(), node()]), 1);
    assert_eq!(together(&[arrival(), node(), node()]), 1);
    assert_eq!(together(&[batch(Fact::Node(fixture::node("n1")), 501)]), 1, "one goes on its own");
}

#[tokio::test]
async fn a_pod_whose_row_cannot_be_read_is_read_again_from_its_next_fact() {
    let (app, holder) = (app_with(Terms::default()).await, Uuid::now_v7());
    let east = fixture::cluster(&app.store, "east").await;
    crowd::held(&app.store, east, 1, Policy::Wait).await;
    fixture::facts(&app.store, east, vec![head(1), step(1, AttemptStep::Created)]).await;
    all(&app, holder).await;
    fixture::execute(&app.store, "update pod set containers = '7' where $1 > 0", 1).await;
    fixture::facts(&app.store, east, vec![ray_job(1, "Running", "RUNNING"), head(1)]).await;
    all(&app, holder).await;
    let row = app.store.job(&id(1).job.to_string()).await.unwrap().unwrap();
    assert_eq!(row.state, JobState::Running, "its job goes on");
    assert_eq!(app.store.pods_of_job(id(1).job).await.unwrap().len(), 1, "the row can be read");
}

#[tokio::test]
async fn the_projector_keeps_its_duty_before_each_transaction() {
    let (app, holder) = (app_with(Terms::default()).await, Uuid::now_v7());
    all(&app, holder).await;
    for name in ["a", "b", "c"] {
        let cluster = fixture::cluster(&app.store, name).await;
        fixture::facts(&app.store, cluster, vec![Fact::Arrival(Box::default())]).await;
    }
    let beat = async || app.store.duty(CONSUMER).await.unwrap().0.beat;
    let before = beat().await;
    assert_eq!(pass(&app, holder).await.unwrap(), Left::More);
    assert_eq!(beat().await - before, 4, "once for the pass, and once for each of the three");
}

#[tokio::test]
async fn what_one_cluster_tells_keeps_no_other_one_of_its_transaction() {
    let (app, holder) = (app_with(Terms::default()).await, Uuid::now_v7());
    let mut clusters = Vec::new();
    let pod = |name: &str| Fact::Pod(Box::new(fixture::pod(name, None)));
    for (name, first) in [("a", "sound"), ("b", "broken"), ("c", "odd"), ("d", "sound")] {
        let cluster = fixture::cluster(&app.store, name).await;
        fixture::facts(&app.store, cluster, vec![pod(first), pod("later")]).await;
        clusters.push((name, cluster));
    }
    let shown = async |cluster: &str| {
        let spans = app.store.spans(NOW, NOW.plus_millis(3_600_000), None).await.unwrap();
        let pods = spans.pods.into_iter().filter(|pod| pod.cluster == cluster);
        let mut uids: Vec<_> = pods.map(|pod| pod.uid).collect();
        uids.sort();
        uids
    };
    fixture::break_writes(&app.store, "pod", "new.name = 'broken'", "22003").await;
    all(&app, holder).await;
    assert_eq!(shown("b").await, ["uid-later"], "the fact at fault is put aside alone");
    assert_eq!(shown("d").await, ["uid-later", "uid-sound"]);
    fixture::heal(&app.store).await;
    for (name, cluster) in clusters {
        fixture::facts(&app.store, cluster, vec![pod(if name == "c" { "riddle" } else { "last" })]).await;
    }
    fixture::break_writes(&app.store, "pod", "new.name = 'riddle'", "XX000").await;
    assert!(pass(&app, holder).await.is_err(), "the trouble is told");
    assert_eq!(shown("d").await, ["uid-last", "uid-later", "uid-sound"]);
    assert_eq!(shown("c").await, ["uid-later", "uid-odd"], "it waits");
    fixture::heal(&app.store).await;
    all(&app, holder).await;
    assert_eq!(shown("c").await, ["uid-later", "uid-odd", "uid-riddle"]);
}

/// Facts name job 2 before job 1, and somebody holds job 1 and asks for job 2 then.
#[tokio::test]
async fn facts_lock_no_job_before_a_smaller_one_of_their_batch() {
    let (app, holder) = (app_with(Terms::default()).await, Uuid::now_v7());
    let east = fixture::cluster(&app.store, "east").await;
    crowd::held(&app.store, east, 2, Policy::Wait).await;
    all(&app, holder).await;
    let mut other = app.store.pool().begin().await.unwrap();
    advance::lock(&mut other, id(1).job).await.unwrap();
    let created = [2, 1].map(|number| step(number, AttemptStep::Created));
    fixture::facts(&app.store, east, created.to_vec()).await;
    let projected = tokio::spawn({
        let app = app.clone();
        async move { all(&app, holder).await }
    });
    link::someone_waits(&app.store).await;
    advance::lock(&mut other, id(2).job).await.expect("nobody waits in a circle");
    other.commit().await.unwrap();
    projected.await.unwrap();
    let row = app.store.job(&id(2).job.to_string()).await.unwrap().unwrap();
    assert_eq!(row.state, JobState::Starting);
}

/// A number below `end`, from a sequence that is the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(end)).unwrap()
    }

    fn is(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Any fact about three jobs, four pods, two nodes and two arrivals.
    fn fact(&mut self) -> Fact {
        let number = self.below(3) + 1;
        match self.below(18) {
            0..=4 => Fact::Pod(Box::new(self.pod(number))),
            5 | 6 => Fact::Node(self.node()),
            7 => self.list(),
            8 => step(number, AttemptStep::Created),
            9 if self.below(3) == 0 => step(number, AttemptStep::Removed),
            10 if self.below(3) == 0 => ray_job(number, "Complete", "SUCCEEDED"),
            10 if self.below(3) == 0 => ray_job(number, "Failed", "FAILED"),
            11 | 12 => ray_job(number, "Running", "RUNNING"),
            13 => ray_job(number, "Initializing", ""),
            14 => Fact::RayCluster(RayClusterFact {
                name: "ray".into(),
                attempt: Some(id(number)),
                gone: self.is(),
                ..RayClusterFact::default()
            }),
            15 | 16 => Fact::Arrival(Box::new(self.arrival())),
            _ => Fact::Kernel(KernelFact {
                node: "n1".into(),
                line: "a line".into(),
                signal: KernelSignal::Xid { code: 79, pci: String::new(), pods: Vec::new() },
            }),
        }
    }

    fn pod(&mut self, number: u32) -> PodFact {
        let uid = self.below(4);
        let mut pod = fixture::pod(&format!("p{uid}"), Some(id(number)).filter(|_| uid > 0));
        if self.below(6) == 0 {
            pod.attempt = Some(AttemptId { number: 2, ..id(number) });
        }
        pod.requests.cpu_milli = i64::from(self.below(3)) * 1_000;
        pod.created_at = self.is().then_some(NOW.plus_millis(i64::from(self.below(3))));
        (pod.bound_at, pod.ready) = (self.is().then_some(NOW), self.is());
        if self.below(3) == 0 {
            (pod.node, pod.phase, pod.reason) = (String::new(), "Pending".into(), "Unschedulable".into());
        }
        pod.gone = self.below(8) == 0;
        pod.finished_at = (self.below(8) == 0).then_some(NOW.plus_millis(7_000));
        pod
    }

    fn node(&mut self) -> NodeFact {
        let mut node = fixture::node(["n1", "n2"][usize::from(self.is())]);
        node.allocatable.gpus = i64::from(self.below(2));
        node.gone = self.below(8) == 0;
        node
    }

    fn arrival(&mut self) -> ArrivalFact {
        let uid = ["uid-a1", "uid-a2"][usize::from(self.is())];
        let manifest = if self.below(4) == 0 { "kind: Pod" } else { MANIFEST };
        ArrivalFact {
            namespace: "default".into(),
            name: "train".into(),
            uid: uid.into(),
            queue: "research".into(),
            created_at: Some(NOW),
            generation: i64::from(self.below(2)),
            manifest: manifest.into(),
            gone: self.below(4) == 0,
            ..ArrivalFact::default()
        }
    }

    fn list(&mut self) -> Fact {
        let uids: Vec<String> = (0..4).filter(|_| self.is()).map(|uid| format!("uid-p{uid}")).collect();
        if self.is() {
            let (from, until) = ("uid-p1".into(), "uid-p3".into());
            return Fact::Listed(ListedFact { of: ListedKind::Pod, from, until, uids });
        }
        let node_uids = vec!["uid-n1".into()];
        Fact::Inventory(InventoryFact { pod_uids: uids, node_uids, ..InventoryFact::default() })
    }
}

/// What facts can change, without what depends on the clock or on how often something was written.
async fn picture(store: &Store, clusters: [ClusterId; 2]) -> String {
    let (mut jobs, mut held) = (Vec::new(), Vec::new());
    for number in 1..=3 {
        let job = id(number).job;
        let row = store.job(&job.to_string()).await.unwrap().unwrap();
        let timeless = |attempt: AttemptRow| {
            let end_learnt_at = attempt.end_learnt_at.map(|_| Timestamp(0));
            AttemptRow { end_learnt_at, assigned_at: Timestamp(0), ..attempt }
        };
        let attempts: Vec<_> = store.attempts(job).await.unwrap().into_iter().map(timeless).collect();
        let said = (row.state, row.reason, row.sentence, row.started_at, row.ended_at);
        jobs.push((said, attempts, store.pods_of_job(job).await.unwrap()));
    }
    let Spans { mut nodes, mut pods, open_pods, estimated_ends } =
        store.spans(NOW, NOW.plus_millis(3_600_000), None).await.unwrap();
    nodes.sort_by_key(|node| format!("{node:?}"));
    pods.sort_by_key(|pod| format!("{pod:?}"));
    let everyone = store.jobs(&Filter { limit: 100, ..Filter::default() }).await.unwrap();
    let mut states: Vec<_> =
        everyone.into_iter().map(|job| (job.owner, job.name, job.state.word())).collect();
    states.sort();
    for cluster in clusters {
        let desired: Vec<_> =
            store.desired(cluster).await.unwrap().set.into_iter().map(|held| held.id).collect();
        let page = Page { cluster, after: None, limit: 100 };
        let told = store.arrivals_to_tell(&[page]).await.unwrap().remove(0);
        let told = told.into_iter().map(|row| (row.uid, row.edited, row.refusal, row.sentence));
        held.push((desired, told.collect::<Vec<_>>()));
    }
    format!("{:#?}", (jobs, states, nodes, pods, open_pods, estimated_ends, held))
}

/// Facts of two clusters, the jobs being on the first, so many at a time.
async fn played(facts: &[(usize, Fact)], at_a_time: usize) -> String {
    let (app, holder) = (app_with(Terms::default()).await, Uuid::now_v7());
    app.store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
    let clusters = [fixture::cluster(&app.store, "east").await, fixture::cluster(&app.store, "west").await];
    let rule = Rule {
        namespace: "default".into(),
        queue: "research".into(),
        created_at: NOW,
        created_by: "ann".into(),
    };
    for cluster in clusters {
        allow(&mut app.store.pool().acquire().await.unwrap(), cluster, &rule).await.unwrap();
    }
    crowd::held(&app.store, clusters[0], 3, Policy::Wait).await;
    for some in facts.chunks(at_a_time) {
        for (at, cluster) in clusters.into_iter().enumerate() {
            let own = some.iter().filter(|(of, _)| *of == at).map(|(_, fact)| fact.clone());
            let own: Vec<Fact> = own.collect();
            if !own.is_empty() {
                fixture::facts(&app.store, cluster, own).await;
            }
        }
        all(&app, holder).await;
    }
    picture(&app.store, clusters).await
}

#[tokio::test]
async fn a_batch_comes_to_what_its_facts_come_to_one_by_one() {
    for seed in 0..8 {
        let mut dice = Dice(seed);
        let facts: Vec<(usize, Fact)> =
            (0..60).map(|_| (usize::from(dice.below(3) == 0), dice.fact())).collect();
        let (alone, together) = (played(&facts, 1).await, played(&facts, facts.len()).await);
        assert_eq!(alone, together, "seed {seed}: {facts:#?}");
    }
}
