//! Events: what reconcilers say about an object, written as Kubernetes Events.
//!
//! Owns the publishing. An event that cannot be written is logged and lost: status and facts carry the truth.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{Event as Published, EventType, Recorder, Reporter},
};
use serde_json::Value;
use squadron_ray::plan::{Event, Severity};

use crate::watch::object;

/// The API server refuses longer notes.
const LONGEST_NOTE: usize = 1_024;

/// Publishes Events of this agent.
#[derive(Clone)]
pub struct Events {
    recorder: Recorder,
}

impl Events {
    pub fn new(client: Client, instance: String) -> Events {
        let reporter = Reporter { controller: "squadron-agent".to_owned(), instance: Some(instance) };
        Events { recorder: Recorder::new(client, reporter) }
    }

    /// Publishes without waiting for the API server.
    pub fn emit(&self, about: &Value, event: Event) {
        let recorder = self.recorder.clone();
        let reference = reference(about);
        tokio::spawn(async move {
            if let Err(error) = recorder.publish(&published(&event), &reference).await {
                tracing::warn!(%error, object = ?reference.name, "an Event could not be written");
            }
        });
    }
}

fn reference(about: &Value) -> ObjectReference {
    let word = |key: &str| about[key].as_str().map(str::to_owned);
    ObjectReference {
        api_version: word("apiVersion"),
        kind: word("kind"),
        namespace: Some(object::namespace(about).to_owned()),
        name: Some(object::name(about).to_owned()),
        uid: Some(object::uid(about).to_owned()),
        ..ObjectReference::default()
    }
}

fn published(event: &Event) -> Published {
    let cut = event.message.floor_char_boundary(LONGEST_NOTE);
    Published {
        type_: match event.severity {
            Severity::Normal => EventType::Normal,
            Severity::Warning => EventType::Warning,
        },
        reason: event.reason.to_owned(),
        note: Some(event.message[..cut].to_owned()),
        action: event.action.to_owned(),
        secondary: None,
    }
}
