//! Lately: how much a queue used in the last days, where older use weighs less.
//!
//! Owns how use fades: by half in [`HALF_LIFE_MS`]; and what it counts: GPU seconds, each by the weight of its flavor. A start
//! counts as [`PENALTY_MS`] of use at once, so that a burst is not free until it has run. Invariant: made of sums, products and
//! quotients only, so equal on every machine; what is noted at one moment and looked at later is what it would be if it had been
//! noted later, but for rounding; what was noted stays so when a flavor gets another weight. Queues are compared by doublings of
//! use, so that what differs little is told apart by other things. Fails by forgetting use of which nobody noted the end.

use std::collections::BTreeMap;

use crate::{
    dispatch::{
        Input, gang_total,
        pack::Charge,
        quota::{Flavors, Place, Quotas, Usage},
        urgency::{milli, real},
    },
    quota::ORDINARY,
    resources::Resources,
    time::Timestamp,
};

/// Use of so long ago weighs half, in milliseconds.
pub const HALF_LIFE_MS: i64 = 7 * 24 * 3_600_000;
/// A start counts as so long a use, in milliseconds.
pub const PENALTY_MS: i64 = 300_000;

/// The half-life is cut into so many steps, between which use fades in a straight line.
const STEPS: i64 = 64;
/// What is left after one of them: 2^(-1/64).
const STEP: f64 = 0.989_228_013_193_975_5;
/// Below this all are equal, in GPU seconds.
const LITTLE: f64 = 3_600.0;

/// Use that was counted up at some moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lately {
    /// As it weighs at `at`; a core counts as a part of a GPU, and a GPU as its flavor weighs.
    pub gpu_seconds: f64,
    pub at: Timestamp,
}

impl Lately {
    /// No use.
    pub fn none(at: Timestamp) -> Lately {
        Lately { gpu_seconds: 0.0, at }
    }

    /// The same as it weighs at `now`.
    pub fn seen(self, now: Timestamp) -> Lately {
        Lately { gpu_seconds: self.gpu_seconds * faded(now.millis_since(self.at)), at: now }
    }

    /// Without the fraction.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is never negative, and saturates"
    )]
    pub fn whole_gpu_seconds(&self) -> u64 {
        self.gpu_seconds as u64
    }

    /// With what an attempt took that held so much of this [`weight`] over this time; `at` must not be before its end.
    pub fn with(self, gang: Resources, weight: u32, from: Timestamp, until: Timestamp) -> Lately {
        let (began, ended) = (self.at.millis_since(from), self.at.millis_since(until.max(from)));
        let held = seconds(HALF_LIFE_MS) / std::f64::consts::LN_2 * (faded(ended) - faded(began));
        let taken = gpus(gang, weight) * (held + seconds(PENALTY_MS) * faded(began));
        Lately { gpu_seconds: self.gpu_seconds + taken, ..self }
    }
}

/// What one GPU of an attempt counts as, in thousandths: the mean of the weights of its flavors, by what is charged to each. `of` tells
/// the weight of a flavor; what is charged to none is ordinary.
pub fn weight(usage: &Usage, of: impl Fn(&str) -> Option<u32>) -> u32 {
    mean(usage.iter().map(|(flavor, amount)| (of(flavor).unwrap_or(ORDINARY), *amount)))
}

/// The same for what a pass is about to charge.
fn weight_of(flavors: &Flavors, charge: &Charge) -> u32 {
    mean(charge.iter().map(|(flavor, amount)| (flavors.weight(*flavor), *amount)))
}

/// In whole thousandths, so that equal weights have exactly themselves as their mean.
fn mean(parts: impl Iterator<Item = (u32, Resources)>) -> u32 {
    let (mut sum, mut all) = (0, 0);
    for (weight, amount) in parts {
        let amount = u128::try_from(milli(amount)).unwrap_or(0);
        sum += u128::from(weight) * amount;
        all += amount;
    }
    sum.checked_div(all).and_then(|mean| u32::try_from(mean).ok()).unwrap_or(ORDINARY)
}

/// What every queue used lately, and all below each node of the trees, in GPU seconds.
pub(super) struct Uses {
    queues: BTreeMap<String, f64>,
    nodes: BTreeMap<Place, f64>,
}

impl Uses {
    /// What was noted of attempts that ended, and what those hold that have not.
    pub(super) fn new(input: &Input, quotas: &Quotas) -> Uses {
        let mut uses = Uses { queues: BTreeMap::new(), nodes: BTreeMap::new() };
        for (queue, used) in used(input) {
            uses.add(quotas, &queue, used.gpu_seconds);
        }
        uses
    }

