//! A failover that forgets, with a real primary and a real asynchronous standby.

#![allow(clippy::unwrap_used)]

use squadron_core::{
    attempt::{Event, advance as decide, object_name},
    desired::Ask,
    fact::{AttemptFact, AttemptStep, Fact, HoldingsFact, MOST_HELD, RayJobFact},
    id::{AttemptId, ClusterId, Epoch, JobId},
    job::JobState,
    lease::{Renewal, Terms},
};
use squadron_store::{
    cluster::lease::{Asked, Promise},
    desired::Read,
    job::{JobRow, advance},
    testing::{
        fixture::{self, NOW},
        link,
        pair::Pair,
    },
};
use uuid::Uuid;

use super::{
    tests::{app_over, heard, ready, settle},
    *,
};

/// A fleet of two after the failover, which forgot where `job` was placed.
struct Fleet {
    app: AppState,
    holder: Uuid,
    job: JobId,
    /// Where the job was placed, and the other one.
    there: ClusterId,
    elsewhere: ClusterId,
    _pair: Option<Pair>,
}

impl Fleet {
    async fn forgetful() -> Fleet {
        let (fleet, pair) = Fleet::begin().await;
        pair.cut().await;
        let fleet = fleet.placed().await;
        fleet.failed_over(pair).await
    }

    /// The same, but the standby knows where the job was placed, and what its cluster told of that.
    async fn knowing(told: impl FnOnce(AttemptId) -> Vec<Fact>) -> Fleet {
        let (fleet, pair) = Fleet::begin().await;
        let fleet = fleet.placed().await;
        let told = told(fleet.first());
        if !told.is_empty() {
            fleet.tell(fleet.there, told).await;
        }
        pair.cut().await;
        let fleet = fleet.failed_over(pair).await;
        settle(&fleet.app, fleet.holder).await;
        fleet
    }

    async fn begin() -> (Fleet, Pair) {
        let (pair, holder) = (Pair::start().await, Uuid::now_v7());
        let app = app_over(pair.store(), Terms::default());
        let (there, elsewhere) = (ready(&app, "east").await, ready(&app, "west").await);
        settle(&app, holder).await;
        let job = fixture::queued(&app.store, "train").await.id;
        (Fleet { app, holder, job, there, elsewhere, _pair: None }, pair)
    }

    async fn placed(self) -> Fleet {
        settle(&self.app, self.holder).await;
        let placed = self.row(self.job).await;
        let at = placed.cluster.unwrap_or_else(|| panic!("it was not placed: {}", placed.sentence));
        let Fleet { there: east, elsewhere: west, .. } = self;
        let (there, elsewhere) = if at == "east" { (east, west) } else { (west, east) };
        Fleet { there, elsewhere, ..self }
    }

    async fn failed_over(self, pair: Pair) -> Fleet {
        let app = app_over(pair.fail_over().await, Terms::default());
        heard(&app.store).await;
        Fleet { app, _pair: Some(pair), ..self }
    }

    fn first(&self) -> AttemptId {
        AttemptId { job: self.job, number: 1 }
    }

    /// Under which the dispatcher met the failover.
    async fn timeline(&self) -> u64 {
        fixture::number(&self.app.store, "select max(timeline) from failover").await.cast_unsigned()
    }

    /// What a cluster holds and accepted, told under the newest timeline.
    async fn holds(&self, held: &[AttemptId], accepted: &[AttemptId]) -> Fact {
        holds(self.timeline().await, held, accepted)
    }

    async fn row(&self, job: JobId) -> JobRow {
        self.app.store.job(&job.to_string()).await.unwrap().unwrap()
    }

    async fn promise(&self, cluster: ClusterId, number: u64) -> Promise {
        let asked = Asked { renewal: Renewal { epoch: Epoch(1), number, ttl: 60_000 }, noted: None };
        self.app.store.renew(&[(cluster, asked)]).await.unwrap()[&cluster]
    }

    async fn set(&self, cluster: ClusterId) -> Read {
        let whole = Ask { base: None, behind: None, removed_above: None };
        self.app.store.desired_changes(&[(cluster, whole)]).await.unwrap().remove(0).unwrap()
    }

    async fn tell(&self, cluster: ClusterId, facts: Vec<Fact>) {
        fixture::facts(&self.app.store, cluster, facts).await;
        settle(&self.app, self.holder).await;
    }
}

