//! Claims: room that is being made, and that is the beneficiary's once it is there.
//!
//! Claims are honoured in the order in which others were asked to stop, before anything else is placed. One whose victims are gone
//! starts beside what is kept for those before it. While they still leave, what comes free is
//! kept: others may take only what they could have beside the beneficiary on paper. So it is while other room that the plan
//! counted still leaves. Invariant: a job with a claim starts there or not at all, so what was stopped for it was not stopped
//! in vain; a claim is dropped when it cannot be honoured with all that leaves gone, or when it has waited too long.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        Cluster, Held, Waiting,
        group::Look,
        pack::{Charge, Packing},
        plan::Pass,
        preempt::{Claim, Making, STUCK_AFTER_MS, Stop, paper::Paper, search::Plan, shrink, words},
        quota::Place,
        room::Room,
        soft::{self, Holder, Soft},
    },
    id::{AttemptId, JobId},
    time::Timestamp,
};

/// What claims keep while a pass goes on.
#[derive(Default)]
pub(in crate::dispatch) struct Claimed<'a> {
    /// What others may have on a cluster, by its place among the pass's clusters.
    pub(in crate::dispatch) beside: BTreeMap<usize, Room>,
    pub(in crate::dispatch) coming: Vec<Coming<'a>>,
    /// Jobs whose claims do not hold any more.
    pub(in crate::dispatch) dropped: Vec<JobId>,
    /// Jobs that have not missed enough yet for others to be stopped.
    pub(in crate::dispatch) early: BTreeSet<JobId>,
    /// Jobs for which nobody was found within the steps of the pass.
    pub(in crate::dispatch) cut: BTreeSet<JobId>,
}

/// A job whose room is being made.
pub(in crate::dispatch) struct Coming<'a> {
    pub(in crate::dispatch) job: &'a Waiting,
    pub(in crate::dispatch) site: usize,
    /// Jobs that stop, and what goes of others, as a sentence tells them.
    pub(in crate::dispatch) leaving: Vec<String>,
    pub(in crate::dispatch) asked_at: Timestamp,
    /// What is kept of its queue's quota in the pass.
    kept: Option<(Place, Charge)>,
}

impl<'a> Pass<'a> {
    /// Starts those whose room is there, and keeps what the others wait for. Call it before anything is placed.
    pub(in crate::dispatch) fn honour_claims(&mut self) {
        let mut claims = self.input.claims.clone();
        claims.sort_by_key(|claim| (claim.since, claim.job));
        let mut paper = None;
        for claim in claims {
            if self.leaving(&claim).is_empty() && self.honour(&claim, paper.as_mut()) {
                continue;
            }
            let paper = paper.get_or_insert_with(|| Paper::new(self));
            if !self.keep_room(&claim, paper) {
                self.claimed.dropped.push(claim.job);
            }
        }
    }

    /// What of the claim's cluster still makes room for its job.
    fn leaving(&self, claim: &Claim) -> Vec<Leaver> {
        let Some(cluster) = self.input.clusters.iter().find(|cluster| cluster.id == claim.cluster) else {
            return Vec::new();
        };
        let stops =
            |held: &Held| held.stake.asked.is_some_and(|asked| asked.makes_room_for == Some(claim.job));
        let shrinks =
            |held: &Held| held.capped.as_ref().is_some_and(|capped| capped.makes_room_for == Some(claim.job));
        leavers(cluster, stops, |soft| soft.named && shrinks(soft.held))
    }

    /// Everything of a cluster whose room is about to come free.
    fn all_leaving(&self, site: usize) -> Vec<Leaver> {
        let now = self.input.now;
        leavers(self.sites[site].cluster, |held| held.stake.is_leaving(now), |soft| soft.is_leaving(now))
    }

    /// Group of a claim's job, its place there, and the cluster, if the job may go there.
    fn find(&self, claim: &Claim) -> Option<(usize, usize, usize)> {
        let (group, at) = self.groups.iter().enumerate().find_map(|(index, group)| {
            let at = group.waiting().iter().position(|job| job.job == claim.job)?;
            Some((index, group.next + at))
        })?;
        let job = self.groups[group].jobs[at];
        let site = self.sites.iter().position(|site| site.cluster.id == claim.cluster && site.takes(job))?;
        Some((group, at, site))
    }

    /// Starts the job beside what is kept on paper.
    fn honour(&mut self, claim: &Claim, paper: Option<&mut Paper<'a>>) -> bool {
        let Some((group, at, site)) = self.find(claim) else { return false };
        if let Some(head) = self.groups[group].head() {
            self.turns.leave(head, group);
        }
        let jobs = &mut self.groups[group].jobs;
        let job = jobs.remove(at);
        let next = self.groups[group].next;
        self.groups[group].jobs.insert(next, job);
        self.turns.join(job, group, self.groups[group].place);
        let starts = self.place_there(group, site);
        if let (true, Some(paper), Look::Fits { packing, .. }) =
            (starts, paper, &self.groups[group].looks[site])
        {
            paper.placed(site, self.groups[group].place, &job.queue, &packing.charge);
        }
        starts
    }

