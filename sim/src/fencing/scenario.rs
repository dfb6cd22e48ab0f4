//! Scenario: what a seed means. Everything that is drawn before the first event is drawn here.

use squadron_core::lease::{Policy, Terms};

use crate::{
    fencing::fault::{Fault, Kind},
    rng::Rng,
};

/// Milliseconds of virtual time.
pub type Ms = u64;

/// A job to run.
#[derive(Clone, Copy, Debug)]
pub struct JobPlan {
    pub policy: Policy,
    /// How long its driver works.
    pub works: Ms,
    pub submitted: Ms,
    /// A person cancels it then.
    pub cancelled: Option<Ms>,
    /// It starts anew when a person deleted its object.
    pub retries_removed: bool,
}

/// One run, as drawn from its seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub terms: Terms,
    /// Real clusters; a copy of one may come on top.
    pub clusters: usize,
    pub replicas: usize,
    pub jobs: Vec<JobPlan>,
    pub faults: Vec<Fault>,
    /// Pods of jobs that may start elsewhere carry the watchdog.
    pub watchdog: bool,
    /// Of a thousand messages, so many are lost, and so many come twice.
    pub lost_permille: u64,
    pub twice_permille: u64,
    /// A slow link delays a message by up to this.
    pub slow: Ms,
    /// When the last fault has healed.
    pub healed: Ms,
}

impl Scenario {
    pub fn draw(rng: &mut Rng) -> Scenario {
        let ttl = if rng.below(10) == 0 { 600_000 } else { 60_000 };
        let terms = Terms { ttl, ..Terms::default() };
        let (clusters, replicas) = (2 + pick(rng, 2), 2);
        let jobs = (0..2 + rng.below(3)).map(|_| job(rng, ttl)).collect();
        let faults = draw_faults(rng, &terms, clusters, replicas);
        let healed = faults.iter().map(|fault| fault.until).max().unwrap_or(0);
        Scenario {
            terms,
            clusters,
            replicas,
            jobs,
            faults,
            watchdog: rng.below(2) == 0,
            lost_permille: if rng.below(2) == 0 { 0 } else { rng.below(150) },
            twice_permille: if rng.below(2) == 0 { 0 } else { rng.below(200) },
            slow: if rng.below(4) == 0 { 1_000 + rng.below(3_000) } else { 50 },
            healed,
        }
    }

    /// Whether a fault of this kind was drawn.
    pub fn has(&self, kind: Kind) -> bool {
        self.faults.iter().any(|fault| fault.kind == kind)
    }
}

/// An index below `bound`.
pub fn pick(rng: &mut Rng, bound: usize) -> usize {
    usize::try_from(rng.below(bound as u64)).unwrap_or(0)
}

fn job(rng: &mut Rng, ttl: Ms) -> JobPlan {
    let policy = Policy::ALL[pick(rng, 3)];
    let submitted = rng.below(20_000);
    JobPlan {
        policy,
        works: 30_000 + rng.below(4 * ttl),
        submitted,
        cancelled: (rng.below(8) == 0).then(|| submitted + rng.below(3 * ttl)),
        retries_removed: rng.below(3) == 0,
    }
}

fn draw_faults(rng: &mut Rng, terms: &Terms, clusters: usize, replicas: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    for _ in 0..1 + rng.below(5) {
        let kind = Kind::ALL[pick(rng, Kind::ALL.len())];
        faults.push(fault(rng, kind, terms, clusters, replicas));
        // Troubles seldom come alone: a dead agent behind a cut link is the case that matters most.
        let first = faults[faults.len() - 1];
        let inside =
            !matches!(first.kind, Kind::Cut | Kind::ClockJump | Kind::HumanDeletes | Kind::HumanTakesName);
        if rng.below(if inside { 2 } else { 4 }) == 0 {
            let others =
                [Kind::Cut, Kind::Cut, Kind::BlackHole, Kind::AgentCrash, Kind::ApiDown][pick(rng, 5)];
            let second = if first.kind == Kind::BlackHole { Kind::Cut } else { others };
            let at = first.at + rng.below(10_000);
            let until = (at + lasting(rng, second, terms)).max(first.until);
            faults.push(Fault {
                at,
                until,
                cluster: first.cluster,
                ..fault(rng, second, terms, clusters, replicas)
            });
        }
    }
    faults
}

fn fault(rng: &mut Rng, kind: Kind, terms: &Terms, clusters: usize, replicas: usize) -> Fault {
    let at = 5_000 + rng.below(3 * terms.ttl);
    Fault {
        kind,
        at,
        until: at + lasting(rng, kind, terms),
        cluster: pick(rng, clusters),
        replica: pick(rng, replicas),
        draw: rng.bits(),
    }
}

/// Half of all faults are shorter than a lease, half may be longer.
fn lasting(rng: &mut Rng, kind: Kind, terms: &Terms) -> Ms {
    let most = match kind {
        Kind::ApiDown | Kind::PlaneDown | Kind::PostgresDown if rng.below(2) == 0 => terms.survives(),
        _ if rng.below(2) == 0 => terms.survives(),
        _ => 3 * terms.ttl,
    };
    1_000 + rng.below(most)
}
