//! Run times: the scores of all jobs are ranked and laid over a given distribution, then scaled to the load.

use crate::replay::generate::{Assumptions, Draft};

/// How the longest run times behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// Median 19 min, nine of ten within 3.1 h, 99 of 100 within 71 h.
    Philly,
    /// 99 of 100 within 15 h.
    Light,
    /// Median 6 min, 99 of 100 within 110 h.
    Heavy,
}

impl Tail {
    /// Part of jobs and the seconds within which they end.
    fn points(self) -> &'static [(f64, f64)] {
        match self {
            Tail::Philly => &[
                (0.0, 5.0),
                (0.1, 60.0),
                (0.25, 300.0),
                (0.5, 1_140.0),
                (0.75, 3_900.0),
                (0.9, 11_200.0),
                (0.99, 255_000.0),
                (0.999, 900_000.0),
                (1.0, 2_200_000.0),
            ],
            Tail::Light => &[
                (0.0, 20.0),
                (0.1, 180.0),
                (0.5, 1_800.0),
                (0.9, 14_400.0),
                (0.99, 54_000.0),
                (1.0, 200_000.0),
            ],
            Tail::Heavy => &[
                (0.0, 3.0),
                (0.1, 20.0),
                (0.5, 360.0),
                (0.9, 7_200.0),
                (0.99, 400_000.0),
                (0.999, 1_500_000.0),
                (1.0, 3_500_000.0),
            ],
        }
    }

    fn seconds(self, part: f64) -> f64 {
        let points = self.points();
        let at = points.partition_point(|(known, _)| *known <= part).clamp(1, points.len() - 1);
        let (from, to) = (points[at - 1], points[at]);
        let within = (part - from.0) / (to.0 - from.0);
        from.1 * (to.1 / from.1).powf(within)
    }
}

/// Seconds that each draft runs.
pub(super) fn run_times(assumptions: &Assumptions, drafts: &[Draft]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    order.sort_by(|a, b| drafts[*a].score.total_cmp(&drafts[*b].score).then(a.cmp(b)));
    let mut seconds = vec![0.0; drafts.len()];
    for (rank, index) in order.iter().enumerate() {
        seconds[*index] = assumptions.tail.seconds((real(rank) + 0.5) / real(drafts.len()));
    }
    if assumptions.published_parts {
        lay_out_parts(drafts, &mut seconds);
    }
    let offered: f64 = drafts.iter().zip(&seconds).map(|(draft, time)| f64::from(draft.gpus) * time).sum();
    let span = f64::from(assumptions.days.max(1)) * 86_400.0;
    #[expect(clippy::cast_precision_loss, reason = "GPUs of a fleet")]
    let wanted = assumptions.load * assumptions.fleet_gpus as f64 * span;
    let factor = if offered > 0.0 { wanted / offered } else { 1.0 };
    seconds.iter().map(|time| time * factor).collect()
}

/// Scales the run times of each class of sizes, so that it holds its part of the GPU time.
fn lay_out_parts(drafts: &[Draft], seconds: &mut [f64]) {
    for (sizes, part) in [(1..=1, 0.18), (2..=7, 0.21), (8..=15, 0.48), (16..=u32::MAX, 0.13)] {
        let inside = |draft: &Draft| sizes.contains(&draft.gpus);
        let held: f64 = drafts
            .iter()
            .zip(seconds.iter())
            .filter(|(draft, _)| inside(draft))
            .map(|(draft, time)| f64::from(draft.gpus) * time)
            .sum();
        for (_, time) in drafts.iter().zip(seconds.iter_mut()).filter(|(draft, _)| inside(draft)) {
            *time *= part * 1e9 / held;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of jobs")]
fn real(number: usize) -> f64 {
    number as f64
}
