//! One pass over all waiting jobs and all clusters.

use std::collections::BTreeMap;

use crate::{
    dispatch::{
        Assign, Blocked, Blocker, Cause, Choice, Cluster, Input, Plan, Refusal, Standing, Waiting,
        blockers::{Looked, explain},
        choose::{Candidate, Site, best},
        refused::refused,
        room::Room,
    },
    id::ClusterId,
    sentence::{count, ordinal},
};

/// Places what fits and explains the rest. Same snapshot in any order, same plan.
pub fn plan(input: &Input) -> Plan {
    let mut sites = sites(&input.clusters);
    let mut waiting: Vec<&Waiting> = input.waiting.iter().collect();
    waiting.sort_by_key(|job| (job.submitted_at, job.job));
    let mut assign = Vec::new();
    let mut left: Vec<&Waiting> = Vec::new();
    let mut overtakers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for job in waiting {
        match place(job, &mut sites) {
            Some(assigned) => {
                overtakers.entry(job.queue.as_str()).or_default().push(left.len());
                assign.push(assigned);
            }
            None => left.push(job),
        }
    }
    let blocked = blocked(&left, &sites, &overtakers);
    Plan { assign, blocked }
}

/// A cluster while the pass goes on.
struct Open<'a> {
    cluster: &'a Cluster,
    free: Room,
    attempts: usize,
}

fn sites(clusters: &[Cluster]) -> Vec<Open<'_>> {
    let mut sites: Vec<Open<'_>> = clusters
        .iter()
        .map(|cluster| Open { cluster, free: Room::free(cluster), attempts: cluster.attempts.len() })
        .collect();
    sites.sort_by(|a, b| (&a.cluster.name, a.cluster.id).cmp(&(&b.cluster.name, b.cluster.id)));
    sites
}

fn place(job: &Waiting, sites: &mut [Open<'_>]) -> Option<Assign> {
    let candidates: Vec<Candidate> = sites
        .iter()
        .filter(|site| site.cluster.standing == Standing::Heard)
        .filter(|site| job.pinned.is_none_or(|pin| pin == site.cluster.id))
        .filter_map(|site| {
            let packing = site.free.pack(&job.gang).ok()?;
            let looked = Site { cluster: site.cluster, attempts: site.attempts };
            Some(Candidate::new(&looked, site.free.total(), job, packing))
        })
        .collect();
    let has_room: Vec<ClusterId> = candidates.iter().map(|candidate| candidate.cluster).collect();
    let (chosen, because, ranked) = best(candidates, job)?;
    let choice = Choice::new(ranked, lacking(job, sites, &has_room));
    let site = sites.iter_mut().find(|site| site.cluster.id == chosen.cluster)?;
    site.free = chosen.packing.left;
    site.attempts += 1;
    Some(Assign { job: job.job, cluster: chosen.cluster, because, choice })
}

fn looked<'a>(sites: &'a [Open<'_>]) -> Vec<Looked<'a>> {
    sites.iter().map(|site| Looked { cluster: site.cluster, free: &site.free }).collect()
}

/// What the clusters lack that have no room for the job.
fn lacking(job: &Waiting, sites: &[Open<'_>], has_room: &[ClusterId]) -> Vec<Refusal> {
    refused(job, &looked(sites), |one| has_room.contains(&one.cluster.id))
}

fn blocked(left: &[&Waiting], sites: &[Open<'_>], overtakers: &BTreeMap<&str, Vec<usize>>) -> Vec<Blocked> {
    let looked = looked(sites);
    let mut lengths: BTreeMap<&str, u32> = BTreeMap::new();
    for job in left {
        *lengths.entry(&job.queue).or_default() += 1;
    }
    let mut positions: BTreeMap<&str, u32> = BTreeMap::new();
    left.iter()
        .enumerate()
        .map(|(index, job)| {
            let position = positions.entry(&job.queue).or_default();
            *position += 1;
            let overtaken =
                overtakers.get(job.queue.as_str()).map_or(0, |at| at.iter().filter(|i| **i > index).count())
                    + usize::try_from(job.overtaken).unwrap_or(usize::MAX);
            let blockers = explain(job, &looked);
            let queue_length = lengths.get(job.queue.as_str()).copied().unwrap_or(1);
            let sentence = sentence(job, *position, queue_length, overtaken, &blockers);
            Blocked { job: job.job, position: *position, queue_length, sentence, blockers }
        })
        .collect()
}

/// `queued in research, 2nd of 3: east is full…`.
fn sentence(job: &Waiting, position: u32, length: u32, overtaken: usize, blockers: &[Blocker]) -> String {
    let first = blockers.first().map_or("", |blocker| blocker.sentence.as_str());
    let mut text = format!("queued in {}, {} of {length}: {first}", job.queue, ordinal(position));
    let is_never = |code| matches!(code, Cause::TooBig | Cause::NoCluster | Cause::NoMatchingNode);
    let could_run = !blockers.iter().all(|blocker| is_never(blocker.code));
    if overtaken > 0 && could_run {
        text.push_str(&format!("; {} that came later fitted and went first", count(overtaken, "job")));
    }
    text
}
