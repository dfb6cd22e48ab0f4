//! Acts: what a plan comes to, in the order in which it is done, and what became of it.

use std::collections::BTreeSet;

use serde_json::Value;
use squadron_core::{
    fact::{AttemptFact, AttemptStep},
    id::AttemptId,
};
use squadron_ray::plan::ObjectRef;

use crate::{
    controller::WriteError,
    plan::{Action, Phase},
};

/// How the acts of a pass ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Done,
    /// There was more to do, and the lease must be looked at first.
    Again,
    Failed,
}

impl Ended {
    /// Of two: what failed is not tried again at once.
    pub fn and(self, other: Ended) -> Ended {
        match (self, other) {
            (Ended::Failed, _) | (_, Ended::Failed) => Ended::Failed,
            (Ended::Again, _) | (_, Ended::Again) => Ended::Again,
            (Ended::Done, Ended::Done) => Ended::Done,
        }
    }
}

/// What a plan comes to, by how it is done.
#[derive(Default)]
pub struct Todo {
    pub remembered: Vec<(AttemptId, Option<Phase>)>,
    pub fenced: BTreeSet<AttemptId>,
    pub said: Vec<(AttemptFact, Option<Phase>)>,
    pub caps: Vec<Act>,
    pub deletes: Vec<Act>,
    pub creates: Vec<Act>,
}

impl Todo {
    pub fn of(actions: Vec<Action>) -> Todo {
        let mut todo = Todo::default();
        for action in actions {
            match action {
                Action::Remember { attempt, phase } => todo.remembered.push((attempt, phase)),
                Action::Cap { attempt, cluster, patch } => todo.caps.push(Act::Cap(attempt, cluster, patch)),
                Action::Fence { attempt } => _ = todo.fenced.insert(attempt),
                Action::Report { attempt, step, message, phase } => {
                    todo.said.push((AttemptFact { attempt, step, message }, phase));
                }
                Action::Create { attempt, object } => todo.creates.push(Act::Create(attempt, object)),
                Action::Delete { attempt, namespace, name, uid } => {
                    todo.deletes.push(Act::Delete(attempt, ray_job(namespace, name, uid)));
                }
            }
        }
        todo
    }
}

/// A write to the API server.
pub enum Act {
    Create(AttemptId, Value),
    Delete(AttemptId, ObjectRef),
    /// The merge patch of a RayCluster.
    Cap(AttemptId, ObjectRef, Value),
}

/// What came of a write.
pub enum Acted {
    Done,
    /// It is to be told, and then remembered.
    Said(AttemptFact, Phase),
    /// It must be tried again.
    Again,
}

/// The API server's "no" is final for this attempt; anything else is tried again.
pub fn creation_failed(attempt: AttemptId, target: &ObjectRef, error: &WriteError) -> Acted {
    match error.code() {
        // It exists: the watch will show whose it is.
        409 => Acted::Again,
        400 | 403 | 404 | 422 => {
            let message = format!(
                "the cluster refuses RayJob {}/{}: {}",
                target.namespace,
                target.name,
                error.sentence()
            );
            Acted::Said(AttemptFact { attempt, step: AttemptStep::Refused, message }, Phase::Refused)
        }
        _ => {
            tracing::warn!(%error, %attempt, "a RayJob cannot be created yet");
            Acted::Again
        }
    }
}

fn ray_job(namespace: String, name: String, uid: String) -> ObjectRef {
    let (api_version, kind) = (squadron_ray::names::API_VERSION.to_owned(), "RayJob".to_owned());
    ObjectRef { api_version, kind, namespace, name, uid }
}
