//! The few facts about a pod that decisions rest on.

use serde_json::Value;

use crate::{
    names::{self, HEAD, WORKER},
    object,
    plan::{Action, Event, Step},
    view::Object,
};

/// A pod of the cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodView<'a> {
    pub(crate) object: &'a Value,
    pub(crate) name: &'a str,
    pub(crate) group: &'a str,
    node_type: &'a str,
    pub(crate) phase: &'a str,
    /// The pod's Ready condition, if it has one.
    pub(crate) ready: Option<&'a str>,
    pub(crate) deleting: bool,
}

impl<'a> PodView<'a> {
    pub(crate) fn all(pods: &'a [Object]) -> Vec<PodView<'a>> {
        pods.iter().map(|pod| PodView::of(pod)).collect()
    }

    fn of(object: &'a Value) -> PodView<'a> {
        PodView {
            object,
            name: object::name(object),
            group: object::label(object, names::GROUP),
            node_type: object::label(object, names::NODE_TYPE),
            phase: object::text(object, &["status", "phase"]),
            ready: condition(object, "Ready").map(|ready| object::text(ready, &["status"])),
            deleting: object::is_deleting(object),
        }
    }

    pub(crate) fn is_head(&self) -> bool {
        self.node_type == HEAD
    }

    pub(crate) fn is_worker(&self) -> bool {
        self.node_type == WORKER
    }

    pub(crate) fn is_running(&self) -> bool {
        self.phase == "Running"
    }

    /// Running, and Ready says so.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_running() && self.ready == Some("True")
    }

    pub(crate) fn is_bound(&self) -> bool {
        !object::text(self.object, &["spec", "nodeName"]).is_empty()
    }

    /// RC-HEAD-1, RC-WRK-2: it will not run Ray again by itself.
    pub(crate) fn is_finished(&self) -> bool {
        let never = object::text(self.object, &["spec", "restartPolicy"]) == "Never";
        matches!(self.phase, "Failed" | "Succeeded")
            || (self.is_running() && never && self.terminated().is_some())
    }

    /// How the Ray container ended, if it did.
    fn terminated(&self) -> Option<&'a Value> {
        let ray = object::text(object::list(self.object, &["spec", "containers"]).first()?, &["name"]);
        let states = object::list(self.object, &["status", "containerStatuses"]);
        let own = states.iter().find(|state| object::text(state, &["name"]) == ray)?;
        own.pointer("/state/terminated").filter(|state| !state.is_null())
    }

    /// The state in words, as Events of deletions tell it.
    pub(crate) fn describe_end(&self) -> String {
        let end = self.terminated().map_or_else(
            || "none".to_owned(),
            |state| format!("{} (exit code {})", object::text(state, &["reason"]), state["exitCode"]),
        );
        let policy = object::text(self.object, &["spec", "restartPolicy"]);
        format!(
            "Pod status: {}; Pod restart policy: {policy}; Ray container terminated status: {end}",
            self.phase
        )
    }

    /// Deletes exactly this pod.
    pub(crate) fn delete(&self, replica_failure: &'static str, done: Event, failed: Event) -> Step {
        let mut target = object::reference(self.object);
        target.api_version = "v1".to_owned();
        target.kind = "Pod".to_owned();
        Step::new(format!("delete/Pod/{}", self.name), Action::Delete { target })
            .done(done)
            .failed(failed)
            .replica_failure(replica_failure)
    }
}

/// The pod condition of this type.
pub(crate) fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    object::list(pod, &["status", "conditions"]).iter().find(|one| object::text(one, &["type"]) == kind)
}
