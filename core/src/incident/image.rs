//! Images that cannot be pulled: one incident per attempt and image, over when no pod waits for one any more.

use crate::{
    attempt::{is_image_trouble, quoted_image},
    fact::PodFact,
    id::AttemptId,
    incident::{Evidence, Hit, Opened, Seen, Severity, Topology, correlate::Finding},
    sentence::clip,
};

const PREFIX: &str = "image/";

/// A pod whose container waits for an image.
pub(crate) fn of_pod(seen: &Seen, pod: &PodFact, topology: &Topology) -> Option<Finding> {
    let attempt = pod.attempt.filter(|attempt| topology.attempts.contains_key(attempt))?;
    let container =
        pod.containers.iter().find(|container| is_image_trouble(container)).filter(|_| !pod.gone)?;
    let image = quoted_image(&container.message)
        .map_or_else(|| format!("of container {}", clip(&container.name, 63)), |image| clip(image, 200));
    let job = topology.job_name(attempt);
    let opened = Opened {
        fingerprint: format!("{PREFIX}{attempt}/{image}"),
        verdict: "IMAGE_PULL".to_owned(),
        severity: Severity::Warning,
        title: format!("Job {job} cannot start: image {image} cannot be pulled"),
        explanation: format!(
            "Pods of attempt {} wait for the same image, so they are one incident. The kubelet keeps trying, with growing \
             pauses, and the job holds its room meanwhile.",
            attempt.number
        ),
        next_step: next_step(pod, &container.message, &attempt.job.to_string()),
        node: clip(&pod.node, 253),
        evidence: Evidence {
            epoch: seen.epoch,
            seq: seen.seq,
            at: seen.at,
            sentence: format!("pod {} waits: {}", clip(&pod.name, 100), clip(&container.reason, 60)),
            raw: clip(&container.message, 1_024),
        },
        hits: vec![Hit {
            job: attempt.job,
            because: format!("its pod {} waits for the image", clip(&pod.name, 100)),
        }],
    };
    Some(Finding {
        opened,
        begins: topology.attempts[&attempt].ended_at.is_none_or(|ended| seen.at < ended),
        joins: vec![],
    })
}

/// What to check: the way to the registry when that is what failed, else the name and the credentials.
fn next_step(pod: &PodFact, message: &str, job: &str) -> String {
    const NO_WAY: [&str; 5] =
        ["network is unreachable", "no such host", "i/o timeout", "connection refused", "dial tcp"];
    if NO_WAY.iter().any(|words| message.contains(words)) {
        return format!(
            "Node {} cannot reach the registry: check its network, DNS and proxy; the kubelet tries again by itself. If \
             the image's name is wrong: squadron cancel {job}, correct the RayJob, submit it again.",
            clip(&pod.node, 253)
        );
    }
    format!(
        "Check the image's name and tag, and the registry's credentials in namespace {}; if the name is wrong: squadron \
         cancel {job}, correct the RayJob, submit it again.",
        clip(&pod.namespace, 63)
    )
}

/// The attempt of an incident of this kind.
pub(crate) fn attempt_of(fingerprint: &str) -> Option<AttemptId> {
    let mut parts = fingerprint.strip_prefix(PREFIX)?.splitn(3, '/');
    let job = parts.next()?.parse().ok()?;
    Some(AttemptId { job, number: parts.next()?.parse().ok()? })
}

/// Why an incident of this kind is over, if it is.
pub(crate) fn over(attempt: AttemptId, topology: &Topology) -> Option<String> {
    let waits = |pod: &&crate::incident::PodPlace| pod.attempt == Some(attempt) && pod.image_trouble;
    if topology.attempts.get(&attempt).is_none_or(|place| place.ended_at.is_some()) {
        Some("the job ended".to_owned())
    } else if topology.pods.values().find(waits).is_none() {
        Some("no pod waits for the image any more".to_owned())
    } else {
        None
    }
}
