//! Inbox: the controller's end of the node role. Takes kernel lines out of the agent's namespace.
//!
//! Invariant: an Event is deleted only after its fact is on the controller's disk. An Event that is no kernel fact is
//! deleted with a warning; only the node role's ServiceAccount may create Events there.

use std::{future::Future, pin::pin};

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Event;
use kube::{
    Api, Client,
    api::DeleteParams,
    runtime::{WatchStreamExt, watcher},
};
use squadron_core::{
    fact::{Fact, KernelFact},
    time::Timestamp,
};

use super::{KERNEL_LABEL, report::OBSERVED_AT};
use crate::clock;

/// Longest message that is read, in bytes.
const LONGEST: usize = 4_096;

/// Hands every kernel fact to `keep`, which returns true when it is durable. Runs until the process ends.
pub async fn run<F>(client: Client, namespace: &str, keep: impl Fn(Timestamp, Fact) -> F)
where
    F: Future<Output = bool>,
{
    let events: Api<Event> = Api::namespaced(client, namespace);
    let config = watcher::Config::default().labels(&format!("{KERNEL_LABEL}=yes"));
    let mut seen = pin!(watcher(events.clone(), config).default_backoff().applied_objects());
    loop {
        match seen.try_next().await {
            Ok(Some(event)) => take(&events, &event, &keep).await,
            Ok(None) => return,
            Err(error) => tracing::warn!(%error, "kernel lines cannot be watched"),
        }
    }
}

async fn take<F>(events: &Api<Event>, event: &Event, keep: &impl Fn(Timestamp, Fact) -> F)
where
    F: Future<Output = bool>,
{
    let name = event.metadata.name.clone().unwrap_or_default();
    let done = match read(event) {
        Some((at, fact)) => keep(at, fact).await,
        None => {
            tracing::warn!(event = %name, "an Event with our label is no kernel line; it is dropped");
            true
        }
    };
    if done && let Err(error) = events.delete(&name, &DeleteParams::default()).await {
        tracing::warn!(%error, event = %name, "a kernel line that was taken cannot be deleted");
    }
}

fn read(event: &Event) -> Option<(Timestamp, Fact)> {
    let text = event.message.as_deref().filter(|text| text.len() <= LONGEST)?;
    let fact: KernelFact = serde_json::from_str(text).ok()?;
    let stamped = event.metadata.annotations.as_ref().and_then(|map| map.get(OBSERVED_AT)?.parse().ok());
    Some((stamped.unwrap_or_else(clock::now), Fact::Kernel(fact)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn event(message: &str) -> Event {
        serde_json::from_value(json!({
            "metadata": {"name": "kernel-1", "annotations": {OBSERVED_AT: "2026-11-29T15:00:00.000123Z"}},
            "involvedObject": {}, "message": message,
        }))
        .unwrap()
    }

    #[test]
    fn a_kernel_line_keeps_its_own_time() {
        let message = json!({"node": "n1", "line": "NVRM: …", "signal": {"signal": "oom_kill", "pod_uid": "", "process": "python", "pid": 1}});
        let (at, fact) = read(&event(&message.to_string())).unwrap();
        assert_eq!(at.to_string(), "2026-11-29T15:00:00.000123Z");
        assert_eq!(fact.kind(), "kernel");
    }

    #[test]
    fn what_is_no_kernel_line_is_refused() {
        assert!(read(&event("hello")).is_none());
        assert!(read(&event(&"x".repeat(LONGEST + 1))).is_none());
    }
}
