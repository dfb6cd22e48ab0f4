//! Report: many seeds in one set of figures.

use std::collections::BTreeMap;

use serde::Serialize;
use squadron_core::lease::Policy;

use crate::fencing::{history::History, play};

/// Figures of one policy.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ByPolicy {
    /// Times that an attempt's containers ran.
    pub runs: u64,
    /// Attempts that followed a lost one and ran.
    pub reruns: u64,
    pub overlaps: u64,
    pub overlap_seconds: f64,
    pub needless_evictions: u64,
    /// From the loss of the cluster until the next attempt's containers ran.
    pub rerun_s: Times,
    /// The same by the length of the lease.
    pub rerun_s_by_lease_s: BTreeMap<u64, Times>,
}

/// Times in seconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Times {
    pub count: u64,
    pub median: f64,
    pub max: f64,
    #[serde(skip)]
    millis: Vec<u64>,
}

/// Overlaps that no rule prevents without the watchdog: a node cut off (T5), or an API server down while the lease ended.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Uncovered {
    pub overlaps: u64,
    pub overlap_seconds: f64,
    pub why: &'static str,
}

/// Figures of all seeds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub seeds: u64,
    pub first_seed: u64,
    /// Of policies `wait` and `fence` together.
    pub overlaps: u64,
    pub overlap_seconds: f64,
    pub broken: u64,
    pub by_policy: BTreeMap<&'static str, ByPolicy>,
    pub without_watchdog: Uncovered,
    /// Faults that were injected, by threat.
    pub faults: BTreeMap<&'static str, u64>,
    /// The first seed that broke something, with what it broke.
    pub first_broken: Option<Broken>,
}

/// A seed that broke a rule.
#[derive(Clone, Debug, Serialize)]
pub struct Broken {
    pub seed: u64,
    pub what: Vec<String>,
    pub reproduce: String,
}

/// Runs `seeds` seeds from `first`. `progress` hears the number of seeds done.
pub fn run(first: u64, seeds: u64, mut progress: impl FnMut(u64)) -> Report {
    let mut report = Report { seeds, first_seed: first, ..Report::default() };
    report.without_watchdog.why =
        "pods without the watchdog on a node or behind an API server that nobody could reach";
    for policy in Policy::ALL {
        report.by_policy.insert(policy.word(), ByPolicy::default());
    }
    for done in 0..seeds {
        let seed = first.wrapping_add(done);
        let outcome = play(seed, None, false);
        for (kind, count) in &outcome.faults {
            *report.faults.entry(kind).or_insert(0) += count;
        }
        report.add(seed, &outcome.history);
        progress(done + 1);
    }
    report.finish();
    report
}

impl Report {
    fn add(&mut self, seed: u64, history: &History) {
        for run in &history.runs {
            self.policy(run.policy).runs += 1;
        }
        for rerun in &history.reruns {
            let policy = self.policy(rerun.policy);
            policy.reruns += 1;
            policy.rerun_s.add(rerun.took);
            policy.rerun_s_by_lease_s.entry(rerun.ttl / 1_000).or_default().add(rerun.took);
        }
        for (policy, _) in &history.needless {
            self.policy(*policy).needless_evictions += 1;
        }
        for overlap in &history.overlaps {
            let seconds = std::time::Duration::from_millis(overlap.millis).as_secs_f64();
            if overlap.uncovered && overlap.policy != Policy::Rerun {
                self.without_watchdog.overlaps += 1;
                self.without_watchdog.overlap_seconds += seconds;
                continue;
            }
            let policy = self.policy(overlap.policy);
            policy.overlaps += 1;
            policy.overlap_seconds += seconds;
            if overlap.policy != Policy::Rerun {
                self.overlaps += 1;
                self.overlap_seconds += seconds;
            }
        }
        if !history.broken.is_empty() {
            self.broken += 1;
            self.first_broken.get_or_insert_with(|| Broken {
                seed,
                what: history.broken.clone(),
                reproduce: format!("squadron lab fencing --first-seed {seed} --seeds 1 --trace"),
            });
        }
    }

    fn policy(&mut self, policy: Policy) -> &mut ByPolicy {
        self.by_policy.entry(policy.word()).or_default()
    }

    fn finish(&mut self) {
        for policy in self.by_policy.values_mut() {
            policy.rerun_s.finish();
            policy.rerun_s_by_lease_s.values_mut().for_each(Times::finish);
        }
    }

    /// Whether every rule held in every seed.
    pub fn holds(&self) -> bool {
        self.broken == 0 && self.overlaps == 0
    }
}

impl Times {
    fn add(&mut self, millis: u64) {
        self.count += 1;
        self.millis.push(millis);
    }

    fn finish(&mut self) {
        self.millis.sort_unstable();
        let seconds = |millis: Option<&u64>| {
            millis.map_or(0.0, |millis| std::time::Duration::from_millis(*millis).as_secs_f64())
        };
        self.max = seconds(self.millis.last());
        self.median = seconds(self.millis.get(self.millis.len() / 2));
    }
}
