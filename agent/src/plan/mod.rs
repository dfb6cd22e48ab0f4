//! Plan: from the attempts that the control plane wants here, and what is here, to what must be done.
//!
//! Owns which RayJobs exist because of Squadron. Invariant: an attempt is created at most once; an object that does not
//! carry our marks is never touched; nothing is deleted unless a desired state that was really received leaves it out.
//! Pure, and run as a whole each time: applying the actions and planning again reaches a plan without actions.

mod build;
mod decide;
mod guarded;
#[cfg(test)]
mod lease_tests;
mod memory;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use squadron_core::{
    desired,
    dispatch::soft::Caps,
    id::{AttemptId, ClusterId},
    lease::Policy as OnLost,
    name::is_kubernetes_own,
    time::Timestamp,
};
use squadron_ray::{plan::ObjectRef, view::Object};

pub use build::{CLUSTER_ANNOTATION, Unbuildable, build};
pub use decide::plan;
pub use guarded::{Offer, SECRET_ANNOTATION};
pub use memory::{Memory, Phase};

/// What the control plane wants this cluster to hold, as last received.
pub type Desired = desired::Held<DesiredAttempt>;

/// One attempt of the desired state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DesiredAttempt {
    pub id: AttemptId,
    pub queue: String,
    pub name: String,
    pub namespace: String,
    /// RayJob as JSON text.
    pub manifest: String,
    /// What happens to it when this cluster is lost: `wait`, `fence` or `rerun`.
    #[serde(default)]
    pub on_lost: String,
    /// Epoch of the life of this agent whose acceptance the control plane committed; none while it is only offered.
    #[serde(default)]
    pub accepted_by: Option<u64>,
    /// The control plane knows that its RayJob was created.
    #[serde(default)]
    pub created: bool,
    /// Why the attempt before this one ended; empty for the first.
    #[serde(default)]
    pub before: String,
    /// How far its worker groups may grow, where that is less than its manifest says.
    #[serde(default)]
    pub caps: Caps,
}

impl desired::Body for DesiredAttempt {
    fn complete(self, held: Option<&Self>) -> Option<Self> {
        if !self.manifest.is_empty() {
            return Some(self);
        }
        held.map(|held| DesiredAttempt { manifest: held.manifest.clone(), ..self })
    }
}

impl DesiredAttempt {
    /// What happens to it when this cluster is lost; an unknown word stops nothing.
    pub fn on_lost(&self) -> OnLost {
        self.on_lost.parse().unwrap_or(OnLost::Wait)
    }

    /// One that says nothing but which it is.
    #[cfg(test)]
    pub fn bare(id: AttemptId) -> DesiredAttempt {
        let [queue, name, namespace, manifest, on_lost, before] = Default::default();
        DesiredAttempt {
            id,
            queue,
            name,
            namespace,
            manifest,
            on_lost,
            before,
            caps: Caps::new(),
            accepted_by: None,
            created: false,
        }
    }
}

/// A RayJob that exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenJob {
    pub uid: String,
    /// The attempt in its labels, if it carries our marks.
    pub ours: Option<AttemptId>,
    pub deleting: bool,
    /// Its deployment status is Complete, Failed or ValidationFailed.
    pub ended: bool,
}

/// What exists in the cluster.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// RayJobs by (namespace, name).
    pub jobs: BTreeMap<(String, String), SeenJob>,
    /// RayClusters of attempts whose worker groups are capped, or are to be.
    pub capped: BTreeMap<AttemptId, Vec<Object>>,
    /// Attempts of which a RayCluster or a pod still exists.
    pub remains: BTreeSet<AttemptId>,
    /// Attempts whose driver log was taken to its end.
    pub log_ended: BTreeSet<AttemptId>,
    /// Attempts that the fencer says it stopped.
    pub fenced: BTreeSet<AttemptId>,
    /// It stopped more than it could name.
    pub fenced_more: bool,
    /// What it stopped is not known, so nothing is said of what is gone.
    pub note_unread: bool,
    /// Attempts that the last pass was ready to start: a RayJob can be made of each.
    pub ready: BTreeSet<AttemptId>,
}

/// What this agent may do. A pod of a job chooses any service account of its namespace, so whoever may send a job into
/// the agent's own namespace could speak as the agent; that namespace and those of Kubernetes are closed to jobs
/// whatever else is configured.
#[derive(Clone, Debug)]
pub struct Policy {
    pub cluster: ClusterId,
    /// The namespace in which this agent runs.
    pub home: String,
    /// Namespaces in which attempts may run; `None` is every namespace that is not closed to jobs.
    pub namespaces: Option<BTreeSet<String>>,
    /// For attempts that ask for a watchdog; none where the agent answers none.
    pub watchdog: Option<Offer>,
}

impl Policy {
    /// Why attempts may not run in `namespace`, in a sentence; `None` where they may.
    pub fn objection(&self, namespace: &str) -> Option<String> {
        if namespace == self.home {
            let why = "it is the agent's own, and a pod there could speak as the agent";
            Some(format!("no job may run in namespace {namespace:?}: {why}; submit to another namespace"))
        } else if is_kubernetes_own(namespace) {
            Some(format!(
                "no job may run in namespace {namespace:?}: it belongs to Kubernetes; submit to another namespace"
            ))
        } else if self.namespaces.as_ref().is_some_and(|allowed| !allowed.contains(namespace)) {
            Some(format!(
                "the agent of this cluster may not run jobs in namespace {namespace:?}; \
                 add it to the chart's value `namespaces` or submit to another namespace"
            ))
        } else {
            None
        }
    }
}

/// Something to do, or to say.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    Create {
        attempt: AttemptId,
        object: Value,
    },
    Delete {
        attempt: AttemptId,
        namespace: String,
        name: String,
        uid: String,
    },
    /// Change how far worker groups may grow.
    Cap {
        attempt: AttemptId,
        cluster: ObjectRef,
        patch: Value,
    },
    /// Stop everything of the attempt now, with the grace of the fence.
    Fence {
        attempt: AttemptId,
    },
    /// Tell the control plane, then remember `phase`; `None` forgets the attempt.
    Report {
        attempt: AttemptId,
        step: squadron_core::fact::AttemptStep,
        message: String,
        phase: Option<Phase>,
    },
    /// Remember without telling.
    Remember {
        attempt: AttemptId,
        phase: Option<Phase>,
    },
}

/// Actions, and when to plan again even if nothing changes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    pub actions: Vec<Action>,
    /// Attempts that could start as soon as the control plane has committed that we accept them.
    pub accepts: BTreeSet<AttemptId>,
    pub wake_at: Option<Timestamp>,
}
