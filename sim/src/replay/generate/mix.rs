//! Mix: teams with the kinds of jobs that recur in them.

use crate::{
    replay::generate::{Assumptions, normal},
    rng::Rng,
};

/// Gang sizes with their part of all jobs.
const SIZES: [(u32, f64); 9] = [
    (1, 0.93),
    (2, 0.015),
    (4, 0.02),
    (8, 0.033),
    (16, 0.0015),
    (24, 0.0002),
    (32, 0.0003),
    (64, 0.0002),
    (128, 0.0001),
];

/// Kinds of jobs of one size in one team.
const KINDS: usize = 6;

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
    /// Kinds of jobs by size.
    kinds: Vec<Vec<Template>>,
    /// How much it likes each size.
    likes: Vec<f64>,
    /// How busy it is on each day.
    days: Vec<f64>,
}

pub(super) struct Mix {
    teams: Vec<Team>,
    /// Part of all jobs that each size should have, and how many it has.
    wanted: Vec<f64>,
    made: Vec<f64>,
}

impl Mix {
    pub(super) fn new(assumptions: &Assumptions, rng: &mut Rng) -> Self {
        let flooding = if assumptions.flood > 0.0 { assumptions.teams / 2 } else { usize::MAX };
        let mut teams: Vec<Team> = (0..assumptions.teams).map(|rank| team(assumptions, rank, rng)).collect();
        let total: f64 = teams.iter().flat_map(|team| &team.days).sum();
        if let Some(team) = teams.get_mut(flooding) {
            flood(team, total * assumptions.flood);
        }
        let parts =
            sizes(assumptions).map(|(gpus, part)| if gpus >= 16 { part * assumptions.gangs } else { part });
        let parts: Vec<f64> = parts.collect();
        let sum: f64 = parts.iter().sum();
        let wanted: Vec<f64> = parts.iter().map(|part| part / sum).collect();
        Mix { teams, made: vec![0.0; wanted.len()], wanted }
    }

    /// The team and kind of job of a session that begins on this day. Sizes that lag behind their part come first.
    pub(super) fn session(&self, day: usize, rng: &mut Rng) -> (usize, &Template) {
        let total: f64 = self.made.iter().sum::<f64>() + 1.0;
        let lag = |size: usize| (self.wanted[size] * total - self.made[size]) / self.wanted[size].sqrt();
        let size = (0..self.wanted.len()).max_by(|a, b| lag(*a).total_cmp(&lag(*b))).unwrap_or(0);
        let weight =
            |team: &Team| team.likes[size] * team.days.get(day).or(team.days.last()).copied().unwrap_or(0.0);
        let mut wanted = rng.unit() * self.teams.iter().map(weight).sum::<f64>();
        let found = self.teams.iter().position(|team| {
            wanted -= weight(team);
            wanted < 0.0
        });
        let index = found.unwrap_or(0);
        let kinds = &self.teams[index].kinds[size];
        (index, &kinds[usize::try_from(rng.below(kinds.len() as u64)).unwrap_or(0)])
    }

    /// Counts a job of a session.
    pub(super) fn count(&mut self, gpus: u32) {
        let size = SIZES.iter().position(|(known, _)| *known == gpus);
        if let Some(made) = size.and_then(|size| self.made.get_mut(size)) {
            *made += 1.0;
        }
    }
}

fn sizes(assumptions: &Assumptions) -> impl Iterator<Item = (u32, f64)> {
    let largest = assumptions.largest_gang.max(1);
    SIZES.into_iter().filter(move |(gpus, _)| *gpus <= largest)
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
    let taste = normal(rng);
    let kinds = sizes(assumptions).map(|(gpus, _)| {
        let habit = normal(rng);
        (0..KINDS).map(|_| template(assumptions, gpus, taste, habit, rng)).collect()
    });
    let kinds: Vec<Vec<Template>> = kinds.collect();
    let likes = kinds.iter().map(|_| (normal(rng) * 0.7).exp()).collect();
    Team { kinds, likes, days }
}

/// The spread between kinds is one of the team, of the team's habit with this size, and of the kind itself.
fn template(assumptions: &Assumptions, gpus: u32, taste: f64, habit: f64, rng: &mut Rng) -> Template {
    let recurrence = assumptions.recurrence.clamp(0.0, 1.0);
    let between = 0.4 * taste + 0.5 * habit + 0.77 * normal(rng);
    let length = if gpus > 1 { assumptions.gang_length } else { 0.0 };
    Template {
        gpus,
        score: recurrence.sqrt() * between + length,
        noise: (1.0 - recurrence).sqrt(),
        pause: (normal(rng) * 1.5 + 3.0).exp(),
        longest_sweep: if gpus == 1 { 300.0 } else { (48.0 / f64::from(gpus)).max(1.0) },
    }
}
