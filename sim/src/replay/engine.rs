//! Engine: the event loop. Ends come before arrivals of the same millisecond, and the policy decides after all of them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use crate::replay::{
    policy::{Millis, Policy, Setting, make},
    share::{Share, Shares},
    world::{Broken, World, milli_of},
};

/// Milliseconds from the decision to stop a job until its pods are confirmed gone: the grace of a pod.
const STOP_DELAY: Millis = 30_000;

/// One run of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Index into the trace.
    pub job: usize,
    /// Index into the fleet.
    pub site: usize,
    pub start: Millis,
    pub end: Millis,
    /// Stopped to make room: it lost what it had done, and the job waited again.
    pub stopped: bool,
    pub reason: String,
}

/// Everything that happened.
#[derive(Clone, Default, Debug)]
pub struct Outcome {
    /// In the order of starts.
    pub runs: Vec<Run>,
    /// Jobs that fit no cluster, as indices into the trace.
    pub never: Vec<usize>,
    /// By team, in the order of the trace's teams.
    pub shares: Vec<Share>,
}

/// Runs the whole trace.
pub fn replay(setting: &Setting<'_>) -> Result<Outcome, Broken> {
    let mut replay = Replay {
        setting,
        policy: make(setting),
        world: World::new(&setting.trace.jobs, setting.fleet),
        shares: Shares::new(setting.trace, setting.fleet),
        ends: BinaryHeap::new(),
        live: BTreeMap::new(),
        next: 0,
        outcome: Outcome::default(),
    };
    while let Some(now) = replay.next_time() {
        replay.step(now)?;
    }
    if replay.world.waiting > 0 {
        return Err(Broken::Stuck { waiting: replay.world.waiting });
    }
    replay.outcome.shares = replay.shares.close();
    Ok(replay.outcome)
}

struct Replay<'a> {
    setting: &'a Setting<'a>,
    policy: Box<dyn Policy + 'a>,
    world: World<'a>,
    shares: Shares,
    /// When runs end, as indices into the outcome; one that was stopped before stays and is passed over.
    ends: BinaryHeap<Reverse<(Millis, usize)>>,
    /// The run of each running job.
    live: BTreeMap<usize, usize>,
    /// The next job that arrives.
    next: usize,
    outcome: Outcome,
}

impl Replay<'_> {
    fn next_time(&self) -> Option<Millis> {
        let arrival = self.setting.trace.jobs.get(self.next).map(|job| job.submit_ms);
        let end = self.ends.peek().map(|Reverse((at, _))| *at);
        let happens = [arrival, end].into_iter().flatten().min();
        let wakes = (self.world.waiting > 0).then_some(()).and(self.wake());
        match (happens, wakes) {
            (Some(happens), Some(wakes)) => Some(happens.min(wakes)),
            (happens, wakes) => happens.or(wakes),
        }
    }

    fn wake(&self) -> Option<Millis> {
        self.policy.wake(self.shares.now())
    }

    fn step(&mut self, now: Millis) -> Result<(), Broken> {
        self.shares.go_to(now);
        self.end_all(now);
        self.arrive_all(now);
        for placed in self.policy.decide(now) {
            self.world.start(&placed)?;
            let job = &self.setting.trace.jobs[placed.job];
            self.shares.start(job.team, milli_of(job));
            let end = now.saturating_add(job.duration_ms);
            let run = self.outcome.runs.len();
            self.ends.push(Reverse((end, run)));
            self.live.insert(placed.job, run);
            self.outcome.runs.push(Run {
                job: placed.job,
                site: placed.site,
                start: now,
                end,
                stopped: false,
                reason: placed.reason,
            });
        }
        self.stop_all(now);
        let stuck = self.world.waiting > 0 && self.world.idle() && self.next_time().is_none();
        if stuck { Err(Broken::Stuck { waiting: self.world.waiting }) } else { Ok(()) }
    }

    /// A job that ends while it is being stopped has ended; its work counts.
    fn stop_all(&mut self, now: Millis) {
        let gone = now.saturating_add(STOP_DELAY);
        for job in self.policy.stop(now) {
            let Some(run) = self.live.get(&job).copied() else { continue };
            if self.outcome.runs[run].end > gone {
                self.outcome.runs[run].end = gone;
                self.outcome.runs[run].stopped = true;
                self.ends.push(Reverse((gone, run)));
            }
        }
    }

    fn end_all(&mut self, now: Millis) {
        while let Some(Reverse((at, index))) = self.ends.peek().copied().filter(|Reverse((at, _))| *at <= now)
        {
            self.ends.pop();
            let run = &self.outcome.runs[index];
            let job = run.job;
            if run.end != at || self.live.get(&job) != Some(&index) {
                continue;
            }
            self.live.remove(&job);
            let ended = &self.setting.trace.jobs[job];
            if run.stopped {
                self.world.stop(job);
                self.policy.stopped(job, now);
                self.shares.stop(ended.team, milli_of(ended));
            } else {
                self.world.end(job);
                self.policy.end(job, now);
                self.shares.end(ended.team, milli_of(ended));
            }
        }
    }

    fn arrive_all(&mut self, now: Millis) {
        while let Some(job) = self.setting.trace.jobs.get(self.next).filter(|job| job.submit_ms <= now) {
            let fits = self.policy.arrive(self.next, now);
            self.world.arrive(self.next, fits);
            if fits {
                self.shares.wait(job.team, milli_of(job));
            } else {
                self.outcome.never.push(self.next);
            }
            self.next += 1;
        }
    }
}
