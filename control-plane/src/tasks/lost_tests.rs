//! Lost clusters on a real database, with a clock that is passed in.

#![allow(clippy::unwrap_used)]

use squadron_core::{
    attempt::reason,
    id::{ClusterId, Epoch, JobId},
    job::JobState,
    lease::{Policy, ProofKind, Renewal, Terms, Tick, Word},
};
use squadron_store::{
    StoreError,
    cluster::lease::Asked,
    job::{JobRow, NewJob},
    testing::{crowd, fixture, link},
};
use uuid::Uuid;

use super::{
    lost::{HeardAgain, Watch},
    statements::Statements,
    tests::{app_with, heard, ready},
    *,
};

const TTL: u64 = 60_000;

/// A fleet of two, a clock, and a leader that looks.
struct Fleet {
    app: AppState,
    holder: Uuid,
    watch: Watch,
    now: u64,
    east: ClusterId,
    west: ClusterId,
}

impl Fleet {
    async fn new() -> Fleet {
        let app = app_with(Terms { ttl: TTL, ..Terms::default() }).await;
        let east = ready(&app, "east").await;
        let west = ready(&app, "west").await;
        let mut fleet =
            Fleet { app, holder: Uuid::now_v7(), watch: Watch::default(), now: 1_000_000, east, west };
        project::pass(&fleet.app, fleet.holder).await.unwrap();
        fleet.renew(&[east, west]).await;
        fleet.look().await;
        fleet
    }

    async fn renew(&self, clusters: &[ClusterId]) {
        let renewal = Renewal { epoch: Epoch(1), number: self.now, ttl: TTL };
        let asked: Vec<_> =
            clusters.iter().map(|cluster| (*cluster, Asked { renewal, noted: None })).collect();
        self.app.store.renew(&asked).await.unwrap();
    }

    async fn look(&mut self) {
        self.watch.pass(&self.app, self.holder, Tick(self.now)).await.unwrap();
    }

    /// Looks every five seconds, while only `west` renews.
    async fn listen(&mut self, seconds: u64) {
        for _ in 0..seconds / 5 {
            self.now += 5_000;
            self.renew(&[self.west]).await;
            self.look().await;
        }
    }

    /// The look after which a fenced attempt on east would be closed.
    async fn last_look(&mut self) -> lost::Seen {
        self.now += 5_000;
        self.renew(&[self.west]).await;
        self.watch.look(&self.app, self.holder, Tick(self.now)).await.unwrap().unwrap()
    }

    /// A job with an attempt on east.
    async fn placed(&self, name: &str, policy: Policy, accepted: bool) -> JobId {
        let mut new: NewJob = fixture::new_job(name);
        new.on_lost.policy = policy;
        new.pinned = Some(self.east);
        self.app.store.ensure_queue(&new.queue.parse().unwrap(), fixture::NOW).await.unwrap();
        fixture::insert(&self.app.store, &new).await;
        heard(&self.app.store).await;
        dispatch::pass(&self.app, self.holder).await.unwrap();
        let attempt = squadron_core::id::AttemptId { job: new.id, number: 1 };
        if accepted {
            assert!(link::accept(&self.app.store, self.east, 1, &[attempt]).await);
        }
        assert_eq!(self.row(new.id).await.state, JobState::Assigned);
        new.id
    }

    async fn row(&self, job: JobId) -> JobRow {
        self.app.store.job(&job.to_string()).await.unwrap().unwrap()
    }

    async fn row_of(&self, name: &str) -> JobRow {
        self.app.store.job(name).await.unwrap().unwrap()
    }

    async fn proof(&self, job: JobId) -> String {
        self.app.store.attempts(job).await.unwrap().remove(0).proof
    }
}

#[tokio::test]
async fn a_fenced_job_says_when_it_starts_elsewhere_and_does_after_lease_and_guard() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("train", Policy::Fence, true).await;
    fleet.listen(40).await;
    let silent = fleet.row(job).await;
    assert_eq!((silent.state, silent.reason.as_str()), (JobState::Assigned, reason::CLUSTER_SILENT));
    let told = ["on east, silent since", "policy fence", "it starts elsewhere at"];
    assert!(told.iter().all(|part| silent.sentence.contains(part)), "{}", silent.sentence);
    fleet.listen(30).await;
    assert_eq!(fleet.row(job).await.state, JobState::Assigned, "70 s: the guard is not over");
    fleet.listen(10).await;
    let lost = fleet.row(job).await;
    assert_eq!((lost.state, lost.reason.as_str()), (JobState::Queued, reason::LEASE_ENDED));
    assert_eq!(fleet.proof(job).await, ProofKind::LeaseEnded.word());
}