    /// A job of the queue starts, which is charged so.
    pub(super) fn start(&mut self, quotas: &Quotas, queue: &str, gang: Resources, charge: &Charge) {
        let weight = weight_of(&quotas.flavors, charge);
        self.add(quotas, queue, gpus(gang, weight) * seconds(PENALTY_MS));
    }

    fn add(&mut self, quotas: &Quotas, queue: &str, gpu_seconds: f64) {
        *self.queues.entry(queue.to_owned()).or_default() += gpu_seconds;
        let Some(Place { tree, node }) = quotas.limited(queue) else { return };
        let mut at = Some(node);
        while let Some(node) = at {
            *self.nodes.entry(Place { tree, node }).or_default() += gpu_seconds;
            at = quotas.trees[tree].parent(node);
        }
    }

    /// Of a queue that nothing limits.
    pub(super) fn of_queue(&self, queue: &str) -> u32 {
        doublings(self.queues.get(queue).copied().unwrap_or(0.0), 1_000)
    }

    /// Of all below a node, by its weight.
    pub(super) fn of_node(&self, quotas: &Quotas, place: Place) -> u32 {
        let used = self.nodes.get(&place).copied().unwrap_or(0.0);
        doublings(used, quotas.trees[place.tree].weight(place.node))
    }
}

/// What every queue used lately, with what its attempts that have not ended hold.
pub fn used(input: &Input) -> BTreeMap<String, Lately> {
    let noted = input.lately.iter().map(|(queue, used)| (queue.clone(), used.seen(input.now)));
    let mut all: BTreeMap<String, Lately> = noted.collect();
    let flavors = Flavors::new(&input.policy.flavors);
    let known = |name: &str| flavors.index(name).map(|flavor| flavors.weight(flavor));
    for held in input.clusters.iter().flat_map(|cluster| &cluster.attempts) {
        let used = all.entry(held.queue.clone()).or_insert(Lately::none(input.now));
        let weight = weight(&held.usage, known);
        *used = used.with(gang_total(&held.gang), weight, held.assigned_at, input.now);
    }
    all
}

/// How often use doubled, by weight in thousandths; 0 is hardly any.
fn doublings(gpu_seconds: f64, weight: u32) -> u32 {
    let mut left = gpu_seconds * 1_000.0 / real(u64::from(weight.max(1)));
    let mut times = 0;
    while left >= LITTLE && times < 64 {
        left /= 2.0;
        times += 1;
    }
    times
}

/// Exact where the weight is ordinary.
fn gpus(gang: Resources, weight: u32) -> f64 {
    real(u64::try_from(milli(gang)).unwrap_or(0)) / 1_000.0 * (f64::from(weight) / f64::from(ORDINARY))
}

fn seconds(millis: i64) -> f64 {
    real(u64::try_from(millis).unwrap_or(0)) / 1_000.0
}

