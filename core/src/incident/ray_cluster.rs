//! RayClusters deleted under a running job, as the job's own transition saw it.

use crate::{
    attempt::reason,
    fact::RayClusterFact,
    incident::{Evidence, Hit, Opened, Seen, Severity, Topology, correlate::Finding},
    sentence::clip,
};

/// The end of a RayCluster that its job did not expect.
pub(crate) fn of_ray_cluster(seen: &Seen, fact: &RayClusterFact, topology: &Topology) -> Option<Finding> {
    let attempt = fact.attempt.filter(|_| fact.gone)?;
    let place = topology.attempts.get(&attempt).filter(|place| place.reason == reason::CLUSTER_DELETED)?;
    let (name, job) = (clip(&fact.name, 63), &place.job_name);
    let namespace = clip(&fact.namespace, 63);
    let opened = Opened {
        fingerprint: format!("raycluster-deleted/{attempt}/{}", clip(&fact.uid, 80)),
        verdict: reason::CLUSTER_DELETED.to_owned(),
        severity: Severity::Warning,
        title: format!("RayCluster {name} was deleted under job {job}"),
        explanation: format!(
            "RayCluster {namespace}/{name} went away while attempt {} of the job was running on it, and neither the job nor \
             Squadron had asked for that. What ran on it is lost.",
            attempt.number
        ),
        next_step: format!(
            "Find who deleted it (the API server's audit log, kubectl history), then submit {job} again if it failed."
        ),
        node: String::new(),
        evidence: Evidence {
            epoch: seen.epoch,
            seq: seen.seq,
            at: seen.at,
            sentence: "the API server reported the deletion".to_owned(),
            raw: format!("RayCluster {namespace}/{name} deleted {}", clip(&fact.gone_why, 300)),
        },
        hits: vec![Hit { job: attempt.job, because: "it ran on this RayCluster".to_owned() }],
    };
    Some(Finding { opened, begins: true, joins: vec![] })
}
