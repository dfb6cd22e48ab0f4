//! Calendar: when sessions begin. Days differ in how busy they are, and hours within a day.

use crate::{
    replay::generate::{Assumptions, normal},
    rng::Rng,
};

const DAY: f64 = 86_400.0;

pub(super) struct Calendar {
    /// Sums of the weights of all hours so far.
    sums: Vec<f64>,
}

impl Calendar {
    pub(super) fn new(assumptions: &Assumptions, rng: &mut Rng) -> Self {
        let mut sums = Vec::new();
        let mut sum = 0.0;
        let mut mood = 0.0;
        for day in 0..assumptions.days.max(1) {
            mood = assumptions.memory * mood + normal(rng) * assumptions.unrest;
            let week = if day % 7 >= 5 { 0.65 } else { 1.0 };
            for hour in 0..24 {
                let phase = std::f64::consts::TAU * (f64::from(hour) - 15.0) / 24.0;
                sum += week * mood.exp() * (1.0 + 0.5 * phase.cos());
                sums.push(sum);
            }
        }
        Calendar { sums }
    }

    /// Seconds from the start at which a session begins.
    pub(super) fn moment(&self, rng: &mut Rng) -> f64 {
        let wanted = rng.unit() * self.sums.last().copied().unwrap_or(1.0);
        let hour = self.sums.partition_point(|sum| *sum <= wanted).min(self.sums.len() - 1);
        #[expect(clippy::cast_precision_loss, reason = "hours of a few months")]
        let start = hour as f64 * 3_600.0;
        start + rng.unit() * 3_600.0
    }

    /// The day in which a moment lies.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few months have few days")]
    pub(super) fn day_of(&self, moment: f64) -> usize {
        (moment / DAY) as usize
    }
}
