//! The holding side: R5, R6, R7, R13, the watchdog of T5.

use proptest::prelude::*;

use super::*;

fn grant(answers: u64) -> Grant {
    Grant { attempt: attempt(1), answers, accepted_by: Some(Epoch(3)), created: false }
}

/// A life that sent renewal 1 at 1 s; it was acknowledged.
fn holder() -> Holder {
    let mut holder = Holder::new(Epoch(3));
    assert_eq!(holder.send(Tick(1_000)), 1);
    assert!(holder.acknowledged(Epoch(3), 1, 60_000));
    holder
}

fn held() -> [(AttemptId, Policy); 3] {
    [(attempt(1), Policy::Wait), (attempt(2), Policy::Fence), (attempt(3), Policy::Rerun)]
}

#[test]
fn r6_the_lease_is_counted_from_the_sending_of_the_renewal() {
    let mut late = Holder::new(Epoch(3));
    late.send(Tick(1_000));
    assert_eq!(late.standing(Tick(50_000)), Standing::Unknown);
    late.acknowledged(Epoch(3), 1, 60_000);
    assert_eq!(late.standing(Tick(60_999)), Standing::Held { until: Tick(61_000) });
    assert_eq!(late.standing(Tick(61_000)), Standing::Ended { since: Tick(61_000) });
}

#[test]
fn at_the_end_of_a_lease_what_may_start_elsewhere_stops_and_what_waits_does_not() {
    let holder = holder();
    assert_eq!(holder.must_stop(&held(), &terms(), Tick(60_999)), []);
    let stopped = holder.must_stop(&held(), &terms(), Tick(61_000));
    assert_eq!(stopped.iter().map(|(id, _)| id.number).collect::<Vec<_>>(), [2, 3]);
    assert!(stopped[0].1.contains("policy is fence"), "{}", stopped[0].1);
}

#[test]
fn r13_acknowledgements_of_other_lives_and_repeated_ones_change_nothing() {
    let mut holder = holder();
    let before = holder.clone();
    assert!(!holder.acknowledged(Epoch(2), 1, 900_000));
    assert!(!holder.acknowledged(Epoch(3), 1, 60_000));
    assert!(!holder.acknowledged(Epoch(3), 9, 60_000), "no such renewal was sent");
    assert_eq!(holder, before);
}

#[test]
fn r13_acknowledgements_in_any_order_leave_the_longest_lease() {
    let mut holder = Holder::new(Epoch(3));
    let (first, second) = (holder.send(Tick(0)), holder.send(Tick(5_000)));
    holder.acknowledged(Epoch(3), second, 60_000);
    holder.acknowledged(Epoch(3), first, 60_000);
    assert_eq!(holder.standing(Tick(6_000)), Standing::Held { until: Tick(65_000) });
}

#[test]
fn r5_a_grant_is_taken_only_before_its_deadline_and_after_its_acceptance() {
    let mut holder = holder();
    assert_eq!(holder.may_start(&grant(1), 60_000, Tick(60_999)), Ok(()));
    let offered = Grant { accepted_by: None, ..grant(1) };
    assert_eq!(holder.may_start(&offered, 60_000, Tick(2_000)), Err(NotStarted::NotAccepted));
    let of_the_life_before = Grant { accepted_by: Some(Epoch(2)), ..grant(1) };
    assert_eq!(holder.may_start(&of_the_life_before, 60_000, Tick(2_000)), Err(NotStarted::NotAccepted));
    let made = Grant { created: true, ..grant(1) };
    assert_eq!(holder.may_start(&made, 60_000, Tick(2_000)), Err(NotStarted::CreatedBefore));
    let second = holder.send(Tick(50_000));
    holder.acknowledged(Epoch(3), second, 60_000);
    assert_eq!(
        holder.may_start(&grant(1), 60_000, Tick(61_000)),
        Err(NotStarted::Late),
        "although the lease goes on"
    );
}

#[test]
fn a_life_without_a_lease_starts_nothing_and_stops_nothing() {
    let mut fresh = Holder::new(Epoch(3));
    let first = fresh.send(Tick(0));
    assert_eq!(fresh.may_start(&grant(first), 60_000, Tick(1)), Err(NotStarted::NoLease));
    assert_eq!(fresh.must_stop(&held(), &terms(), Tick(900_000)), []);
}

#[test]
fn a_life_that_found_the_end_of_the_lease_before_it_keeps_to_it() {
    let mut again = Holder::recovered(Epoch(4), holder().until().unwrap());
    assert_eq!(again.must_stop(&held(), &terms(), Tick(60_999)), []);
    assert_eq!(again.must_stop(&held(), &terms(), Tick(61_000)).len(), 2);
    let first = again.send(Tick(50_000));
    assert!(again.acknowledged(Epoch(4), first, 60_000));
    assert_eq!(again.standing(Tick(61_000)), Standing::Held { until: Tick(110_000) });
}

