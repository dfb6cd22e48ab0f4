//! Event: Warning events of the API server on objects of ours.

use k8s_openapi::api::core::v1::Event;
use squadron_core::{fact::EventFact, id::AttemptId};

use super::{bounded, bounded_or_empty};

/// Kind, namespace, name and uid of the object that an event speaks of.
pub fn about(event: &Event) -> (&str, &str, &str, &str) {
    let object = &event.involved_object;
    fn word(text: &Option<String>) -> &str {
        text.as_deref().unwrap_or_default()
    }
    (word(&object.kind), word(&object.namespace), word(&object.name), word(&object.uid))
}

/// The fact of a Warning on an object of `attempt`.
pub fn event_fact(event: &Event, attempt: AttemptId) -> EventFact {
    let (kind, namespace, name, uid) = about(event);
    let series = event.series.as_ref().and_then(|series| series.count);
    EventFact {
        namespace: namespace.to_owned(),
        object_kind: kind.to_owned(),
        object_name: name.to_owned(),
        object_uid: uid.to_owned(),
        reason: bounded_or_empty(event.reason.as_ref()),
        message: bounded(event.message.as_deref().unwrap_or_default()),
        count: series.or(event.count).unwrap_or(1),
        attempt: Some(attempt),
    }
}
