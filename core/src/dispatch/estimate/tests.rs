//! Estimates on synthetic streams: calibrated where jobs are alike, silent where there is no basis.

#![allow(clippy::unwrap_used)]

use proptest::{collection::vec, prelude::*};

use super::*;

const CPU: SizeClass = SizeClass(0);

fn blocker(code: Cause, sentence: &str) -> Blocker {
    Blocker {
        code,
        cluster: String::new(),
        sentence: sentence.into(),
        try_this: String::new(),
        with: Vec::new(),
    }
}

fn full() -> Vec<Blocker> {
    vec![blocker(Cause::ClusterFull, "east is full")]
}

fn past(position: u32, waited_ms: i64) -> Past {
    Past { class: CPU, position, waited_ms }
}

fn ask(position: u32, waited_ms: i64) -> Ask {
    Ask { class: CPU, position, waited_ms }
}

fn quantiles(found: &Estimate) -> Option<(i64, i64)> {
    match found {
        Estimate::Known { p50_ms, p90_ms, .. } => Some((*p50_ms, *p90_ms)),
        _ => None,
    }
}

/// A small generator, so that a stream is the same in every run.
struct Dice(u64);

impl Dice {
    /// Between 0 and 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// Exponential with this mean, in milliseconds.
    fn exponential(&mut self, mean: f64) -> i64 {
        (-(1.0 - self.unit().min(0.999_999)).ln() * mean) as i64
    }
}

/// Share in percent of those that were placed by p50 and by p90, where each job waits as `wait` says.
fn coverage(jobs: usize, mut wait: impl FnMut(usize) -> Past, waited: i64) -> (usize, usize) {
    let (mut history, mut judged, mut by_p50, mut by_p90) = (Vec::new(), 0, 0, 0);
    for n in 0..jobs {
        let job = wait(n);
        let asked = ask(job.position, waited);
        if job.waited_ms > waited
            && let Some((p50, p90)) = quantiles(&estimate(&full(), &history, asked))
        {
            judged += 1;
            by_p50 += usize::from(job.waited_ms - waited <= p50);
            by_p90 += usize::from(job.waited_ms - waited <= p90);
        }
        history.insert(0, job);
    }
    assert!(judged > jobs / 3, "{judged} of {jobs} were judged");
    (by_p50 * 100 / judged, by_p90 * 100 / judged)
}

#[test]
fn nine_of_ten_are_placed_by_p90_when_jobs_are_alike() {
    let mut dice = Dice(1);
    let (p50, p90) = coverage(4_000, |_| past(1, dice.exponential(60_000.0)), 0);
    assert!((47..=54).contains(&p50) && (87..=93).contains(&p90), "{p50} {p90}");
    let mut dice = Dice(2);
    let heavy = |dice: &mut Dice| (10_000.0 / (1.0 - dice.unit().min(0.999_9)).powf(0.8)) as i64;
    let (p50, p90) = coverage(4_000, |_| past(1, heavy(&mut dice)), 0);
    assert!((47..=54).contains(&p50) && (87..=93).contains(&p90), "heavy tail: {p50} {p90}");
}

#[test]
fn a_job_that_has_waited_long_is_compared_with_those_that_did() {
    let mut dice = Dice(3);
    let heavy = |dice: &mut Dice| (10_000.0 / (1.0 - dice.unit().min(0.999_9)).powf(0.8)) as i64;
    let (p50, p90) = coverage(8_000, |_| past(1, heavy(&mut dice)), 15_000);
    assert!((46..=56).contains(&p50) && (86..=94).contains(&p90), "{p50} {p90}");
}

/// Jobs arrive at random at a line that is served one by one, so that waits hang together.
#[test]
fn the_line_of_one_server_is_covered() {
    let mut dice = Dice(5);
    let (mut now, mut ends): (i64, Vec<i64>) = (0, Vec::new());
    let mut line = |_| loop {
        now += dice.exponential(11_000.0);
        let ahead = ends.iter().filter(|end| **end > now).count();
        let begins = ends.last().copied().unwrap_or(0).max(now);
        ends.push(begins + dice.exponential(10_000.0));
        if ahead > 0 {
            return past(u32::try_from(ahead).unwrap(), begins - now);
        }
    };
    let (p50, p90) = coverage(4_000, &mut line, 0);
    assert!((44..=58).contains(&p50) && (86..=94).contains(&p90), "{p50} {p90}");
}

