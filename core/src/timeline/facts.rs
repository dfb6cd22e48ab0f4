//! Facts as steps: only what differs from what the same object told before.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    attempt::{is_image_trouble, is_oom_killed},
    fact::{AttemptFact, AttemptStep, EventFact, Fact, PodFact, RayClusterFact, RayJobFact},
    sentence::clip,
    time::Timestamp,
    timeline::Entry,
};

/// What every object told last.
#[derive(Default)]
struct Told {
    by_object: BTreeMap<String, String>,
    events: BTreeSet<String>,
}

pub(super) fn entries(facts: &[(Timestamp, Fact)]) -> Vec<Entry> {
    let mut told = Told::default();
    facts.iter().filter_map(|(at, fact)| entry(*at, fact, &mut told)).collect()
}

fn entry(at: Timestamp, fact: &Fact, told: &mut Told) -> Option<Entry> {
    let (source, object, sentence) = match fact {
        Fact::Attempt(step) => ("job", format!("attempt {}", step.attempt), of_step(step)),
        Fact::RayJob(job) => ("ray", format!("job {}", job.uid), of_ray_job(job)),
        Fact::RayCluster(cluster) => ("ray", format!("cluster {}", cluster.uid), of_ray_cluster(cluster)),
        Fact::Pod(pod) => ("pod", format!("pod {}", pod.uid), of_pod(pod)),
        Fact::Event(event) => return of_event(at, event, told),
        Fact::Node(_)
        | Fact::Kernel(_)
        | Fact::Inventory(_)
        | Fact::Listed(_)
        | Fact::Arrival(_)
        | Fact::Holdings(_) => return None,
    };
    let news = told.by_object.insert(object, sentence.clone()).as_ref() != Some(&sentence);
    news.then_some(Entry { at, source, sentence })
}

fn of_step(fact: &AttemptFact) -> String {
    let why = if fact.message.is_empty() { String::new() } else { format!(": {}", clip(&fact.message, 300)) };
    match fact.step {
        AttemptStep::Created => "the RayJob was created".to_owned(),
        AttemptStep::Refused => format!("the cluster refused it{why}"),
        AttemptStep::Removed => format!("the RayJob and its pods are gone{why}"),
        AttemptStep::Fenced => format!("the lease ended and the attempt was stopped{why}"),
    }
}

fn of_ray_job(fact: &RayJobFact) -> String {
    if fact.gone {
        return "the RayJob was deleted".to_owned();
    }
    let deployment = match fact.deployment_status.as_str() {
        "" => "new",
        status => status,
    };
    let driver = match fact.job_status.as_str() {
        "" => String::new(),
        status => format!(", driver {}", clip(status, 40)),
    };
    let reason =
        if fact.reason.is_empty() { String::new() } else { format!(" ({})", clip(&fact.reason, 80)) };
    format!("RayJob {}{driver}{reason}", clip(deployment, 40))
}

fn of_ray_cluster(fact: &RayClusterFact) -> String {
    let name = clip(&fact.name, 63);
    if fact.gone {
        let why = if fact.gone_why.is_empty() {
            String::new()
        } else {
            format!(" ({})", clip(&fact.gone_why, 200))
        };
        return format!("RayCluster {name} was deleted{why}");
    }
    let state = if fact.state.is_empty() { "new".to_owned() } else { clip(&fact.state, 40) };
    format!("RayCluster {name} {state}, {} of {} workers ready", fact.ready_workers, fact.desired_workers)
}

fn of_pod(pod: &PodFact) -> String {
    let role = if pod.role.is_empty() { "pod".to_owned() } else { format!("{} pod", clip(&pod.role, 40)) };
    format!("{role} {} {}", clip(&pod.name, 100), pod_state(pod))
}

