//! Incidents: turns facts that have one cause into one verdict with its evidence.
//!
//! Owns causes, their fingerprints and when an incident is over. Invariants: a fact joins at most one incident; facts
//! with the same fingerprint are one incident while it is open; the same word told again adds no evidence; a verdict
//! says how sure it is of every job it names. Fails towards separate incidents: when in doubt, two. Repaired by the next
//! facts, or by the quiet after which an event without a lasting state is over.

mod correlate;
mod image;
mod memory;
mod ray_cluster;
pub mod resolve;
#[cfg(test)]
mod tests;
mod xid;
mod xid_table;

use std::collections::{BTreeMap, BTreeSet};

pub use crate::incident::{
    correlate::{KINDS, concerns, correlate},
    resolve::Resolved,
};
use crate::{
    fact::Fact,
    id::{AttemptId, JobId},
    resources::Resources,
    time::Timestamp,
};

/// Pieces of evidence that an incident keeps; later ones only move its last sight.
pub const EVIDENCE_KEPT: usize = 20;

/// A fact with its number and the time it was observed.
#[derive(Clone, Debug)]
pub struct Seen {
    pub epoch: u64,
    pub seq: u64,
    pub at: Timestamp,
    pub fact: Fact,
}

/// An incident of the cluster that is open or was resolved lately.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    pub fingerprint: String,
    pub node: String,
    pub verdict: String,
    pub last_seen_at: Timestamp,
    /// None while it is open.
    pub resolved: Option<Resolved>,
    /// Raw texts of its evidence.
    pub raws: BTreeSet<String>,
    /// Jobs that it is known to have hit.
    pub jobs: BTreeSet<JobId>,
}

/// What runs where in the cluster, as far as it bears on the facts.
#[derive(Clone, Default, Debug)]
pub struct Topology {
    /// By uid.
    pub pods: BTreeMap<String, PodPlace>,
    pub attempts: BTreeMap<AttemptId, AttemptPlace>,
    /// Names of the nodes that exist.
    pub nodes: BTreeSet<String>,
}

#[derive(Clone, Default, Debug)]
pub struct PodPlace {
    pub namespace: String,
    pub name: String,
    pub node: String,
    /// `head`, `worker`, `submitter` or empty.
    pub role: String,
    pub requests: Resources,
    pub attempt: Option<AttemptId>,
    pub bound_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// A container of it waits for an image that cannot be pulled.
    pub image_trouble: bool,
}

#[derive(Clone, Default, Debug)]
pub struct AttemptPlace {
    pub job_name: String,
    /// The reason that the job carries now.
    pub reason: String,
    pub ended_at: Option<Timestamp>,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    Info,
    Warning,
    Critical,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// One fact behind a verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    pub epoch: u64,
    pub seq: u64,
    pub at: Timestamp,
    pub sentence: String,
    /// The line or message as it stood, bounded.
    pub raw: String,
}

/// A job that an incident hit, and how sure that is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    pub job: JobId,
    pub because: String,
}

/// An incident that begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opened {
    pub fingerprint: String,
    pub verdict: String,
    pub severity: Severity,
    pub title: String,
    /// Why these facts are one incident.
    pub explanation: String,
    pub next_step: String,
    pub node: String,
    pub evidence: Evidence,
    pub hits: Vec<Hit>,
}

/// What is to be done to the incidents of a cluster, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    Open(Box<Opened>),
    /// One more fact of the same cause.
    Append {
        fingerprint: String,
        evidence: Evidence,
        hits: Vec<Hit>,
    },
    /// Nothing new but the time.
    Touch {
        fingerprint: String,
        at: Timestamp,
    },
    Resolve {
        fingerprint: String,
        why: String,
    },
}

impl Topology {
    /// Pods that held room on `node` at `at`.
    fn pods_on<'a>(&'a self, node: &'a str, at: Timestamp) -> impl Iterator<Item = &'a PodPlace> {
        self.pods.values().filter(move |pod| {
            pod.node == node
                && pod.bound_at.is_none_or(|bound| bound <= at)
                && pod.finished_at.is_none_or(|finished| finished > at)
        })
    }

    /// A pod by its uid, or by `namespace/name`.
    fn pod(&self, id: &str) -> Option<&PodPlace> {
        self.pods.get(id).or_else(|| {
            let (namespace, name) = id.split_once('/')?;
            self.pods.values().find(|pod| pod.namespace == namespace && pod.name == name)
        })
    }

    fn job_name(&self, attempt: AttemptId) -> String {
        self.attempts.get(&attempt).map_or_else(|| attempt.job.to_string(), |place| place.job_name.clone())
    }
}
