//! Figures: what a replay comes to, as JSON with keys in a fixed order.
//!
//! Times are seconds, amounts GPU-hours, both to a thousandth. A percentile is the smallest wait that is not exceeded by
//! that part of the jobs. Jobs that fit no cluster are counted and in no mean.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::replay::{
    engine::{Outcome, Run},
    input::Job,
    policy::Setting,
    share::Share,
};

/// The figures of one seed, or the medians over several.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct Figures {
    pub policy: String,
    /// A model of another system's published rules, not that system.
    pub model: bool,
    pub seeds: u64,
    pub first_seed: u64,
    /// Jobs that ran.
    pub jobs: u64,
    pub jobs_that_never_fit: u64,
    pub jobs_without_duration: u64,
    /// Times at which two runs of one job overlapped.
    pub overlaps: u64,
    /// GPU time asked for over the fleet's capacity from the first submission to the last.
    pub offered_load: f64,
    pub makespan_s: f64,
    pub mean_completion_s: f64,
    pub mean_wait_s: f64,
    pub p50_wait_s: f64,
    pub p95_wait_s: f64,
    pub p99_wait_s: f64,
    pub max_wait_s: f64,
    pub mean_wait_gangs_16_up_s: f64,
    pub gpu_hours: f64,
    pub gpu_hours_waiting: f64,
    pub preemptions: u64,
    pub preempted_gpu_hours: f64,
    /// Owed capacity that teams did not have, over owed capacity, all teams together.
    pub share_error: f64,
    pub share_error_by_team: BTreeMap<String, f64>,
    pub wait_by_gang_size: BTreeMap<u32, Waits>,
    pub teams: BTreeMap<String, TeamFigures>,
    /// The single seeds, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Figures>,
}

/// Waits of a part of the jobs, in seconds.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct Waits {
    pub jobs: u64,
    pub mean_wait_s: f64,
    pub p50_wait_s: f64,
    pub p95_wait_s: f64,
    pub p99_wait_s: f64,
}

/// One team.
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
pub struct TeamFigures {
    #[serde(flatten)]
    pub waits: Waits,
    pub gpu_hours: f64,
    /// Part of all GPU-hours.
    pub share: f64,
    pub guaranteed_gpus: f64,
    /// Hours in which it waited for something that its guarantee covers.
    pub hours_waiting_below_guarantee: f64,
    pub share_error: f64,
    /// The same in the worst hour of the clock.
    pub worst_hour_share_error: f64,
}

/// Figures of one run.
pub fn figures(setting: &Setting<'_>, outcome: &Outcome) -> Figures {
    let jobs = &setting.trace.jobs;
    let waits = |pick: &dyn Fn(&Job) -> bool| waits(outcome, jobs, pick);
    let all = waits(&|_| true);
    let mut sizes: Vec<u32> = outcome.runs.iter().map(|run| jobs[run.job].gpus).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let missing: i128 = outcome.shares.iter().map(|share| share.missing).sum();
    let owed: i128 = outcome.shares.iter().map(|share| share.owed).sum();
    let teams = team_figures(setting, outcome);
    Figures {
        policy: setting.policy.text().to_owned(),
        model: setting.policy.is_model(),
        seeds: 1,
        first_seed: setting.seed,
        jobs: finished(outcome).count() as u64,
        jobs_that_never_fit: outcome.never.len() as u64,
        jobs_without_duration: setting.trace.without_duration,
        overlaps: overlaps(&outcome.runs),
        offered_load: offered_load(setting),
        makespan_s: seconds(outcome.runs.iter().map(|run| u128::from(run.end)).max().unwrap_or(0), 1),
        mean_completion_s: mean(finished(outcome).map(|run| run.end - jobs[run.job].submit_ms)),
        mean_wait_s: all.mean_wait_s,
        p50_wait_s: all.p50_wait_s,
        p95_wait_s: all.p95_wait_s,
        p99_wait_s: all.p99_wait_s,
        max_wait_s: seconds(finished(outcome).map(|run| u128::from(wait(run, jobs))).max().unwrap_or(0), 1),
        mean_wait_gangs_16_up_s: waits(&|job| job.gpus >= 16).mean_wait_s,
        gpu_hours: gpu_hours(finished(outcome).map(|run| (jobs[run.job].gpu_milli, run.end - run.start))),
        gpu_hours_waiting: gpu_hours(finished(outcome).map(|run| (jobs[run.job].gpu_milli, wait(run, jobs)))),
        preemptions: stopped(outcome).count() as u64,
        preempted_gpu_hours: gpu_hours(
            stopped(outcome).map(|run| (jobs[run.job].gpu_milli, run.end - run.start)),
        ),
        share_error: ratio(missing, owed),
        share_error_by_team: teams.iter().map(|(name, team)| (name.clone(), team.share_error)).collect(),
        wait_by_gang_size: sizes.iter().map(|size| (*size, waits(&|job| job.gpus == *size))).collect(),
        teams,
        runs: Vec::new(),
    }
}

fn team_figures(setting: &Setting<'_>, outcome: &Outcome) -> BTreeMap<String, TeamFigures> {
    let mut by_team: Vec<Vec<&Run>> = vec![Vec::new(); setting.trace.teams.len()];
    for run in finished(outcome) {
        by_team[setting.trace.jobs[run.job].team].push(run);
    }
    let all: i128 = outcome.shares.iter().map(|share| share.used).sum();
    let names = setting.trace.teams.iter().cloned();
    let figures = by_team.iter().zip(&outcome.shares).map(|(runs, share)| TeamFigures {
        waits: Waits::of(runs.iter().map(|run| wait(run, &setting.trace.jobs)).collect()),
        gpu_hours: used_hours(share),
        share: ratio(share.used, all),
        guaranteed_gpus: thousandth(real(share.guaranteed) / 1_000.0),
        hours_waiting_below_guarantee: thousandth(real(share.waited) / 3_600_000.0),
        share_error: ratio(share.missing, share.owed),
        worst_hour_share_error: ratio(share.worst_hour.0, share.worst_hour.1),
    });
    names.zip(figures).collect()
}

