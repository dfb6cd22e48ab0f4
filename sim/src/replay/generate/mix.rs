//! Mix: teams with the kinds of jobs that recur in them.

use crate::{
    replay::generate::{Assumptions, normal},
    rng::Rng,
};

/// Gang sizes with their part of all kinds of jobs.
const SIZES: [(u32, f64); 9] = [
    (1, 0.88),
    (2, 0.025),
    (4, 0.03),
    (8, 0.062),
    (16, 0.0022),
    (24, 0.0003),
    (32, 0.0008),
    (64, 0.0004),
    (128, 0.0002),
];

/// A kind of job that recurs.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) gpus: u32,
    /// Where its run times lie among all, as a normal score.
    pub(super) score: f64,
    pub(super) noise: f64,
    /// Mean seconds between the jobs of a sweep.
    pub(super) pause: f64,
    pub(super) longest_sweep: f64,
}

struct Team {
    /// Sums of the parts of its templates.
    templates: Vec<(f64, Template)>,
    /// How busy it is on each day.
    days: Vec<f64>,
}

pub(super) struct Mix {
    teams: Vec<Team>,
}

impl Mix {
    pub(super) fn new(assumptions: &Assumptions, rng: &mut Rng) -> Self {
        let flooding = if assumptions.flood > 0.0 { assumptions.teams / 2 } else { usize::MAX };
        let mut teams: Vec<Team> = (0..assumptions.teams).map(|rank| team(assumptions, rank, rng)).collect();
        let total: f64 = teams.iter().flat_map(|team| &team.days).sum();
        if let Some(team) = teams.get_mut(flooding) {
            flood(team, total * assumptions.flood);
        }
        Mix { teams }
    }

    /// The team and kind of job of a session that begins on this day.
    pub(super) fn session(&self, day: usize, rng: &mut Rng) -> (usize, &Template) {
        let weight = |team: &Team| team.days.get(day).or(team.days.last()).copied().unwrap_or(0.0);
        let mut wanted = rng.unit() * self.teams.iter().map(weight).sum::<f64>();
        let found = self.teams.iter().position(|team| {
            wanted -= weight(team);
            wanted < 0.0
        });
        let index = found.unwrap_or(0);
        let templates = &self.teams[index].templates;
        let wanted = rng.unit() * templates.last().map_or(1.0, |(sum, _)| *sum);
        let at = templates.partition_point(|(sum, _)| *sum <= wanted).min(templates.len() - 1);
        (index, &templates[at].1)
    }
}

/// Every fourth day belongs to the flood.
fn flood(team: &mut Team, extra: f64) {
    let count = team.days.len().div_ceil(4).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a few days")]
    let each = extra / count as f64;
    for day in team.days.iter_mut().step_by(4) {
        *day += each;
    }
}

fn team(assumptions: &Assumptions, rank: usize, rng: &mut Rng) -> Team {
    #[expect(clippy::cast_precision_loss, reason = "a few teams")]
    let part = 1.0 / (rank as f64 + 1.0).powf(1.3) * (normal(rng) * 0.3).exp();
    let mut mood = 0.0;
    let days = (0..assumptions.days.max(1)).map(|_| {
        mood = 0.8 * mood + normal(rng) * 0.4;
        part * f64::exp(mood)
    });
    let days = days.collect();
    let taste = normal(rng) * 0.5;
    let mut sum = 0.0;
    let templates = (0..24).map(|_| {
        sum += (normal(rng) * 0.8).exp();
        (sum, template(assumptions, taste, rng))
    });
    let templates = templates.collect();
    Team { templates, days }
}

fn template(assumptions: &Assumptions, taste: f64, rng: &mut Rng) -> Template {
    let gpus = size(assumptions, rng);
    let between = assumptions.recurrence.clamp(0.0, 1.0).sqrt();
    let length = assumptions.gang_length * 0.35 * f64::from(gpus).log2().min(4.0);
    Template {
        gpus,
        score: between * (taste * 0.7 + normal(rng) * 0.7) + length,
        noise: (1.0 - assumptions.recurrence.clamp(0.0, 1.0)).sqrt(),
        pause: (normal(rng) * 1.5 + 3.0).exp(),
        longest_sweep: if gpus == 1 { 300.0 } else { 12.0 },
    }
}

fn size(assumptions: &Assumptions, rng: &mut Rng) -> u32 {
    let allowed = |(gpus, _): &&(u32, f64)| *gpus <= assumptions.largest_gang.max(1);
    let weight = |(gpus, part): &(u32, f64)| if *gpus >= 16 { part * assumptions.gangs } else { *part };
    let mut wanted = rng.unit() * SIZES.iter().filter(allowed).map(weight).sum::<f64>();
    let found = SIZES.iter().filter(allowed).find(|size| {
        wanted -= weight(size);
        wanted < 0.0
    });
    found.map_or(1, |(gpus, _)| *gpus)
}
