//! Groups: jobs that are equal to the dispatcher, judged together.
//!
//! Jobs of one queue with the same gang, pin, preferences, priority, expected run time and size of manifest differ by age
//! alone, so only the oldest of them is ever compared, and where it does not fit none of them does.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::{
    dispatch::{
        GangPart, Refusal, Waiting,
        pack::{Charge, Packing},
        quota::{Place, Quotas},
    },
    id::JobId,
    time::Timestamp,
};

/// Equal jobs of one queue, the oldest first.
pub(super) struct Group<'a> {
    pub(super) place: Option<Place>,
    pub(super) jobs: Vec<&'a Waiting>,
    /// The last one behind which others wait that were not read. Jobs behind it are here because of a claim.
    pub(super) edge: Option<(Timestamp, JobId)>,
    /// Jobs before this one were placed.
    pub(super) next: usize,
    /// What is known of each cluster.
    pub(super) looks: Vec<Look>,
    /// Why a cluster refused, with the version of it that did.
    pub(super) refusals: BTreeMap<usize, (u32, Refusal)>,
    /// What the next job would be charged where it goes best.
    pub(super) charge: Option<Charge>,
}

impl<'a> Group<'a> {
    pub(super) fn head(&self) -> Option<&'a Waiting> {
        self.jobs.get(self.next).copied()
    }

    /// Whether the next job is one that was not read.
    pub(super) fn is_spent(&self) -> bool {
        let key = self.head().map(|job| (job.submitted_at, job.job));
        self.edge.is_some_and(|edge| key.is_none_or(|key| key > edge))
    }

    /// Whether the one after the next job is one that was not read.
    pub(super) fn is_at_edge(&self) -> bool {
        let second = self.jobs.get(self.next + 1).map(|job| (job.submitted_at, job.job));
        self.edge.is_some_and(|edge| second.is_none_or(|key| key > edge))
    }

    pub(super) fn waiting(&self) -> &[&'a Waiting] {
        self.jobs.get(self.next..).unwrap_or_default()
    }
}

/// What a group knows of a cluster at a version of it.
#[derive(Clone)]
pub(super) enum Look {
    Unknown,
    TooFull { at: u32 },
    Fits { at: u32, packing: Packing, guaranteed: bool },
}

/// Waiting jobs by what makes them equal to the dispatcher, in a fixed order.
pub(super) fn groups<'a>(waiting: &'a [Waiting], quotas: &Quotas, sites: usize) -> Vec<Group<'a>> {
    let mut by_kind: BTreeMap<_, Vec<&Waiting>> = BTreeMap::new();
    for job in waiting {
        let order = (job.priority, job.expected_ms);
        let key = (job.queue.as_str(), job.pinned, order, job.manifest, &job.preferences, Shape(&job.gang));
        by_kind.entry(key).or_default().push(job);
    }
    let group = |mut jobs: Vec<&'a Waiting>| {
        jobs.sort_by_key(|job| (job.submitted_at, job.job));
        let place = jobs.first().and_then(|job| quotas.limited(&job.queue));
        let looks = vec![Look::Unknown; sites];
        let edge = jobs.iter().find(|job| job.behind > 0).map(|job| (job.submitted_at, job.job));
        Group { place, jobs, edge, next: 0, looks, refusals: BTreeMap::new(), charge: None }
    };
    by_kind.into_values().map(group).collect()
}

/// A gang, ordered so that equal ones are found.
struct Shape<'a>(&'a [GangPart]);

impl Ord for Shape<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |part: &GangPart| {
            let requests = part.requests;
            (part.count, requests.cpu_milli, requests.memory_bytes, requests.gpus)
        };
        let parts = self.0.iter().zip(other.0).map(|(a, b)| {
            key(a).cmp(&key(b)).then_with(|| a.role.cmp(&b.role)).then_with(|| a.wish.cmp(&b.wish))
        });
        self.0.len().cmp(&other.0.len()).then_with(|| parts.fold(Ordering::Equal, Ordering::then))
    }
}

impl PartialOrd for Shape<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Shape<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Shape<'_> {}
