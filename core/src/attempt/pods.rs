//! Pods of an attempt: what they say about a job that starts or runs.
//!
//! Level-triggered: reads all pods of the attempt each time, so a trouble that passed is gone from the sentence.

use crate::{
    attempt::reason,
    fact::{ContainerFact, PodFact},
    sentence::{clip, count},
};

/// Something wrong with a pod, worst first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Trouble {
    rank: u8,
    pub(crate) reason: &'static str,
    pub(crate) sentence: String,
}

/// The worst trouble among the pods, if any.
pub(crate) fn trouble(pods: &[PodFact]) -> Option<Trouble> {
    pods.iter().filter_map(of_pod).min()
}

/// The pod that was killed for memory, if any; gone pods count.
pub(crate) fn killed_for_memory(pods: &[PodFact]) -> Option<String> {
    pods.iter()
        .find(|pod| pod.containers.iter().any(is_oom_killed))
        .map(|pod| format!("{} {} was killed for memory (OOMKilled)", role(pod), pod.name))
}

/// How far the start has come, as a clause that follows "starting on east: ".
pub(crate) fn progress(pods: &[PodFact]) -> String {
    let live: Vec<&PodFact> = pods.iter().filter(|pod| is_live(pod)).collect();
    let head_ready = live.iter().any(|pod| pod.role == "head" && pod.ready);
    let workers: Vec<&&PodFact> = live.iter().filter(|pod| pod.role == "worker").collect();
    let ready = workers.iter().filter(|pod| pod.ready).count();
    if live.is_empty() {
        "its pods are being created".to_owned()
    } else if !head_ready {
        format!("the head pod is coming up, {} of {} ready", ready, count(workers.len(), "worker"))
    } else if ready < workers.len() {
        format!("the head is ready, {} of {} ready", ready, count(workers.len(), "worker"))
    } else {
        "all pods are ready and the driver is being submitted".to_owned()
    }
}

pub(crate) fn is_live(pod: &PodFact) -> bool {
    !pod.gone && pod.finished_at.is_none() && !matches!(pod.phase.as_str(), "Succeeded" | "Failed")
}

/// `the head pod`, `worker pod`; the words before a pod's name.
pub(crate) fn role(pod: &PodFact) -> &'static str {
    match pod.role.as_str() {
        "head" => "head pod",
        "worker" => "worker pod",
        "submitter" => "submitter pod",
        _ => "pod",
    }
}

/// Whether the container ended by the kernel's memory killer.
pub fn is_oom_killed(container: &ContainerFact) -> bool {
    container.reason == "OOMKilled"
}

/// Whether the container waits for an image that cannot be pulled.
pub fn is_image_trouble(container: &ContainerFact) -> bool {
    container.state == "waiting"
        && matches!(
            container.reason.as_str(),
            "ErrImagePull"
                | "ImagePullBackOff"
                | "InvalidImageName"
                | "ErrImageNeverPull"
                | "RegistryUnavailable"
        )
}

/// The container that tells how its pod fares, if one does: it waits with a reason, or ended badly, or ended as the pod
/// did. An init container that did its work tells nothing of a pod that runs.
pub fn telling_container(pod: &PodFact) -> Option<&ContainerFact> {
    let waits = |container: &&ContainerFact| container.state == "waiting" && !container.reason.is_empty();
    let ended_badly = |container: &&ContainerFact| container.exit_code.is_some_and(|code| code != 0);
    let mut containers = pod.containers.iter();
    let killed = pod.containers.iter().find(|container| is_oom_killed(container));
    let bad = || pod.containers.iter().find(ended_badly);
    let done = || containers.find(|container| container.exit_code == Some(0) && pod.phase == "Succeeded");
    pod.containers.iter().find(waits).or(killed).or_else(bad).or_else(done)
}

/// What stands in the column for the reason of a pod's state; may be empty.
pub fn pod_reason(pod: &PodFact) -> String {
    let told = telling_container(pod);
    match told {
        _ if !pod.reason.is_empty() => pod.reason.clone(),
        Some(container) if is_oom_killed(container) => container.reason.clone(),
        _ if pod.deleting && (pod.gone || pod.finished_at.is_some()) => "Deleted".to_owned(),
        _ if pod.deleting => "Terminating".to_owned(),
        told => told.map_or_else(String::new, |container| container.reason.clone()),
    }
}

/// The image named in a kubelet message, which quotes it.
pub fn quoted_image(message: &str) -> Option<&str> {
    let start = message.find('"')? + 1;
    let length = message[start..].find('"')?;
    let image = &message[start..start + length];
    let familiar = image.strip_prefix("docker.io/").unwrap_or(image);
    let familiar = familiar.strip_prefix("library/").unwrap_or(familiar);
    Some(familiar).filter(|image| !image.is_empty() && image.len() <= 512)
}

fn of_pod(pod: &PodFact) -> Option<Trouble> {
    if is_live(pod) {
        image_trouble(pod).or_else(|| crash_loop(pod)).or_else(|| unschedulable(pod))
    } else {
        None
    }
}