#[tokio::test]
async fn a_job_that_waits_never_moves_and_says_so() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("train", Policy::Wait, true).await;
    fleet.listen(300).await;
    let row = fleet.row(job).await;
    assert_eq!(row.state, JobState::Assigned);
    assert!(row.sentence.contains("policy wait"), "{}", row.sentence);
    fleet.now += 5_000;
    fleet.renew(&[fleet.east]).await;
    fleet.look().await;
    assert_eq!(fleet.row(job).await.reason, "", "it is heard again");
}

#[tokio::test]
async fn what_was_never_accepted_moves_after_its_grant() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("train", Policy::Wait, false).await;
    fleet.listen(40).await;
    assert_eq!(fleet.row(job).await.state, JobState::Queued);
    assert_eq!(fleet.proof(job).await, ProofKind::NeverAccepted.word());
    let attempt = squadron_core::id::AttemptId { job, number: 1 };
    let late = link::accept(&fleet.app.store, fleet.east, 1, &[attempt]).await;
    assert!(!late, "an acceptance that comes later starts nothing");
}

#[tokio::test]
async fn an_overlap_that_is_allowed_is_counted() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("sweep", Policy::Rerun, true).await;
    fleet.listen(40).await;
    assert_eq!(fleet.row(job).await.state, JobState::Queued);
    assert_eq!(fleet.proof(job).await, ProofKind::OverlapAllowed.word());
}

#[tokio::test]
async fn time_in_which_the_leader_did_not_look_or_heard_nobody_is_not_counted() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("train", Policy::Fence, true).await;
    fleet.listen(20).await;
    fleet.now += 3_600_000;
    fleet.look().await;
    for _ in 0..100 {
        fleet.now += 5_000;
        fleet.look().await;
    }
    assert_eq!(fleet.row(job).await.state, JobState::Assigned, "an outage in the middle expires nothing");
}

#[tokio::test]
async fn an_agent_without_leases_is_believed_to_run_on() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("train", Policy::Fence, true).await;
    fixture::execute(&fleet.app.store, "update cluster set lease_ms = $1 where name = 'east'", 0).await;
    fleet.listen(300).await;
    assert_eq!(fleet.row(job).await.state, JobState::Assigned);
}

#[tokio::test]
async fn a_renewal_after_the_judgement_keeps_the_attempt() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("train", Policy::Fence, true).await;
    fleet.listen(70).await;
    let seen = fleet.last_look().await;
    fleet.renew(&[fleet.east]).await;
    fleet.watch.follow(&fleet.app, &seen, Tick(fleet.now)).await.unwrap();
    assert_eq!(fleet.row(job).await.state, JobState::Assigned, "the renewal won");
}

#[tokio::test]
async fn a_leader_that_lost_its_term_closes_nothing() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("train", Policy::Fence, true).await;
    fleet.listen(70).await;
    let seen = fleet.last_look().await;
    fixture::execute(&fleet.app.store, "update duty_term set term = term + $1 where duty = 'lost'", 1).await;
    let now = Tick(fleet.now);
    let error = fleet.watch.follow(&fleet.app, &seen, now).await.unwrap_err();
    assert!(matches!(error, StoreError::Fenced { duty: "lost" }), "{error}");
    assert_eq!(fleet.row(job).await.state, JobState::Assigned);
    let mut second = Watch::default();
    second.pass(&fleet.app, fleet.holder, now).await.unwrap();
    let row = fleet.row(job).await;
    assert_eq!(row.state, JobState::Assigned, "its successor counts from its own start");
    assert_eq!(row.reason, reason::CLUSTER_SILENT, "and does not call the cluster heard");
}

impl Fleet {
    /// How often the duty is kept while this look is followed.
    async fn beats(&mut self, seen: &lost::Seen) -> u64 {
        let before = self.app.store.duty("lost").await.unwrap().0.beat;
        // What cannot be written is tried again by the next pass.
        let _trouble = self.watch.follow(&self.app, seen, Tick(self.now)).await;
        self.app.store.duty("lost").await.unwrap().0.beat - before
    }
}

#[tokio::test]
async fn the_duty_is_kept_before_each_batch_that_is_closed() {
    let mut fleet = Fleet::new().await;
    crowd::held(&fleet.app.store, fleet.east, 1_000, Policy::Fence).await;
    fleet.listen(70).await;
    let seen = fleet.last_look().await;
    assert_eq!(fleet.beats(&seen).await, 2, "once for each of two batches");
}

#[tokio::test]
async fn the_duty_is_kept_before_each_batch_of_which_people_are_told() {
    let mut fleet = Fleet::new().await;
    crowd::held(&fleet.app.store, fleet.east, 1_000, Policy::Fence).await;
    let mut beats = Vec::new();
    for _ in 0..7 {
        let seen = fleet.last_look().await;
        beats.push(fleet.beats(&seen).await);
    }
    assert_eq!(beats.iter().sum::<u64>(), 2, "once for each of two batches: {beats:?}");
    assert_eq!(fleet.row_of("crowd-7").await.reason, reason::CLUSTER_SILENT);
}

