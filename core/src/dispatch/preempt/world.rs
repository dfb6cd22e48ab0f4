//! A fleet in virtual time for tests: plans are carried out as the shell does it, and whoever is asked to stop leaves later.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use crate::{
    dispatch::{
        Claim, Cluster, GangPart, Held, Input, Plan, Pod, Stake, Waiting, plan,
        policy_tests::{fleet, gpu_node, held_by, policy},
        preempt::Asked,
        soft::Capped,
        tests::{cluster, res},
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

    /// The agents obey: what caps name is gone.
    pub(super) fn obey(&mut self) {
        for cluster in &mut self.input.clusters {
            let named = |held: &Held, name: &String| {
                held.capped
                    .iter()
                    .flat_map(|capped| capped.caps.values())
                    .any(|cap| cap.leaves.contains(name))
            };
            let goes = |pod: &Pod| {
                cluster.attempts.iter().any(|held| Some(held.id) == pod.attempt && named(held, &pod.name))
            };
            cluster.pods.retain(|pod| !goes(pod));
        }
    }

    /// The only attempt of a job has a worker group `w` that may grow to `most` pods of a GPU, with so many on the first node.
    pub(super) fn grown(&mut self, job: u128, (least, most): (u32, u32), there: u32) {
        let held = self
            .input
            .clusters
            .iter_mut()
            .flat_map(|one| &mut one.attempts)
            .find(|held| held.id.job.0.as_u128() == job);
        let held = held.unwrap();
        let requests = res(0, 0, 1);
        held.gang.push(GangPart {
            role: "w".into(),
            count: least,
            most: Some(most),
            requests,
            ..GangPart::default()
        });
        held.usage.values_mut().for_each(|charged| *charged = *charged + requests * i64::from(least));
        let id = held.id;
        let cluster =
            self.input.clusters.iter_mut().find(|one| one.attempts.iter().any(|held| held.id == id)).unwrap();
        let node = cluster.nodes[0].name.clone();
        cluster.pods.extend((0..there).map(|at| Pod {
            node: node.clone(),
            requests,
            attempt: Some(id),
            role: "w".into(),
            name: format!("w-{at}"),
        }));
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
        for lift in &plan.lifts {
            let held = self.held(lift.attempt).unwrap();
            let caps = lift.caps.clone();
            held.capped = held.capped.take().map(|before| Capped { caps, since: now, ..before });
            held.capped = held.capped.take().filter(|capped| !capped.caps.is_empty());
        }
        self.input.claims.retain(|claim| !plan.dropped.contains(&claim.job));
        for making in &plan.making {
            self.input.claims.push(Claim { job: making.job, cluster: making.cluster, since: now });
            for stop in &making.stops {
                let asked = Asked { at: now, makes_room_for: Some(making.job) };
                self.held(stop.attempt).unwrap().stake.asked = Some(asked);
            }
            for shrink in &making.shrinks {
                let (caps, makes_room_for) = (shrink.caps.clone(), Some(making.job));
                self.held(shrink.attempt).unwrap().capped = Some(Capped { caps, since: now, makes_room_for });
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

/// GPUs of each pod, how many pods, the node of the first of them (behind the last: none yet), and how many are there.
type Gang = (i64, u32, usize, u32);

/// An attempt with its pods on a cluster of so many nodes.
pub(super) fn spread(held: Held, (gpus, pods, first, there): Gang, nodes: usize) -> (Held, Vec<Pod>) {
    let requests = res(1, 1, gpus);
    let part = GangPart { role: "head".into(), count: pods, requests, ..GangPart::default() };
    let usage = [("h100".to_owned(), requests * i64::from(pods))].into();
    let pod = |at: u32| {
        let node = (first + at as usize) % (nodes + 1);
        let node = if node < nodes { format!("n{node}") } else { String::new() };
        Pod { node, requests, attempt: Some(held.id), role: "head".into(), ..Pod::default() }
    };
    let there = (0..there.min(pods)).map(pod).collect();
    (Held { gang: vec![part], usage, ..held }, there)
}

pub(super) fn any_gang() -> impl Strategy<Value = Gang> {
    (1_i64..4, 1_u32..4, 0_usize..5, 0_u32..4)
}

/// A cluster of a few nodes with up to eight attempts, whose pods have a node, wait for one, or are not there yet.
pub(super) fn any_cluster() -> impl Strategy<Value = Cluster> {
    (vec(1_i64..9, 1..4), vec(any_gang(), 0..8)).prop_map(|(sizes, gangs)| {
        let mut made = cluster(1, "c1", &[]);
        made.nodes =
            (0..).zip(&sizes).map(|(at, gpus): (u32, _)| gpu_node(&format!("n{at}"), *gpus)).collect();
        for (number, gang) in (1..).zip(gangs) {
            let (held, pods) = spread(held_by(number, "a", 0), gang, sizes.len());
            made.attempts.push(held);
            made.pods.extend(pods);
        }
        made
    })
}
