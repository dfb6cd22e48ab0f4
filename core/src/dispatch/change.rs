//! Change: what another policy would do to queues and to the jobs that wait, told without doing it.
//!
//! Owns nothing: both sides are what a pass decides on the same snapshot, once with the policy in force and once with the
//! other, so the answer can never differ from what the dispatcher would do. Invariant: a job is told at most once, and every
//! queue of either policy that would stand differently is told. Fails by being old: the next pass looks at a newer snapshot.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        Assign, Blocked, Blocker, Cluster, Held, Input, Plan, Stake, Waiting, plan::plan_of_read, quota::lift,
    },
    id::{AttemptId, JobId},
    quota::{
        Policy, Resource,
        standing::{Standing, standings},
    },
    sentence::{count, list},
};

/// Queues that the sentence names.
const NAMED: usize = 5;

/// What would be different.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Prospect {
    /// Jobs that would start now, and wait as things are; in the order in which they would start.
    pub starts: Vec<Start>,
    /// Jobs that start now as things are, and would wait.
    pub stays: Vec<Shift>,
    /// Jobs that wait either way, for something else.
    pub shifts: Vec<Shift>,
    /// Jobs that would go on waiting for what they wait for.
    pub same: usize,
    /// Running jobs that would be asked to stop, and are not as things are.
    pub stops: Vec<Halt>,
    /// Use that would be on loan, and so others could claim, without a job having started.
    pub claims: Vec<Claim>,
    /// Queues that would stand differently, by name.
    pub queues: BTreeMap<String, Pair>,
}

/// A job that would start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    pub job: JobId,
    pub name: String,
    pub queue: String,
    pub cluster: String,
    /// Why there.
    pub because: String,
}

/// A job that would wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shift {
    pub job: JobId,
    pub name: String,
    pub queue: String,
    /// Its first blocker as things are; nothing if it starts.
    pub before: Option<Blocker>,
    /// Its first blocker with the other policy.
    pub after: Option<Blocker>,
    /// Itself, and those behind it that are equal to it and are not part of the snapshot.
    pub jobs: usize,
}

/// A running job that would be asked to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Halt {
    pub attempt: AttemptId,
    pub queue: String,
    pub cluster: String,
    /// Name of the waiting job that its room is for.
    pub makes_room_for: String,
    /// By which right; a clause that follows the name of the cluster.
    pub because: String,
}

/// What a queue's jobs use today within its quota, and would use on loan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim {
    pub queue: String,
    pub flavor: String,
    pub resource: Resource,
    /// Borrowed as things are, and with the other policy, in the unit of the resource.
    pub before: i64,
    pub after: i64,
    /// What of that is above what the queue may borrow at all: nothing more of it starts until so much has ended.
    pub beyond: i64,
}

/// Where a queue stands once what starts has started; nothing where the policy does not have it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Pair {
    pub before: Option<Standing>,
    pub after: Option<Standing>,
}

/// Compares the policy of the snapshot with another one.
pub fn prospect(input: &Input, other: &Policy) -> Prospect {
    let mut changed = Input { policy: other.clone(), ..input.clone() };
    lift(&mut changed.clusters, other);
    let (before, after) = (plan_of_read(input), plan_of_read(&changed));
    let jobs: BTreeMap<JobId, &Waiting> = input.waiting.iter().map(|job| (job.job, job)).collect();
    let mut told =
        Prospect { starts: starts(&before.assign, &after.assign, input, &jobs), ..Prospect::default() };
    let known: BTreeMap<JobId, &Blocked> = before.blocked.iter().map(|one| (one.job, one)).collect();
    for blocked in &after.blocked {
        let Some(job) = jobs.get(&blocked.job) else { continue };
        match known.get(&blocked.job) {
            None => told.stays.push(shift(job, None, blocked)),
            Some(old) if cause(old) == cause(blocked) => told.same += jobs_of(job),
            Some(old) => told.shifts.push(shift(job, Some(old), blocked)),
        }
    }
    told.stops = halts(&before, &after, input, &jobs);
    let now = |input: &Input| standings(&input.policy, &input.clusters);
    told.claims = claims(&now(input), &now(&changed));
    let once =
        |input: &Input, plan: &Plan| standings(&input.policy, &with(&input.clusters, &plan.assign, &jobs));
    told.queues = pairs(once(input, &before), once(&changed, &after));
    told
}

impl Prospect {
    /// One sentence for people.
    pub fn sentence(&self) -> String {
        let mut parts = vec![format!("{} would start now", count(self.starts.len(), "waiting job"))];
        let jobs = |shifts: &[Shift]| count(shifts.iter().map(|shift| shift.jobs).sum(), "job");
        if !self.stays.is_empty() {
            parts.push(format!("{} that would start now would wait", count(self.stays.len(), "job")));
        }
        if !self.shifts.is_empty() {
            parts.push(format!("{} would wait for something else", jobs(&self.shifts)));
        }
        if self.same > 0 {
            parts.push(format!("{} would wait for the same as now", count(self.same, "job")));
        }
        if !self.stops.is_empty() {
            parts.push(format!("{} would be asked to stop", count(self.stops.len(), "running job")));
        }
        let owing: BTreeSet<&str> = self.claims.iter().map(|claim| claim.queue.as_str()).collect();
        if !owing.is_empty() {
            let mut names: Vec<String> = owing.iter().take(NAMED).map(|name| (*name).to_owned()).collect();
            let more = owing.len().saturating_sub(NAMED);
            names.extend((more > 0).then(|| count(more, "more queue")));
            parts.push(format!("use of {} would be on loan, which others may claim", list(&names)));
        }
        list(&parts)
    }
}