fn holds(timeline: u64, held: &[AttemptId], accepted: &[AttemptId]) -> Fact {
    let (held, accepted) = (held.to_vec(), accepted.to_vec());
    Fact::Holdings(HoldingsFact { timeline, held, accepted, more: false })
}

fn running(attempt: AttemptId) -> Fact {
    Fact::RayJob(RayJobFact {
        namespace: "default".into(),
        name: object_name("train", attempt.job, attempt.number),
        attempt: Some(attempt),
        deployment_status: "Running".into(),
        job_status: "RUNNING".into(),
        ..RayJobFact::default()
    })
}

#[tokio::test]
async fn what_a_failover_forgot_is_taken_back_and_starts_nowhere_else() {
    let fleet = Fleet::forgetful().await;
    assert_eq!(fleet.row(fleet.job).await.attempt, 0, "the standby never heard of the attempt");
    let before = fleet.set(fleet.there).await;
    assert!(before.withheld, "a set without the attempt would stop it, even before anybody met the timeline");
    settle(&fleet.app, fleet.holder).await;
    let waits = fleet.row(fleet.job).await;
    assert_eq!((waits.state, waits.reason.as_str()), (JobState::Queued, "FAILOVER"), "{}", waits.sentence);
    let later = squadron_store::job::NewJob {
        submitted_at: NOW.plus_millis(1),
        queue: "later".into(),
        ..fixture::new_job("later")
    };
    fleet.app.store.ensure_queue(&later.queue.parse().unwrap(), NOW).await.unwrap();
    fixture::insert(&fleet.app.store, &later).await;
    settle(&fleet.app, fleet.holder).await;
    let nowhere = fleet.row(later.id).await;
    assert_eq!((nowhere.state, nowhere.reason.as_str()), (JobState::Queued, "CLUSTER_STALE"), "nobody told");
    let asked = fleet.promise(fleet.elsewhere, 1).await;
    assert_eq!((asked.timeline, asked.wants_holdings), (fleet.timeline().await, true));
    fleet.tell(fleet.elsewhere, vec![fleet.holds(&[], &[]).await]).await;
    assert!(
        !fleet.set(fleet.elsewhere).await.withheld && !fleet.promise(fleet.elsewhere, 2).await.wants_holdings
    );
    assert_eq!(fleet.row(fleet.job).await.state, JobState::Queued, "the other cluster has not told");
    let placed = fleet.row(later.id).await;
    assert_eq!(placed.state, JobState::Assigned, "nobody can have forgotten it: {}", placed.sentence);
    assert!(fleet.set(fleet.elsewhere).await.set.iter().any(|row| row.id.job == later.id));
    fleet.tell(fleet.there, vec![holds(1, &[], &[])]).await;
    assert!(fleet.set(fleet.there).await.withheld, "what was told before the failover counts for nothing");
    fleet.tell(fleet.there, vec![fleet.holds(&[fleet.first()], &[]).await, running(fleet.first())]).await;
    let found = fleet.row(fleet.job).await;
    assert_eq!((found.state, found.attempt), (JobState::Running, 1), "{}", found.sentence);
    let set = fleet.set(fleet.there).await;
    assert!(!set.withheld && set.set.iter().any(|row| row.id == fleet.first() && row.created), "{set:?}");
}

#[tokio::test]
async fn an_attempt_that_was_accepted_and_not_made_is_given_to_the_same_cluster_again() {
    let fleet = Fleet::forgetful().await;
    settle(&fleet.app, fleet.holder).await;
    fleet.tell(fleet.elsewhere, vec![fleet.holds(&[], &[]).await]).await;
    fleet.tell(fleet.there, vec![fleet.holds(&[], &[fleet.first()]).await]).await;
    let found = fleet.row(fleet.job).await;
    assert_eq!((found.state, found.attempt), (JobState::Assigned, 1), "{}", found.sentence);
    let set = fleet.set(fleet.there).await.set;
    assert!(
        set.iter().any(|row| row.id == fleet.first() && !row.created && row.accepted_by == Some(Epoch(0))),
        "{set:?}"
    );
}

#[tokio::test]
async fn where_nobody_holds_it_a_job_starts_and_an_operators_word_is_enough_for_a_dead_cluster() {
    let fleet = Fleet::forgetful().await;
    settle(&fleet.app, fleet.holder).await;
    fleet.tell(fleet.elsewhere, vec![fleet.holds(&[], &[]).await]).await;
    assert_eq!(fleet.row(fleet.job).await.state, JobState::Queued);
    let before = fleet.app.store.last_word(fleet.there).await.unwrap();
    assert!(fleet.app.store.forget_renewals(fleet.there, before).await.unwrap());
    settle(&fleet.app, fleet.holder).await;
    assert_eq!(fleet.row(fleet.job).await.state, JobState::Assigned);
}