/// What is left of a use after some time.
fn faded(age_ms: i64) -> f64 {
    let age = u64::try_from(age_ms).unwrap_or(0);
    let step = u64::try_from(HALF_LIFE_MS / STEPS).unwrap_or(1);
    let mut left = 1.0 - (1.0 - STEP) * (real(age % step) / real(step));
    let (mut times, mut factor) = (age / step, STEP);
    while times > 0 && left > 0.0 {
        left *= if times % 2 == 1 { factor } else { 1.0 };
        factor *= factor;
        times /= 2;
    }
    left
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    #![allow(clippy::float_cmp, reason = "what is compared is exact")]
    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3_600_000;
    const GPU: Resources = Resources { cpu_milli: 0, memory_bytes: 0, gpus: 1 };

    fn after(hours: i64) -> Timestamp {
        Timestamp(0).plus_millis(hours * HOUR)
    }

    #[test]
    fn use_is_halved_in_a_week() {
        let used = Lately { gpu_seconds: 1_000.0, at: after(0) };
        let week = used.seen(after(7 * 24)).gpu_seconds;
        assert!((week - 500.0).abs() < 0.001, "{week}");
        assert!(used.seen(after(10_000 * 24)).gpu_seconds < 1e-9);
    }

    #[test]
    fn an_hour_that_just_ended_counts_an_hour_and_the_penalty_of_its_start() {
        let used = Lately::none(after(1)).with(GPU, ORDINARY, after(0), after(1)).gpu_seconds;
        assert!((used - 3_900.0).abs() < 39.0, "{used}");
        let week = Lately::none(after(168)).with(GPU, ORDINARY, after(0), after(168)).gpu_seconds;
        let exact = 604_800.0 / std::f64::consts::LN_2 * 0.5;
        assert!((week / exact - 1.0).abs() < 0.001, "{week} {exact}");
    }

    #[test]
    fn a_start_counts_before_it_has_run_and_cores_count_a_little() {
        let now = Lately::none(after(5)).with(GPU, ORDINARY, after(5), after(5));
        assert_eq!(now.gpu_seconds, 300.0);
        let cores = Resources { cpu_milli: 64_000, ..Resources::default() };
        assert_eq!(Lately::none(after(5)).with(cores, ORDINARY, after(5), after(5)), now);
    }

    #[test]
    fn a_gpu_counts_as_its_flavor_weighs_and_one_of_no_flavor_as_one() {
        let known = |flavor: &str| {
            [("h100", 4_000), ("t4", 500)].into_iter().find(|it| it.0 == flavor).map(|it| it.1)
        };
        let gpus = |gpus| Resources { gpus, ..GPU };
        let weight = |usage: &[(&str, i64)]| {
            weight(&usage.iter().map(|(name, amount)| ((*name).to_owned(), gpus(*amount))).collect(), known)
        };
        assert_eq!((weight(&[("h100", 8)]), weight(&[("t4", 8)])), (4_000, 500));
        assert_eq!(weight(&[("h100", 1), ("t4", 3)]), 1_375, "a mean by amount");
        assert_eq!(
            (weight(&[]), weight(&[("gone", 8)]), weight(&[("h100", 0)])),
            (ORDINARY, ORDINARY, ORDINARY)
        );
        let start = |weight| Lately::none(after(5)).with(gpus(2), weight, after(5), after(5)).gpu_seconds;
        assert_eq!((start(ORDINARY), start(4_000), start(500)), (600.0, 2_400.0, 300.0));
    }

    #[test]
    fn what_differs_by_less_than_a_doubling_is_nearly_always_equal() {
        assert_eq!(doublings(3_599.0, 1_000), 0);
        assert_eq!(
            (doublings(3_600.0, 1_000), doublings(7_100.0, 1_000), doublings(7_200.0, 1_000)),
            (1, 1, 2)
        );
        assert_eq!(doublings(7_200.0, 2_000), 1, "twice the weight, half as much");
        assert_eq!(doublings(f64::INFINITY, 1_000), 64);
    }

    proptest! {
        #[test]
        fn noted_at_its_end_or_later_it_is_the_same(
            from in 0_i64..1_000, runs in 0_i64..500, later in 0_i64..1_000, gpus in 0_i64..64
        ) {
            let gang = Resources { gpus, ..GPU };
            let (from, until, now) = (after(from), after(from + runs), after(from + runs + later));
            let early = Lately::none(until).with(gang, ORDINARY, from, until).seen(now).gpu_seconds;
            let late = Lately::none(now).with(gang, ORDINARY, from, until).gpu_seconds;
            prop_assert!((early - late).abs() <= 0.02 * late + 1.0, "{} {}", early, late);
        }

        /// With ordinary flavors use is, to the bit, what it was before they had weights.
        #[test]
        fn an_ordinary_weight_changes_nothing(
            gpus in 0_i64..100_000, cpu_milli in 0_i64..10_000_000, runs in 0_i64..500, cut in 0_i64..=1_000
        ) {
            let gang = Resources { cpu_milli, memory_bytes: 0, gpus };
            let part = Resources { cpu_milli: cpu_milli * cut / 1_000, memory_bytes: 0, gpus: gpus * cut / 1_000 };
            let usage = [("cpu".to_owned(), part), ("h100".to_owned(), gang - part)].into();
            let ordinary = weight(&usage, |_| Some(ORDINARY));
            let (from, until) = (after(0), after(runs));
            let used = Lately::none(until).with(gang, ordinary, from, until).gpu_seconds;
            let began = faded(runs * HOUR);
            let held = 604_800.0 / std::f64::consts::LN_2 * (1.0 - began);
            let before = real(u64::try_from(milli(gang)).unwrap()) / 1_000.0 * (held + 300.0 * began);
            prop_assert_eq!(used.to_bits(), before.to_bits());
        }
    }
}
