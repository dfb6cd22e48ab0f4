//! The granting side: R5, R6, R8, R9, R12.

use proptest::prelude::*;

use super::*;

fn judged(policy: Policy, millis: u64) -> Verdict {
    judge(&live(policy, true), silent(millis), None, &terms())
}

fn kind(verdict: &Verdict) -> Option<ProofKind> {
    if let Verdict::Gone(proof) = verdict { Some(proof.kind()) } else { None }
}

#[test]
fn r6_the_guard_is_drift_and_grace_and_one_poll() {
    assert_eq!(terms().guard(), 600 + 10_000 + 2_000);
    assert_eq!(terms().expiry(), 72_600, "within the 75 s that a lease of 60 s may take");
    assert_eq!((Terms::default().expiry(), Terms::default().survives()), (618_000, 581_000));
    let slow = Terms { grace: 30_000, ..terms() };
    assert_eq!(slow.expiry(), 92_600, "with the usual grace of pods it is not");
}

#[test]
fn r6_a_cluster_gets_time_to_stop_a_crowd() {
    assert_eq!(terms().for_crowd(1_000).expiry(), 72_600, "so many are stopped within one poll");
    assert_eq!(terms().for_crowd(6_000).expiry(), 82_600);
    assert_eq!(terms().for_crowd(u64::MAX).poll, u64::MAX);
}

#[test]
fn r5_a_fenced_attempt_is_gone_after_lease_and_guard_and_not_before() {
    assert_eq!(kind(&judged(Policy::Fence, 72_599)), None);
    assert_eq!(kind(&judged(Policy::Fence, 72_600)), Some(ProofKind::LeaseEnded));
    let Verdict::Gone(proof) = judged(Policy::Fence, 80_000) else { panic!("it is gone") };
    assert_eq!(
        proof.because(),
        "was silent for 80 s; its lease of 60 s and the guard of 13 s are over, so the first copy has stopped itself"
    );
}

#[test]
fn r5_a_waiting_attempt_is_never_gone_by_time() {
    let Verdict::Waits(Outlook { left: None, why, .. }) = judged(Policy::Wait, u64::MAX) else {
        panic!("it waits")
    };
    assert!(why.contains("policy wait"), "{why}");
}

#[test]
fn r5_a_longer_lease_that_was_promised_before_is_waited_out() {
    let promised = Silence { ttl: 600_000, ..silent(100_000) };
    assert_eq!(kind(&judge(&live(Policy::Fence, true), promised, None, &terms())), None);
}

#[test]
fn r5_an_attempt_that_was_never_accepted_is_gone_after_its_grant_whatever_its_policy() {
    for policy in Policy::ALL {
        let before = judge(&live(policy, false), silent(29_999), None, &terms());
        let after = judge(&live(policy, false), silent(30_000), None, &terms());
        assert_eq!((kind(&before), kind(&after)), (None, Some(ProofKind::NeverAccepted)), "{policy}");
    }
}

#[test]
fn r5_an_operator_s_word_needs_a_person_and_a_reason() {
    assert_eq!(Word::new(" ", "burnt"), Err(WordRefused::Nobody));
    assert_eq!(Word::new("ann", "\n"), Err(WordRefused::NoReason));
    let word = Word::new("ann", "the machines were returned").unwrap();
    let Verdict::Gone(proof) = judge(&live(Policy::Wait, true), silent(0), Some(&word), &terms()) else {
        panic!("the word counts at once")
    };
    assert_eq!(
        (proof.kind(), proof.because()),
        (ProofKind::OperatorsWord, "ann says that nothing of it runs any more (the machines were returned)")
    );
}

#[test]
fn r8_suspicion_comes_after_three_heartbeats_and_stops_nothing() {
    assert_eq!(judged(Policy::Fence, 29_999), Verdict::Heard);
    assert!(matches!(judged(Policy::Fence, 30_000), Verdict::Suspect(Outlook { left: Some(42_600), .. })));
    assert!(matches!(judged(Policy::Fence, 59_999), Verdict::Suspect(_)));
    assert!(matches!(judged(Policy::Fence, 60_000), Verdict::Waits(Outlook { left: Some(12_600), .. })));
}

#[test]
fn rerun_is_allowed_at_suspicion() {
    assert_eq!(kind(&judged(Policy::Rerun, 29_999)), None);
    assert_eq!(kind(&judged(Policy::Rerun, 30_000)), Some(ProofKind::OverlapAllowed));
}

/// Looks once a second from `from` to `to`; the second cluster renews at every look if `other`.
fn listen(ears: &mut Ears, from: u64, to: u64, other: bool) {
    for second in from..=to {
        let number = if other { second } else { 10 };
        ears.look(&rows(1, number), &terms(), Tick(second * 1_000));
    }
}

fn counted(ears: &Ears) -> u64 {
    ears.silence(cluster(1)).unwrap().counted
}

#[test]
fn r6_silence_is_counted_from_the_look_that_found_the_renewal() {
    let mut ears = Ears::default();
    listen(&mut ears, 100, 110, true);
    assert_eq!(counted(&ears), 10_000);
    ears.look(&rows(2, 111), &terms(), Tick(111_000));
    assert_eq!(ears.silence(cluster(1)), Some(Silence { counted: 0, elapsed: 1_000, ttl: 60_000 }));
}

#[test]
fn r9_a_new_leader_counts_from_its_own_start() {
    let mut ears = Ears::default();
    listen(&mut ears, 10_000, 10_060, true);
    assert!(counted(&ears) <= 60_000, "whatever came before it");
}

#[test]
fn r9_time_in_which_nobody_was_heard_is_not_counted() {
    let mut ears = Ears::default();
    listen(&mut ears, 1, 10, true);
    let before = counted(&ears);
    listen(&mut ears, 11, 600, false);
    assert!(counted(&ears) - before <= terms().suspect_after, "{}", counted(&ears));
    listen(&mut ears, 601, 700, true);
    assert!(counted(&ears) > 90_000, "it goes on when the others are heard again");
}

#[test]
fn r9_time_in_which_the_leader_was_paused_is_not_counted() {
    let mut ears = Ears::default();
    listen(&mut ears, 1, 10, true);
    let before = counted(&ears);
    ears.look(&rows(1, 10), &terms(), Tick(900_000));
    assert_eq!(counted(&ears), before);
    assert!(ears.silence(cluster(1)).unwrap().elapsed > 800_000, "nothing is placed there until it is heard");
}

proptest! {
    /// Whatever the order of looks and renewals, no more silence is counted than passed since the last renewal was found.
    #[test]
    fn r6_no_more_silence_is_counted_than_passed(steps in prop::collection::vec((1_u64..20_000, any::<bool>()), 1..200)) {
        let (mut ears, mut now, mut number, mut found) = (Ears::default(), 0, 1, None);
        for (second, (pass, renews)) in (1_u64..).zip(steps) {
            now += pass;
            number += u64::from(renews);
            ears.look(&rows(number, second), &terms(), Tick(now));
            if renews || found.is_none() {
                found = Some(now);
            }
            prop_assert!(counted(&ears) <= now - found.unwrap_or(now));
        }
    }
}