    fn keep_room(&mut self, claim: &Claim, paper: &mut Paper<'a>) -> bool {
        if self.input.now.millis_since(claim.since) >= STUCK_AFTER_MS {
            return false;
        }
        let Some((group, at, site)) = self.find(claim) else { return false };
        let (job, place) = (self.groups[group].jobs[at], self.groups[group].place);
        let limits = paper.quotas.limits(place);
        let room = paper.room(self, site);
        let Ok(packing) = self.sites[site].pack(&room, job, &limits, self.prices()) else { return false };
        paper.promise(self, site, &BTreeSet::new(), &packing);
        let mut leaving = self.leaving(claim);
        if leaving.is_empty() {
            leaving = self.all_leaving(site);
        }
        let asked = leaving.iter().filter_map(|leaver| leaver.asked_at);
        let asked_at = asked.max().unwrap_or(claim.since);
        let leaving = leaving.into_iter().map(|leaver| leaver.name).collect();
        if let Some(place) = place {
            paper.quotas.take(place, &job.queue, &packing.charge);
            self.quotas.take(place, &job.queue, &packing.charge);
        }
        self.claimed.beside.insert(site, packing.left);
        let kept = place.map(|place| (place, packing.charge));
        self.take_out(group, at);
        self.claimed.coming.push(Coming { job, site, leaving, asked_at, kept });
        true
    }

    /// The job is not looked at any more in this pass.
    fn take_out(&mut self, group: usize, at: usize) {
        if let Some(head) = self.groups[group].head() {
            self.turns.leave(head, group);
        }
        self.groups[group].jobs.remove(at);
        if let Some(head) = self.groups[group].head() {
            self.turns.join(head, group, self.groups[group].place);
        }
    }

    /// Ends the hold on quota of those whose room is being made, so that others can be told what is really used.
    pub(in crate::dispatch) fn release_claimed_quota(&mut self) {
        for coming in &mut self.claimed.coming {
            if let Some((place, charge)) = coming.kept.take() {
                self.quotas.give_back(place, &coming.job.queue, &charge);
            }
        }
    }

    /// A plan is as good as done: the next ones come after it.
    pub(super) fn claim(&mut self, group: usize, plan: Plan<'a>, paper: &mut Paper<'a>) -> Option<Making> {
        let job = self.groups[group].head()?;
        let gone: BTreeSet<Holder> = plan.victims.iter().flat_map(|victim| &victim.parts).copied().collect();
        for victim in &plan.victims {
            if let Some(place) = victim.place {
                paper.quotas.give_back(place, &victim.held.queue, &victim.charge);
            }
        }
        if let Some(place) = self.groups[group].place {
            paper.quotas.take(place, &job.queue, &plan.packing.charge);
        }
        paper.promise(self, plan.site, &gone, &plan.packing);
        let Packing { left, .. } = plan.packing;
        self.claimed.beside.insert(plan.site, left);
        let cluster = self.sites[plan.site].cluster;
        let stopped = plan.victims.iter().filter(|victim| victim.pod.is_none());
        let stops: Vec<Stop> = stopped
            .map(|victim| Stop {
                attempt: victim.held.id,
                kind: victim.kind,
                because: words::stopped(job, victim),
                lost: victim.lost,
            })
            .collect();
        let shrinks = shrink::of(cluster, job, &plan.victims);
        let mut leaving: Vec<String> = stops.iter().map(|stop| name(cluster, stop.attempt)).collect();
        leaving.extend(shrinks.iter().map(|one| words::pods(one.pods, &name(cluster, one.attempt))));
        let because = words::makes_room(job, &cluster.name, (&plan.victims, plan.unseen), self.input.now);
        self.keep_no_more(group);
        self.take_out(group, self.groups[group].next);
        let asked_at = self.input.now;
        self.claimed.coming.push(Coming { job, site: plan.site, leaving, asked_at, kept: None });
        Some(Making { job: job.job, cluster: cluster.id, because, stops, shrinks })
    }
}

/// Something that makes room.
struct Leaver {
    /// As a sentence tells it.
    name: String,
    asked_at: Option<Timestamp>,
}

fn leavers(
    cluster: &Cluster,
    stops: impl Fn(&Held) -> bool,
    shrinks: impl Fn(&Soft<'_>) -> bool,
) -> Vec<Leaver> {
    let all = cluster.attempts.iter().chain(&cluster.leaving).filter(|held| stops(held));
    let mut leavers: Vec<Leaver> = all
        .map(|held| Leaver {
            name: held.stake.name.clone(),
            asked_at: held.stake.asked.map(|asked| asked.at),
        })
        .collect();
    let mut shrunk: BTreeMap<AttemptId, (&Held, usize)> = BTreeMap::new();
    for soft in soft::of(cluster).iter().filter(|soft| shrinks(soft) && !stops(soft.held)) {
        shrunk.entry(soft.held.id).or_insert((soft.held, 0)).1 += 1;
    }
    leavers.extend(shrunk.into_values().map(|(held, pods)| Leaver {
        name: words::pods(pods, &held.stake.name),
        asked_at: held.capped.as_ref().map(|capped| capped.since),
    }));
    leavers
}

fn name(cluster: &Cluster, attempt: AttemptId) -> String {
    let held = cluster.attempts.iter().find(|held| held.id == attempt);
    held.map_or_else(String::new, |held| held.stake.name.clone())
}
