//! One pass over new facts: what each joins, begins or ends.

use std::collections::BTreeMap;

use crate::{
    attempt::{is_image_trouble, is_oom_killed},
    fact::{ContainerFact, Fact, KernelSignal},
    incident::{
        Change, EVIDENCE_KEPT, Hit, Known, Opened, Seen, Topology, image, memory, ray_cluster, resolve, xid,
    },
    time::Timestamp,
};

/// Quiet after which an incident without a lasting state is over, in milliseconds.
const QUIET_MS: i64 = 60 * 60 * 1_000;

/// A fact's contribution: where it belongs, and the incident it begins if there is none.
pub(crate) struct Finding {
    pub(crate) opened: Opened,
    /// Whether the fact is enough to begin an incident; if not, it only joins one.
    pub(crate) begins: bool,
    /// Fingerprints of open incidents that it joins rather than begin one of its own, in this order.
    pub(crate) joins: Vec<String>,
}

/// Kinds of the facts that may bear on an incident.
pub const KINDS: [&str; 3] = ["kernel", "pod", "ray_cluster"];

/// Whether a fact could bear on an incident at all; the others need not be judged.
pub fn concerns(fact: &Fact) -> bool {
    KINDS.contains(&fact.kind()) && may_concern(fact)
}

fn may_concern(fact: &Fact) -> bool {
    match fact {
        Fact::Kernel(_) => true,
        Fact::RayCluster(cluster) => cluster.gone,
        Fact::Pod(pod) => pod.attempt.is_some() && pod.containers.iter().any(ends_or_waits_badly),
        _ => false,
    }
}

fn ends_or_waits_badly(container: &ContainerFact) -> bool {
    is_oom_killed(container) || is_image_trouble(container) || container.exit_code == Some(137)
}

/// What to do to the incidents in `known` because of `facts`, and because it is `now`.
pub fn correlate(known: &[Known], facts: &[Seen], topology: &Topology, now: Timestamp) -> Vec<Change> {
    let mut board: BTreeMap<String, Known> = BTreeMap::new();
    for incident in known {
        let newer = |before: &Known| before.resolved.is_none() || ended_at(before) > ended_at(incident);
        if incident.resolved.is_none() || !board.get(&incident.fingerprint).is_some_and(newer) {
            board.insert(incident.fingerprint.clone(), incident.clone());
        }
    }
    let mut changes = Vec::new();
    for seen in facts {
        if let Some(finding) = finding(seen, topology, &board) {
            changes.extend(settle(finding, &mut board));
        }
    }
    let open = board.values().filter(|incident| incident.resolved.is_none());
    changes.extend(open.filter_map(|incident| over(incident, topology, now)));
    changes
}

fn ended_at(incident: &Known) -> Option<Timestamp> {
    incident.resolved.as_ref().map(|resolved| resolved.at)
}

fn finding(seen: &Seen, topology: &Topology, board: &BTreeMap<String, Known>) -> Option<Finding> {
    match &seen.fact {
        Fact::Pod(pod) => memory::of_pod(seen, pod, topology).or_else(|| image::of_pod(seen, pod, topology)),
        Fact::RayCluster(cluster) => ray_cluster::of_ray_cluster(seen, cluster, topology),
        Fact::Kernel(kernel) => match &kernel.signal {
            KernelSignal::Xid { code, pci, pods } => {
                Some(xid::of_line(seen, kernel, &xid::Xid { code: *code, pci, pods }, topology, board))
            }
            KernelSignal::OomKill { pod_uid, process, pid } => {
                Some(memory::of_line(seen, kernel, &memory::Kill { pod_uid, process, pid: *pid }, topology))
            }
        },
        _ => None,
    }
}

/// Puts a finding where it belongs and keeps the board up to date.
fn settle(finding: Finding, board: &mut BTreeMap<String, Known>) -> Option<Change> {
    let own = finding.opened.fingerprint.clone();
    let target = finding
        .joins
        .into_iter()
        .chain([own.clone()])
        .find(|fingerprint| board.get(fingerprint).is_some_and(|incident| incident.resolved.is_none()));
    if let Some(incident) = target.and_then(|fingerprint| board.get_mut(&fingerprint)) {
        return append(finding.opened, incident);
    }
    let before = board.get(&own).and_then(|incident| incident.resolved.clone());
    let is_told = before.as_ref().is_some_and(|resolved| finding.opened.evidence.at <= resolved.at);
    if !finding.begins || is_told {
        return None;
    }
    let mut opened = finding.opened;
    opened.explanation.push_str(&before.as_ref().and_then(resolve::again).unwrap_or_default());
    board.insert(own, as_known(&opened));
    Some(Change::Open(Box::new(opened)))
}

/// One more fact of a known cause. A fact that hits another job is evidence even if its text is known.
fn append(opened: Opened, incident: &mut Known) -> Option<Change> {
    let at = opened.evidence.at;
    let fingerprint = incident.fingerprint.clone();
    let later = at > incident.last_seen_at;
    incident.last_seen_at = incident.last_seen_at.max(at);
    let hits: Vec<Hit> = opened.hits.into_iter().filter(|hit| incident.jobs.insert(hit.job)).collect();
    let is_full = incident.raws.len() >= EVIDENCE_KEPT;
    if hits.is_empty() && (is_full || incident.raws.contains(&opened.evidence.raw)) {
        return later.then_some(Change::Touch { fingerprint, at });
    }
    incident.raws.insert(opened.evidence.raw.clone());
    Some(Change::Append { fingerprint, evidence: opened.evidence, hits })
}

fn as_known(opened: &Opened) -> Known {
    Known {
        fingerprint: opened.fingerprint.clone(),
        node: opened.node.clone(),
        verdict: opened.verdict.clone(),
        last_seen_at: opened.evidence.at,
        resolved: None,
        raws: [opened.evidence.raw.clone()].into(),
        jobs: opened.hits.iter().map(|hit| hit.job).collect(),
    }
}

/// Whether an open incident is over, by its kind.
fn over(incident: &Known, topology: &Topology, now: Timestamp) -> Option<Change> {
    let why = if let Some(attempt) = image::attempt_of(&incident.fingerprint) {
        image::over(attempt, topology)?
    } else if xid::lasts(&incident.verdict) {
        xid::over(incident, topology)?
    } else if now.millis_since(incident.last_seen_at) >= QUIET_MS {
        "nothing of the kind was seen for an hour".to_owned()
    } else {
        return None;
    };
    Some(Change::Resolve { fingerprint: incident.fingerprint.clone(), why })
}
