//! Policy: what the event loop asks of whoever decides, and the names a person may ask for.

use squadron_core::dispatch::book::{Part, Terms};

use crate::{
    replay::{
        input::{Fleet, Trace},
        live::Live,
        peers::{Fifo, Hash, MultiKueue},
        squadron::Squadron,
    },
    rng::Rng,
};

/// Milliseconds since the start of the trace.
pub type Millis = u64;

/// A job that a policy starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Index into the trace.
    pub job: usize,
    /// Index into the fleet.
    pub site: usize,
    pub parts: Vec<Part>,
    pub reason: String,
}

/// Whoever decides. It never learns a duration before the job has ended, unless it is an oracle.
pub trait Policy {
    /// False if the job can never run on this fleet.
    fn arrive(&mut self, job: usize, now: Millis) -> bool;
    fn end(&mut self, job: usize, now: Millis);
    fn decide(&mut self, now: Millis) -> Vec<Placed>;
    /// Running jobs that it stops to make room, as indices into the trace. Their room stays taken until [`Policy::stopped`].
    fn stop(&mut self, _: Millis) -> Vec<usize> {
        Vec::new()
    }
    /// A job that it stopped is gone, has lost its work, and waits again.
    fn stopped(&mut self, _: usize, _: Millis) {}
    /// When it wants to decide again although nothing happened.
    fn wake(&self, now: Millis) -> Option<Millis>;
}

/// Names of policies, with what they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PolicyName {
    /// The decider of `squadron_core::dispatch::book`.
    Default,
    /// The same, told every duration when the job is submitted.
    Oracle,
    /// The plan that the control plane's dispatcher carries out.
    Live,
    /// Model: manager quota is the fleet's sum, all clusters race for each admitted job.
    MultiKueueAllAtOnce,
    /// Model: the same, three more clusters every five minutes.
    MultiKueueIncremental,
    /// Model: one queue in the order of submission, best fit, smaller jobs may pass.
    FifoBestFit,
    /// Model: a job's id chooses its cluster by capacity; each cluster works alone.
    StaticHash,
}

impl PolicyName {
    pub const ALL: [(PolicyName, &'static str); 7] = [
        (PolicyName::Default, "default"),
        (PolicyName::Oracle, "oracle"),
        (PolicyName::Live, "live"),
        (PolicyName::MultiKueueAllAtOnce, "multikueue-all-at-once"),
        (PolicyName::MultiKueueIncremental, "multikueue-incremental"),
        (PolicyName::FifoBestFit, "fifo-best-fit"),
        (PolicyName::StaticHash, "static-hash"),
    ];

    pub fn text(self) -> &'static str {
        PolicyName::ALL.iter().find(|(name, _)| *name == self).map_or("", |(_, text)| text)
    }

    /// Whether it stands for another system, as a model of its published rules.
    pub fn is_model(self) -> bool {
        !matches!(self, PolicyName::Default | PolicyName::Oracle | PolicyName::Live)
    }
}

impl std::str::FromStr for PolicyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = PolicyName::ALL.iter().find(|(_, known)| *known == text).map(|(name, _)| *name);
        let names: Vec<&str> = PolicyName::ALL.iter().map(|(_, known)| *known).collect();
        found.ok_or_else(|| format!("there is no policy {text:?}; there are {}", names.join(", ")))
    }
}

/// What a replay runs on.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    pub trace: &'a Trace,
    pub fleet: &'a Fleet,
    pub policy: PolicyName,
    /// Decides only what the policy leaves to chance.
    pub seed: u64,
    pub terms: Terms,
}

pub(super) fn make<'a>(setting: &Setting<'a>) -> Box<dyn Policy + 'a> {
    let Setting { trace, fleet, policy, seed, terms } = *setting;
    match policy {
        PolicyName::Default => Box::new(Squadron::new(trace, fleet, terms, false)),
        PolicyName::Oracle => Box::new(Squadron::new(trace, fleet, terms, true)),
        PolicyName::Live => Box::new(Live::new(trace, fleet)),
        PolicyName::MultiKueueAllAtOnce => {
            Box::new(MultiKueue::new(trace, fleet, Rng::new(seed), usize::MAX))
        }
        PolicyName::MultiKueueIncremental => Box::new(MultiKueue::new(trace, fleet, Rng::new(seed), 3)),
        PolicyName::FifoBestFit => Box::new(Fifo::new(trace, fleet)),
        PolicyName::StaticHash => Box::new(Hash::new(trace, fleet)),
    }
}