fn pod_state(pod: &PodFact) -> String {
    let oom = pod.containers.iter().any(is_oom_killed);
    let stuck = pod.containers.iter().any(is_image_trouble);
    let exit = pod.containers.iter().find_map(|container| container.exit_code.filter(|code| *code != 0));
    let ended = exit.map_or_else(String::new, |code| format!(" with exit code {code}"));
    match (pod.phase.as_str(), stuck) {
        _ if oom => "was killed for memory (OOMKilled)".to_owned(),
        _ if pod.gone => "is gone".to_owned(),
        ("Failed", _) if pod.deleting => "stopped as it was deleted".to_owned(),
        ("Failed", _) => format!("failed{ended}"),
        ("Succeeded", _) => "finished".to_owned(),
        (_, true) => "cannot pull its image".to_owned(),
        ("Running", _) if pod.ready => format!("is ready on node {}", clip(&pod.node, 100)),
        ("Running", _) => format!("runs on node {}", clip(&pod.node, 100)),
        _ if pod.node.is_empty() && !pod.reason.is_empty() => {
            format!("waits for a node ({}: {})", clip(&pod.reason, 60), clip(&pod.message, 200))
        }
        _ if pod.node.is_empty() => "was created".to_owned(),
        _ => format!("starts on node {}", clip(&pod.node, 100)),
    }
}

fn of_event(at: Timestamp, event: &EventFact, told: &mut Told) -> Option<Entry> {
    let source = if event.object_kind == "Pod" { "pod" } else { "ray" };
    let sentence = format!(
        "warning {} on {} {}: {}",
        clip(&event.reason, 60),
        clip(&event.object_kind, 40),
        clip(&event.object_name, 100),
        clip(&event.message, 300)
    );
    told.events.insert(sentence.clone()).then_some(Entry { at, source, sentence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::ContainerFact;

    fn sentences(facts: Vec<Fact>) -> Vec<String> {
        let facts: Vec<(Timestamp, Fact)> = (1..).map(Timestamp).zip(facts).collect();
        entries(&facts).into_iter().map(|entry| entry.sentence).collect()
    }

    fn pod(phase: &str, ready: bool) -> PodFact {
        PodFact {
            name: "w-0".into(),
            uid: "u".into(),
            role: "worker".into(),
            node: "n1".into(),
            phase: phase.into(),
            ready,
            ..PodFact::default()
        }
    }

    #[test]
    fn the_same_word_twice_is_one_step() {
        let job = |status: &str| {
            Fact::RayJob(RayJobFact {
                deployment_status: "Running".into(),
                job_status: status.into(),
                ..RayJobFact::default()
            })
        };
        assert_eq!(
            sentences(vec![job(""), job("RUNNING"), job("RUNNING"), job("")]),
            ["RayJob Running", "RayJob Running, driver RUNNING", "RayJob Running"]
        );
    }

    #[test]
    fn a_pod_s_life_and_death_are_told() {
        let killed = PodFact {
            containers: vec![ContainerFact { reason: "OOMKilled".into(), ..ContainerFact::default() }],
            ..pod("Failed", false)
        };
        let unbound = PodFact { node: String::new(), ..pod("Pending", false) };
        let told = [unbound, pod("Pending", false), pod("Running", true), killed]
            .map(|pod| Fact::Pod(Box::new(pod)));
        assert_eq!(
            sentences(told.to_vec()),
            [
                "worker pod w-0 was created",
                "worker pod w-0 starts on node n1",
                "worker pod w-0 is ready on node n1",
                "worker pod w-0 was killed for memory (OOMKilled)",
            ]
        );
    }

    #[test]
    fn an_event_that_repeats_is_told_once() {
        let event = || {
            Fact::Event(EventFact {
                object_kind: "Pod".into(),
                object_name: "w-0".into(),
                reason: "BackOff".into(),
                message: "restarting".into(),
                ..EventFact::default()
            })
        };
        assert_eq!(sentences(vec![event(), event()]), ["warning BackOff on Pod w-0: restarting"]);
    }
}