#[test]
fn r7_the_fencer_stops_what_a_silent_agent_leaves_and_only_what_may_start_elsewhere() {
    let mut fencer = Fencer::new(&terms(), Tick(0));
    let mark = fencer.mark(Tick(5_000));
    fencer.read(Some(LeaseObject { echo: mark, left: 40_000 }), &terms(), Tick(9_000));
    assert_eq!(fencer.judge(&held(), Tick(44_999)), Fencing::Calm { until: Tick(45_000) });
    let Fencing::Stop(stopped) = fencer.judge(&held(), Tick(45_000)) else { panic!("it stops") };
    assert_eq!(stopped.iter().map(|(id, _)| id.number).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn r7_an_old_echo_written_late_prolongs_nothing() {
    let mut fencer = Fencer::new(&terms(), Tick(0));
    let old = fencer.mark(Tick(1_000));
    let new = fencer.mark(Tick(20_000));
    fencer.read(Some(LeaseObject { echo: new, left: 30_000 }), &terms(), Tick(21_000));
    fencer.read(Some(LeaseObject { echo: old, left: 55_000 }), &terms(), Tick(49_000));
    assert_eq!(fencer.ends(), Tick(50_000));
}

#[test]
fn r7_after_long_blindness_the_fencer_gives_a_living_agent_one_heartbeat() {
    let mut fencer = Fencer::new(&terms(), Tick(0));
    let mark = fencer.mark(Tick(0));
    let object = LeaseObject { echo: mark, left: 50_000 };
    fencer.read(Some(object), &terms(), Tick(1_000));
    fencer.read(Some(object), &terms(), Tick(70_000));
    assert_eq!(fencer.judge(&held(), Tick(70_000)), Fencing::Calm { until: Tick(82_000) });
    let next = fencer.mark(Tick(75_000));
    fencer.read(Some(LeaseObject { echo: next, left: 50_000 }), &terms(), Tick(78_000));
    assert_eq!(fencer.ends(), Tick(125_000));
}

#[test]
fn t5_a_watchdog_starts_nothing_without_an_answer_and_counts_from_its_question() {
    let mut dog = Watchdog::default();
    assert!(!dog.allows(Tick(0)));
    let question = dog.ask(Tick(1_000));
    dog.answered(question, 30_000);
    assert!(dog.allows(Tick(30_999)));
    assert!(!dog.allows(Tick(31_000)));
    assert_eq!(dog.ends(), Some(Tick(31_000)));
}

proptest! {
    /// One real time line, both clocks within the drift: whenever the granting side says that the lease is over, the
    /// holder's containers are stopped, however long messages took and in whatever order they came.
    #[test]
    fn r6_the_holder_stops_before_the_granter_says_so(
        slow in -490_i64..=490, fast in -490_i64..=490,
        beats in prop::collection::vec((1_000_u64..20_000, 0_u64..30_000, 0_u64..30_000), 1..20),
    ) {
        let tick = |real: u64, rate: i64| Tick((real as i64 + real as i64 * rate / 100_000) as u64);
        let (mut holder, mut sent, mut found) = (Holder::new(Epoch(1)), 0, 0);
        let mut acknowledged = Vec::new();
        for (pause, up, down) in beats {
            sent += pause;
            let number = holder.send(tick(sent, slow));
            found = found.max(sent + up);
            acknowledged.push((sent + up + down, number));
        }
        acknowledged.sort_unstable();
        for (_, number) in acknowledged {
            holder.acknowledged(Epoch(1), number, 60_000);
        }
        let Standing::Held { until } = holder.standing(Tick(0)) else { panic!("it was acknowledged") };
        // The first real moment at which the granter's clock has counted lease and guard from its look.
        let over = (found..).step_by(50).find(|now| tick(*now, fast).since(tick(found, fast)) >= terms().expiry()).unwrap();
        let stopped_by = Tick(until.0 + terms().grace);
        prop_assert!(tick(over, slow) >= stopped_by, "{:?} {:?}", tick(over, slow), stopped_by);
    }
}

#[test]
fn a_watchdog_is_promised_no_more_than_its_attempt_was() {
    let mut holder = Holder::new(Epoch(1));
    let (first, second) = (holder.send(Tick(0)), holder.send(Tick(10_000)));
    assert!(holder.acknowledged(Epoch(1), first, 60_000));
    assert_eq!(holder.left_of(first, 60_000, Tick(20_000)), 40_000, "from its sending on");
    assert_eq!(holder.left_of(first, 60_000, Tick(70_000)), 0);
    assert_eq!(holder.left_of(0, 60_000, Tick(20_000)), 0, "the desired state answers nothing yet");
    assert!(holder.acknowledged(Epoch(1), second, 60_000));
    assert_eq!(holder.left_of(first, 60_000, Tick(20_000)), 0, "another state was promised more");
    assert_eq!(holder.left_of(second, 60_000, Tick(20_000)), 50_000);
}
