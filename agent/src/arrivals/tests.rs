//! What is said and written of arrivals, event by event, in a cluster that does everything at once.

#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use squadron_core::{id::JobId, job::JobState, time::Timestamp};
use squadron_proto::link::{ArrivalState, Arrivals as Said};
use squadron_ray::view::Object;

use super::{
    picture::{Picture, Pictures, hear},
    plan::{Action, Memory, Plan, SENTENCES_EVERY_MILLIS, TURNS_EVERY_MILLIS, plan},
};
use crate::plan::Policy;

const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

fn job() -> JobId {
    "01938f2e-7a3c-7d31-9d4e-00c0ffee1234".parse().unwrap()
}

fn policy() -> Policy {
    Policy {
        cluster: "0196f0a0-0000-7000-8000-0000000000c1".parse().unwrap(),
        home: "squadron".into(),
        namespaces: None,
        watchdog: None,
    }
}

fn source(uid: &str) -> Value {
    json!({"apiVersion": "ray.io/v1", "kind": "RayJob",
        "metadata": {"name": format!("n-{uid}"), "namespace": "ml", "uid": uid, "generation": 1,
            "labels": {"squadron.dev/queue": "research"}, "annotations": {}},
        "spec": {"suspend": true, "shutdownAfterJobFinishes": true, "entrypoint": "x"}})
}

fn picture(uid: &str, state: Option<JobState>, message: &str) -> Picture {
    let ended = state.is_some_and(JobState::is_terminal);
    Picture {
        namespace: "ml".into(),
        name: format!("n-{uid}"),
        job: state.map(|state| (job(), state)),
        reason: if state.is_none() { "NOT_ALLOWED".into() } else { String::new() },
        message: message.into(),
        started_at: None,
        ended_at: ended.then_some(NOW),
    }
}

/// A cluster, what it was told, and what it did.
struct Small {
    jobs: Vec<Value>,
    pictures: Pictures,
    memory: Memory,
    now: Timestamp,
}

impl Small {
    fn new(jobs: Vec<Value>) -> Small {
        Small { jobs, pictures: Pictures::new(), memory: Memory::default(), now: NOW }
    }

    fn objects(&self) -> Vec<Object> {
        self.jobs.iter().cloned().map(Arc::new).collect()
    }

    fn plan(&self) -> Plan {
        plan(&self.objects(), &self.pictures, &self.memory, &policy(), self.now)
    }

    /// Plans and acts until nothing is left; answers what was done, in words.
    fn settle(&mut self) -> Vec<String> {
        let mut done = Vec::new();
        for _ in 0..10 {
            let plan = self.plan();
            if plan.actions.is_empty() {
                return done;
            }
            for action in plan.actions {
                done.push(self.act(&action));
                self.memory.done(action, self.now);
            }
        }
        panic!("no fixed point: {done:?}");
    }

    fn act(&mut self, action: &Action) -> String {
        match action {
            Action::Tell(fact) if fact.gone => format!("gone {}: {}", fact.uid, fact.gone_why),
            Action::Tell(fact) => {
                let marked = if fact.imported_as.is_some() { " marked" } else { "" };
                let settled = if fact.settled { " settled" } else { "" };
                format!("stands {}{marked}{settled}", fact.uid)
            }
            Action::Warn { fault, .. } => format!("warns {}", fault.reason),
            Action::Mark { object, job } => {
                let uid = object["metadata"]["uid"].as_str().unwrap().to_owned();
                let mark = squadron_ray::arrival::mark_of(*job, &uid);
                self.find(&uid)["metadata"]["annotations"]["squadron.dev/imported-as"] = json!(mark);
                format!("marks {uid}")
            }
            Action::Write { object, status, event } => {
                let uid = object["metadata"]["uid"].as_str().unwrap().to_owned();
                self.find(&uid)["status"] = status.clone();
                let event = event.as_ref().map_or("", |event| event.reason);
                format!(
                    "writes {} {} {event}",
                    status["jobDeploymentStatus"].as_str().unwrap_or("-"),
                    status["jobStatus"].as_str().unwrap_or("-")
                )
            }
        }
    }

    fn find(&mut self, uid: &str) -> &mut Value {
        self.jobs.iter_mut().find(|job| job["metadata"]["uid"] == *uid).unwrap()
    }

    fn pass_time(&mut self, millis: i64) {
        self.now = self.now.plus_millis(millis);
    }

    fn tell(&mut self, uid: &str, state: Option<JobState>, message: &str) -> Vec<String> {
        self.pictures.insert(uid.into(), picture(uid, state, message));
        self.settle()
    }
}

#[test]
fn a_life_is_told_once_step_by_step() {
    let mut small = Small::new(vec![source("u")]);
    assert_eq!(small.settle(), ["stands u"]);
    assert_eq!(
        small.tell("u", Some(JobState::Queued), "1st"),
        ["marks u", "stands u marked", "writes Suspended - Queued"]
    );
    small.pass_time(TURNS_EVERY_MILLIS);
    assert_eq!(small.tell("u", Some(JobState::Starting), "s"), ["writes Suspended PENDING Starting"]);
    small.pass_time(TURNS_EVERY_MILLIS);
    assert_eq!(small.tell("u", Some(JobState::Running), "r"), ["writes Suspended RUNNING Running"]);
    small.pass_time(TURNS_EVERY_MILLIS);
    assert_eq!(
        small.tell("u", Some(JobState::Succeeded), "done"),
        ["writes Complete SUCCEEDED Succeeded", "stands u marked settled"]
    );
    assert_eq!(small.jobs[0]["spec"], source("u")["spec"], "the spec is never written");
    small.memory = Memory::default();
    assert_eq!(small.settle(), ["stands u marked settled"], "a restart repeats words and no effects");
}

