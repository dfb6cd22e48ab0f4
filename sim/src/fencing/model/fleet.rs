//! Fleet: one state of the small world.

use std::collections::{BTreeMap, BTreeSet};

use squadron_core::{
    id::Epoch,
    lease::{Ears, Fencer, Holder, LeaseObject, Policy, Renewal, Row, Terms, Tick},
};

/// How far the search goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bounds {
    pub policy: Policy,
    /// Units of time.
    pub time: u64,
    /// Beats that each cluster's agent may send.
    pub beats: [u64; 2],
    /// Messages of the cluster are not late; a beat that is lost is one that is not sent.
    pub quick: [bool; 2],
    /// Attempt 1 is offered to cluster 0 and not accepted yet.
    pub offered: bool,
    /// Times that each agent may die.
    pub deaths: [u8; 2],
    /// Times that a leader may stand still, for as long as it takes.
    pub pauses: u8,
    /// Times that the duty may change hands.
    pub takeovers: u8,
    /// Ticks that the clocks of cluster 0 may lose.
    pub slips: u8,
    pub without: Option<Without>,
}

/// A rule that the model leaves out, to see that it would be missed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Without {
    /// R5: attempt 2 comes with suspicion.
    Proof,
    /// R6: no guard.
    Guard,
    /// R6: the lease counts from the acknowledgement.
    Sent,
    /// R5: a grant has no deadline.
    Deadline,
    /// R7: no fencer.
    Fencer,
}

impl Bounds {
    /// Times in units: a lease of 2, a grace of 2, and 1 of drift if clocks may lose a tick. Nobody is late to look at
    /// its clock here, so a poll needs no time.
    pub fn terms(&self) -> Terms {
        let drift_permille = 500 * u64::from(self.slips);
        let terms = Terms {
            ttl: 2,
            heartbeat: 1,
            look: 1,
            suspect_after: 1,
            drift_permille,
            grace: 2,
            poll: 0,
            grant: 1,
        };
        Terms { suspect_after: terms.expiry(), ..terms }
    }
}

/// The containers of an attempt in a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pods {
    Running,
    /// Asked to stop; gone after so many units.
    Stopping(u64),
    Gone,
}

/// From an agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Beat {
    pub cluster: usize,
    pub epoch: Epoch,
    pub number: u64,
    /// The attempt that it is ready to start.
    pub accepts: Option<u32>,
    /// The attempt that it stopped for its lease and that is gone.
    pub fenced: Option<u32>,
    pub created: Option<u32>,
}

/// To an agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Answer {
    pub cluster: usize,
    pub epoch: Epoch,
    pub number: u64,
    pub generation: u32,
    /// The attempt that it should hold, who accepted it, and whether it was created.
    pub wants: Option<(u32, Option<Epoch>, bool)>,
}

/// One cluster: API server, kubelet, fencer and agent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cluster {
    /// Its clocks, which may be late.
    pub clock: u64,
    pub pods: BTreeMap<u32, Pods>,
    pub lease: Option<LeaseObject>,
    pub mark: u64,
    pub fencer: Fencer,
    /// None while the agent is dead.
    pub agent: Option<Holder>,
    pub epoch: u64,
    pub generation: u32,
    pub wants: Option<(u32, Option<Epoch>, bool, u64)>,
    pub beats: u64,
    pub deaths: u8,
}

/// A leader's decision on its way to the database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pending {
    Close { number: u32, renewal: Renewal },
    Assign { cluster: usize },
}

/// One control plane.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Leader {
    pub ears: Ears,
    pub held: Row,
    pub pending: Option<Pending>,
    pub paused: bool,
}

/// Everything.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fleet {
    pub bounds: Bounds,
    pub now: u64,
    pub clusters: [Cluster; 2],
    pub leaders: [Leader; 2],
    pub beats: BTreeSet<Beat>,
    pub answers: BTreeSet<Answer>,
    /// The database: term, renewals, and the newest attempt.
    pub term: Row,
    pub renewals: [Renewal; 2],
    pub number: u32,
    /// Cluster of the newest attempt; none while the job is queued.
    pub placed: Option<usize>,
    pub accepted_by: Option<Epoch>,
    pub created: bool,
    pub generations: [u32; 2],
    pub takeovers: u8,
    pub pauses: u8,
    pub slips: u8,
}

impl Fleet {
    /// Attempt 1 was accepted by agent 0, or only offered; its first renewal was committed; the answer is on its way.
    pub fn new(bounds: Bounds) -> Fleet {
        let renewal = Renewal { epoch: Epoch(1), number: 1, ttl: bounds.terms().ttl };
        let row = Row { term: 1, beat: 0, holder: 1, history: 1 };
        let mut leaders = [Leader::default(), Leader::default()];
        leaders[0].held = row;
        let accepted_by = (!bounds.offered).then_some(Epoch(1));
        let wants = Some((1, accepted_by, false));
        let answer = |cluster, wants| Answer { cluster, epoch: Epoch(1), number: 1, generation: 1, wants };
        let mut clusters = [Cluster::new(&bounds.terms()), Cluster::new(&bounds.terms())];
        for (index, cluster) in clusters.iter_mut().enumerate() {
            cluster.generation = u32::from(bounds.quick[index]);
        }
        Fleet {
            bounds,
            now: 0,
            clusters,
            leaders,
            beats: BTreeSet::new(),
            answers: [answer(0, wants), answer(1, None)].into(),
            term: row,
            renewals: [renewal, renewal],
            number: 1,
            placed: Some(0),
            accepted_by,
            created: false,
            generations: [1, 1],
            takeovers: 0,
            pauses: 0,
            slips: 0,
        }
    }

    pub fn without(&self, rule: Without) -> bool {
        self.bounds.without == Some(rule)
    }

    /// How many attempts have containers.
    pub fn copies(&self) -> usize {
        let pods = self.clusters.iter().flat_map(|cluster| cluster.pods.values());
        pods.filter(|pods| **pods != Pods::Gone).count()
    }

    /// Whether containers of attempt `number` run somewhere.
    pub fn runs(&self, number: u32) -> bool {
        self.clusters.iter().any(|cluster| cluster.pods.get(&number) == Some(&Pods::Running))
    }
}

impl Cluster {
    fn new(terms: &Terms) -> Cluster {
        let mut agent = Holder::new(Epoch(1));
        agent.send(Tick(0));
        let mut fencer = Fencer::new(terms, Tick(0));
        let mark = fencer.mark(Tick(0));
        Cluster {
            clock: 0,
            pods: BTreeMap::new(),
            lease: None,
            mark,
            fencer,
            agent: Some(agent),
            epoch: 1,
            generation: 0,
            wants: None,
            beats: 0,
            deaths: 0,
        }
    }
}
