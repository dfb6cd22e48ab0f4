//! Several of the same: R2, R3, R10, R13, T10.

use super::*;

const PATIENCE: u64 = 4_000;

fn found(attempt: Option<AttemptId>, cluster: Option<ClusterId>, uid: &str) -> Marks {
    Marks { attempt, cluster, uid: uid.to_owned() }
}

#[test]
fn r2_r3_an_object_is_ours_only_with_job_attempt_cluster_and_uid() {
    let (wanted, here) = (attempt(2), cluster(1));
    let judged = |known, marks: &Marks| compare(wanted, here, known, marks);
    assert_eq!(judged(None, &found(Some(wanted), Some(here), "u1")), Found::Ours);
    assert_eq!(judged(Some("u1"), &found(Some(wanted), Some(here), "u1")), Found::Ours);
    let anew = judged(Some("u1"), &found(Some(wanted), Some(here), "u2"));
    assert!(matches!(anew, Found::Stale(why) if why.contains("uid u2") && why.contains("uid u1")));
    assert!(matches!(judged(None, &found(Some(attempt(1)), Some(here), "u1")), Found::Stale(_)));
    assert!(matches!(judged(None, &found(None, None, "u1")), Found::Foreign(_)));
    assert!(matches!(judged(None, &found(Some(wanted), Some(cluster(2)), "u1")), Found::Foreign(_)));
}

#[test]
fn r10_a_duty_is_taken_only_when_its_row_stood_still_on_the_taker_s_clock() {
    let (mut ours, mut theirs) = (Race::default(), Race::default());
    let Duty::Take(first) = ours.look(Row::default(), 1, 1, PATIENCE, Tick(0)) else { panic!("it is free") };
    assert_eq!((first.term, first.holder), (1, 1));
    assert_eq!(theirs.look(first, 2, 1, PATIENCE, Tick(90_000)), Duty::Wait, "it looks for the first time");
    let Duty::Keep(kept) = ours.look(first, 1, 1, PATIENCE, Tick(1_000)) else { panic!("it is ours") };
    assert_eq!(theirs.look(kept, 2, 1, PATIENCE, Tick(94_000)), Duty::Wait, "it was kept meanwhile");
    let Duty::Take(second) = theirs.look(kept, 2, 1, PATIENCE, Tick(98_000)) else {
        panic!("it stood still")
    };
    assert_eq!((second.term, second.holder), (2, 2));
}

#[test]
fn r10_a_write_stands_only_under_its_term_and_timeline() {
    let row = Row { term: 3, beat: 9, holder: 1, history: 1 };
    assert!(row.stands(&Row { beat: 12, ..row }, 1));
    assert!(!row.stands(&Row { term: 4, holder: 2, ..row }, 1), "somebody else took the duty");
    assert!(!row.stands(&row, 2), "the database failed over");
    let Duty::Take(next) = Race::default().look(row, 1, 2, PATIENCE, Tick(0)) else { panic!("it is bumped") };
    assert_eq!((next.term, next.history), (4, 2));
}

#[test]
fn r13_an_older_or_repeated_renewal_is_no_news() {
    let newest = Renewal { epoch: Epoch(3), number: 7, ttl: 60_000 };
    assert!(is_news(&newest, Epoch(3), 8) && is_news(&newest, Epoch(4), 1));
    assert!(!is_news(&newest, Epoch(3), 7) && !is_news(&newest, Epoch(2), 99));
}

fn told(inventory: bool, millis: u64) -> Told {
    Told { inventory, vouched: false, silence: silent(millis) }
}

#[test]
fn t10_after_a_failover_a_job_waits_for_every_inventory() {
    let failover =
        Failover { clusters: [(cluster(1), told(true, 0)), (cluster(2), told(false, 72_599))].into() };
    assert!(failover.may_start(Policy::Fence, &terms()).is_err());
    let why = failover.may_start(Policy::Wait, &terms()).unwrap_err();
    assert!(why.contains("1 cluster did not tell since"), "{why}");
    assert!(failover.may_be_accepted(cluster(2)) && !failover.may_be_accepted(cluster(1)));
    let later = Failover { clusters: [(cluster(2), told(false, 72_600))].into() };
    assert_eq!(later.may_start(Policy::Fence, &terms()), Ok(()), "its lease is over");
    assert!(later.may_start(Policy::Wait, &terms()).is_err(), "time proves nothing about a job that waits");
    let vouched = Failover { clusters: [(cluster(2), Told { vouched: true, ..told(false, 0) })].into() };
    assert_eq!(vouched.may_start(Policy::Wait, &terms()), Ok(()));
}

#[test]
fn t10_what_the_database_forgot_is_adopted_and_what_is_old_goes() {
    assert_eq!(unknown_attempt(1, 0, false), Strange::Adopt);
    assert_eq!(unknown_attempt(2, 1, false), Strange::Adopt);
    assert_eq!(unknown_attempt(1, 1, false), Strange::Stop);
    assert_eq!(unknown_attempt(2, 1, true), Strange::Stop);
    assert_eq!(unknown_attempt(1 + FORGOTTEN, 1, false), Strange::Adopt);
    for made_up in [2 + FORGOTTEN, i32::MAX.unsigned_abs(), u32::MAX] {
        assert_eq!(unknown_attempt(made_up, 1, false), Strange::Stop);
    }
}
