//! Plan: from the RayJobs that exist and what is to be told on them, to what must be said and written.
//!
//! Pure, and run as a whole each time. Invariant: an object that stands and waits for Squadron is told once as it is; one
//! that was told of and stands no more is told as gone, also when it went while nobody looked; only objects that the
//! control plane spoke of are written, at most every [`SENTENCES_EVERY_MILLIS`], or [`TURNS_EVERY_MILLIS`] at a turn.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use squadron_core::{fact::ArrivalFact, id::JobId, job::marks, time::Timestamp};
use squadron_ray::{
    arrival::{self, Fault, Reading},
    plan::Event,
    view::Object,
};

use super::picture::{Picture, Pictures};
use crate::{plan::Policy, watch::object};

/// Between two writes of which only the sentences differ, such as a place in the queue, in milliseconds.
pub const SENTENCES_EVERY_MILLIS: i64 = 30_000;

/// Between two writes on one object in any case, in milliseconds: whoever else writes its status is not fought.
pub const TURNS_EVERY_MILLIS: i64 = 1_000;

/// Something to say or to write.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// To the control plane.
    Tell(Box<ArrivalFact>),
    /// On the object, by an Event.
    Warn {
        object: Object,
        fault: Fault,
    },
    /// Puts the mark of its import on the object.
    Mark {
        object: Object,
        job: JobId,
    },
    Write {
        object: Object,
        status: Value,
        event: Option<Event>,
    },
}

/// What this process has done. Losing it repeats words and no effects.
#[derive(Default, Debug)]
pub struct Memory {
    /// Objects that stand, as they were told.
    told: BTreeMap<String, ArrivalFact>,
    /// Objects that were told as gone.
    gone: BTreeSet<String>,
    warned: BTreeMap<String, Fault>,
    written: BTreeMap<String, Timestamp>,
}

impl Memory {
    /// An action was done at `now`.
    pub fn done(&mut self, action: Action, now: Timestamp) {
        match action {
            Action::Tell(fact) if fact.gone => {
                self.told.remove(&fact.uid);
                self.gone.insert(fact.uid);
            }
            Action::Tell(fact) => {
                self.gone.remove(&fact.uid);
                self.told.insert(fact.uid.clone(), *fact);
            }
            Action::Warn { object, fault } => _ = self.warned.insert(object::uid(&object).to_owned(), fault),
            Action::Write { object, .. } => _ = self.written.insert(object::uid(&object).to_owned(), now),
            Action::Mark { .. } => {}
        }
    }

    /// Whether the object stands, as far as was told.
    pub fn has_told(&self, uid: &str) -> bool {
        self.told.contains_key(uid)
    }

    /// Forgets objects that are gone and of which nobody speaks.
    pub fn keep_only(&mut self, jobs: &[Object], pictures: &Pictures) {
        let present: BTreeSet<&str> = jobs.iter().map(|job| object::uid(job)).collect();
        let known = |uid: &String| present.contains(uid.as_str()) || pictures.contains_key(uid);
        self.gone.retain(|uid| known(uid));
        self.warned.retain(|uid, _| known(uid));
        self.written.retain(|uid, _| known(uid));
    }
}

/// Actions, and when to plan again even if nothing changes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    pub actions: Vec<Action>,
    pub wake_at: Option<Timestamp>,
}

/// What to do now. `jobs` are all RayJobs that exist, but for those of attempts of which nobody spoke.
pub fn plan(jobs: &[Object], pictures: &Pictures, memory: &Memory, policy: &Policy, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let mut standing = BTreeSet::new();
    for job in jobs {
        let uid = object::uid(job);
        match reading(job, policy) {
            Reading::Stranger => {}
            Reading::Faulty(fault) => {
                if memory.warned.get(uid) != Some(&fault) {
                    plan.actions.push(Action::Warn { object: job.clone(), fault });
                }
            }
            Reading::Offer(fact) => {
                standing.insert(uid.to_owned());
                if memory.told.get(uid) != Some(&*fact) {
                    plan.actions.push(Action::Tell(fact));
                }
                if let Some(picture) = pictures.get(uid).filter(|picture| picture.is_of(job)) {
                    show(job, picture, memory, now, &mut plan);
                }
            }
        }
    }
    plan.actions.extend(farewells(jobs, pictures, memory, &standing));
    plan
}

fn reading(job: &Object, policy: &Policy) -> Reading {
    match arrival::read(job) {
        Reading::Offer(fact) => match policy.objection(&fact.namespace) {
            Some(message) => Reading::Faulty(Fault { reason: "NamespaceNotAllowed", message }),
            None => Reading::Offer(fact),
        },
        other => other,
    }
}

/// The mark comes first: whatever is lost later, the object says that it was imported.
fn show(job: &Object, picture: &Picture, memory: &Memory, now: Timestamp, plan: &mut Plan) {
    if let Some((id, _)) = picture.job
        && arrival::mark(job) != Some(id)
    {
        plan.actions.push(Action::Mark { object: job.clone(), job: id });
        return;
    }
    let status = picture.status(job);
    let told_by_others = picture.job.is_none() && job["status"]["jobDeploymentStatus"] == "ValidationFailed";
    if status == job["status"] || told_by_others {
        return;
    }
    let is_turn = picture.is_turn(job);
    let pause = if is_turn { TURNS_EVERY_MILLIS } else { SENTENCES_EVERY_MILLIS };
    let due = memory.written.get(object::uid(job)).map_or(now, |last| last.plus_millis(pause));
    if due <= now {
        let event = is_turn.then(|| picture.event());
        plan.actions.push(Action::Write { object: job.clone(), status, event });
    } else {
        plan.wake_at = Some(plan.wake_at.map_or(due, |earlier| earlier.min(due)));
    }
}

/// Objects that were told of, now or by an earlier process, and stand no more.
fn farewells(
    jobs: &[Object],
    pictures: &Pictures,
    memory: &Memory,
    standing: &BTreeSet<String>,
) -> Vec<Action> {
    let left = |uid: &&String| !standing.contains(*uid) && !memory.gone.contains(*uid);
    let known: BTreeSet<&String> = memory.told.keys().chain(pictures.keys()).filter(left).collect();
    let farewell = |uid: &String| {
        let (namespace, name) = memory
            .told
            .get(uid)
            .map(|fact| (&fact.namespace, &fact.name))
            .or_else(|| pictures.get(uid).map(|picture| (&picture.namespace, &picture.name)))?;
        let job = jobs.iter().find(|job| object::uid(job) == uid.as_str());
        Some(Action::Tell(Box::new(ArrivalFact {
            namespace: namespace.clone(),
            name: name.clone(),
            uid: uid.clone(),
            gone: true,
            gone_why: why(job),
            ..ArrivalFact::default()
        })))
    };
    known.into_iter().filter_map(farewell).collect()
}

fn why(job: Option<&Object>) -> String {
    match job {
        Some(job) if !object::is_deleting(job) => {
            format!("its RayJob is there, but no longer suspended with the label {} alone", marks::QUEUE)
        }
        _ => "its RayJob was deleted".to_owned(),
    }
}