fn image_trouble(pod: &PodFact) -> Option<Trouble> {
    let container = pod.containers.iter().find(|container| is_image_trouble(container))?;
    let image = quoted_image(&container.message).map_or_else(
        || format!("the image of container {}", clip(&container.name, 63)),
        |image| format!("image {}", clip(image, 200)),
    );
    Some(Trouble {
        rank: 0,
        reason: reason::IMAGE_PULL,
        sentence: format!(
            "{} {} cannot pull {image}; correct the image or the registry's credentials, cancel and submit again",
            role(pod),
            pod.name
        ),
    })
}

fn crash_loop(pod: &PodFact) -> Option<Trouble> {
    let container = pod.containers.iter().find(|container| container.reason == "CrashLoopBackOff")?;
    Some(Trouble {
        rank: 1,
        reason: reason::CRASH_LOOP,
        sentence: format!(
            "container {} of {} {} ended {} and waits before it starts again",
            clip(&container.name, 63),
            role(pod),
            pod.name,
            count(usize::try_from(container.restarts).unwrap_or(0), "time"),
        ),
    })
}

fn unschedulable(pod: &PodFact) -> Option<Trouble> {
    (pod.node.is_empty() && pod.reason == "Unschedulable").then(|| Trouble {
        rank: 2,
        reason: reason::UNSCHEDULABLE,
        sentence: format!(
            "no node takes {} {} ({}); it starts when room is free",
            role(pod),
            pod.name,
            clip(&pod.message, 200)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(role: &str, ready: bool) -> PodFact {
        PodFact {
            name: format!("p-{role}"),
            role: role.into(),
            ready,
            phase: "Running".into(),
            node: "n1".into(),
            ..PodFact::default()
        }
    }

    #[test]
    fn progress_counts_live_pods_only() {
        let gone = PodFact { gone: true, ..pod("worker", true) };
        assert_eq!(progress(&[]), "its pods are being created");
        assert_eq!(
            progress(&[pod("head", true), pod("worker", true), pod("worker", false), gone]),
            "the head is ready, 1 of 2 workers ready"
        );
        assert_eq!(
            progress(&[pod("head", true), pod("worker", true)]),
            "all pods are ready and the driver is being submitted"
        );
    }

    #[test]
    fn a_bad_image_is_named_and_outranks_a_pod_without_room() {
        let mut stuck = pod("worker", false);
        stuck.containers = vec![ContainerFact {
            name: "ray-worker".into(),
            state: "waiting".into(),
            reason: "ImagePullBackOff".into(),
            message: "Back-off pulling image \"example.com/nope:1\": ErrImagePull: not found".into(),
            ..ContainerFact::default()
        }];
        let unbound = PodFact {
            node: String::new(),
            reason: "Unschedulable".into(),
            phase: "Pending".into(),
            ..pod("head", false)
        };
        let worst = trouble(&[unbound, stuck]).map(|trouble| (trouble.reason, trouble.sentence));
        assert_eq!(
            worst,
            Some((
                "IMAGE_PULL",
                "worker pod p-worker cannot pull image example.com/nope:1; correct the image or the \
                 registry's credentials, cancel and submit again"
                    .to_owned()
            ))
        );
    }

    #[test]
    fn a_trouble_that_passed_leaves_no_trace() {
        assert_eq!(trouble(&[pod("head", true)]), None);
        assert_eq!(quoted_image("no quotes here"), None);
    }

    fn ended(reason: &str, code: i32) -> ContainerFact {
        ContainerFact {
            state: "terminated".into(),
            reason: reason.into(),
            exit_code: Some(code),
            ..ContainerFact::default()
        }
    }

    #[test]
    fn an_init_container_that_is_done_tells_nothing_of_its_pod() {
        let runs = PodFact { containers: vec![ended("Completed", 0)], ..pod("worker", true) };
        assert_eq!((telling_container(&runs), pod_reason(&runs)), (None, String::new()));
        let failed = PodFact {
            phase: "Failed".into(),
            containers: vec![ended("Completed", 0), ended("Error", 1)],
            ..pod("worker", false)
        };
        assert_eq!(telling_container(&failed).and_then(|container| container.exit_code), Some(1));
        assert_eq!(pod_reason(&failed), "Error");
        let done = PodFact { phase: "Succeeded".into(), ..runs };
        assert_eq!(pod_reason(&done), "Completed");
    }

    #[test]
    fn a_pod_that_ends_because_it_is_deleted_did_not_fail() {
        let failed = PodFact {
            phase: "Failed".into(),
            gone: true,
            deleting: true,
            containers: vec![ended("Error", 1)],
            ..pod("head", false)
        };
        assert_eq!(pod_reason(&failed), "Deleted");
        let killed = PodFact { containers: vec![ended("OOMKilled", 137)], ..failed.clone() };
        assert_eq!(pod_reason(&killed), "OOMKilled");
        let ends = PodFact { phase: "Running".into(), gone: false, containers: vec![], ..failed };
        assert_eq!(pod_reason(&ends), "Terminating");
    }

    #[test]
    fn one_image_has_one_name() {
        let quoted = ["rayproject/ray:typo", "docker.io/rayproject/ray:typo"]
            .map(|image| quoted_image(&format!("Back-off pulling image \"{image}\"")).map(str::to_owned));
        assert_eq!(quoted[0].as_deref(), Some("rayproject/ray:typo"));
        assert_eq!(quoted[0], quoted[1]);
    }
}