#[tokio::test]
async fn the_duty_is_kept_while_a_batch_that_failed_is_tried_one_by_one() {
    let mut fleet = Fleet::new().await;
    crowd::held(&fleet.app.store, fleet.east, 3, Policy::Fence).await;
    fixture::break_writes(&fleet.app.store, "job", "new.name = 'crowd-2' and new.state = 'queued'", "22003")
        .await;
    fleet.listen(70).await;
    let seen = fleet.last_look().await;
    assert_eq!(fleet.beats(&seen).await, 4, "for the batch, and for each of three");
}

#[tokio::test]
async fn a_thousand_attempts_of_a_lost_cluster_cost_a_few_statements() {
    let (statements, _counts) = Statements::counted();
    let mut fleet = Fleet::new().await;
    crowd::held(&fleet.app.store, fleet.east, 1_000, Policy::Fence).await;
    let open = async |fleet: &Fleet| fleet.app.store.held_on(fleet.east, None).await.unwrap().len();
    fleet.listen(40).await;
    assert_eq!(fleet.row_of("crowd-7").await.reason, reason::CLUSTER_SILENT, "each is told");
    fleet.listen(30).await;
    let seen = fleet.last_look().await;
    statements.count();
    let began = std::time::Instant::now();
    fleet.watch.follow(&fleet.app, &seen, Tick(fleet.now)).await.unwrap();
    let (count, took) = (statements.count(), began.elapsed());
    eprintln!("1000 attempts were closed with {count} statements in {took:?}");
    assert_eq!(open(&fleet).await, 0);
    assert!((2..60).contains(&count), "{count} statements for two transactions");
    assert_eq!(fleet.row_of("crowd-7").await.reason, reason::LEASE_ENDED);
}

#[tokio::test]
async fn a_word_about_a_thousand_attempts_costs_a_few_statements() {
    let (statements, _counts) = Statements::counted();
    let fleet = Fleet::new().await;
    crowd::held(&fleet.app.store, fleet.east, 1_000, Policy::Wait).await;
    let before = fleet.app.store.last_word(fleet.east).await.unwrap();
    let word = Word::new("ann", "the machines were returned").unwrap();
    statements.count();
    let began = std::time::Instant::now();
    let closed = lost::close_on_a_word(&fleet.app, fleet.east, before, &word).await.unwrap();
    let (count, took) = (statements.count(), began.elapsed());
    eprintln!("a word closed 1000 attempts with {count} statements in {took:?}");
    assert_eq!(closed, Ok(1_000));
    assert!((2..60).contains(&count), "{count} statements for two transactions");
    let again = lost::close_on_a_word(&fleet.app, fleet.east, before, &word).await.unwrap();
    assert_eq!(again, Ok(0), "said twice is harmless");
}

#[tokio::test]
async fn a_cluster_that_is_heard_after_a_word_keeps_its_attempts() {
    let mut fleet = Fleet::new().await;
    let job = fleet.placed("train", Policy::Wait, true).await;
    let word = Word::new("ann", "I think so").unwrap();
    let before = fleet.app.store.last_word(fleet.east).await.unwrap();
    fleet.now += 1_000;
    fleet.renew(&[fleet.east]).await;
    let closed = lost::close_on_a_word(&fleet.app, fleet.east, before, &word).await.unwrap();
    assert_eq!(closed, Err(HeardAgain { closed: 0 }), "it renewed its lease");
    let before = fleet.app.store.last_word(fleet.east).await.unwrap();
    fixture::execute(&fleet.app.store, "update cluster set last_heard_at = now() + $1 * interval '1 s'", 1)
        .await;
    let closed = lost::close_on_a_word(&fleet.app, fleet.east, before, &word).await.unwrap();
    assert_eq!(closed, Err(HeardAgain { closed: 0 }), "an agent without leases spoke");
    assert_eq!(fleet.row(job).await.state, JobState::Assigned);
}

#[tokio::test]
async fn a_row_that_cannot_be_written_keeps_no_other_attempt() {
    let mut fleet = Fleet::new().await;
    crowd::held(&fleet.app.store, fleet.east, 3, Policy::Fence).await;
    fleet.listen(70).await;
    let seen = fleet.last_look().await;
    fixture::break_writes(&fleet.app.store, "job", "new.name = 'crowd-2' and new.state = 'queued'", "22003")
        .await;
    let error = fleet.watch.follow(&fleet.app, &seen, Tick(fleet.now)).await.unwrap_err();
    assert!(error.is_of_the_data(), "{error}");
    let mut states = Vec::new();
    for name in ["crowd-1", "crowd-2", "crowd-3"] {
        states.push(fleet.row_of(name).await.state);
    }
    assert_eq!(states, [JobState::Queued, JobState::Assigned, JobState::Queued]);
}
