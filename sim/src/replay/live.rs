//! Live: plays the part of the database for the dispatcher that really runs, and hands its plans to a replay.
//!
//! Owns no rule. Every decision is a snapshot with the oldest jobs of each class and what the dispatcher makes of it
//! ([`moves`]), as in the control plane; where that read too few, the next follows. A pool of a cluster is one node, because how
//! gangs lie on nodes is not modelled for the peers either; its GPUs are counted in thousandths. Teams are queues with equal
//! guarantees that together are the fleet, and may have borrowers stopped.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    desired,
    dispatch::{
        Assign, Claim, Cluster, GangPart, Held, Input, Making, Node, Stake, Standing, Waiting,
        book::Part,
        gang_total,
        lately::Lately,
        moves,
        predict::{History, Kind, Prediction, about, outlasting},
        preempt::{Asked, Terms},
    },
    id::{AttemptId, ClusterId, JobId},
    placement::{Face, NodeWish, Requirement},
    preference::Preferences,
    quota::{Flavor, ORDINARY, Policy as Declared, Preemption, Queue, Quota, Reclaim, Resource, Within},
    resources::Resources,
    time::Timestamp,
};
use uuid::Uuid;

use crate::replay::{
    input::{Fleet, Job, Pool, Site, Trace},
    policy::{Millis, Placed, Policy},
    world::{milli, milli_of},
};

/// Time between two looks at a line in which nothing happens.
const LOOKS_EVERY: Millis = 600_000;
/// Jobs of a class that one snapshot has, besides those with a claim.
const READ: usize = 4;
/// The label of nodes that names their model.
const MODEL: &str = "gpu-model";

/// What makes jobs equal to the dispatcher: team, GPUs, thousandths of one, models, and how long they ran before they were stopped.
type Class<'a> = (usize, u32, i64, &'a [String], Millis);

pub(super) struct Live<'a> {
    trace: &'a Trace,
    fleet: &'a Fleet,
    /// Without the jobs that wait.
    input: Input,
    /// Waiting jobs, the oldest first.
    classes: BTreeMap<Class<'a>, BTreeSet<(Millis, usize)>>,
    /// Attempts of each job that were stopped for others.
    stops: BTreeMap<usize, u32>,
    /// Jobs to be stopped, not yet told to the replay.
    stopping: Vec<usize>,
    /// How long jobs ran at least before they were stopped, as a power of two.
    ran: BTreeMap<usize, Millis>,
    history: History,
    /// What was said of jobs that run.
    said: BTreeMap<usize, (Millis, Prediction)>,
}

impl<'a> Live<'a> {
    pub(super) fn new(trace: &'a Trace, fleet: &'a Fleet) -> Self {
        let sites = (1..).zip(&fleet.sites);
        let input = Input {
            clusters: sites.map(|(number, site)| cluster(number, site)).collect(),
            policy: declared(trace, fleet),
            terms: Terms::default(),
            ..Input::default()
        };
        Live {
            trace,
            fleet,
            input,
            classes: BTreeMap::new(),
            stops: BTreeMap::new(),
            stopping: Vec::new(),
            ran: BTreeMap::new(),
            history: History::default(),
            said: BTreeMap::new(),
        }
    }

