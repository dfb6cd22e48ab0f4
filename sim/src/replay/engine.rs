//! Engine: the event loop. Ends come before arrivals of the same millisecond, and the policy decides after all of them.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::replay::{
    policy::{Millis, Policy, Setting, make},
    share::{Share, Shares},
    world::{Broken, World, milli_of},
};

/// One run of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Index into the trace.
    pub job: usize,
    /// Index into the fleet.
    pub site: usize,
    pub start: Millis,
    pub end: Millis,
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
    ends: BinaryHeap<Reverse<(Millis, usize)>>,
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
            self.ends.push(Reverse((end, placed.job)));
            let run = Run { job: placed.job, site: placed.site, start: now, end, reason: placed.reason };
            self.outcome.runs.push(run);
        }
        let stuck = self.world.waiting > 0 && self.world.idle() && self.next_time().is_none();
        if stuck { Err(Broken::Stuck { waiting: self.world.waiting }) } else { Ok(()) }
    }

    fn end_all(&mut self, now: Millis) {
        while let Some(Reverse((_, job))) = self.ends.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.ends.pop();
            self.world.end(job);
            self.policy.end(job, now);
            let ended = &self.setting.trace.jobs[job];
            self.shares.end(ended.team, milli_of(ended));
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
