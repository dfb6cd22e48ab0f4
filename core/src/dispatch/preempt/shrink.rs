//! Shrink: attempts that lose what they have beyond their gangs, and how they get it back.
//!
//! Invariants: a group keeps its minimum; a cap is raised only while nobody waits for the room that it made, and only as far
//! as pods fit beside all that is kept for others and within the queue's quota. Fails by leaving a cap in force; repaired by the
//! next pass.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    dispatch::{
        Cluster, GangPart, Held, Standing, Waiting,
        plan::Pass,
        preempt::{victims::Victim, words},
        room::Room,
        soft::{self, Cap, Capped, Caps},
    },
    id::{AttemptId, ClusterId},
    sentence::count,
};

/// A cap stands at least so long before it is raised, in milliseconds, so that a group does not breathe with every pass.
const STANDS_MS: i64 = 30_000;
/// Pods by which one group may grow at a time, at most; where so many fit, it may grow as it likes.
const MOST_BACK: u32 = 1_000;

/// Worker groups of an attempt that have to shrink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shrink {
    pub attempt: AttemptId,
    /// All that are in force from now on.
    pub caps: Caps,
    /// How many go.
    pub pods: usize,
    /// A sentence.
    pub because: String,
}

/// Worker groups of an attempt that may grow again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lift {
    pub attempt: AttemptId,
    pub cluster: ClusterId,
    /// Those that stay in force; none if it may be as large as it likes.
    pub caps: Caps,
    /// A sentence.
    pub because: String,
}

/// What a plan takes from attempts that go on.
pub(super) fn of(cluster: &Cluster, job: &Waiting, victims: &[Victim<'_>]) -> Vec<Shrink> {
    let stopped: BTreeSet<AttemptId> =
        victims.iter().filter(|victim| victim.pod.is_none()).map(|victim| victim.held.id).collect();
    let mut goes: BTreeMap<AttemptId, (&Held, BTreeSet<usize>)> = BTreeMap::new();
    for victim in victims.iter().filter(|victim| !stopped.contains(&victim.held.id)) {
        goes.entry(victim.held.id).or_insert((victim.held, BTreeSet::new())).1.extend(victim.pod);
    }
    let shrink = |(attempt, (held, pods)): (AttemptId, (&Held, BTreeSet<usize>))| {
        let caps = soft::tightened(cluster, held, &pods);
        let because = format!("{}: {}", limits(held, &caps), words::shrunk(job));
        Shrink { attempt, caps, pods: pods.len(), because }
    };
    goes.into_iter().map(shrink).collect()
}

/// `worker group gpus may have 2 pods (at least 1)`.
fn limits(held: &Held, caps: &Caps) -> String {
    let each = held.gang.iter().filter_map(|part| {
        let most = usize::try_from(caps.get(&part.role)?.most).unwrap_or(usize::MAX);
        Some(format!("worker group {} may have {} (at least {})", part.role, count(most, "pod"), part.count))
    });
    each.collect::<Vec<_>>().join(", ")
}

impl Pass<'_> {
    /// Caps that room is back for. Call it when everything is placed and all room that has to be made is claimed.
    pub(in crate::dispatch) fn lift_caps(&self) -> Vec<Lift> {
        let kept = self.kept.as_ref().map(|kept| kept.site);
        let mut lifts = Vec::new();
        for (at, site) in self.sites.iter().enumerate() {
            let capped =
                || site.cluster.attempts.iter().filter_map(|held| Some((held, held.capped.as_ref()?)));
            if Some(at) == kept || site.cluster.standing != Standing::Heard || capped().next().is_none() {
                continue;
            }
            let mut room = self.beside(at).unwrap_or_else(|| site.free.clone());
            for (held, capped) in capped() {
                lifts.extend(self.lift(at, held, capped, &mut room));
            }
        }
        lifts
    }

    fn lift(&self, site: usize, held: &Held, capped: &Capped, room: &mut Room) -> Option<Lift> {
        let cluster = self.sites[site].cluster;
        let waits =
            |coming: &crate::dispatch::preempt::Coming<'_>| Some(coming.job.job) == capped.makes_room_for;
        let still_goes = || {
            soft::of(cluster).iter().any(|soft| soft.held.id == held.id && soft.is_leaving(self.input.now))
        };
        let fresh = self.input.now.millis_since(capped.since) < STANDS_MS;
        if fresh || held.stake.asked.is_some() || self.claimed.coming.iter().any(waits) || still_goes() {
            return None;
        }
        let mut caps = capped.caps.clone();
        for part in &held.gang {
            if let (Some(most), Some(cap)) = (part.most, capped.caps.get(&part.role)) {
                match self.raised(site, (held, part), (cap, most), room) {
                    Some(cap) => _ = caps.insert(part.role.clone(), cap),
                    None => _ = caps.remove(&part.role),
                }
            }
        }
        let because = match limits(held, &caps).as_str() {
            "" => {
                format!("{} has room: its worker groups may be as large as they ask for again", cluster.name)
            }
            limits => format!("{} has room: {limits}", cluster.name),
        };
        (caps != capped.caps).then_some(Lift { attempt: held.id, cluster: cluster.id, caps, because })
    }

    /// The cap with what fits into `room` now, which is taken from it; nothing if the group may be as large as it asks for.
    fn raised(
        &self,
        site: usize,
        (held, part): (&Held, &GangPart),
        (cap, most): (&Cap, u32),
        room: &mut Room,
    ) -> Option<Cap> {
        let pods = &self.sites[site].cluster.pods;
        let there = pods.iter().filter(|pod| pod.attempt == Some(held.id) && pod.role == part.role).count();
        let there = u32::try_from(there).unwrap_or(u32::MAX);
        let limits = self.quotas.limits(self.quotas.limited(&held.queue));
        let kinds = &self.sites[site].kinds;
        let packed =
            |count: u32| room.pack_within(kinds, &[GangPart { count, ..part.clone() }], &limits).ok();
        let wanted = most.saturating_sub(there).min(MOST_BACK);
        let (mut low, mut high) = (0, wanted);
        while low < high {
            let middle = high - (high - low) / 2;
            if packed(middle).is_some() { low = middle } else { high = middle - 1 }
        }
        if let Some(packing) = packed(low) {
            *room = packing.left;
        }
        let raised = there.saturating_add(low).max(cap.most);
        (raised < most && low < MOST_BACK).then(|| match raised > cap.most {
            true => Cap { most: raised, leaves: Vec::new() },
            false => cap.clone(),
        })
    }
}
