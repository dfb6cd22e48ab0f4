//! A fleet in virtual time for tests: plans are carried out as the shell does it, and whoever is asked to stop leaves later.

use std::collections::BTreeMap;

use crate::{
    dispatch::{
        Claim, Held, Input, Plan, Stake, Waiting, plan,
        policy_tests::{fleet, held_by, policy},
        preempt::Asked,
    },
    id::{AttemptId, JobId},
    quota::{Preemption, Queue, Reclaim, Within},
    time::Timestamp,
};

pub(super) const SECOND: i64 = 1_000_000;

pub(super) fn rules(within: Within, reclaim: Reclaim) -> Option<Preemption> {
    Some(Preemption { within, reclaim })
}

/// The queue with this rule.
pub(super) fn with(queue: Queue, within: Within, reclaim: Reclaim) -> Queue {
    Queue { preemption: rules(within, reclaim), ..queue }
}

/// A fleet while time passes.
pub(super) struct World {
    pub(super) input: Input,
    jobs: BTreeMap<JobId, Waiting>,
    /// How long a stop takes, in seconds.
    grace: i64,
}

impl World {
    pub(super) fn new(tree: &[Queue], clusters: &[(&str, i64)], grace: i64) -> World {
        World { input: fleet(policy(tree), clusters), jobs: BTreeMap::new(), grace }
    }

    pub(super) fn submit(&mut self, job: Waiting) {
        let job = Waiting { submitted_at: self.input.now, ..job };
        self.jobs.insert(job.job, job.clone());
        self.input.waiting.push(job);
    }

    /// Whoever was asked long enough ago is gone and waits again; then one plan is made and carried out.
    pub(super) fn step(&mut self, second: i64) -> Plan {
        self.input.now = Timestamp(second * SECOND);
        for job in self.over() {
            self.leave(job);
        }
        let plan = plan(&self.input);
        self.carry_out(&plan);
        plan
    }

    fn over(&self) -> Vec<JobId> {
        let (now, grace) = (self.input.now, self.grace * 1_000);
        let held = self.input.clusters.iter().flat_map(|cluster| &cluster.attempts);
        let over = |held: &&Held| held.stake.asked.is_some_and(|asked| now.millis_since(asked.at) >= grace);
        held.filter(over).map(|held| held.id.job).collect()
    }

    fn leave(&mut self, job: JobId) {
        for cluster in &mut self.input.clusters {
            cluster.attempts.retain(|held| held.id.job != job);
        }
        self.input.waiting.push(self.jobs[&job].clone());
    }

    fn carry_out(&mut self, plan: &Plan) {
        let now = self.input.now;
        for assign in &plan.assign {
            let at = self.input.waiting.iter().position(|job| job.job == assign.job).unwrap();
            let job = self.input.waiting.remove(at);
            self.input.claims.retain(|claim| claim.job != job.job);
            let stake = Stake {
                name: job.name.clone(),
                priority: job.priority,
                submitted_at: job.submitted_at,
                began: Some(now),
                ..Stake::default()
            };
            let held = Held {
                gang: job.gang.clone(),
                usage: assign.usage.clone(),
                assigned_at: now,
                stake,
                ..held_by(job.job.0.as_u128(), &job.queue, 0)
            };
            let site = self.input.clusters.iter_mut().find(|one| one.id == assign.cluster).unwrap();
            site.attempts.push(held);
        }
        self.input.claims.retain(|claim| !plan.dropped.contains(&claim.job));
        for making in &plan.making {
            self.input.claims.push(Claim { job: making.job, cluster: making.cluster, since: now });
            for stop in &making.stops {
                let asked = Asked { at: now, makes_room_for: Some(making.job) };
                self.held(stop.attempt).unwrap().stake.asked = Some(asked);
            }
        }
    }

    pub(super) fn held(&mut self, id: AttemptId) -> Option<&mut Held> {
        self.input.clusters.iter_mut().flat_map(|cluster| &mut cluster.attempts).find(|held| held.id == id)
    }

    /// GPUs that a queue holds.
    pub(super) fn gpus_of(&self, queue: &str) -> i64 {
        let held = self.input.clusters.iter().flat_map(|cluster| &cluster.attempts);
        let of = held.filter(|held| held.queue == queue);
        of.map(|held| crate::dispatch::gang_total(&held.gang).gpus).sum()
    }
}

/// Numbers of the jobs that start.
pub(super) fn started(plan: &Plan) -> Vec<u128> {
    plan.assign.iter().map(|assign| assign.job.0.as_u128()).collect()
}

/// Who stops for whom.
pub(super) fn stopped(plan: &Plan) -> Vec<(u128, u128)> {
    let stops = plan.making.iter().flat_map(|making| {
        making.stops.iter().map(|stop| (stop.attempt.job.0.as_u128(), making.job.0.as_u128()))
    });
    let mut stops: Vec<(u128, u128)> = stops.collect();
    stops.sort_unstable();
    stops
}