fn step(attempt: AttemptId, step: AttemptStep) -> Fact {
    Fact::Attempt(AttemptFact { attempt, step, message: String::new() })
}

#[tokio::test]
async fn what_a_cluster_makes_up_takes_no_job_from_another() {
    let fleet = Fleet::knowing(|first| vec![step(first, AttemptStep::Created), running(first)]).await;
    let made_up = |number: u32| AttemptId { job: fleet.job, number };
    fleet.tell(fleet.there, vec![fleet.holds(&[fleet.first()], &[]).await]).await;
    let timeline = fleet.timeline().await;
    let parts = [u32::MAX, 2].map(|number| HoldingsFact {
        timeline,
        held: vec![made_up(number)],
        more: number > 2,
        ..HoldingsFact::default()
    });
    fleet.tell(fleet.elsewhere, parts.map(Fact::Holdings).to_vec()).await;
    let row = fleet.row(fleet.job).await;
    assert_eq!((row.state, row.attempt), (JobState::Running, 1), "{}", row.sentence);
    assert!(fleet.set(fleet.there).await.set.iter().any(|held| held.id == fleet.first()));
}

#[tokio::test]
async fn nobody_waits_for_what_was_told_and_not_asked() {
    let fleet = Fleet::knowing(|_| vec![]).await;
    let mut other = fleet.app.store.pool().begin().await.unwrap();
    advance::hold_all(&mut other, &[fleet.job]).await.unwrap();
    let many = vec![fleet.first(); MOST_HELD + 1];
    let told = [holds(1, &[fleet.first()], &[]), fleet.holds(&many, &[]).await];
    fixture::facts(&fleet.app.store, fleet.elsewhere, told.to_vec()).await;
    let passed = tokio::time::timeout(Duration::from_secs(5), project::pass(&fleet.app, fleet.holder)).await;
    passed.expect("no job is locked").unwrap();
    assert!(fleet.set(fleet.elsewhere).await.withheld, "it counts for nothing");
}

#[tokio::test]
async fn what_was_placed_before_starts_only_when_no_cluster_is_left_that_may_hold_the_next_attempt() {
    let fleet = Fleet::knowing(|_| vec![]).await;
    let withheld = fleet.set(fleet.there).await;
    assert!(withheld.withheld && withheld.set.is_empty(), "nothing is read for nobody");
    fleet.tell(fleet.there, vec![fleet.holds(&[], &[]).await]).await;
    let offered = fleet.set(fleet.there).await;
    assert!(!offered.withheld && offered.set.iter().any(|row| row.id == fleet.first()), "{offered:?}");
    let first = [fleet.first()];
    let accept = || link::accept(&fleet.app.store, fleet.there, 1, &first);
    assert!(!accept().await, "the next attempt may run on the other cluster");
    let second = AttemptId { number: 2, ..fleet.first() };
    fleet.tell(fleet.elsewhere, vec![fleet.holds(&[second], &[]).await, running(second)]).await;
    let found = fleet.row(fleet.job).await;
    assert_eq!((found.state, found.attempt), (JobState::Running, 2), "{}", found.sentence);
    assert!(!accept().await && fleet.set(fleet.there).await.set.is_empty());
}

#[tokio::test]
async fn when_the_last_cluster_has_told_what_was_placed_before_starts() {
    let fleet = Fleet::knowing(|_| vec![]).await;
    fleet.tell(fleet.there, vec![fleet.holds(&[], &[]).await]).await;
    let before = fleet.set(fleet.there).await.moment;
    fleet.tell(fleet.elsewhere, vec![fleet.holds(&[], &[]).await]).await;
    let after = fleet.set(fleet.there).await.moment;
    assert!(after.unmarked > before.unmarked, "streams send the whole set again");
    assert!(link::accept(&fleet.app.store, fleet.there, 1, &[fleet.first()]).await);
}