fn waits(outcome: &Outcome, jobs: &[Job], pick: &dyn Fn(&Job) -> bool) -> Waits {
    Waits::of(finished(outcome).filter(|run| pick(&jobs[run.job])).map(|run| wait(run, jobs)).collect())
}

impl Waits {
    fn of(mut waits: Vec<u64>) -> Self {
        waits.sort_unstable();
        let at = |percent: usize| {
            let rank = (waits.len() * percent).div_ceil(100).max(1) - 1;
            seconds(u128::from(waits.get(rank).copied().unwrap_or(0)), 1)
        };
        Waits {
            jobs: waits.len() as u64,
            mean_wait_s: mean(waits.iter().copied()),
            p50_wait_s: at(50),
            p95_wait_s: at(95),
            p99_wait_s: at(99),
        }
    }
}

/// The run of each job that counts.
fn finished(outcome: &Outcome) -> impl Iterator<Item = &Run> {
    outcome.runs.iter().filter(|run| !run.stopped)
}

fn stopped(outcome: &Outcome) -> impl Iterator<Item = &Run> {
    outcome.runs.iter().filter(|run| run.stopped)
}

/// From submission to the start of the run that counts; runs whose work was lost are waiting too.
fn wait(run: &Run, jobs: &[Job]) -> u64 {
    run.start.saturating_sub(jobs[run.job].submit_ms)
}

/// Runs of one job that lie over each other.
fn overlaps(runs: &[Run]) -> u64 {
    let mut sorted: Vec<(usize, u64, u64)> = runs.iter().map(|run| (run.job, run.start, run.end)).collect();
    sorted.sort_unstable();
    sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[1].1 < pair[0].2).count() as u64
}

fn offered_load(setting: &Setting<'_>) -> f64 {
    let jobs = &setting.trace.jobs;
    let asked: u128 = jobs.iter().map(|job| u128::from(job.gpu_milli) * u128::from(job.duration_ms)).sum();
    let first = jobs.first().map_or(0, |job| job.submit_ms);
    let last = jobs.last().map_or(0, |job| job.submit_ms);
    let capacity = u128::from(setting.fleet.gpus()) * 1_000 * u128::from(last.saturating_sub(first));
    if capacity == 0 { 0.0 } else { thousandth(real(asked) / real(capacity)) }
}

fn gpu_hours(parts: impl Iterator<Item = (u64, u64)>) -> f64 {
    let sum: u128 = parts.map(|(milli, millis)| u128::from(milli) * u128::from(millis)).sum();
    thousandth(real(sum) / 3_600_000_000.0)
}

fn used_hours(share: &Share) -> f64 {
    thousandth(real(share.used) / 3_600_000_000.0)
}

fn ratio(part: i128, whole: i128) -> f64 {
    if whole == 0 { 0.0 } else { (real(part) / real(whole) * 1e6).round() / 1e6 }
}

fn mean(millis: impl Iterator<Item = u64>) -> f64 {
    let (sum, count) = millis.fold((0u128, 0u128), |(sum, count), one| (sum + u128::from(one), count + 1));
    seconds(sum, count)
}

fn seconds(millis: u128, count: u128) -> f64 {
    if count == 0 { 0.0 } else { thousandth(real(millis) / 1_000.0 / real(count)) }
}

fn thousandth(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

/// Numbers for people; the integers they come from are exact.
#[expect(clippy::cast_precision_loss, reason = "figures are rounded to a thousandth anyway")]
fn real(number: impl TryInto<i128>) -> f64 {
    number.try_into().unwrap_or(i128::MAX) as f64
}

/// Medians of every single figure over seeds, with the runs beside them. The maps are those of the median run by mean
/// completion.
pub fn median(mut runs: Vec<Figures>) -> Option<Figures> {
    if runs.len() < 2 {
        return runs.pop();
    }
    let mut by_completion: Vec<&Figures> = runs.iter().collect();
    by_completion.sort_by(|a, b| a.mean_completion_s.total_cmp(&b.mean_completion_s));
    let middle = (*by_completion.get(runs.len() / 2)?).clone();
    let of = |figure: fn(&Figures) -> f64| middle_of(runs.iter().map(figure).collect());
    let figures = Figures {
        seeds: runs.len() as u64,
        first_seed: runs.first()?.first_seed,
        overlaps: runs.iter().map(|run| run.overlaps).sum(),
        makespan_s: of(|run| run.makespan_s),
        mean_completion_s: of(|run| run.mean_completion_s),
        mean_wait_s: of(|run| run.mean_wait_s),
        p50_wait_s: of(|run| run.p50_wait_s),
        p95_wait_s: of(|run| run.p95_wait_s),
        p99_wait_s: of(|run| run.p99_wait_s),
        max_wait_s: of(|run| run.max_wait_s),
        mean_wait_gangs_16_up_s: of(|run| run.mean_wait_gangs_16_up_s),
        gpu_hours_waiting: of(|run| run.gpu_hours_waiting),
        preempted_gpu_hours: of(|run| run.preempted_gpu_hours),
        share_error: of(|run| run.share_error),
        runs: Vec::new(),
        ..middle
    };
    Some(Figures { runs, ..figures })
}

/// The middle one; of an even number the upper of the two.
fn middle_of(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}