    fn class(&self, job: usize) -> Class<'a> {
        let known = &self.trace.jobs[job];
        (known.team, known.gpus, milli_of(known), &known.models, self.ran.get(&job).copied().unwrap_or(0))
    }

    fn queue_up(&mut self, job: usize) {
        let submitted = self.trace.jobs[job].submit_ms;
        self.classes.entry(self.class(job)).or_default().insert((submitted, job));
    }

    fn leave_line(&mut self, job: usize) {
        let class = self.class(job);
        if let Some(line) = self.classes.get_mut(&class) {
            line.remove(&(self.trace.jobs[job].submit_ms, job));
            if line.is_empty() {
                self.classes.remove(&class);
            }
        }
    }

    /// Of each class the oldest, and those with a claim.
    fn heads(&self) -> Vec<Waiting> {
        let mut heads = Vec::new();
        for line in self.classes.values() {
            heads.extend(line.iter().take(READ).map(|(_, job)| self.waiting(*job)));
            if let Some(last) = heads.last_mut() {
                last.behind = u32::try_from(line.len().saturating_sub(READ)).unwrap_or(u32::MAX);
            }
        }
        let known: BTreeSet<JobId> = heads.iter().map(|job| job.job).collect();
        let claimed = self.input.claims.iter().filter(|claim| !known.contains(&claim.job));
        heads.extend(claimed.map(|claim| self.waiting(index(claim.job))));
        heads
    }

    fn kind(&self, job: usize) -> Kind {
        Kind { tenant: self.trace.jobs[job].team, gpus: self.trace.jobs[job].gpus }
    }

    /// Nothing is expected before anything ended. One that was stopped has shown that it runs long.
    fn expected(&self, job: usize) -> Option<Millis> {
        let least = self.ran.get(&job).map_or(0, |ran| outlasting(*ran));
        self.history.expected(self.kind(job)).map(|known| known.max(least))
    }

    fn waiting(&self, index: usize) -> Waiting {
        let job = &self.trace.jobs[index];
        Waiting {
            job: id(index),
            name: job.id.clone(),
            queue: self.trace.teams[job.team].clone(),
            submitted_at: time(job.submit_ms),
            gang: gang(job),
            pinned: None,
            preferences: Preferences::default(),
            priority: 0,
            manifest: 0,
            program: String::new(),
            expected_ms: self.expected(index),
            behind: 0,
        }
    }

    /// The job leaves the line and holds its room.
    fn start(&mut self, assign: &Assign, now: Millis) -> Option<Placed> {
        let site = self.input.clusters.iter().position(|cluster| cluster.id == assign.cluster)?;
        let job = index(assign.job);
        let waits = self.waiting(job);
        self.leave_line(job);
        self.input.claims.retain(|claim| claim.job != assign.job);
        let stops = self.stops.get(&job).copied().unwrap_or(0);
        let stake = Stake {
            name: waits.name,
            submitted_at: waits.submitted_at,
            began: Some(time(now)),
            expected_ms: waits.expected_ms,
            stops,
            ..Stake::default()
        };
        self.input.clusters[site].attempts.push(Held {
            id: AttemptId { job: assign.job, number: stops + 1 },
            gang: waits.gang,
            queue: waits.queue,
            usage: assign.usage.clone(),
            spread: String::new(),
            assigned_at: time(now),
            stake,
            capped: None,
        });
        self.said.insert(job, (now, self.history.predict(self.kind(job))));
        let parts = parts(&self.fleet.sites[site], assign);
        Some(Placed { job, site, parts, reason: assign.because.clone() })
    }

    /// Others are asked to stop for a job, which has a claim from now on.
    fn make(&mut self, making: &Making, now: Millis) {
        let asked = Some(Asked { at: time(now), makes_room_for: Some(making.job) });
        self.input.claims.push(Claim { job: making.job, cluster: making.cluster, since: time(now) });
        for stop in &making.stops {
            let attempts = self.input.clusters.iter_mut().flat_map(|cluster| &mut cluster.attempts);
            if let Some(held) = attempts.into_iter().find(|held| held.id == stop.attempt) {
                held.stake.asked = asked;
                self.stopping.push(index(held.id.job));
            }
        }
    }

    /// Its room is free, and its queue has used it. Flavors of a trace are all ordinary.
    fn leave(&mut self, job: usize, now: Millis) {
        let (id, now) = (id(job), time(now));
        for cluster in &mut self.input.clusters {
            let Some(at) = cluster.attempts.iter().position(|held| held.id.job == id) else { continue };
            let held = cluster.attempts.swap_remove(at);
            let used = self.input.lately.entry(held.queue).or_insert(Lately::none(now));
            *used = used.seen(now).with(gang_total(&held.gang), ORDINARY, held.assigned_at, now);
        }
    }
}

impl Policy for Live<'_> {
    fn arrive(&mut self, job: usize, _: Millis) -> bool {
        let known = &self.trace.jobs[job];
        let fits = self.fleet.sites.iter().any(|site| {
            let usable = |pool: &&Pool| known.models.is_empty() || known.models.contains(&pool.model);
            site.pools.iter().filter(usable).any(|pool| milli_of(known) <= milli(pool.gpus()))
        });
        if fits {
            self.queue_up(job);
        }
        fits
    }

    fn end(&mut self, job: usize, now: Millis) {
        self.leave(job, now);
        self.stops.remove(&job);
        self.ran.remove(&job);
        if let Some((since, said)) = self.said.remove(&job) {
            self.history.ended(self.kind(job), now.saturating_sub(since), said);
        }
    }

    fn decide(&mut self, now: Millis) -> Vec<Placed> {
        self.input.now = time(now);
        let mut placed = Vec::new();
        while !self.classes.is_empty() {
            self.input.waiting = self.heads();
            let plan = moves(&self.input);
            self.input.owed.clone_from(&plan.owed);
            self.input.claims.retain(|claim| !plan.dropped.contains(&claim.job));
            placed.extend(plan.assign.iter().filter_map(|assign| self.start(assign, now)));
            plan.making.iter().for_each(|making| self.make(making, now));
            if !plan.cut {
                break;
            }
        }
        placed
    }

    fn stop(&mut self, _: Millis) -> Vec<usize> {
        std::mem::take(&mut self.stopping)
    }

    fn stopped(&mut self, job: usize, now: Millis) {
        self.leave(job, now);
        *self.stops.entry(job).or_default() += 1;
        if let Some((since, _)) = self.said.remove(&job) {
            let ran = about(now.saturating_sub(since));
            self.ran.entry(job).and_modify(|known| *known = ran.max(*known)).or_insert(ran);
        }
        self.queue_up(job);
    }

    /// Claims wait for what leaves, protected times end, and jobs come to starve.
    fn wake(&self, now: Millis) -> Option<Millis> {
        (!self.classes.is_empty()).then(|| now.saturating_add(LOOKS_EVERY))
    }
}

