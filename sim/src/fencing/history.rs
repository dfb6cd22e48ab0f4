//! History: the run intervals of all containers, and every rule that must hold at every step.
//!
//! Owns the verdict on a run. It watches the fakes of kubelet and Postgres, never what the deciders believe.

use std::collections::BTreeSet;

use squadron_core::{id::AttemptId, lease::Policy};

use crate::fencing::scenario::Ms;

/// One life of an attempt's containers.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub job: usize,
    pub attempt: AttemptId,
    pub policy: Policy,
    pub cluster: usize,
    pub from: Ms,
    pub to: Option<Ms>,
}

/// Two lives at once.
#[derive(Clone, Copy, Debug)]
pub struct Overlap {
    pub policy: Policy,
    pub millis: Ms,
    /// Nothing outside the pod could stop the first one, and it carried no watchdog.
    pub uncovered: bool,
}

/// A job's way to its next attempt.
#[derive(Clone, Copy, Debug)]
pub struct ReRun {
    pub policy: Policy,
    /// The lease of the run.
    pub ttl: Ms,
    /// From the moment the cluster was lost until the next attempt's containers ran.
    pub took: Ms,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub runs: Vec<Run>,
    pub overlaps: Vec<Overlap>,
    pub reruns: Vec<ReRun>,
    /// Attempts that were stopped for a trouble shorter than the lease.
    pub needless: Vec<(Policy, AttemptId)>,
    /// Sentences on what must never happen and did.
    pub broken: Vec<String>,
    pub uncovered: Vec<String>,
    evicted: BTreeSet<AttemptId>,
}

impl History {
    pub fn broke(&mut self, at: Ms, what: &str) {
        self.broken.push(format!("at {at} ms: {what}"));
    }

    /// A container starts. `uncovered` tells whether the first of two runs could not be stopped.
    pub fn started(&mut self, run: Run, uncovered: impl Fn(&Run) -> bool) {
        let others: Vec<Run> =
            self.runs.iter().filter(|other| other.job == run.job && other.to.is_none()).copied().collect();
        for other in others {
            let why = format!(
                "attempt {} starts in cluster {} while attempt {} runs in cluster {} ({})",
                run.attempt.number, run.cluster, other.attempt.number, other.cluster, run.policy
            );
            if uncovered(&other) {
                self.uncovered.push(format!("at {} ms: {why}", run.from));
            } else if run.policy != Policy::Rerun {
                self.broke(run.from, &why);
            }
        }
        self.runs.push(run);
    }

    pub fn ended(&mut self, attempt: AttemptId, cluster: usize, at: Ms) {
        for run in &mut self.runs {
            if run.attempt == attempt && run.cluster == cluster && run.to.is_none() {
                run.to = Some(at);
            }
        }
    }

    /// Whether containers of the attempt run.
    pub fn runs(&self, attempt: AttemptId) -> Option<&Run> {
        self.runs.iter().find(|run| run.attempt == attempt && run.to.is_none())
    }

    /// An attempt is stopped for its lease after a trouble of `lasted`; shorter than `survives` is needless.
    pub fn evicted(&mut self, attempt: AttemptId, policy: Policy, lasted: Ms, survives: Ms, at: Ms) {
        if lasted < survives && self.evicted.insert(attempt) {
            self.needless.push((policy, attempt));
            let number = attempt.number;
            self.broke(
                at,
                &format!("attempt {number} ({policy}) is stopped after a trouble of {lasted} ms only"),
            );
        }
    }

    /// Adds up what ran at once, when the run is over.
    pub fn close(&mut self, now: Ms, uncovered: impl Fn(&Run, Ms) -> bool) {
        for run in &mut self.runs {
            run.to = run.to.or(Some(now));
        }
        for (index, first) in self.runs.iter().enumerate() {
            for second in &self.runs[index + 1..] {
                let (from, to) = (first.from.max(second.from), end(first).min(end(second)));
                if first.job == second.job && from < to {
                    let earlier = if first.from <= second.from { first } else { second };
                    let uncovered = uncovered(earlier, from);
                    self.overlaps.push(Overlap { policy: first.policy, millis: to - from, uncovered });
                }
            }
        }
    }
}

fn end(run: &Run) -> Ms {
    run.to.unwrap_or(Ms::MAX)
}
