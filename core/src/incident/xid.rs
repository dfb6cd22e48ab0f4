//! NVIDIA driver errors (Xid): one incident per node, device and code, and the jobs that the device served.
//!
//! Codes 45 and 154 tell of a consequence: they join what happened to the same device within the last minute.

use std::collections::BTreeMap;

use crate::{
    fact::KernelFact,
    incident::{
        Evidence, Hit, Known, Opened, PodPlace, Seen, Topology,
        correlate::Finding,
        xid_table::{Class, lookup},
    },
    sentence::clip,
    time::Timestamp,
};

/// How long after an error another is taken as its consequence, in milliseconds.
const FOLLOWS_MS: i64 = 60_000;

/// An Xid as the kernel tells it.
pub(crate) struct Xid<'a> {
    pub(crate) code: u32,
    pub(crate) pci: &'a str,
    /// Uids or `namespace/name` of the pods that hold the device; empty where that is not known.
    pub(crate) pods: &'a [String],
}

pub(crate) fn of_line(
    seen: &Seen,
    kernel: &KernelFact,
    xid: &Xid<'_>,
    topology: &Topology,
    board: &BTreeMap<String, Known>,
) -> Finding {
    let pci = normal_pci(xid.pci);
    let node = clip(&kernel.node, 253);
    let device = format!("xid/{node}/{pci}/");
    let row = lookup(xid.code);
    let joins = if row.class == Class::Follows { earlier(&device, seen.at, board) } else { Vec::new() };
    let opened = Opened {
        fingerprint: format!("{device}{}", xid.code),
        verdict: format!("GPU_XID_{}", xid.code),
        severity: row.class.severity(),
        title: format!("GPU {pci} on node {node}: {} (Xid {})", row.meaning, xid.code),
        explanation: format!(
            "The NVIDIA driver of node {node} reported Xid {} for the GPU at {pci}. {} Lines with the same node, device and \
             code are one incident.",
            xid.code,
            row.class.judgement()
        ),
        next_step: row.action.to_owned(),
        evidence: Evidence {
            epoch: seen.epoch,
            seq: seen.seq,
            at: seen.at,
            sentence: format!("the kernel of node {node} logged Xid {} for GPU {pci}", xid.code),
            raw: clip(&kernel.line, 1_024),
        },
        hits: hits(seen, &node, xid, topology),
        node,
    };
    Finding { opened, begins: true, joins }
}

/// `0000:3b:00` for every way the address is written: with function, with an 8-digit domain, in capitals.
pub(crate) fn normal_pci(text: &str) -> String {
    let lower = clip(text, 40).to_lowercase();
    let address = lower.strip_prefix("pci:").unwrap_or(&lower);
    let address = address.strip_suffix(".0").unwrap_or(address);
    match address.split_once(':') {
        Some((domain, rest)) if domain.len() == 8 && domain.starts_with("0000") => {
            format!("{}:{rest}", &domain[4..])
        }
        _ => address.to_owned(),
    }
}

/// Open incidents of the device that are young enough to be the cause, the newest first.
fn earlier(device: &str, at: Timestamp, board: &BTreeMap<String, Known>) -> Vec<String> {
    let mut found: Vec<&Known> = board
        .values()
        .filter(|incident| incident.fingerprint.starts_with(device) && incident.resolved.is_none())
        .filter(|incident| (0..=FOLLOWS_MS).contains(&at.millis_since(incident.last_seen_at)))
        .collect();
    found.sort_by(|a, b| b.last_seen_at.cmp(&a.last_seen_at).then_with(|| a.fingerprint.cmp(&b.fingerprint)));
    found.into_iter().map(|incident| incident.fingerprint.clone()).collect()
}

/// The jobs hit: by the device if it is known who holds it, else by GPU requests on the node, else by the node alone.
fn hits(seen: &Seen, node: &str, xid: &Xid<'_>, topology: &Topology) -> Vec<Hit> {
    let holders: Vec<&PodPlace> = xid.pods.iter().filter_map(|id| topology.pod(id)).collect();
    if !holders.is_empty() {
        return of_pods(&holders, |pod| format!("certain: its pod {} held the device", clip(&pod.name, 100)));
    }
    let on_node: Vec<&PodPlace> = topology.pods_on(node, seen.at).collect();
    let asking: Vec<&PodPlace> = on_node.iter().filter(|pod| pod.requests.gpus > 0).copied().collect();
    if !asking.is_empty() {
        return of_pods(&asking, |pod| {
            format!(
                "likely: its pod {} asks for GPUs on node {node}, and which device it holds is not known",
                clip(&pod.name, 100)
            )
        });
    }
    of_pods(&on_node, |pod| {
        format!("possible: its pod {} ran on node {node}, though it asks for no GPU", clip(&pod.name, 100))
    })
}

fn of_pods(pods: &[&PodPlace], because: impl Fn(&PodPlace) -> String) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for pod in pods {
        if let Some(attempt) = pod.attempt.filter(|attempt| !hits.iter().any(|hit| hit.job == attempt.job)) {
            hits.push(Hit { job: attempt.job, because: because(pod) });
        }
    }
    hits
}

/// Whether an incident with this verdict lasts until somebody repairs something.
pub(crate) fn lasts(verdict: &str) -> bool {
    verdict
        .strip_prefix("GPU_XID_")
        .and_then(|code| code.parse().ok())
        .is_some_and(|code| lookup(code).class.lasts())
}

/// A broken device is over when its node is.
pub(crate) fn over(incident: &Known, topology: &Topology) -> Option<String> {
    (!topology.nodes.contains(&incident.node))
        .then(|| format!("node {} does not exist any more", incident.node))
}