#[test]
fn few_samples_are_no_basis() {
    let history = vec![past(1, 60_000); ENOUGH - 1];
    let found = estimate(&full(), &history, ask(1, 0));
    assert_eq!(
        found.sentence(Coverage::default()),
        "unknown: fewer than 10 jobs of this queue have got a place after waiting"
    );
    let enough = vec![past(1, 60_000); ENOUGH];
    assert_eq!(quantiles(&estimate(&full(), &enough, ask(1, 0))), Some((60_000, 60_000)));
    let found = estimate(&full(), &enough, ask(1, 60_000)).sentence(Coverage::default());
    assert!(found.contains("longer than nearly all of the 10 jobs like it"), "{found}");
}

#[test]
fn jobs_of_the_same_size_and_place_count_first() {
    let mut history: Vec<Past> = (0..50).map(|_| Past { class: SizeClass(4), ..past(1, 900_000) }).collect();
    history.extend((0..10).map(|_| past(1, 60_000)));
    history.extend((0..50).map(|_| past(64, 6_400_000)));
    assert_eq!(quantiles(&estimate(&full(), &history, ask(1, 0))), Some((60_000, 60_000)));
    assert_eq!(
        quantiles(&estimate(&full(), &history, ask(9, 0))),
        Some((900_000, 900_000)),
        "no place like it: those of its size, scaled by the place"
    );
}

#[test]
fn what_time_does_not_change_is_never_or_unknown() {
    let history = vec![past(1, 60_000); 50];
    let never = |code| estimate(&[blocker(code, "it never fits on any cluster")], &history, ask(1, 0));
    for code in [Cause::TooBig, Cause::NoMatchingNode, Cause::NoCluster, Cause::Residency] {
        assert_eq!(
            never(code).sentence(Coverage::default()),
            "never as things are: it never fits on any cluster"
        );
    }
    assert!(matches!(never(Cause::ClusterStale), Estimate::Unknown { .. }));
    let mixed = [blocker(Cause::NoMatchingNode, ""), blocker(Cause::ClusterFull, "")];
    assert!(quantiles(&estimate(&mixed, &history, ask(1, 0))).is_some(), "one of them only needs time");
}

#[test]
fn the_sentence_tells_how_earlier_ones_came_true() {
    let found = estimate(&full(), &vec![past(1, 180_000); 20], ask(1, 0));
    let told = found.sentence(Coverage { judged: 50, by_p50: 20, by_p90: 44 });
    assert_eq!(told, "p50 3 m 0 s, p90 3 m 0 s (in the last 50 estimates 88 % had a place by p90)");
}

fn any_history() -> impl Strategy<Value = Vec<Past>> {
    let one = (0_i16..3, 1_u32..40, 0_i64..10_000_000);
    vec(
        one.prop_map(|(class, position, waited_ms)| Past { class: SizeClass(class), position, waited_ms }),
        0..150,
    )
}

proptest! {
    #[test]
    fn p50_is_at_most_p90_and_both_lie_ahead(history in any_history(), position in 1_u32..40, waited in 0_i64..1_000_000) {
        if let Some((p50, p90)) = quantiles(&estimate(&full(), &history, ask(position, waited))) {
            prop_assert!(0 < p50 && p50 <= p90);
        }
    }

    #[test]
    fn on_one_basis_a_later_place_never_waits_less(waits in vec(0_i64..10_000_000, 10..100), a in 2_u32..40, b in 2_u32..40) {
        // No sample has a place like theirs, so both go by all samples.
        let history: Vec<Past> = waits.into_iter().map(|wait| past(1, wait)).collect();
        let (near, far) = (a.min(b), a.max(b));
        let of = |position| quantiles(&estimate(&full(), &history, ask(position, 0)));
        if let (Some(near), Some(far)) = (of(near), of(far)) {
            prop_assert!(near.0 <= far.0 && near.1 <= far.1);
        }
    }

    #[test]
    fn longer_waits_of_others_never_shorten_it(history in any_history(), position in 1_u32..40, more in 0_i64..1_000_000) {
        let longer: Vec<Past> = history.iter().map(|past| Past { waited_ms: past.waited_ms + more, ..*past }).collect();
        let of = |history: &[Past]| quantiles(&estimate(&full(), history, ask(position, 0)));
        // A wait of nothing is no sample; otherwise both go by the same ones.
        if history.iter().all(|past| past.waited_ms > 1_000)
            && let (Some(short), Some(long)) = (of(&history), of(&longer)) {
            prop_assert!(short.0 <= long.0 && short.1 <= long.1);
        }
    }

    #[test]
    fn fewer_than_enough_samples_say_nothing(history in vec(0_i64..1_000_000, 0..ENOUGH), position in 1_u32..40) {
        let history: Vec<Past> = history.into_iter().map(|wait| past(1, wait)).collect();
        prop_assert_eq!(quantiles(&estimate(&full(), &history, ask(position, 0))), None);
    }
}