fn starts(
    before: &[Assign],
    after: &[Assign],
    input: &Input,
    jobs: &BTreeMap<JobId, &Waiting>,
) -> Vec<Start> {
    let already: BTreeSet<JobId> = before.iter().map(|assign| assign.job).collect();
    let start = |assign: &Assign| {
        let job = jobs.get(&assign.job)?;
        let cluster = input.clusters.iter().find(|cluster| cluster.id == assign.cluster)?;
        Some(Start {
            job: job.job,
            name: job.name.clone(),
            queue: job.queue.clone(),
            cluster: cluster.name.clone(),
            because: assign.because.clone(),
        })
    };
    after.iter().filter(|assign| !already.contains(&assign.job)).filter_map(start).collect()
}

fn halts(before: &Plan, after: &Plan, input: &Input, jobs: &BTreeMap<JobId, &Waiting>) -> Vec<Halt> {
    let asked: BTreeSet<AttemptId> =
        before.making.iter().flat_map(|making| &making.stops).map(|stop| stop.attempt).collect();
    let mut halts = Vec::new();
    for making in &after.making {
        let cluster = input.clusters.iter().find(|cluster| cluster.id == making.cluster);
        let (Some(cluster), Some(job)) = (cluster, jobs.get(&making.job)) else { continue };
        for stop in making.stops.iter().filter(|stop| !asked.contains(&stop.attempt)) {
            let held = cluster.attempts.iter().find(|held| held.id == stop.attempt);
            halts.push(Halt {
                attempt: stop.attempt,
                queue: held.map_or_else(String::new, |held| held.queue.clone()),
                cluster: cluster.name.clone(),
                makes_room_for: job.name.clone(),
                because: stop.because.clone(),
            });
        }
    }
    halts
}

fn shift(job: &Waiting, before: Option<&Blocked>, after: &Blocked) -> Shift {
    let first = |blocked: &Blocked| blocked.blockers.first().cloned();
    Shift {
        job: job.job,
        name: job.name.clone(),
        queue: job.queue.clone(),
        before: before.and_then(first),
        after: first(after),
        jobs: jobs_of(job),
    }
}

fn jobs_of(job: &Waiting) -> usize {
    usize::try_from(job.behind).unwrap_or(usize::MAX).saturating_add(1)
}

fn cause(blocked: &Blocked) -> Option<(&'static str, &str)> {
    blocked.blockers.first().map(|blocker| (blocker.code.word(), blocker.cluster.as_str()))
}

/// The clusters with attempts for the jobs that would start.
fn with(clusters: &[Cluster], assigned: &[Assign], jobs: &BTreeMap<JobId, &Waiting>) -> Vec<Cluster> {
    let mut clusters = clusters.to_vec();
    for assign in assigned {
        let cluster = clusters.iter_mut().find(|cluster| cluster.id == assign.cluster);
        if let (Some(cluster), Some(job)) = (cluster, jobs.get(&assign.job)) {
            cluster.attempts.push(Held {
                // No attempt has this number, so no pod belongs to it.
                id: AttemptId { job: job.job, number: 0 },
                gang: job.gang.clone(),
                queue: job.queue.clone(),
                usage: assign.usage.clone(),
                spread: job.preferences.spread.clone(),
                assigned_at: job.submitted_at,
                stake: Stake::default(),
                capped: None,
            });
        }
    }
    clusters
}

/// Where the same use would be borrowed to a larger part.
fn claims(before: &BTreeMap<String, Standing>, after: &BTreeMap<String, Standing>) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (queue, standing) in after {
        for ((flavor, resource), line) in &standing.lines {
            let key = (flavor.clone(), *resource);
            let old = before.get(queue).and_then(|standing| standing.lines.get(&key));
            let old = old.and_then(|line| line.borrowed).unwrap_or(0);
            let Some(new) = line.borrowed.filter(|new| *new > old) else { continue };
            let most = if standing.share.is_none() { Some(0) } else { line.borrowing_limit };
            let beyond = most.map_or(0, |most| (new - most).max(0));
            let (queue, flavor) = (queue.clone(), flavor.clone());
            claims.push(Claim { queue, flavor, resource: *resource, before: old, after: new, beyond });
        }
    }
    claims
}

fn pairs(before: BTreeMap<String, Standing>, after: BTreeMap<String, Standing>) -> BTreeMap<String, Pair> {
    let mut pairs = BTreeMap::<String, Pair>::new();
    for (name, standing) in before {
        pairs.entry(name).or_default().before = Some(standing);
    }
    for (name, standing) in after {
        pairs.entry(name).or_default().after = Some(standing);
    }
    pairs.retain(|_, pair| pair.before != pair.after);
    pairs
}
