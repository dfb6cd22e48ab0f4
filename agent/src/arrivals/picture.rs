//! Picture: what is to be told on a RayJob that arrived, and how that reads in the words of a RayJob's status.
//!
//! Invariant: while the job lives, `jobDeploymentStatus` stays `Suspended`, because nothing of this object runs here and
//! because KubeRay's operator, where it is at work, would take any other word as its own and end it. What the job does
//! stands in `jobStatus`, as Ray has it, and in `reason` and `message`. `Complete` and `Failed` come with the end.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use squadron_core::{id::JobId, job::JobState, time::Timestamp};
use squadron_proto::link::{ArrivalState, Arrivals};
use squadron_ray::plan::Event;

use crate::watch::object;

/// What the control plane last said of one RayJob.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    pub namespace: String,
    pub name: String,
    /// The job and its state; absent when the RayJob was refused.
    pub job: Option<(JobId, JobState)>,
    pub reason: String,
    pub message: String,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Pictures by the RayJob's uid.
pub type Pictures = BTreeMap<String, Picture>;

/// Takes a message into account.
pub fn hear(pictures: &mut Pictures, said: Arrivals) {
    if said.all {
        pictures.clear();
    }
    for state in said.states {
        let uid = state.uid.clone();
        match read(state) {
            Some(picture) => _ = pictures.insert(uid, picture),
            None => tracing::error!(uid, "what is to be told on a RayJob cannot be read"),
        }
    }
}

fn read(state: ArrivalState) -> Option<Picture> {
    let job = if state.job_id.is_empty() {
        None
    } else {
        Some((state.job_id.parse().ok()?, JobState::from_word(&state.state)?))
    };
    let time = |micros: i64| (micros != 0).then_some(Timestamp(micros));
    Some(Picture {
        namespace: state.namespace,
        name: state.name,
        job,
        reason: state.reason,
        message: state.message,
        started_at: time(state.started_at_us),
        ended_at: time(state.ended_at_us),
    })
}

impl Picture {
    /// `jobDeploymentStatus` and `jobStatus`.
    fn words(&self) -> (&'static str, &'static str) {
        match self.job.map(|(_, state)| state) {
            None | Some(JobState::Queued) => ("Suspended", ""),
            Some(JobState::Assigned | JobState::Starting) => ("Suspended", "PENDING"),
            Some(JobState::Stopping) if self.started_at.is_none() => ("Suspended", "PENDING"),
            Some(JobState::Running | JobState::Stopping) => ("Suspended", "RUNNING"),
            Some(JobState::Succeeded) => ("Complete", "SUCCEEDED"),
            Some(JobState::Failed) => ("Failed", "FAILED"),
            Some(JobState::Cancelled) => ("Complete", "STOPPED"),
        }
    }

    /// The status that the object should have.
    pub fn status(&self, job: &Value) -> Value {
        let mut status = job["status"].as_object().cloned().unwrap_or_default();
        let (deployment, driver) = self.words();
        set(&mut status, "jobDeploymentStatus", deployment);
        set(&mut status, "jobStatus", driver);
        set(&mut status, "reason", &self.reason);
        set(&mut status, "message", &self.message);
        set(&mut status, "startTime", &stamp(self.started_at));
        set(&mut status, "endTime", &stamp(self.ended_at));
        let generation = &job["metadata"]["generation"];
        if generation.is_i64() || generation.is_u64() {
            status.insert("observedGeneration".to_owned(), generation.clone());
        }
        Value::Object(status)
    }

    /// Whether the object tells something else than the job does, and not only in other sentences.
    pub fn is_turn(&self, job: &Value) -> bool {
        let old = &job["status"];
        let (deployment, driver) = self.words();
        let told = ["jobDeploymentStatus", "jobStatus", "reason"].map(|field| text(old, field));
        told != [deployment, driver, &self.reason]
    }

    /// The Event that goes with a turn.
    pub fn event(&self) -> Event {
        let (is_bad, reason) = match self.job.map(|(_, state)| state) {
            None => (true, "Refused"),
            Some(JobState::Queued) => (false, "Queued"),
            Some(JobState::Assigned | JobState::Starting) => (false, "Starting"),
            Some(JobState::Running) => (false, "Running"),
            Some(JobState::Stopping) => (false, "Stopping"),
            Some(JobState::Succeeded) => (false, "Succeeded"),
            Some(JobState::Failed) => (true, "Failed"),
            Some(JobState::Cancelled) => (true, "Cancelled"),
        };
        let make = if is_bad { Event::warning } else { Event::normal };
        make(reason, "Mirror", self.message.clone())
    }

    /// Whether this is about that object.
    pub fn is_of(&self, job: &Value) -> bool {
        self.namespace == object::namespace(job) && self.name == object::name(job)
    }
}

fn text<'a>(status: &'a Value, field: &str) -> &'a str {
    status[field].as_str().unwrap_or_default()
}

/// Whole seconds, as Kubernetes writes times; empty for none.
fn stamp(at: Option<Timestamp>) -> String {
    at.map_or_else(String::new, |at| {
        Timestamp::from_millis(at.millis().div_euclid(1_000) * 1_000).to_string()
    })
}

fn set(status: &mut Map<String, Value>, field: &str, text: &str) {
    if text.is_empty() {
        status.remove(field);
    } else {
        status.insert(field.to_owned(), text.into());
    }
}