#[tokio::test]
async fn a_cluster_is_not_asked_for_what_it_did_not_name_while_another_may_hold_the_next_attempt() {
    let fleet = Fleet::knowing(|first| vec![step(first, AttemptStep::Created)]).await;
    fleet.tell(fleet.there, vec![fleet.holds(&[], &[]).await]).await;
    let set = fleet.set(fleet.there).await;
    assert!(!set.withheld && set.set.is_empty(), "it would say that somebody deleted it: {set:?}");
    assert!(fleet.app.store.desired(fleet.there).await.unwrap().set.is_empty());
    fleet.tell(fleet.elsewhere, vec![fleet.holds(&[], &[]).await]).await;
    let set = fleet.set(fleet.there).await.set;
    assert!(set.iter().any(|row| row.id == fleet.first() && row.created), "{set:?}");
}

#[tokio::test]
async fn an_attempt_that_is_known_and_was_made_is_known_to_be_made() {
    let fleet = Fleet::knowing(|_| vec![]).await;
    fleet.tell(fleet.there, vec![fleet.holds(&[fleet.first()], &[]).await]).await;
    let held = fleet.app.store.held_on(fleet.there, None).await.unwrap();
    assert!(held.iter().any(|one| one.live.id == fleet.first() && one.live.accepted), "{held:?}");
    let set = fleet.set(fleet.there).await.set;
    assert!(set.iter().any(|row| row.id == fleet.first() && row.created), "{set:?}");
}

#[tokio::test]
async fn a_cluster_that_is_revoked_before_it_told_is_vouched_for_by_nobody() {
    let fleet = Fleet::forgetful().await;
    settle(&fleet.app, fleet.holder).await;
    fleet.tell(fleet.elsewhere, vec![fleet.holds(&[], &[]).await]).await;
    let revoke = "update cluster set state = 'revoked' where untold_since = $1";
    fixture::execute(&fleet.app.store, revoke, fleet.timeline().await.cast_signed()).await;
    settle(&fleet.app, fleet.holder).await;
    let waits = fleet.row(fleet.job).await;
    assert_eq!((waits.state, waits.reason.as_str()), (JobState::Queued, "FAILOVER"), "{}", waits.sentence);
    let before = fleet.app.store.last_word(fleet.there).await.unwrap();
    assert!(fleet.app.store.forget_renewals(fleet.there, before).await.unwrap(), "a person says so");
    settle(&fleet.app, fleet.holder).await;
    assert_eq!(fleet.row(fleet.job).await.state, JobState::Assigned);
}

#[tokio::test]
async fn what_was_to_stop_and_is_not_held_has_stopped() {
    let fleet = Fleet::knowing(|first| vec![step(first, AttemptStep::Created), running(first)]).await;
    let mut db = fleet.app.store.pool().acquire().await.unwrap();
    let running = advance::lock(&mut db, fleet.job).await.unwrap().unwrap();
    let cancel = Event::CancelRequested { by: "ann", why: "" };
    advance::save(&mut db, &decide(&running, cancel, NOW).unwrap()).await.unwrap();
    let part = HoldingsFact { timeline: fleet.timeline().await, more: true, ..HoldingsFact::default() };
    fleet.tell(fleet.there, vec![Fact::Holdings(part)]).await;
    assert_eq!(fleet.row(fleet.job).await.state, JobState::Stopping, "another part may name it");
    fleet.tell(fleet.there, vec![fleet.holds(&[], &[]).await]).await;
    let row = fleet.row(fleet.job).await;
    assert_eq!(row.state, JobState::Cancelled, "its agent told it before the failover: {}", row.sentence);
}

#[tokio::test]
async fn a_dump_that_is_read_into_a_new_server_is_a_failover_each_time() {
    let (fleet, mut pair) = Fleet::begin().await;
    let term = duty::hold(&fleet.app, "dispatch", fleet.holder).await.unwrap().unwrap();
    let mut last = fleet.promise(fleet.there, 1).await.timeline;
    for _ in 0..2 {
        let store = pair.restored().await;
        let mut db = store.pool().acquire().await.unwrap();
        assert!(squadron_store::term::check(&mut db, &term).await.is_err(), "a term of the old server");
        let unmet = Asked { renewal: Renewal { epoch: Epoch(1), number: 2, ttl: 60_000 }, noted: None };
        assert!(store.renew(&[(fleet.there, unmet)]).await.unwrap().is_empty(), "nobody met it yet");
        let app = app_over(store, Terms::default());
        heard(&app.store).await;
        settle(&app, fleet.holder).await;
        let asked = app.store.renew(&[(fleet.there, unmet)]).await.unwrap()[&fleet.there];
        assert!(asked.timeline > last && asked.wants_holdings, "{asked:?} after {last}");
        last = asked.timeline;
    }
}