/// All teams below one root; each is guaranteed an equal part of every model.
fn declared(trace: &Trace, fleet: &Fleet) -> Declared {
    let mut models: BTreeMap<&str, i64> = BTreeMap::new();
    for pool in fleet.sites.iter().flat_map(|site| &site.pools) {
        *models.entry(&pool.model).or_default() += milli(pool.gpus());
    }
    let teams = i64::try_from(trace.teams.len().max(1)).unwrap_or(i64::MAX);
    let flavor = |name: &&str| {
        let named = Flavor { name: (*name).into(), ..Flavor::default() };
        Flavor { node_labels: labels(name), ..named }
    };
    let part = |(model, total): (&&str, &i64)| {
        let quota = Quota { nominal: total / teams, ..Quota::default() };
        ((*model).to_owned(), [(Resource::Gpu, quota)].into())
    };
    let queue = |name: &str, parent: Option<String>| Queue {
        name: name.to_owned(),
        parent,
        weight: 1_000,
        quotas: BTreeMap::new(),
        preemption: Some(Preemption { within: Within::Never, reclaim: Reclaim::Any }),
    };
    let taken: BTreeSet<&String> = trace.teams.iter().collect();
    let root = (0..=taken.len()).map(|number| format!("fleet-{number}")).find(|name| !taken.contains(name));
    let root = root.unwrap_or_default();
    let teams = trace
        .teams
        .iter()
        .map(|team| Queue { quotas: models.iter().map(part).collect(), ..queue(team, Some(root.clone())) });
    let queues = std::iter::once(queue(&root, None)).chain(teams).collect();
    Declared { flavors: models.keys().map(flavor).collect(), queues, ..Declared::default() }
}

fn labels(model: &str) -> BTreeMap<String, String> {
    [(MODEL.to_owned(), model.to_owned())].into()
}

fn cluster(number: u128, site: &Site) -> Cluster {
    let node = |(at, pool): (usize, &Pool)| Node {
        name: format!("pool-{at:03}"),
        usable: true,
        allocatable: Resources { gpus: milli(pool.gpus()), ..Resources::default() },
        face: Face { labels: labels(&pool.model), ..Face::default() },
    };
    Cluster {
        id: ClusterId(Uuid::from_u128(number)),
        name: site.name.clone(),
        standing: Standing::Heard,
        labels: BTreeMap::new(),
        nodes: site.pools.iter().enumerate().map(node).collect(),
        pods: Vec::new(),
        attempts: Vec::new(),
        leaving: Vec::new(),
        set: desired::Size::default(),
    }
}

/// One pod, because gangs are counted and not laid out.
fn gang(job: &Job) -> Vec<GangPart> {
    let one_of = |models: &[String]| {
        let operator = "In".to_owned();
        vec![vec![Requirement { key: MODEL.to_owned(), operator, values: models.to_vec() }]]
    };
    let affinity = if job.models.is_empty() { Vec::new() } else { one_of(&job.models) };
    let wish = NodeWish { affinity, ..NodeWish::default() };
    let requests = Resources { gpus: milli_of(job), ..Resources::default() };
    vec![GangPart { role: "workers".to_owned(), count: 1, requests, wish, ..GangPart::default() }]
}

/// The pool is the one of the flavor that was charged.
fn parts(site: &Site, assign: &Assign) -> Vec<Part> {
    let charged = assign.usage.iter().filter(|(_, amount)| amount.gpus > 0);
    let part = |(model, amount): (&String, &Resources)| {
        let pool = site.pools.iter().position(|pool| pool.model == *model)?;
        Some(Part { pool, milli: amount.gpus })
    };
    charged.filter_map(part).collect()
}

fn id(job: usize) -> JobId {
    JobId(Uuid::from_u128(job as u128 + 1))
}

fn index(job: JobId) -> usize {
    usize::try_from(job.0.as_u128().saturating_sub(1)).unwrap_or(usize::MAX)
}

fn time(millis: Millis) -> Timestamp {
    Timestamp(0).plus_millis(i64::try_from(millis).unwrap_or(i64::MAX / 1_000))
}
