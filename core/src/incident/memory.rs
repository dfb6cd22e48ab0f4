//! Killed for memory: the kernel's line and the container's end are two words on one event.
//!
//! One incident per attempt and pod, whichever word comes first.

use crate::{
    attempt::is_oom_killed,
    fact::{ContainerFact, KernelFact, PodFact},
    id::AttemptId,
    incident::{Evidence, Hit, Opened, PodPlace, Seen, Severity, Topology, correlate::Finding},
    sentence::{clip, memory},
};

pub(crate) const VERDICT: &str = "OOM_KILLED";

/// A kill as the kernel tells it.
pub(crate) struct Kill<'a> {
    /// Empty where the cgroup names no pod.
    pub(crate) pod_uid: &'a str,
    pub(crate) process: &'a str,
    pub(crate) pid: u32,
}

/// A container that ended by the memory killer. Exit code 137 alone joins an incident but begins none: every SIGKILL
/// gives it.
pub(crate) fn of_pod(seen: &Seen, pod: &PodFact, topology: &Topology) -> Option<Finding> {
    let attempt = pod.attempt.filter(|attempt| topology.attempts.contains_key(attempt))?;
    let sure = pod.containers.iter().find(|container| is_oom_killed(container));
    let container =
        sure.or_else(|| pod.containers.iter().find(|container| container.exit_code == Some(137)))?;
    let place = PodPlace {
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        node: pod.node.clone(),
        role: pod.role.clone(),
        requests: pod.requests,
        attempt: Some(attempt),
        ..PodPlace::default()
    };
    let evidence = Evidence {
        epoch: seen.epoch,
        seq: seen.seq,
        at: container.finished_at.unwrap_or(seen.at),
        sentence: format!("the kubelet reports that container {} ended as killed", clip(&container.name, 63)),
        raw: raw_end(container),
    };
    Some(Finding {
        opened: of_job_pod(&pod.uid, &place, attempt, evidence, topology),
        begins: sure.is_some(),
        joins: vec![],
    })
}

fn raw_end(container: &ContainerFact) -> String {
    let exit = container.exit_code.map_or_else(String::new, |code| format!(", exit code {code}"));
    let reason = if container.reason.is_empty() { "ended" } else { container.reason.as_str() };
    format!("{}: {}{exit}, restarts {}", clip(&container.name, 63), clip(reason, 100), container.restarts)
}

/// The kernel's line.
pub(crate) fn of_line(seen: &Seen, kernel: &KernelFact, kill: &Kill<'_>, topology: &Topology) -> Finding {
    let evidence = Evidence {
        epoch: seen.epoch,
        seq: seen.seq,
        at: seen.at,
        sentence: format!(
            "the kernel of node {} killed process {} (pid {})",
            clip(&kernel.node, 100),
            clip(kill.process, 40),
            kill.pid
        ),
        raw: clip(&kernel.line, 1_024),
    };
    let place = topology.pod(kill.pod_uid).filter(|_| !kill.pod_uid.is_empty());
    let opened = match place.and_then(|place| place.attempt.map(|attempt| (place, attempt))) {
        Some((place, attempt)) => of_job_pod(kill.pod_uid, place, attempt, evidence, topology),
        None => of_node(seen, kernel, kill, place, evidence, topology),
    };
    Finding { opened, begins: true, joins: vec![] }
}

fn of_job_pod(
    uid: &str,
    pod: &PodPlace,
    attempt: AttemptId,
    evidence: Evidence,
    topology: &Topology,
) -> Opened {
    let job = topology.job_name(attempt);
    let role = if pod.role.is_empty() { "pod" } else { pod.role.as_str() };
    let effect = match role {
        "head" => "Without its head the whole Ray cluster of the job stops.",
        _ => "Ray retries its tasks on other workers as far as their retries allow.",
    };
    Opened {
        fingerprint: format!("oom/{attempt}/{}", clip(uid, 80)),
        verdict: VERDICT.to_owned(),
        severity: if role == "head" { Severity::Critical } else { Severity::Warning },
        title: format!("The {role} pod {} of job {job} was killed for memory", clip(&pod.name, 100)),
        explanation: format!(
            "A container of pod {}/{} on node {} used more memory than it may (the pod asks for {}), so the kernel killed \
             it. All facts name this pod of attempt {}, so they are one incident. {effect}",
            clip(&pod.namespace, 63),
            clip(&pod.name, 100),
            clip(&pod.node, 100),
            memory(pod.requests.memory_bytes),
            attempt.number,
        ),
        next_step: format!(
            "Give the {role} more memory in the RayJob, or let fewer tasks run at once on it (num_cpus, max_concurrency), \
             and submit {job} again."
        ),
        node: clip(&pod.node, 253),
        evidence,
        hits: vec![Hit {
            job: attempt.job,
            because: format!("its {role} pod {} was killed", clip(&pod.name, 100)),
        }],
    }
}

/// A kill outside the pods of jobs: another pod, or no pod at all.
fn of_node(
    seen: &Seen,
    kernel: &KernelFact,
    kill: &Kill<'_>,
    pod: Option<&PodPlace>,
    evidence: Evidence,
    topology: &Topology,
) -> Opened {
    let node = clip(&kernel.node, 253);
    let whole_node = kill.pod_uid.is_empty();
    let victim = match pod {
        Some(pod) => format!("pod {}/{}", clip(&pod.namespace, 63), clip(&pod.name, 100)),
        None if whole_node => format!("process {}", clip(kill.process, 40)),
        None => format!("a pod that is not known here ({})", clip(kill.pod_uid, 60)),
    };
    let hits = if whole_node { neighbours(seen, &node, topology) } else { Vec::new() };
    Opened {
        fingerprint: if whole_node {
            format!("oom/node/{node}")
        } else {
            format!("oom/pod/{}", clip(kill.pod_uid, 80))
        },
        verdict: VERDICT.to_owned(),
        severity: if whole_node { Severity::Critical } else { Severity::Info },
        title: format!("{victim} was killed for memory on node {node}"),
        explanation: if whole_node {
            format!(
                "Node {node} ran out of memory outside any pod's limit, and the kernel chose a process to kill."
            )
        } else {
            format!(
                "The memory limit of {victim} was reached on node {node}. It belongs to no job of Squadron."
            )
        },
        next_step: if whole_node {
            format!("Look at what uses the memory of node {node}, and reserve more for the system.")
        } else {
            "Tell the owner of that pod; jobs are not hit.".to_owned()
        },
        node,
        evidence,
        hits,
    }
}

fn neighbours(seen: &Seen, node: &str, topology: &Topology) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for pod in topology.pods_on(node, seen.at) {
        if let Some(attempt) = pod.attempt.filter(|attempt| !hits.iter().any(|hit| hit.job == attempt.job)) {
            let because =
                format!("possibly: its pod {} ran on the node that ran out of memory", clip(&pod.name, 100));
            hits.push(Hit { job: attempt.job, because });
        }
    }
    hits
}