#[test]
fn sentences_alone_are_written_now_and_then() {
    let mut small = Small::new(vec![source("u")]);
    small.settle();
    small.tell("u", Some(JobState::Queued), "3rd");
    assert_eq!(small.tell("u", Some(JobState::Queued), "2nd"), Vec::<String>::new());
    assert_eq!(small.plan().wake_at, Some(NOW.plus_millis(SENTENCES_EVERY_MILLIS)));
    small.now = NOW.plus_millis(SENTENCES_EVERY_MILLIS);
    assert_eq!(small.settle(), ["writes Suspended - "]);
    assert_eq!(small.jobs[0]["status"]["message"], "2nd");
}

#[test]
fn a_deletion_is_told_once_also_when_nobody_looked() {
    let mut small = Small::new(vec![source("u")]);
    small.settle();
    small.tell("u", Some(JobState::Queued), "1st");
    small.jobs.clear();
    assert_eq!(small.settle(), ["gone u: its RayJob was deleted"]);
    small.memory = Memory::default();
    assert_eq!(
        small.settle(),
        ["gone u: its RayJob was deleted"],
        "another process cannot know, and asks nobody"
    );
    small.pictures.clear();
    small.memory.keep_only(&[], &Pictures::new());
    small.memory = Memory::default();
    assert_eq!(small.settle(), Vec::<String>::new());
}

#[test]
fn an_object_that_is_taken_back_is_told_as_gone_and_can_come_again() {
    let mut small = Small::new(vec![source("u")]);
    small.settle();
    small.tell("u", Some(JobState::Queued), "1st");
    small.find("u")["spec"]["suspend"] = json!(false);
    let told = small.settle();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0] == "warns NotSuspended" && told[1].starts_with("gone u: its RayJob is there"),
        "{told:?}"
    );
    small.find("u")["spec"]["suspend"] = json!(true);
    assert_eq!(small.settle(), ["stands u marked"]);
}

#[test]
fn a_refusal_is_written_without_a_mark_and_warned_of_once() {
    let mut small = Small::new(vec![source("u")]);
    small.settle();
    assert_eq!(small.tell("u", None, "may not"), ["writes Suspended - Refused"]);
    assert_eq!(small.jobs[0]["status"]["reason"], "NOT_ALLOWED");
    assert_eq!(small.settle(), Vec::<String>::new());
    small.pass_time(TURNS_EVERY_MILLIS);
    let done = small.tell("u", Some(JobState::Queued), "1st");
    assert_eq!(done, ["marks u", "stands u marked", "writes Suspended - Queued"], "a rule let it in");
}

#[test]
fn somebody_who_writes_the_status_too_is_not_fought() {
    let mut small = Small::new(vec![source("u"), source("v")]);
    small.settle();
    small.find("v")["status"] = json!({"jobDeploymentStatus": "ValidationFailed", "message": "by KubeRay"});
    assert_eq!(small.tell("v", None, "no RayJob"), Vec::<String>::new(), "KubeRay said it already");
    small.tell("u", Some(JobState::Queued), "1st");
    small.find("u")["status"]["jobDeploymentStatus"] = json!("Running");
    assert_eq!(small.settle(), Vec::<String>::new());
    assert_eq!(small.plan().wake_at, Some(NOW.plus_millis(TURNS_EVERY_MILLIS)), "once a second at most");
    small.pass_time(TURNS_EVERY_MILLIS);
    assert_eq!(small.settle(), ["writes Suspended - Queued"]);
}

#[test]
fn what_the_agent_may_not_take_is_warned_of_and_not_told() {
    let mut at_home = source("h");
    at_home["metadata"]["namespace"] = json!("squadron");
    let mut running = source("r");
    running["spec"]["suspend"] = json!(false);
    let mut small = Small::new(vec![at_home, running]);
    assert_eq!(small.settle(), ["warns NamespaceNotAllowed", "warns NotSuspended"]);
}

#[test]
fn only_the_object_that_was_spoken_of_is_written() {
    let mut small = Small::new(vec![source("u"), source("v")]);
    small.settle();
    small.tell("u", Some(JobState::Queued), "1st");
    assert!(small.jobs[1].get("status").is_none());
    small.find("v")["metadata"]["name"] = json!("other");
    let done = small.tell("v", Some(JobState::Queued), "2nd");
    assert_eq!(done, ["stands v"], "the picture is of another name");
}

#[test]
fn messages_replace_or_add_and_nonsense_is_left_out() {
    let state = |uid: &str, job: &str, word: &str| ArrivalState {
        uid: uid.into(),
        job_id: job.into(),
        state: word.into(),
        ..ArrivalState::default()
    };
    let mut pictures = Pictures::new();
    let id = job().to_string();
    hear(&mut pictures, Said { all: true, states: vec![state("a", &id, "queued"), state("b", "", "")] });
    hear(
        &mut pictures,
        Said {
            all: false,
            states: vec![state("a", &id, "running"), state("c", "x", "queued"), state("d", &id, "odd")],
        },
    );
    let uids: BTreeSet<&str> = pictures.keys().map(String::as_str).collect();
    assert_eq!(uids, BTreeSet::from(["a", "b"]));
    assert_eq!(pictures["a"].job, Some((job(), JobState::Running)));
    assert_eq!(pictures["b"].job, None);
    hear(&mut pictures, Said { all: true, states: vec![] });
    assert!(pictures.is_empty());
}
