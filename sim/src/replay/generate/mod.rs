//! Generator: traces that look like those of shared GPU fleets, from a seed and a few assumptions.
//!
//! Owns the shape: skewed teams, mostly single GPUs while gangs hold most of the time, bursts, a daily and a weekly cycle,
//! busy and quiet days, run times whose top percent holds most of the work. Jobs of one kind recur with noise, so there is
//! something to predict. Invariant: same assumptions and seed, same trace; offered load is as asked, to a tenth of a percent
//! or as near as whole seconds allow. It models no single company; assumptions that differ are part of it, so that a policy
//! is not tuned to one.

mod calendar;
mod mix;
mod quantile;
#[cfg(test)]
mod tests;

use crate::{
    replay::{
        generate::{
            calendar::Calendar,
            mix::{Mix, Template},
        },
        input::Job,
        input::Trace,
    },
    rng::Rng,
};

pub use quantile::Tail;

/// What a trace is made from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Assumptions {
    pub seed: u64,
    pub jobs: usize,
    pub days: u32,
    /// Offered GPU time over the capacity of the days.
    pub load: f64,
    /// GPUs of the fleet that the load refers to.
    pub fleet_gpus: u64,
    /// GPUs of the largest gang.
    pub largest_gang: u32,
    pub teams: usize,
    /// Part of all sessions that one team makes on top of its usual part, in bursts; 0 for none.
    pub flood: f64,
    /// Factor on the number of gangs of 16 GPUs and more.
    pub gangs: f64,
    /// How much of the spread of run times lies between kinds of jobs: 0 nothing recurs, 1 no noise.
    pub recurrence: f64,
    /// How much longer gangs run than single GPUs, as a shift of the normal score: 0 not at all.
    pub gang_length: f64,
    /// Whether single GPUs, small gangs, gangs of 8 and large gangs hold 18, 21, 48 and 13 % of the GPU time.
    pub published_parts: bool,
    pub tail: Tail,
    /// Spread of how busy days are.
    pub unrest: f64,
    /// How much of a busy day carries over to the next: 0 nothing.
    pub memory: f64,
}

impl Assumptions {
    /// The published shape of the Philly trace. How much recurs and how days differ was chosen so that runs can be predicted
    /// about as well as there, and so that jobs in a race wait about as large a part of their completion time.
    pub fn philly(seed: u64, fleet_gpus: u64, load: f64) -> Self {
        Assumptions {
            seed,
            jobs: 62_000,
            days: 49,
            load,
            fleet_gpus,
            largest_gang: 32,
            teams: 15,
            flood: 0.0,
            gangs: 1.0,
            recurrence: 0.8,
            gang_length: 1.0,
            published_parts: true,
            tail: Tail::Philly,
            unrest: 0.5,
            memory: 0.5,
        }
    }

    /// Names of the built-in sets.
    pub const NAMES: [&'static str; 9] = [
        "philly",
        "light-tail",
        "heavy-tail",
        "no-recurrence",
        "few-teams",
        "many-teams",
        "flood",
        "gangs",
        "calm",
    ];

    /// A built-in set by name.
    pub fn named(name: &str, seed: u64, fleet_gpus: u64, load: f64) -> Option<Self> {
        let base = Assumptions::philly(seed, fleet_gpus, load);
        let set = match name {
            "philly" => base,
            "light-tail" => Assumptions { tail: Tail::Light, ..base },
            "heavy-tail" => Assumptions { tail: Tail::Heavy, ..base },
            "no-recurrence" => {
                Assumptions { recurrence: 0.0, gang_length: 0.0, published_parts: false, ..base }
            }
            "few-teams" => Assumptions { teams: 3, ..base },
            "many-teams" => Assumptions { teams: 80, ..base },
            "flood" => Assumptions { flood: 0.5, ..base },
            "gangs" => Assumptions { gangs: 8.0, largest_gang: 128, published_parts: false, ..base },
            "calm" => Assumptions { unrest: 0.03, memory: 0.2, ..base },
            _ => return None,
        };
        Some(set)
    }
}

/// A job before its run time is fixed.
struct Draft {
    submit_s: f64,
    team: usize,
    gpus: u32,
    /// Its place among all run times, as a normal score.
    score: f64,
}

/// Makes the trace.
pub fn generate(assumptions: &Assumptions) -> Trace {
    let mut rng = Rng::new(assumptions.seed);
    let mut mix = Mix::new(assumptions, &mut rng);
    let calendar = Calendar::new(assumptions, &mut rng);
    let mut drafts: Vec<Draft> = Vec::with_capacity(assumptions.jobs);
    while drafts.len() < assumptions.jobs {
        let start = calendar.moment(&mut rng);
        let (team, template) = mix.session(calendar.day_of(start), &mut rng);
        let template = template.clone();
        let length = session_length(&template, &mut rng).min(assumptions.jobs - drafts.len());
        let mood = normal(&mut rng) * 0.5;
        let mut at = start;
        for _ in 0..length {
            let score = template.score + template.noise * (mood + normal(&mut rng) * 0.87);
            mix.count(template.gpus);
            drafts.push(Draft { submit_s: at, team, gpus: template.gpus, score });
            at += template.pause * -(1.0 - rng.unit()).ln();
        }
    }
    let seconds = quantile::run_times(assumptions, &drafts);
    finish(assumptions, &drafts, &seconds)
}

/// Sweeps: most sessions are a job or two, some are hundreds.
fn session_length(template: &Template, rng: &mut Rng) -> usize {
    let draw = 1.0 / (1.0 - rng.unit()).powf(0.8);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to a few hundred")]
    let length = draw.min(template.longest_sweep) as usize;
    length.max(1)
}

fn finish(assumptions: &Assumptions, drafts: &[Draft], seconds: &[f64]) -> Trace {
    let width = assumptions.teams.to_string().len();
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    order.sort_by(|a, b| drafts[*a].submit_s.total_cmp(&drafts[*b].submit_s).then(a.cmp(b)));
    let jobs = order.iter().enumerate().map(|(number, index)| {
        let draft = &drafts[*index];
        Job {
            id: format!("j{number:06}"),
            submit_ms: whole(draft.submit_s) * 1_000,
            duration_ms: whole(seconds[*index]).max(1) * 1_000,
            gpus: draft.gpus,
            gpu_milli: u64::from(draft.gpus) * 1_000,
            team: draft.team,
            models: Vec::new(),
        }
    });
    let teams = (0..assumptions.teams).map(|team| format!("team{team:0width$}")).collect();
    Trace { jobs: jobs.collect(), teams, without_duration: 0 }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a few months")]
fn whole(seconds: f64) -> u64 {
    seconds.max(0.0) as u64
}

/// A standard normal number (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}
